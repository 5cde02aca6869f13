"""Repeatable jobs of before job schedulers, told by their ids (BullMQ 4 and 5: classes/repeat).

4.x keeps a member `name:jobId:endDate:tz:patternOrEvery` and no hash, and the ids of its jobs hold a digest of that.
5.x keeps a digest of the same, or the `key` that was given, and a hash. Which digest is for the application to choose;
MD5 unless it did.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Names and job ids may hold colons; what is behind them may not.
_MEMBER = re.compile(rb"(.*):(\d*):([^:]*):([^:]+)", re.DOTALL)
_CANDIDATES = 8
_DIGESTS = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}


@dataclass(frozen=True, slots=True)
class Member:
    """What the id of a 4.x repeatable says. `head` is `name:jobId`, which no colon divides for sure."""

    head: bytes
    end: bytes
    tz: bytes
    rule: bytes  # a pattern, or milliseconds

    @property
    def splits(self) -> Sequence[tuple[bytes, bytes]]:
        """Each way to read the head as a name and a job id, the likeliest first: no job id, or neither has a colon."""
        parts = self.head.split(b":")
        heads = [(b":".join(parts[:at]), b":".join(parts[at:])) for at in range(len(parts) - 1, 0, -1)]
        return heads[:_CANDIDATES]


def member(schedule: bytes) -> Member | None:
    """What a member of 4.x says; None where this is none."""
    found = _MEMBER.fullmatch(schedule) if schedule.count(b":") >= 4 else None
    return Member(*found.groups()) if found else None


def jobs(schedule: bytes, found: Member, score: bytes) -> list[bytes]:
    """The ids that the next job of a 4.x repeatable may have, one for each way to read its head.

    A 5.x worker that goes on with it forgets the job id.
    """
    inner = _hex("md5", schedule)
    heads = [name + job for name, job in found.splits]
    heads += [name for name, job in found.splits if job]
    return [b"repeat:%b:%b" % (_hex("md5", head + inner), score) for head in dict.fromkeys(heads)]


def is_digest(schedule: bytes, *, name: bytes, job: bytes, end: bytes, tz: bytes, rule: bytes) -> bool:
    """Whether the id is the digest that a 5.x repeatable of this name and rule has: no scheduler has it by chance."""
    algorithm = _DIGESTS.get(len(schedule))
    return algorithm is not None and _hex(algorithm, b":".join((name, job, end, tz, rule))) == schedule


def _hex(algorithm: str, raw: bytes) -> bytes:
    made: Callable[..., hashlib._Hash] = getattr(hashlib, algorithm)
    return made(raw, usedforsecurity=False).hexdigest().encode()
