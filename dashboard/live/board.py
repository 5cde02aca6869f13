"""The newest state of one topic, kept in the order in which it changed: each socket is given what it lacks."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from dashboard.live.update import Drawer, Update
from queues.live import About, News, Topic

PARTS_BYTES = 64 * 1024  # of parts in a frame; one that is larger comes alone
TEXT_BYTES = 48 * 1024  # of feed and log in a frame, each: what is older is left out
LARGEST_BYTES = 60 * 1024  # of one batch of them: what is larger is not told
FEED_ENTRIES = 40
CHUNKS = 100  # batches of feed and log that are kept for who is slow
MOST_PARTS = 40_000  # the longest unchanged is forgotten first
MOST_PARTS_OF_ONE = 1_000  # of a queue or a job: each job that ends in it leaves one
OF_MANY = (About.OVERVIEW, About.FAILURES, About.REPLAYS)
READ_MARGIN_MS = 2_000  # by which the clocks of two machines may differ
_ROW = len("q-0123456789")
# Rows of pages on failures and replays, see `dashboard.failures.keys` and `dashboard.replays.keys`.
_GROUPS = frozenset({"fg", "fp", "fc", "fs", "fn", "fx", "rp", "rl", "rn"})


@dataclass(frozen=True, slots=True)
class Part:
    """An element as it is now. `json` is its member of a frame, `row` the table row that it is in, or ""."""

    html: str
    json: str
    size: int  # of `json` in bytes
    row: str
    number: int  # of the change, within its board
    changed_ms: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Entries of a feed, or lines of a log, of one batch."""

    html: str
    entries: int
    number: int
    at_ms: int
    size: int


@dataclass(frozen=True, slots=True)
class Place:
    """Up to where a socket was given what happened on a board; sockets at the same place lack the same."""

    part: int
    news: int


@dataclass(slots=True)
class Content:
    """What goes into a frame."""

    parts: list[str] = field(default_factory=list)
    size: int = 0
    feed: list[str] = field(default_factory=list)
    entries: int = 0  # of the feed
    log: list[str] = field(default_factory=list)
    say: str = ""
    more: bool = False  # parts are left over for the next frame

    @property
    def empty(self) -> bool:
        return not (self.parts or self.feed or self.log or self.say or self.more)

    def fits(self, part: Part) -> bool:
        """Take a part, unless the frame is full."""
        if self.parts and self.size + part.size > PARTS_BYTES:
            self.more = True
            return False
        self.parts.append(part.json)
        self.size += part.size
        return True

    def members(self) -> Iterator[str]:
        """The members of the frame's JSON object."""
        if self.parts:
            yield f'"parts":{{{",".join(self.parts)}}}'
        if self.feed:
            yield f'"feed":{encoded("".join(self.feed))}'
        if self.log:
            yield f'"log":{encoded("".join(self.log))}'
        if self.say:
            yield f'"say":{encoded(self.say)}'


