"""The nouns of the failure index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

VERSION = 1  # of the rules that make signatures; a higher one regroups what is indexed


class Kind(StrEnum):
    """The class of a failure: whether the same job, run again as it is, may succeed."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, kept: str) -> Kind:
        """A class as it is kept; unknown where that is none of these, as somebody else may have written it."""
        try:
            return cls(kept)
        except ValueError:
            return cls.UNKNOWN


class Life(StrEnum):
    """How a group stands."""

    OPEN = "open"
    REGRESSED = "regressed"  # seen again after it was resolved
    IGNORED = "ignored"
    RESOLVED = "resolved"


UNSOLVED = (Life.OPEN, Life.REGRESSED)  # what somebody still has to look at


class SplitBy(StrEnum):
    """What a signature was split by, by hand."""

    NAME = "name"  # of the job
    QUEUE = "queue"
    MESSAGE = "message"  # as it stands, nothing normalised


class How(StrEnum):
    """Where a failure was first seen."""

    SET = "set"  # the failed set
    LETTER = "letter"  # a letter, its job no longer in the failed set
    EVENT = "event"  # an event alone: the job was removed as it failed


@dataclass(frozen=True, slots=True)
class Thrown:
    """What a failure says, in text: decoded, not masked. `reason` None: there is none (an event or letter without)."""

    reason: str | None
    stack: str = ""
    name: str = ""  # of the job; "" = not known
    reason_size: int = 0  # true size in bytes


@dataclass(frozen=True, slots=True)
class Applied:
    """A rule that had a part in a signature: its name in words' table, what it took, what it made of it."""

    rule: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Signature:
    """What tells failures of one cause from others.

    `digest` is of `shape error_class code message place` and the version. `place` is the top own frame (file and
    function, or the file alone), or the name of the job where the stack shows no own code.
    """

    version: int
    digest: str  # 40 hex digits
    shape: str  # error, text (no Error was thrown), empty, stalled, ...
    error_class: str
    code: str  # errno, SQLSTATE, HTTP status, the library's own; "" = none
    message: str  # normalised, at most 500 characters
    place: str
    place_kind: str  # frame, file, job, none
    title: str  # one line for eyes, at most 200 characters, not normalised beyond what differs; masked
    applied: Sequence[Applied] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The class of a failure and the rule that decided; `rule` "" where none matched."""

    kind: Kind
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A failure that is ready to be written. `score_ms` names it, `at_ms` is bounded to what has been (for windows)."""

    job: bytes
    at_ms: int
    score_ms: int
    thrown: Thrown
    signature: Signature
    how: How = How.SET
    worker: str = ""
    attempts: int | None = None


@dataclass(frozen=True, slots=True)
class FoundLetter:
    """A letter that is ready to be written, with the failure it tells of.

    `origin` is the key (in the database) of the queue where the job failed, and `found.job` its id there; None where
    the letter does not say, then `found.job` is the letter's own id. `timed`: whether it says when it failed.
    """

    job: bytes  # its own id
    at_ms: int
    found: Found
    origin: int | None = None
    timed: bool = True
    unmapped: Sequence[str] = ()
    payload: bytes | None = None  # what the job was given, as JSON; else the letter's own data as it stands
    payload_size: int = 0  # its true size in bytes
