"""The entries that one XREAD brought from one stream: tallied in one pass, decoded only where somebody asks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias, cast

from queues import progress
from queues.backends.bullmq.replies import Reply, array, integer, moment, strange
from queues.backends.bullmq.rows import CAPS, NAME_SHOWN, REASON_SHOWN
from queues.events import Event, EventKind, order
from queues.history import MINUTE_MS
from queues.names import visible
from queues.quantities import LARGEST, LAST_MS
from queues.text import text
from queues.types import Progress, QueueRef, State, Text

Entry: TypeAlias = tuple[bytes, list[bytes]]  # the id, then fields and values in turn; in truth a list of two

SAMPLE_SHOWN, PREVIOUS_SHOWN = 200, 40  # characters
JOB_BYTES = 1_500  # of an id: what is longer has no page, and is not carried through memory, database and frames
_OURS = {EventKind.OTHER, EventKind.GAP, EventKind.OMITTED, EventKind.SOURCE_DOWN, EventKind.SOURCE_UP}
_KINDS: Mapping[bytes, EventKind] = {kind.value.encode(): kind for kind in EventKind if kind not in _OURS}
_LONGEST_ID = 41  # two numbers of 64 bits
_LEAVES = {EventKind.REMOVED.value.encode(), EventKind.WAITING.value.encode()}
_STRANGE = b""  # stands for the word of an entry that has none
_NOTHING = [b"", b""]  # stands for fields that are none
_PART_BYTES = 8  # what the protocol adds to each field and value, about


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """See `queues.backend.Batch`. Made by `batch`: 6 µs, and 0.3 µs an entry, 1 µs where the minute changes in it."""

    queue: QueueRef
    last_id: str
    tallies: Mapping[int, Mapping[EventKind, int]]
    strange: int
    size: int
    _entries: Sequence[Entry]
    _words: Sequence[bytes]  # what each tells, `_STRANGE` where it is none of BullMQ's

    @property
    def number(self) -> int:
        return len(self._entries)

    @property
    def sample(self) -> str:
        """Its id, and the names and sizes of its fields: what they say belongs into no log."""
        if not self.strange:
            return ""
        found, fields = self._entries[self._words.index(_STRANGE)]
        pairs = zip(fields[:20:2], fields[1:20:2], strict=False)
        told = [b"%b (%d bytes)" % (name[:SAMPLE_SHOWN], len(value)) for name, value in pairs]
        return visible(b"%b: %b" % (found[:SAMPLE_SHOWN], b", ".join(told)))[:SAMPLE_SHOWN]

    def upto(self, event_id: str) -> int:
        return bisect_right(self._entries, order(event_id), key=lambda entry: order(entry[0].decode("ascii")))

    def jobs(self, kind: EventKind) -> Sequence[bytes]:
        words = {word for word in set(self._words) if _kind(word) is kind}
        told = (entry[1] for entry, word in zip(self._entries, self._words, strict=True) if word in words)
        return [job for fields in told if (job := _job(fields)) is not None]

    def left(self, state: State) -> Sequence[bytes]:
        name = state.value.encode()
        told = (entry[1] for entry, word in zip(self._entries, self._words, strict=True) if word in _LEAVES)
        # Most that begin to wait are new: whether the state's name stands in an entry is found at once.
        left = (fields for fields in told if name in fields and _prev(fields) == name)
        return [job for fields in left if (job := _job(fields)) is not None]

    def events(self, *, kinds: Collection[EventKind] | None = None, job: bytes = b"", most: int) -> Sequence[Event]:
        found: list[Event] = []
        for entry, word in self._newest(kinds):
            if len(found) >= most:
                break
            fields = entry[1]
            if not job or _job(fields) == job:
                found.append(_event(self.queue, entry[0], word, fields))
        return found[::-1]

    def about(self, jobs: Container[bytes], kinds: Collection[EventKind]) -> Sequence[Event]:
        words = {word for word in set(self._words) if word != _STRANGE and _kind(word) in kinds}
        told = ((entry, word) for entry, word in zip(self._entries, self._words, strict=True) if word in words)
        return [_event(self.queue, entry[0], word, entry[1]) for entry, word in told if _job(entry[1]) in jobs]

    def _newest(self, kinds: Collection[EventKind] | None) -> Iterator[tuple[Entry, bytes]]:
        """The entries of these kinds with their words, newest first."""
        known = set(self._words) - {_STRANGE}
        words = known if kinds is None else {word for word in known if _kind(word) in kinds}
        if words:
            pairs = zip(reversed(self._entries), reversed(self._words), strict=True)
            yield from (pair for pair in pairs if pair[1] in words)


def batch(queue: QueueRef, reply: Reply) -> StreamBatch:
    """The batch in what XREAD gave for one stream, at least one entry.

    Nothing in an entry makes this fail. Unsupported where the ids at the ends are none that Redis gives.
    """
    entries = cast("list[Entry]", array(reply))
    if not entries:
        raise strange()
    try:
        words, size = _read(entries)
    except (TypeError, ValueError, LookupError):
        entries = [_sound(entry) for entry in entries]
        words, size = _read(entries)
    first_id, last_id = entries[0][0], entries[-1][0]
    first, last = _ms(first_id), _ms(last_id)
    if first is None or last is None:
        raise strange()
    if first // MINUTE_MS == last // MINUTE_MS and last <= LAST_MS:
        tallies = {first // MINUTE_MS: _by_kind(words)}
    else:
        minutes = [_minute(entry[0]) for entry in entries]
        words = [_STRANGE if minute is None else word for minute, word in zip(minutes, words, strict=True)]
        tallies = _by_minute(minutes, words)
    return StreamBatch(
        queue=queue,
        last_id=last_id.decode("ascii"),
        tallies={minute: tally for minute, tally in tallies.items() if tally},
        strange=words.count(_STRANGE),
        size=size,
        _entries=entries,
        _words=words,
    )


def _read(entries: Sequence[Entry]) -> tuple[list[bytes], int]:
    """The word of each entry and the size of all. Raises where one has not the shape of an entry."""
    ids, told = cast("tuple[tuple[bytes], tuple[list[bytes]]]", tuple(zip(*entries, strict=True)))
    # BullMQ puts the word first. This line runs for every entry of every queue.
    words = [fields[1] if fields[0] == b"event" and not len(fields) & 1 else _word(fields) for fields in told]
    size = sum(map(len, chain.from_iterable(told)))
    if {*map(type, ids), *map(type, set(words))} != {bytes}:
        raise TypeError
    return words, size + _PART_BYTES * sum(map(len, told))


def _word(fields: Sequence[bytes]) -> bytes:
    """The word of an entry that does not begin with it."""
    if len(fields) & 1:
        return _STRANGE
    return next((fields[at + 1] for at in range(0, len(fields), 2) if fields[at] == b"event"), _STRANGE)


def _sound(entry: object) -> Entry:
    """The entry; one without usable fields where it is not of the shape that Redis gives."""
    if not isinstance(entry, list) or not entry or not isinstance(entry[0], bytes):
        return (b"", _NOTHING)
    fields = entry[1] if len(entry) == 2 else None
    if not isinstance(fields, list) or not fields or not all(isinstance(part, bytes) for part in fields):
        fields = _NOTHING
    return (entry[0], fields)


def _ms(found: bytes) -> int | None:
    """The moment in the id of an entry."""
    ms, _dash, sequence = found.partition(b"-")
    return int(ms) if ms.isdigit() and sequence.isdigit() and len(found) <= _LONGEST_ID else None


def _minute(found: bytes) -> int | None:
    """The minute of an id; None where no calendar has it."""
    ms = _ms(found)
    return None if ms is None or ms > LAST_MS else ms // MINUTE_MS


def _by_kind(words: Sequence[bytes]) -> dict[EventKind, int]:
    counted: dict[bytes, int] = {}
    for word in words:
        counted[word] = counted.get(word, 0) + 1
    tally: dict[EventKind, int] = {}
    for word, number in counted.items():
        if (kind := _kind(word)) is not None:
            tally[kind] = tally.get(kind, 0) + number
    return tally


def _by_minute(minutes: Sequence[int | None], words: Sequence[bytes]) -> dict[int, dict[EventKind, int]]:
    told: dict[int, list[bytes]] = {}
    for minute, word in zip(minutes, words, strict=True):
        if minute is not None:
            told.setdefault(minute, []).append(word)
    return {minute: _by_kind(each) for minute, each in told.items()}


def _kind(word: bytes) -> EventKind | None:
    return _KINDS.get(word, EventKind.OTHER) if word else None


def _job(fields: Sequence[bytes]) -> bytes | None:
    """The id of the job, which BullMQ puts second."""
    if len(fields) > 3 and fields[2] == b"jobId":
        return fields[3] or None
    return next((fields[at + 1] or None for at in range(0, len(fields), 2) if fields[at] == b"jobId"), None)


def _prev(fields: Sequence[bytes]) -> bytes | None:
    """The state that a job came from."""
    return next((fields[at + 1] for at in range(0, len(fields), 2) if fields[at] == b"prev"), None)


def _event(queue: QueueRef, found: bytes, word: bytes, fields: Sequence[bytes]) -> Event:
    kind = _kind(word) or EventKind.OTHER
    told = dict(zip(fields[::2], fields[1::2], strict=False))
    job = _job(fields)
    return Event(
        queue=queue,
        id=found.decode("ascii", "replace"),
        kind=kind,
        job=job if job and len(job) <= JOB_BYTES else None,
        text=_text(kind, word, told),
        progress=_progress(told.get(b"data")) if kind is EventKind.PROGRESS else None,
        previous=visible(told.get(b"prev", b"")[: 4 * PREVIOUS_SHOWN])[:PREVIOUS_SHOWN],
        run_at_ms=moment(told.get(b"delay")) if kind is EventKind.DELAYED else None,
        attempts=_number(told.get(b"attemptsMade")) if kind is EventKind.RETRIES_EXHAUSTED else None,
        count=_number(told.get(b"count")) if kind is EventKind.CLEANED else None,
    )


def _text(kind: EventKind, word: bytes, told: Mapping[bytes, bytes]) -> Text | None:
    if kind is EventKind.OTHER:
        return _shown(word, REASON_SHOWN)
    if kind is EventKind.FAILED:
        return _shown(told.get(b"failedReason"), REASON_SHOWN)
    if kind is EventKind.PROGRESS:
        return _shown(told.get(b"data"), REASON_SHOWN)
    return _shown(told.get(b"name"), NAME_SHOWN) if kind is EventKind.ADDED else None


def _shown(raw: bytes | None, characters: int) -> Text | None:
    """A value's beginning: a character takes at most four bytes, so the rest is not even decoded."""
    return None if raw is None else text(raw[: 4 * characters], size=len(raw), cap=characters)


def _progress(raw: bytes | None) -> Progress | None:
    """What a row shows for the same progress."""
    return None if raw is None else progress.parse(raw[: CAPS[b"progress"]], size=len(raw))


def _number(raw: bytes | None) -> int | None:
    value = integer(raw)
    return value if value is not None and 0 <= value <= LARGEST else None