class Board:
    """What has been drawn of a topic in one language, for all sockets of this process. For the hub's loop."""

    def __init__(self, topic: Topic, drawer: Drawer | None) -> None:
        self.topic = topic
        self.drawer = drawer
        self.pending: News | None = None  # to be drawn when what is being drawn is done
        self.drawing = False
        self.number = 0
        self.old = 0  # the last change that some pages had already when they were read
        self.parts: dict[str, Part] = {}  # the latest change last
        self.feed: deque[Chunk] = deque(maxlen=CHUNKS)
        self.log: deque[Chunk] = deque(maxlen=CHUNKS)
        self.said = ("", 0)
        self.entered: dict[str, int] = {}  # grows only, whoever counts
        self.upto = ""
        self._last: Mapping[str, int] = {}  # as the follower counted

    @property
    def place(self) -> Place:
        """Where a socket stands that lacks nothing."""
        return Place(self.number, self.number)

    def take(self, update: Update, now_ms: int) -> bool:
        """Keep what a batch has changed. Gives whether it changed anything that is shown."""
        before = self.number
        self._take_parts(update, now_ms)
        if update.feed:
            self.feed.append(self._chunk(update.feed, update.entries, now_ms))
        if update.log:
            self.log.append(self._chunk(update.log, 0, now_ms))
        if update.say:
            self.number += 1
            self.said = (update.say, self.number)
        return self._count(update) or self.number > before

    def begin_anew(self, drawer: Drawer | None) -> None:
        """Forget what was drawn: all that is drawn from now on counts as changed."""
        self.drawer = drawer
        self.parts.clear()

    def keep(self, rows: Collection[str]) -> None:
        """Forget other rows: nobody shows them, so that they are drawn no longer and grow old here."""
        for name in [name for name, part in self.parts.items() if part.row and part.row not in rows]:
            del self.parts[name]

    def late(self, read_ms: int, rows: Collection[str]) -> Iterable[str]:
        """The ids of parts that changed after a page was read, the oldest change first."""
        return [name for name, part in self.parts.items() if self._is_due(part, read_ms, rows)]

    def place_of(self, read_ms: int) -> Place:
        """Where a page stands that was read at that moment, apart from its parts (`late`)."""
        after = [chunk for chunk in (*self.feed, *self.log) if chunk.at_ms + READ_MARGIN_MS > read_ms]
        news = min((chunk.number - 1 for chunk in after), default=self.number)
        return Place(self.number, news)

    def lacking(
        self, content: Content, place: Place, *, read_ms: int, rows: Collection[str], due: dict[str, None]
    ) -> Place:
        """Put into `content` what a socket lacks, as far as it fits; gives its place after that.

        `due` are ids of parts to be given whatever the place; those that fitted are taken out of it.
        """
        for name in list(due):
            part = self.parts.get(name)
            if part and part.number <= place.part and not content.fits(part):
                break
            del due[name]
        part_number = self._changed(content, place.part, read_ms, rows)
        self._told(content, place.news)
        return Place(part_number, self.number)

    def _take_parts(self, update: Update, now_ms: int) -> None:
        for name, html in update.parts.items():
            before = self.parts.get(name)
            if before is not None and before.html == html:
                continue
            row = row_of(name)
            changed_ms = update.changed_ms.get(name) or update.changed_ms.get(row) or now_ms
            self.number += 1
            self.parts.pop(name, None)
            member = f"{encoded(name)}:{encoded(html)}"
            self.parts[name] = Part(html, member, len(member.encode()), row, self.number, changed_ms)
            if changed_ms < now_ms - READ_MARGIN_MS:
                self.old = self.number
        while len(self.parts) > (MOST_PARTS if self.topic.about in OF_MANY else MOST_PARTS_OF_ONE):
            del self.parts[next(iter(self.parts))]

    def _chunk(self, html: str, entries: int, now_ms: int) -> Chunk:
        self.number += 1
        return Chunk(html, entries, self.number, now_ms, len(encoded(html).encode()))

    def _count(self, update: Update) -> bool:
        if not update.upto or (update.upto == self.upto and update.entered == self._last):
            return False
        # Another follower begins at zero: what it counts comes on top.
        anew = any(update.entered.get(state, 0) < number for state, number in self._last.items())
        last = {} if anew else self._last
        for state, number in update.entered.items():
            self.entered[state] = self.entered.get(state, 0) + number - last.get(state, 0)
        self._last, self.upto = dict(update.entered), update.upto
        return True

    def _is_due(self, part: Part, read_ms: int, rows: Collection[str]) -> bool:
        return part.changed_ms + READ_MARGIN_MS > read_ms and (not part.row or part.row in rows)

    def _changed(self, content: Content, after: int, read_ms: int, rows: Collection[str]) -> int:
        """Gives the number of the last change that is in the frame, or that the socket does not need."""
        newest = takewhile(lambda part: part.number > after, reversed(self.parts.values()))
        for part in reversed(list(newest)):
            if self._is_due(part, read_ms, rows) and not content.fits(part):
                return part.number - 1
        return self.number

    def _told(self, content: Content, after: int) -> None:
        feed, content.entries = _newest(self.feed, after, FEED_ENTRIES, content.entries)
        log, _none = _newest(self.log, after, 0, 0)
        content.feed += [chunk.html for chunk in feed]
        content.log += [chunk.html for chunk in reversed(log)]
        if self.said[1] > after:
            content.say = self.said[0]


def row_of(part: str) -> str:
    """The row that a part is in, by its id; "" for one that is in none."""
    if part.startswith("q-"):
        return part[:_ROW]
    return part.rpartition("-")[0] if part[:2] in _GROUPS else ""


def encoded(text: str) -> str:
    """A JSON string that can be sent whatever is in it."""
    return json.dumps(text.encode(errors="replace").decode(), ensure_ascii=False)


def _newest(chunks: Iterable[Chunk], after: int, most: int, shown: int) -> tuple[list[Chunk], int]:
    """The newest batches behind `after` that fit, newest first, and how many entries have been shown with them."""
    found: list[Chunk] = []
    size = 0
    for chunk in reversed(tuple(chunks)):
        size += chunk.size
        full = size > TEXT_BYTES or (most and shown + chunk.entries > most)
        if chunk.number <= after or (full and (found or size > LARGEST_BYTES)):
            break
        found.append(chunk)
        shown += chunk.entries
    return found, shown


def counted(entered: Mapping[str, int], base: Mapping[str, int], then: Mapping[str, int]) -> dict[str, int]:
    """How many jobs entered each state: what was counted before, and what came since `then`."""
    states = sorted(entered.keys() | base.keys())
    numbers = {state: base.get(state, 0) + entered.get(state, 0) - then.get(state, 0) for state in states}
    return {state: number for state, number in numbers.items() if number > 0}
