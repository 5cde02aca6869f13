"""Where a plan stands, as a sentence for who wanted it to be elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from queues.audit.exceptional import moment
from queues.errors import WrongState
from queues.models import Replay
from queues.replay.types import Phase, Told

_STANDS: Mapping[Phase, Promise] = {
    Phase.FREEZING: gettext_lazy("it is being put together"),
    Phase.DRAFT: gettext_lazy("it is a draft"),
    Phase.WAITING: gettext_lazy("it waits for approval"),
    Phase.ARMED: gettext_lazy("it is about to start"),
    Phase.CANARY: gettext_lazy("its canary is under way"),
    Phase.DECIDING: gettext_lazy("it waits for a decision about its canary"),
    Phase.RUNNING: gettext_lazy("it is running"),
    Phase.ENDING: gettext_lazy("all of it is sent"),
    Phase.PAUSED: gettext_lazy("it is paused"),
    Phase.STOPPED: gettext_lazy("it has stopped by itself"),
    Phase.CANCELLING: gettext_lazy("it is being cancelled"),
    Phase.DONE: pgettext_lazy("replay", "it is done"),
    Phase.CANCELLED: gettext_lazy("it is cancelled"),
    Phase.FAILED: gettext_lazy("it could not be put together"),
}
# The lines of the feed that tell how a plan came to where it is; those that a person wrote have a name.
_BY: Mapping[Phase, Sequence[Told]] = {
    Phase.DRAFT: (Told.TAKEN_BACK, Told.REFUSED, Told.FROZEN),
    Phase.WAITING: (Told.ASKED,),
    Phase.ARMED: (Told.ARMED, Told.APPROVED, Told.WENT_ON),
    Phase.CANARY: (Told.STARTED, Told.WENT_ON),
    Phase.RUNNING: (Told.STARTED, Told.CANARY_PASSED, Told.WENT_ON),
    Phase.PAUSED: (Told.PAUSED,),
    Phase.STOPPED: (Told.STOPPED,),
    Phase.CANCELLING: (Told.CANCELLED,),
    Phase.CANCELLED: (Told.CANCELLED,),
    Phase.DONE: (Told.DONE,),
}


class ChangedMeanwhile(WrongState):
    """A draft has other terms by now than those that the page showed: nothing was done."""


def otherwise(replay: Replay) -> WrongState:
    """That nothing was done to a plan, as it is where it is; by whom and since when, where that is known. A query."""
    told = {"plan": str(replay), "stands": _STANDS[Phase(replay.phase)], "by": _by(replay)}
    return WrongState(_("%(plan)s was left as it was: %(stands)s%(by)s.") % told)


def _by(replay: Replay) -> str:
    kinds = _BY.get(Phase(replay.phase), ())
    line = replay.lines.filter(kind__in=kinds).order_by("-pk").first() if kinds else None
    if line is None:
        return ""
    when = moment(line.at)
    return _(" (%(name)s at %(time)s)") % {"name": line.who, "time": when} if line.who else _(" since %s") % when
