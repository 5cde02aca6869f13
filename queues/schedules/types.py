"""The nouns of schedules. Times are milliseconds since 1970, sizes bytes, ids exact bytes, as in `queues.types`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from queues.names import decode_part, encode_part, visible
from queues.types import Body, QueueRef, State, Text

MOST = 1000  # schedules of one queue that are read


@dataclass(frozen=True, slots=True)
class ScheduleRef:
    """A schedule: its queue and its id as exact bytes."""

    queue: QueueRef
    id: bytes

    @property
    def slug(self) -> str:
        return encode_part(self.id, colon=True)

    @classmethod
    def from_slug(cls, queue: QueueRef, slug: str) -> ScheduleRef:
        """The inverse of `slug`. Raises ValueError when the slug is not in its one canonical form."""
        return cls(queue, decode_part(slug, colon=True))

    @property
    def label(self) -> str:
        return visible(self.id)


class Layout(StrEnum):
    """How a schedule is kept, which says how it may be changed.

    UNKNOWN is an answer of its own: without an armed job the keys of a job scheduler and those of a legacy repeatable
    of 5.x with an id of its own can be the same.
    """

    SCHEDULER = "scheduler"  # job schedulers of 5.x and 6.x
    LEGACY = "legacy"  # repeatable jobs of 5.x: the id is a digest of what it repeats, or the `key` that was given
    LEGACY_4 = "legacy-4"  # repeatable jobs of 4.x: the id is `name:jobId:endDate:tz:patternOrEvery`
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Repeat:
    """The rule in an armed job's own options. Workers go on by this one, not by that of the schedule.

    None where the job does not say; what is there but cannot be used is named in `Armed.damaged`.
    """

    pattern: Text | None = None
    every_ms: int | None = None
    tz: Text | None = None
    offset_ms: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    limit: int | None = None
    count: int | None = None  # the how manieth run it is


@dataclass(frozen=True, slots=True)
class Armed:
    """What became of the job of the next run. `id` is the one that it has, or should have.

    `state` is None where it stands in none of the queue's collections, or they are too long to tell; a job of which
    the key is gone too (`exists` is false) is looked for among the delayed only.
    """

    id: bytes
    exists: bool
    state: State | None = None
    inferred: bool = False  # the state is judged from other things: lists are too long to be looked through
    repeat: Repeat | None = None  # None where its options cannot be read, or say nothing of a schedule
    damaged: tuple[str, ...] = ()  # what of it is not what it should be: `key`, `opts`, `repeat`, fields of that


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it stands. None means that nothing is said; what is there and cannot be used is in `damaged`.

    `data_digest` is the SHA-1 of the data of its runs: the template's, or the armed job's where it has no template of
    data. None where there is neither, or it exceeds 64 KB. `data` and `opts` are read for one schedule only.
    """

    ref: ScheduleRef
    layout: Layout
    score: bytes  # the next run exactly as the server writes it
    armed: Armed
    next_ms: int | None = None
    has_hash: bool = True
    name: Text | None = None
    pattern: Text | None = None
    every_ms: int | None = None
    tz: Text | None = None
    offset_ms: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    limit: int | None = None
    count: int | None = None
    data_size: int = 0  # of the template, 0 where it has none
    opts_size: int = 0
    data_digest: bytes | None = None
    data: Body | None = None
    opts: Body | None = None
    damaged: Mapping[str, Text] = field(default_factory=dict)  # by the field's name in Redis: what stands there


@dataclass(frozen=True, slots=True)
class QueueSchedules:
    """The schedules of one queue in the order of their next runs, at most `MOST` of `total`.

    `wrong_type`: another program keeps something else at the key, so that nothing can be said of them.
    """

    schedules: Sequence[Schedule] = ()
    total: int = 0
    wrong_type: bool = False

    @property
    def cut(self) -> bool:
        return len(self.schedules) < self.total
