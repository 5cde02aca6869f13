"""What can be done to a plan that was started, by its phase and by who looks at it."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.access import Right, allowed
from dashboard.actions.off import User, by_role
from dashboard.replays.forms import CancelForm, PaceForm
from dashboard.replays.seen import Seen
from queues import readonly
from queues.quantities import number
from queues.replay.steering.running import CANCELLABLE, PACED
from queues.replay.types import HALTED, SENDS, Phase


@dataclass(frozen=True, slots=True)
class Verbs:
    """Which are offered. `off` is why none can be pressed, "" where they can; `why_not` the same of going on."""

    pause: bool
    go_on: bool
    pace: bool
    cancel: bool
    off: str
    why_not: str

    @property
    def any(self) -> bool:
        return self.pause or self.go_on or self.pace or self.cancel


def verbs(seen: Seen, user: User) -> Verbs:
    """One query at most, for the role."""
    phase = seen.phase
    sends = phase in SENDS or phase is Phase.ARMED
    return Verbs(
        pause=sends,
        go_on=phase in HALTED,
        pace=phase in PACED and seen.replay.to_send > 0,
        cancel=phase in CANCELLABLE,
        off="" if allowed(user, Right.REPLAY) else by_role(user, Right.REPLAY),
        why_not=readonly.by_setting(seen.replay.source.name) if phase in HALTED else "",
    )


def cancel_words(seen: Seen) -> str:
    """What cancelling does."""
    rest, under_way = seen.replay.to_send, seen.under_way
    stays = ngettext(
        "%(n)s job is not sent and stays where it is.", "%(n)s jobs are not sent and stay where they are.", rest
    ) % {"n": number(rest)}
    waits = ngettext(
        "%(n)s was sent and has not ended: what runs is left alone, and what becomes of it is still written down.",
        "%(n)s were sent and have not ended: what runs is left alone, and what becomes of it is still written down.",
        under_way,
    ) % {"n": number(under_way)}
    said = [stays] if rest else [_("All are sent.")]
    return " ".join([*said, *([waits] if under_way else [])])


def pace_form(seen: Seen) -> PaceForm:
    """Filled with the pace of now."""
    terms = seen.terms
    unthrottled = terms.pace_to is None and terms.pace_from is None
    told = {"pace_from": terms.pace_from, "pace_to": terms.pace_to, "double_s": terms.double_s}
    return PaceForm(auto_id="pace-%s", initial={**told, "unthrottled": unthrottled})


def cancel_form() -> CancelForm:
    return CancelForm(auto_id="cancel-%s")
