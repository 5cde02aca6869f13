"""How far freezing is; and a draft whose jobs are looked at anew, or whose data are read anew for other terms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from queues.models import Replay
from queues.replay.freezing import counting
from queues.replay.terms import Terms
from queues.replay.types import Phase


class Step(StrEnum):
    """The steps of freezing, as `Replay.step` names them."""

    COLLECTING = "collecting"  # which jobs are meant is written down
    LOOKING = "looking"  # each is looked at on the server
    READING = "reading"  # the data of each is read, for an edit or an order by key


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` jobs of this step; `total` None: nobody knows how many there will be."""

    step: Step
    done: int
    total: int | None


def progress(replay: Replay) -> Progress | None:
    """How far a plan is frozen; None when it is. No query."""
    if replay.phase != Phase.FREEZING:
        return None
    step = Step(replay.step or Step.COLLECTING)
    if step is Step.COLLECTING:
        expected = replay.frozen.get(counting.EXPECTED)
        return Progress(step, replay.total, None if expected is None else max(expected, replay.total))
    done = replay.frozen.get(counting.READ if step is Step.READING else counting.LOOKED, 0)
    return Progress(step, min(done, replay.total), replay.total)


def relook(replay: Replay) -> bool:
    """Back to looking; False where the plan is no draft. Whoever calls it wakes the runner, or the clock does."""
    return _back(replay, Step.LOOKING, counting.begun(replay.frozen))


def reread(replay: Replay) -> bool:
    """Back to reading the jobs' data, by the terms as they are kept now. The rest as `relook`."""
    return _back(replay, Step.READING, counting.begun(replay.frozen, reading=True))


def step_after(before: Terms, now: Terms) -> Step | None:
    """From which step a draft has to be frozen anew when its terms changed so; None: it need not be."""
    copied, copies = (terms.acts_copy or terms.patch is not None for terms in (before, now))
    if (before.patch, copied, before.target) != (now.patch, copies, now.target):
        return Step.LOOKING
    return Step.READING if now.key and now.key != before.key else None


def _back(replay: Replay, step: Step, frozen: dict[str, object]) -> bool:
    values = {"phase": Phase.FREEZING.value, "step": step.value, "cursor": "", "frozen": frozen}
    if not Replay.objects.filter(pk=replay.pk, phase=Phase.DRAFT).update(**values):
        return False
    for name, value in values.items():
        setattr(replay, name, value)
    return True
