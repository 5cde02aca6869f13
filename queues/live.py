"""What the follower tells to whoever watches, and who watches: the contract between `queues.follow` and the web.

News are values; how they travel is the publisher's business. All `..._ms` but `behind_ms` are milliseconds since
1970, by our own clock unless they come out of an event's id.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from queues.events import Event, Glance
from queues.history import History
from queues.types import Counts, JobRef, QueueRef, State


class Pulse(StrEnum):
    """How the view of a source stands, from what can be trusted most to least."""

    LIVE = "live"
    CATCHING_UP = "catching-up"  # events are read, but later than they happened
    BLIND = "blind"  # nothing can be read, or nobody reads


@dataclass(frozen=True, slots=True)
class Standing:
    """How far what is shown of a source can be trusted. `since_ms` and `why` belong to what is not LIVE."""

    pulse: Pulse
    at_ms: int  # everything that had happened by then has been read
    since_ms: int | None = None
    why: str = ""
    events_per_s: float | None = None  # over the last ten seconds
    behind_ms: int = 0  # a duration: how old the oldest event is that was not read yet


class About(StrEnum):
    """What a page is about, by which news for it are chosen."""

    SOURCE = "source"  # only how its view stands: for pages that show nothing of its queues
    OVERVIEW = "overview"
    QUEUE = "queue"
    JOB = "job"
    FAILURES = "failures"  # the groups of failures of a source
    REPLAYS = "replays"  # the replays of a source


@dataclass(frozen=True, slots=True)
class Topic:
    """What somebody watches: a source's standing, overview, failures or replays, a queue or a job. Slugs as in URLs."""

    about: About
    source: str
    queue: str = ""
    job: str = ""


@dataclass(frozen=True, slots=True)
class RowNews:
    """A queue as last read. `changed_ms` is when something about it was last seen to be different."""

    ref: QueueRef
    read_ms: int
    changed_ms: int
    counts: Counts
    workers: int | None
    history: History | None = None  # None: as last told; it comes when a minute has passed, and with what is whole
    upto: int = 0  # the last whole minute up to which `history` counts


@dataclass(frozen=True, slots=True)
class OverviewNews:
    """Rows of a source that changed, or (`whole`) all of them."""

    source: str
    standing: Standing
    rows: Sequence[RowNews] = ()
    whole: bool = False

    @property
    def topic(self) -> Topic:
        return Topic(About.OVERVIEW, self.source)


@dataclass(frozen=True, slots=True)
class Seen:
    """An event for a feed, with what the job itself says as far as it was looked up."""

    event: Event
    glance: Glance | None = None


@dataclass(frozen=True, slots=True)
class QueueNews:
    """What happened in a queue since the last news: a sample of its events, newest last, out of `total`."""

    ref: QueueRef
    standing: Standing
    row: RowNews | None = None
    events: Sequence[Seen] = ()
    total: int = 0
    # How many jobs have entered a state since the follower began to count, up to and with the event `upto`.
    entered: Mapping[State, int] = field(default_factory=dict)
    upto: str = "0-0"
    # The last progress of jobs that told some, at most 200: the event of kind PROGRESS.
    progress: Sequence[Event] = ()

    @property
    def topic(self) -> Topic:
        return Topic(About.QUEUE, self.ref.source, self.ref.slug)


@dataclass(frozen=True, slots=True)
class JobNews:
    """What happened to a job since the last news; it comes each second also when nothing did."""

    ref: JobRef
    standing: Standing
    events: Sequence[Event] = ()

    @property
    def topic(self) -> Topic:
        return Topic(About.JOB, self.ref.queue.source, self.ref.queue.slug, self.ref.slug)


@dataclass(frozen=True, slots=True)
class FailuresNews:
    """Which groups of failures changed since the last news, by their slugs; it comes each second also when none did."""

    source: str
    standing: Standing
    groups: Sequence[str] = ()
    fresh: int = 0  # how many of them are new, or came back after they were resolved
    open: int | None = None  # how many are open or came back, at all; None: not known yet
    whole: bool = False  # too many to name: any may have changed

    @property
    def topic(self) -> Topic:
        return Topic(About.FAILURES, self.source)


@dataclass(frozen=True, slots=True)
class ReplaysNews:
    """A beat for who watches replays, once a second: how these stand is in the database, where workers write it."""

    source: str
    standing: Standing

    @property
    def topic(self) -> Topic:
        return Topic(About.REPLAYS, self.source)


@dataclass(frozen=True, slots=True)
class SourceNews:
    """How the view of a source stands: told once a second, whether or not anybody watches."""

    source: str
    standing: Standing

    @property
    def topic(self) -> Topic:
        return Topic(About.SOURCE, self.source)


News = SourceNews | OverviewNews | QueueNews | JobNews | FailuresNews | ReplaysNews


class Audience(Protocol):
    """Those who watch, as the follower sees them."""

    def watched(self, source: str) -> Collection[Topic]:
        """What somebody watches of a source now. Asked about once a second; raises nothing, gives the last known."""

    def publish(self, news: Sequence[News]) -> None:
        """Hand news over to all who watch their topics. Raises nothing: who did not get them gets the next."""
