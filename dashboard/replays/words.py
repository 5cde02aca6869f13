"""The words for phases, places, fates and conflicts of replays; the sentences of `feed_words` beside them."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from dashboard.replays.feed_words import line, pace, stop
from queues.replay.types import Acts, Choice, Phase, Place
from queues.sendings import Conflict, Fate

__all__ = ["acts", "conflict", "conflict_mark", "does", "fate", "line", "mark", "pace", "phase", "place", "stop"]

PHASE_WORDS: Mapping[Phase, Promise] = {
    Phase.FREEZING: pgettext_lazy("replay", "being put together"),
    Phase.DRAFT: pgettext_lazy("replay", "draft"),
    Phase.WAITING: pgettext_lazy("replay", "waits for approval"),
    Phase.ARMED: pgettext_lazy("replay", "about to start"),
    Phase.CANARY: pgettext_lazy("replay", "canary"),
    Phase.DECIDING: pgettext_lazy("replay", "waits for a decision"),
    Phase.RUNNING: pgettext_lazy("replay", "running"),
    Phase.ENDING: pgettext_lazy("replay", "waits for the last ones"),
    Phase.PAUSED: pgettext_lazy("replay", "paused"),
    Phase.STOPPED: pgettext_lazy("replay", "stopped by itself"),
    Phase.CANCELLING: pgettext_lazy("replay", "being cancelled"),
    Phase.DONE: pgettext_lazy("replay", "done"),
    Phase.CANCELLED: pgettext_lazy("replay", "cancelled"),
    Phase.FAILED: pgettext_lazy("replay", "could not be put together"),
}
# The colour of a phase and its glyph, as job states have them: `s-<colour>` and `i-<glyph>`.
MARKS: Mapping[Phase, tuple[str, str]] = {
    Phase.FREEZING: ("waiting", "waiting"),
    Phase.DRAFT: ("waiting", "waiting"),
    Phase.WAITING: ("warn", "info"),
    Phase.ARMED: ("active", "delayed"),
    Phase.CANARY: ("active", "active"),
    Phase.DECIDING: ("warn", "warn"),
    Phase.RUNNING: ("active", "active"),
    Phase.ENDING: ("active", "active"),
    Phase.PAUSED: ("paused", "paused"),
    Phase.STOPPED: ("warn", "warn"),
    Phase.CANCELLING: ("paused", "gone"),
    Phase.DONE: ("completed", "completed"),
    Phase.CANCELLED: ("paused", "gone"),
    Phase.FAILED: ("failed", "failed"),
}
PLACE_WORDS: Mapping[Place, Promise] = {
    Place.LEFT_OUT: pgettext_lazy("replay", "left out"),
    Place.HELD: pgettext_lazy("replay", "waits for the one before it"),
    Place.READY: pgettext_lazy("replay", "to be sent"),
    Place.SENT: pgettext_lazy("replay", "sent"),
    Place.REFUSED: pgettext_lazy("replay", "refused"),
    Place.BACK: pgettext_lazy("replay", "not sent, cancelled"),
}
FATE_WORDS: Mapping[Fate, Promise] = {
    Fate.NONE: pgettext_lazy("replay", "not heard of yet"),
    Fate.WAITING: pgettext_lazy("replay", "waiting"),
    Fate.RUNNING: pgettext_lazy("replay", "running"),
    Fate.RETRYING: pgettext_lazy("replay", "retrying"),
    Fate.COMPLETED: pgettext_lazy("replay", "completed"),
    Fate.FAILED: pgettext_lazy("replay", "failed again"),
    Fate.GONE: pgettext_lazy("replay", "removed before it ended"),
    Fate.UNKNOWN: pgettext_lazy("replay", "unknown: events were lost"),
}
CONFLICT_WORDS: Mapping[Conflict, Promise] = {
    Conflict.NONE: _("Nothing is in the way"),
    Conflict.LEFT: _("No longer there as it was"),
    Conflict.GONE: _("The job is gone"),
    Conflict.TWIN: _("A newer job holds its deduplication id"),
    Conflict.ID_KEPT: _("A job with this id is there already"),
    Conflict.PARENT_FAILED: _("Parent has failed meanwhile"),
    Conflict.PARENT_GONE: _("Parent is gone, or went on without it"),
    Conflict.OTHER_PLAN: _("Another plan is to send it"),
    Conflict.SENT_BEFORE: _("A replay has sent it already"),
    Conflict.DOUBLE: _("Another letter of the same job is part of this plan"),
    Conflict.DAMAGED: _("No worker could read it"),
    Conflict.UNMAPPED: _("The letter does not tell where it came from"),
    Conflict.UNFIT: _("The edit does not fit its data"),
    Conflict.NO_KEY: _("Nothing stands at the path of the key"),
    Conflict.BEFORE_IT: _("A job before it of the same key failed again"),
    Conflict.REFUSED: _("The server refused it"),
}
# The colour of a conflict and its glyph, as `MARKS`.
CONFLICT_MARKS: Mapping[Conflict, tuple[str, str]] = {
    Conflict.LEFT: ("completed", "completed"),
    Conflict.GONE: ("paused", "gone"),
    Conflict.TWIN: ("waiting", "waiting"),
    Conflict.ID_KEPT: ("waiting", "waiting"),
    Conflict.PARENT_FAILED: ("waiting-children", "waiting-children"),
    Conflict.PARENT_GONE: ("waiting-children", "waiting-children"),
    Conflict.OTHER_PLAN: ("active", "active"),
    Conflict.SENT_BEFORE: ("completed", "completed"),
    Conflict.DOUBLE: ("waiting", "waiting"),
    Conflict.REFUSED: ("failed", "failed"),
}
DOES_SKIP: Mapping[Conflict, Promise] = {
    Conflict.LEFT: _("Skips them and lists them in the outcome: somebody else has dealt with them."),
    Conflict.GONE: _("Skips them: nothing is left to send."),
    Conflict.TWIN: _("Skips them: the newer job does the work."),
    Conflict.ID_KEPT: _("Skips them: the job that is there stays as it is."),
    Conflict.PARENT_FAILED: _("Skips them: nobody waits for what they would return."),
    Conflict.PARENT_GONE: _("Skips them: nobody waits for what they would return."),
    Conflict.OTHER_PLAN: _("Skips them: the other plan sends them."),
    Conflict.SENT_BEFORE: _("Skips them: no job is sent twice."),
    Conflict.DOUBLE: _("Skips them: the job is sent once, and these letters stay."),
    Conflict.DAMAGED: _("Skips them: look at each, and add it anew by hand."),
    Conflict.UNMAPPED: _("Skips them: say how the letters of this queue are read, or choose a queue to send them to."),
    Conflict.UNFIT: _("Skips them: their data stay as they are."),
    Conflict.NO_KEY: _("Skips them: there is no saying which job they must follow."),
    Conflict.BEFORE_IT: _("Leaves them out: to send them would break the order."),
    Conflict.REFUSED: _("Lists them in the outcome with what the server said."),
}
DOES_SEND: Mapping[Conflict, Promise] = {
    Conflict.TWIN: _("Sends them all the same: both jobs will run."),
    Conflict.ID_KEPT: _("Sends them under a new id: the job that is there stays, too."),
    Conflict.PARENT_FAILED: _("Sends them all the same, although their parent will not see what they return."),
    Conflict.PARENT_GONE: _("Sends them all the same, although no parent waits for them."),
    Conflict.SENT_BEFORE: _("Sends them a second time. What they do outside the queue happens again."),
    Conflict.NO_KEY: _("Sends them without regard to the others."),
}
ACTS_WORDS: Mapping[Acts, Promise] = {
    Acts.RETRY: pgettext_lazy("replay", "retried in place"),
    Acts.COPY: pgettext_lazy("replay", "sent as a new job"),
}


def phase(value: Phase | str) -> str:
    """Where a plan stands, within a sentence. ValueError for what is no phase; so of all below."""
    return str(PHASE_WORDS[Phase(value)])


def mark(value: Phase | str) -> tuple[str, str]:
    """The colour of a phase (`s-...`) and its glyph (`i-...`)."""
    return MARKS[Phase(value)]


def place(value: Place | str) -> str:
    """Where a job stands in its plan."""
    return str(PLACE_WORDS[Place(value)])


def fate(value: Fate | str) -> str:
    """What became of a job that was sent."""
    return str(FATE_WORDS[Fate(value)])


def acts(value: Acts | str) -> str:
    """What sending it means."""
    return str(ACTS_WORDS[Acts(value)])


def conflict(value: Conflict | str) -> str:
    """What was found about a job."""
    return str(CONFLICT_WORDS[Conflict(value)])


def conflict_mark(value: Conflict | str) -> tuple[str, str]:
    """The colour of a conflict (`s-...`) and its glyph (`i-...`)."""
    return CONFLICT_MARKS.get(Conflict(value), ("warn", "warn"))


def does(value: Conflict | str, choice: Choice | str) -> str:
    """What the plan does about a conflict, as a sentence."""
    found = Conflict(value)
    if Choice(choice) is Choice.SEND and found in DOES_SEND:
        return str(DOES_SEND[found])
    return str(DOES_SKIP.get(found, ""))
