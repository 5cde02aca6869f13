"""A draft whose jobs are looked at anew, or whose data is read anew because the terms changed."""

from __future__ import annotations

from queues.models import Replay
from queues.replay.freezing.work import Step
from queues.replay.terms import Terms


def relook(replay: Replay) -> bool:
    """Back to looking; False where the plan is no draft. Whoever calls it wakes the runner, or the clock does."""
    raise NotImplementedError


def reread(replay: Replay) -> bool:
    """Back to reading the jobs' data, by the terms as they are kept now. The rest as `relook`."""
    raise NotImplementedError


def step_after(before: Terms, now: Terms) -> Step | None:
    """From which step a draft has to be frozen anew when its terms changed so; None: it need not be."""
    raise NotImplementedError
