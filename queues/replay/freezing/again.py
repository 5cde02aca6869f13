"""A draft whose jobs are looked at anew, or whose data are read anew because the terms changed."""

from __future__ import annotations

from queues.models import Replay
from queues.replay.freezing import counting
from queues.replay.freezing.steps import Step
from queues.replay.terms import Terms
from queues.replay.types import Phase


def relook(replay: Replay) -> bool:
    """Back to looking; False where the plan is no draft. Whoever calls it wakes the runner, or the clock does."""
    return _back(replay, Step.LOOKING, counting.begun(replay.frozen))


def reread(replay: Replay) -> bool:
    """Back to reading the jobs' data, by the terms as they are kept now. The rest as `relook`."""
    return _back(replay, Step.READING, counting.begun(replay.frozen, reading=True))


def step_after(before: Terms, now: Terms) -> Step | None:
    """From which step a draft has to be frozen anew when its terms changed so; None: it need not be."""
    if (before.patch, before.acts_copy, before.target) != (now.patch, now.acts_copy, now.target):
        return Step.LOOKING
    return Step.READING if now.key and now.key != before.key else None


def _back(replay: Replay, step: Step, frozen: dict[str, object]) -> bool:
    values = {"phase": Phase.FREEZING.value, "step": step.value, "cursor": "", "frozen": frozen}
    if not Replay.objects.filter(pk=replay.pk, phase=Phase.DRAFT).update(**values):
        return False
    for name, value in values.items():
        setattr(replay, name, value)
    return True
