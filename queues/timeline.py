"""Where a job's time went, as far as its hash and the events seen of it tell: steps and the stretches between them.

Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queues.events import Event, EventKind
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
        """Milliseconds by stretch, in the order in which they first came. The one that goes on is not among them."""
        sums: dict[Stretch, float] = {}
        for step in self.steps:
            if step.stretch and step.ms and not step.open:
                sums[step.stretch] = sums.get(step.stretch, 0) + step.ms
        return tuple(sums.items())

    @property
    def spans(self) -> Sequence[tuple[Stretch, float]]:
        """The stretches one after the other, with their milliseconds."""
        return tuple((step.stretch, step.ms) for step in self.steps if step.stretch and step.ms)


EARLIER = _("BullMQ keeps the times of the last attempt only; those of earlier ones are not known.")
PARTLY = _("BullMQ keeps the times of the last attempt only; earlier ones stand here as far as they were seen.")
CLOCKS = _("The stored times contradict each other, so no durations are shown: the machines' clocks differ.")

SEEN_SHOWN = 6  # steps from events, the newest: more do not fit on a page


def timeline(job: Job, now_ms: float, seen: Sequence[Event] = ()) -> Timeline:
    """The steps of a job. Times come from the producers' and workers' clocks, as the hash holds them.

    `seen` are events of this job, oldest first, by the server's clock: they add what the hash has forgotten, unless
    that contradicts the hash. Where times contradict each other no duration is shown. Costs nothing; never raises.
    """
    plain = _moments(job, now_ms)
    moments = _with_seen(job, plain, seen)
    note = _note(job, _count(moments))
    if _contradictory(moments):
        moments, note = plain, _note(job, _count(plain))
    if _contradictory(moments):
        return Timeline(tuple(replace(moment, stretch=None) for moment in moments), None, CLOCKS)
    steps = [replace(step, ms=after.at_ms - step.at_ms) for step, after in pairwise(moments)]
    if moments:
        last = moments[-1]
        steps.append(replace(last, ms=max(0.0, now_ms - last.at_ms), open=True) if last.stretch else last)
    ended = len(steps) > 1 and steps[-1].stretch is None
    total = steps[-1].at_ms - steps[0].at_ms if ended else None
    return Timeline(tuple(steps), total, note)


def _contradictory(moments: Sequence[Step]) -> bool:
    return any(later.at_ms < earlier.at_ms for earlier, later in pairwise(moments))


def _note(job: Job, attempts: int) -> str | Promise:
    """What is missing where `attempts` of them are shown."""
    made = max(job.row.attempts_made or 0, job.row.attempts_started or 0)
    if (job.row.attempts_made or 0) <= 1 or attempts >= made:
        return ""
    return PARTLY if attempts > 1 else EARLIER


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
        after = Stretch.ACTIVE if row.state in (State.ACTIVE, State.COMPLETED, State.FAILED) else Stretch.UNKNOWN
        found.append(Step(_attempt(row.attempts_started), "active", row.processed_ms, stretch=after))
    if row.finished_ms is not None and row.state in (State.COMPLETED, State.FAILED):
        word = _("Completed") if row.state is State.COMPLETED else _("Failed")
        found.append(Step(word, str(row.state), row.finished_ms))
    return found


def _attempt(number: int | None) -> str | Promise:
    return _("Attempt %(n)d") % {"n": number} if number else _("Started")


AT_ONCE = 10  # ms that a job waits for a worker that is free
NEAR = 5_000  # ms by which the clocks of a worker and of its server may differ about one moment

# What an event makes of a job: the step's label and state, and what comes after it.
_STEPS: Mapping[EventKind, tuple[str | Promise, str, Stretch]] = {
    EventKind.ACTIVE: (_("Started"), "active", Stretch.ACTIVE),
    EventKind.STALLED: (_("Stalled"), "warn", Stretch.WAITING),
    EventKind.DELAYED: (_("Delayed"), "delayed", Stretch.DELAYED),
    EventKind.WAITING: (_("Waiting again"), "waiting", Stretch.WAITING),
    EventKind.FAILED: (_("Failed"), "failed", Stretch.UNKNOWN),
    EventKind.COMPLETED: (_("Completed"), "completed", Stretch.UNKNOWN),
}


def _with_seen(job: Job, plain: Sequence[Step], seen: Sequence[Event]) -> Sequence[Step]:
    """The steps of the hash, with those before and after its last attempt of which events were seen."""
    earlier, later = _around_last_attempt(job, seen)
    place = next((place for place, step in enumerate(plain) if step.state == "active"), len(plain))
    before, attempt, ended = list(plain[:place]), list(plain[place : place + 1]), list(plain[place + 1 :])
    if earlier and attempt and _at_once(earlier[-1], attempt[0]):
        earlier.pop()
    if earlier:
        # What was seen first need not be what came first.
        begun = earlier[0].state == "active" and _count(earlier) + len(attempt) == job.row.attempts_started
        wait = Stretch.WAITING if begun and not _delay(job) else Stretch.UNKNOWN
        before = [replace(step, stretch=wait) for step in before[:1]]
    if later and attempt and not ended:
        attempt, ended = [replace(attempt[0], stretch=Stretch.ACTIVE)], later
    return [*before, *earlier, *attempt, *ended]


def _at_once(wait: Step, start: Step) -> bool:
    """Whether a job waited for no time that anybody would look for."""
    return wait.state == "waiting" and start.state == "active" and 0 <= start.at_ms - wait.at_ms < AT_ONCE


def _count(steps: Sequence[Step]) -> int:
    """How many attempts there are among the steps."""
    return sum(step.state == "active" for step in steps)


def _around_last_attempt(job: Job, seen: Sequence[Event]) -> tuple[list[Step], list[Step]]:
    """Steps out of events before the last attempt that the hash knows, and behind it."""
    row = job.row
    told = [event for event in seen if event.kind in _STEPS]
    started = row.processed_ms
    if started is None:
        before, after = told, []
    else:
        own = [place for place, event in enumerate(told) if _is_start(event, started)]
        cut = own[-1] if own else sum(event.at_ms < started for event in told)
        before, after = told[:cut], [event for event in told[cut:] if event.kind is not EventKind.ACTIVE]
    attempts = sum(event.kind is EventKind.ACTIVE for event in before)
    first = (row.attempts_started or 0) - attempts + (started is None)
    over = row.state in (State.ACTIVE, State.COMPLETED, State.FAILED)
    return _steps(before, first)[-SEEN_SHOWN:], [] if over else _steps(after, 0)[-2:]


def _is_start(event: Event, started_ms: int) -> bool:
    """Whether it tells of the start that a worker wrote down by its own clock."""
    return event.kind is EventKind.ACTIVE and abs(event.at_ms - started_ms) < NEAR


def _steps(events: Sequence[Event], number: int) -> list[Step]:
    """Steps of events in their order. `number` is that of the first attempt among them; below one: not known."""
    found: list[Step] = []
    for event in events:
        label, state, stretch = _STEPS[event.kind]
        if not found and number == 1 and event.kind in (EventKind.WAITING, EventKind.DELAYED):
            continue  # how it was added
        if event.kind is EventKind.WAITING and not event.previous:
            continue
        if event.kind is EventKind.ACTIVE:
            label, number = _attempt(max(0, number)), number + 1
        if found and found[-1].at_ms == event.at_ms and {found[-1].state, state} == {"waiting", "warn"}:
            label, state, stretch = _STEPS[EventKind.STALLED]  # a stall is told twice in the same millisecond
            found.pop()
        step = Step(label, state, event.at_ms, stretch=stretch)
        if found and _at_once(found[-1], step):
            found.pop()
        found.append(step)
    return found


def _delay(job: Job) -> float:
    """Milliseconds the job was to wait before its first run, from its options."""
    value = job.options.get("delay")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e13 else 0.0
