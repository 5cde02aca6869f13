"""What is learnt of jobs under way, until it is written down; and what events tell of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from queues.backend import Batch
from queues.events import Event, EventKind
from queues.replay.watching.streams import Gap, Stream
from queues.replay.watching.taking import Taking
from queues.replay.watching.ways import Landed, Way
from queues.sendings import Fate
from queues.types import State

_ENDS: Mapping[EventKind, Fate] = {
    EventKind.COMPLETED: Fate.COMPLETED,
    EventKind.FAILED: Fate.FAILED,
    EventKind.REMOVED: Fate.GONE,
}
_PUT_BACK = (State.WAITING, State.PRIORITIZED)  # what fails comes from active, or waits for children
BEGUN = 400  # of the jobs that a batch tells to have begun: the last, which are likely to run still


@dataclass(frozen=True, slots=True)
class End:
    """How a job ended, and when: by the server's clock where an event tells, else by its score."""

    job: Landed
    fate: Fate
    ended_ms: int


@dataclass(frozen=True, slots=True)
class Now:
    """How a job stands that has not ended. `tries`: attempts that failed since it was sent."""

    fate: Fate
    tries: int


@dataclass
class Learnt:
    """By the keys of rows: `ends`, how others stand (`states`), and those that moved, to be looked at (`moved`)."""

    ends: dict[int, End] = field(default_factory=dict)
    states: dict[int, Now] = field(default_factory=dict)
    moved: dict[int, None] = field(default_factory=dict)
    gaps: list[tuple[Stream, Gap]] = field(default_factory=list)

    def end(self, job: Landed, fate: Fate, ended_ms: int) -> None:
        """The first end counts: whatever comes later is of another stay."""
        self.ends.setdefault(job.way.pk, End(job, fate, ended_ms))

    def hear(self, batch: Batch, queue: int, ways: Mapping[bytes, Way], taking: Taking | None) -> None:
        """What a batch tells of jobs under way."""
        if not ways:
            return
        for event in batch.about(ways, _ENDS.keys()):
            if event.job is not None and event.at_ms >= ways[event.job].sent_ms:
                self._end(event, Landed(ways[event.job], queue, event.job), taking)
        begun = batch.jobs(EventKind.ACTIVE)[-BEGUN:]
        for job in (*begun, *batch.jobs(EventKind.DELAYED), *batch.left(State.ACTIVE)):
            if job in ways and ways[job].pk not in self.ends:
                self.moved[ways[job].pk] = None

    def _end(self, event: Event, job: Landed, taking: Taking | None) -> None:
        fate = _ENDS[event.kind]
        if event.kind is EventKind.FAILED and event.previous in _PUT_BACK:
            fate = Fate.GONE  # somebody took it back before it ran
        # What is taken back by this plan is told of in the same way.
        if fate is not Fate.GONE or taking is None or job.way not in taking:
            self.end(job, fate, event.at_ms)


def named(batch: Batch) -> Collection[bytes]:
    """The jobs whose end a batch tells, whosever they are."""
    found: list[bytes] = []
    for kind in _ENDS:
        found += batch.jobs(kind)
    return found


def fates(ends: Sequence[End]) -> Mapping[Fate, int]:
    """How many came to which end."""
    counted: dict[Fate, int] = {}
    for end in ends:
        counted[end.fate] = counted.get(end.fate, 0) + 1
    return counted
