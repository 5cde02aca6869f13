"""Where a job's time went, as far as its hash tells: steps and the stretches between them. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queues.types import Job, State


class Stretch(StrEnum):
    """What a job did between two steps. The first three are states; the last is what nobody kept."""

    WAITING = "waiting"
    ACTIVE = "active"
    DELAYED = "delayed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Step:
    """A moment of the job. `state` picks glyph and colour; `stretch` and `ms` say what came after it."""

    label: str | Promise
    state: str
    at_ms: float
    note: str | Promise = ""
    stretch: Stretch | None = None
    ms: float | None = None
    open: bool = False  # the stretch is still going on


@dataclass(frozen=True, slots=True)
class Timeline:
    steps: Sequence[Step]
    total_ms: float | None
    note: str | Promise = ""

    @property
    def spent(self) -> Sequence[tuple[Stretch, float]]:
        """Milliseconds by stretch, in the order in which they first came."""
        sums: dict[Stretch, float] = {}
        for step in self.steps:
            if step.stretch and step.ms:
                sums[step.stretch] = sums.get(step.stretch, 0) + step.ms
        return tuple(sums.items())

    @property
    def spans(self) -> Sequence[tuple[Stretch, float]]:
        """The stretches one after the other, with their milliseconds."""
        return tuple((step.stretch, step.ms) for step in self.steps if step.stretch and step.ms)


EARLIER = _("BullMQ keeps the times of the last attempt only; those of earlier ones are not known.")
CLOCKS = _("The stored times contradict each other, so no durations are shown: the machines' clocks differ.")


def timeline(job: Job, now_ms: float) -> Timeline:
    """The steps of a job. Times come from the producers' and workers' clocks, as the hash holds them.

    Where they contradict each other no duration is shown. Costs nothing; never raises.
    """
    moments = _moments(job, now_ms)
    if any(later.at_ms < earlier.at_ms for earlier, later in pairwise(moments)):
        return Timeline(tuple(replace(moment, stretch=None) for moment in moments), None, CLOCKS)
    steps = [replace(step, ms=after.at_ms - step.at_ms) for step, after in pairwise(moments)]
    if moments:
        last = moments[-1]
        steps.append(replace(last, ms=max(0.0, now_ms - last.at_ms), open=True) if last.stretch else last)
    ended = len(steps) > 1 and steps[-1].stretch is None
    total = steps[-1].at_ms - steps[0].at_ms if ended else None
    return Timeline(tuple(steps), total, EARLIER if (job.row.attempts_made or 0) > 1 else "")


def _moments(job: Job, now_ms: float) -> list[Step]:
    """What the hash knows to have happened, in the order in which it must have happened."""
    row = job.row
    found: list[Step] = []
    retried = (row.attempts_made or 0) > 1 or (row.attempts_started or 0) > 1
    if row.timestamp_ms is not None:
        delay = _delay(job)
        after = Stretch.UNKNOWN if retried else Stretch.DELAYED if delay else Stretch.WAITING
        found.append(Step(_("Added"), "waiting", row.timestamp_ms, stretch=after))
        due = row.timestamp_ms + delay
        if delay and not retried and due <= now_ms and row.state is not State.DELAYED:
            found.append(Step(_("Due"), "delayed", due, stretch=Stretch.WAITING))
    if row.processed_ms is not None:
        label = _("Attempt %(n)d") % {"n": row.attempts_started} if row.attempts_started else _("Started")
        after = Stretch.ACTIVE if row.state in (State.ACTIVE, State.COMPLETED, State.FAILED) else Stretch.UNKNOWN
        found.append(Step(label, "active", row.processed_ms, stretch=after))
    if row.finished_ms is not None and row.state in (State.COMPLETED, State.FAILED):
        word = _("Completed") if row.state is State.COMPLETED else _("Failed")
        found.append(Step(word, str(row.state), row.finished_ms))
    return found


def _delay(job: Job) -> float:
    """Milliseconds the job was to wait before its first run, from its options."""
    value = job.options.get("delay")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e13 else 0.0
