"""What admins ask of a plan: that it is within their limits, and for a start a name to type, a second person, a time
to think again.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import ngettext

from queues.errors import LimitExceeded
from queues.models import Replay
from queues.quantities import number as figure
from queues.replay.checking import wrong_paces
from queues.replay.limits import limits
from queues.replay.steering.acts import origin
from queues.replay.terms import Terms


@dataclass(frozen=True, slots=True)
class Wanted:
    """`typed` is the name that has to be typed, "" for none. Without `approval` it starts `undo_s` seconds later."""

    typed: str
    approval: bool
    undo_s: int


def wanted(replay: Replay, number: int) -> Wanted:
    """What the start of a plan that sends so many jobs asks for by the limits of now. Three small queries."""
    now = limits()
    typed = typed_name(replay) if number > now.typed else ""
    return Wanted(typed, now.approval is not None and number > now.approval, now.undo_s)


def ensure_allowed(replay: Replay) -> None:
    """LimitExceeded for a plan that is larger or faster than what is allowed now. One query."""
    now = limits()
    most = now.largest
    if most is not None and replay.total > most:
        said = ngettext("A replay may be about at most %(n)s job.", "A replay may be about at most %(n)s jobs.", most)
        raise LimitExceeded(said % {"n": figure(most)})
    if wrong := wrong_paces(Terms.of(replay.terms), now):
        raise LimitExceeded(" ".join(dict.fromkeys(wrong.values())))


def typed_name(replay: Replay) -> str:
    """The name of a plan that people type: its queue's; of several queues its group's, or else its own."""
    ref = origin(replay)
    if ref is not None:
        return ref.label
    return replay.group.slug if replay.group else str(replay)
