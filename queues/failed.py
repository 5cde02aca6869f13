"""What a backend tells of failed jobs and dead letters, for the index: raw bytes, bounded, without judgement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

REASON_CAP = 4 * 1024  # bytes of a reason that are read
STACK_CAP = 8 * 1024  # bytes of the newest stack, from its beginning
DATA_CAP = 32 * 1024  # bytes of data, where asked for
NAME_CAP = 500
PAGE = 1_000  # jobs of one call at most


@dataclass(frozen=True, slots=True)
class FailedMark:
    """Where the failed set of a queue stands. Scores are ms (the worker's clock at the end of the job); None = empty.

    `readable` False: the key is of another type, and nothing is known.
    """

    count: int
    oldest_ms: int | None = None
    newest_ms: int | None = None
    newest_id: bytes = b""
    readable: bool = True


@dataclass(frozen=True, slots=True)
class LettersMark:
    """Where a queue of letters stands: how many jobs wait, are prioritized or delayed in it, and what changes first."""

    count: int
    token: str = ""  # differs as soon as a job came or went at an end of a list; opaque
    readable: bool = True


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A failed job or a letter, as stored. `score_ms` is None for a letter; texts hold at most their caps.

    `missing`: the id stands in its list, the hash is gone.
    """

    id: bytes
    score_ms: int | None
    name: bytes = b""
    reason: bytes | None = None  # None: the job has none
    reason_size: int = 0
    stack: bytes = b""  # the newest, decoded from JSON; b"" where there is none or it is no list of strings
    stacks: int = 0  # how many there are; -1 where only the newest was read
    worker: bytes = b""
    attempts: int | None = None
    timestamp_ms: int | None = None
    data: bytes | None = None  # only where asked for
    data_size: int = 0
    missing: bool = False


@dataclass(frozen=True, slots=True)
class FailedPage:
    """Some jobs; `cursor` goes on behind them, None at the end. It stays valid while jobs come and go."""

    jobs: Sequence[FailedJob]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class IdPage:
    """Ids with their scores in ms, lowest first, to compare with what is known; `cursor` as above."""

    ids: Mapping[bytes, int] = field(default_factory=dict)
    cursor: str | None = None
