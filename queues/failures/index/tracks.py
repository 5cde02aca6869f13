"""What the index knows of each queue: how far its failed set and its letters are read, and what is to be done."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from django.db.models import Max

from queues.events import Event
from queues.failed import FailedMark, LettersMark
from queues.models import FailureStrand, IndexedQueue, Letter, Queue
from queues.types import QueueRef

AGAIN_S = 30.0  # until a queue that could not be read is tried again
GAPS = 20
RECENT = 20_000  # failures of a queue that were read and of which no event has told yet


@dataclass(slots=True)
class Track:
    """One queue. For the thread that indexes; what is stored changes here only after it is committed."""

    ref: QueueRef
    pk: int
    begun: bool = False  # whether its scan has begun, ever
    scanning: bool = True
    expected: int | None = None
    scanned: int = 0
    low: str = ""
    high: str = ""
    gaps: list[list[int]] = field(default_factory=list)
    compared_ms: int | None = None
    error: str = ""
    again_at: float = 0.0  # monotonic: until then it is left alone, since it could not be read
    last_ms: int | None = None  # when its newest failure that we know of was
    mark: FailedMark | None = None
    turns: int = 0  # pages of its scan that were read
    newer: bool = False  # something may be newer than `high`
    unread_ms: int | None = None  # when the oldest failure that is not read yet was, as far as we can tell
    still: tuple[int | None, bytes] | None = None  # the newest, when nothing newer than `high` was left
    oldest_ms: int | None = None  # everything before is known to be gone
    recent: dict[bytes, int] = field(default_factory=dict)  # read from the set, not yet told by an event
    events: list[Event] = field(default_factory=list)
    left: set[bytes] = field(default_factory=set)
    lost: bool = False  # events of it were lost: what failed since may be missing
    compare: bool = False  # only comparing tells what changed
    ours: int | None = None  # how many are in the set as far as we know; None: to be counted
    differs: int = 0  # looks in a row at which we counted other than the server
    futile: int = 0  # times in a row that comparing it because counts differed has changed nothing
    wait_until: float = 0.0  # monotonic: until then it is not compared again because of that
    due_at: float = 0.0  # monotonic: when it is compared whatever the counts
    box: Box | None = None  # of a queue of letters

    def usable(self) -> bool:
        return self.mark is not None and self.mark.readable and time.monotonic() >= self.again_at


@dataclass(slots=True)
class Box:
    """The letters of a queue. `token`: as of its last mark at which all were known."""

    token: str = ""
    mark: LettersMark | None = None
    tail: str = ""  # where the last page of the last round began
    lacking: int = 0  # of its letters that cannot be read, as of the last whole round
    moved: int = 0  # whole rounds in a row during which letters came or went
    due_at: float = 0.0
    stale: int = 0  # letters up to this key are to be read anew
    closing: bool = False  # the queue holds no letters any more: those that are known are let go, then the box


def load(source: str) -> tuple[dict[QueueRef, Track], dict[int, QueueRef]]:
    """Tracks of all queues that are there, and keys of those that are gone. One query."""
    here: dict[QueueRef, Track] = {}
    gone: dict[int, QueueRef] = {}
    for slug, pk, gone_since in Queue.objects.filter(source__name=source).values_list("slug", "pk", "gone_since"):
        ref = QueueRef.from_slug(source, slug)
        if gone_since is None:
            here[ref] = Track(ref, pk)
        else:
            gone[pk] = ref
    return here, gone


def recall(source: str, tracks: dict[QueueRef, Track]) -> None:
    """Fill tracks with what is stored of them. Three queries."""
    by_pk = {track.pk: track for track in tracks.values()}
    holding = set(Letter.objects.filter(queue__source__name=source).values_list("queue_id", flat=True).distinct())
    for row in IndexedQueue.objects.filter(queue__source__name=source):
        if track := by_pk.get(row.queue_id):
            track.begun = row.since_ms is not None
            track.scanning, track.expected, track.scanned = row.scanning, row.expected, row.scanned
            track.low, track.high, track.gaps, track.compared_ms = row.low, row.high, row.gaps, row.compared_ms
            track.error = row.error
            if row.letters or row.reread or row.queue_id in holding:
                track.box = Box(row.letters, stale=max(0, row.reread))
    newest = FailureStrand.objects.filter(queue__source__name=source).values_list("queue_id").annotate(Max("last_ms"))
    for pk, last_ms in newest:
        if track := by_pk.get(pk):
            track.last_ms = last_ms
