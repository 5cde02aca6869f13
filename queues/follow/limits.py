"""How much to ask for at once: a reading is bounded in entries and, as far as one can know, in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from queues.follow.streams import Stream

ENTRIES = 10_000  # a reading of all streams brings at most about so many: some 5 ms of the server
FEWEST, MOST = 16, 2_000  # of one stream
FAT_BYTES = 4_096  # an entry of a stream that is read apart: failures whose reasons are long
REPLY_BYTES = 4 * 1024 * 1024  # that a reading of such streams may bring

Portion = tuple[list[Stream], int]


def portions(streams: Iterable[Stream]) -> Iterator[Portion]:
    """The streams in groups that are read by one call each, with how many entries to ask of each stream.

    A stream that was never read may hold entries of a megabyte: the first reading of it is small.
    """
    thin: list[Stream] = []
    fat: list[Stream] = []
    unknown: list[Stream] = []
    for stream in streams:
        mean = stream.entry_bytes
        (unknown if mean is None else thin if mean < FAT_BYTES else fat).append(stream)
    if thin:
        yield thin, max(FEWEST, min(MOST, ENTRIES // len(thin)))
    if unknown:
        yield unknown, FEWEST
    for stream in fat:
        yield [stream], max(1, min(FEWEST, REPLY_BYTES // int(stream.entry_bytes or 1)))
