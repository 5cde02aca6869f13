"""From jobs and events, as a backend tells them, to failures that can be written.

A table of failures in a production set is made of few texts with many ids. Making a signature takes some 50 us, taking
that of a failure which differs from one seen before in long numbers and UUIDs alone some 5 us. A test holds, for the
whole corpus, that signatures do not depend on what stands in such places.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable

from queues.events import Event
from queues.failed import FailedJob
from queues.failures.signature import of
from queues.failures.types import Found, How, Signature, Thrown
from queues.names import visible
from queues.quantities import LARGEST

WORKER = 200  # characters of a worker's name
KEPT = 4_096
LONGEST = 3_000  # characters of reason and stack together: what is kept takes 12 MB at most

_IDS = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|(?<![A-Z])[0-9]{6,}")  # AADSTS700016 is a code
_UUID = "00000000-0000-0000-0000-000000000000"


def thrown(job: FailedJob) -> Thrown:
    """What a job says of its failure, in text."""
    told = _begun_by_stack(job) if job.reason_size and not job.reason else job.reason
    reason = None if told is None else told.decode("utf-8", "replace")
    return Thrown(reason, job.stack.decode("utf-8", "replace"), visible(job.name), job.reason_size)


def _begun_by_stack(job: FailedJob) -> bytes:
    """A reason that is too long to be touched: the stack begins with it, behind the class."""
    return job.stack.partition(b": ")[2]


class Alike:
    """What was seen lately. For one thread."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str, bool], Signature] = {}

    def of(self, thrown: Thrown) -> Signature:
        """The signature of a failure, as `queues.failures.signature.of` gives it."""
        reason, stack = thrown.reason, thrown.stack
        if not reason or len(reason) + len(stack) > LONGEST:
            return of(thrown)
        # A stack begins with the reason; its frames hold no ids, and where they do it is one that was not seen.
        rest = stack.replace(reason, "\0", 1)
        key = (without_ids(reason), rest, thrown.name, thrown.reason_size > len(reason) * 4 + 4)
        known = self._seen.get(key)
        if known is None:
            if len(self._seen) >= KEPT:
                self._seen.clear()
            known = self._seen[key] = of(thrown)
        return known


def without_ids(text: str) -> str:
    """The text with zeros for each long number and UUID: short numbers may be codes, and tell failures apart."""
    return _IDS.sub(_zeros, text)


def _zeros(found: re.Match[str]) -> str:
    return _UUID if "-" in found[0] else "0" * len(found[0])


_alike = threading.local()  # each source is indexed by a thread of its own


def found(jobs: Iterable[FailedJob], now_ms: int) -> list[Found]:
    """The failures of jobs that are in a failed set."""
    alike: Alike = _alike.__dict__.setdefault("alike", Alike())
    made = []
    for job in jobs:
        score = max(-LARGEST, min(job.score_ms or 0, LARGEST))
        said = thrown(job)
        worker = visible(job.worker)[:WORKER] if job.worker else ""
        at_ms = max(0, min(score, now_ms))
        made.append(Found(job.id, at_ms, score, said, alike.of(said), How.SET, worker, job.attempts))
    return made


def told(event: Event, now_ms: int) -> Found:
    """The failure that an event tells of, whose job is no longer there. Its signature is by the reason alone."""
    assert event.job is not None
    text = event.text
    said = Thrown(None if text is None else text.value, reason_size=text.size if text else 0)
    return Found(event.job, max(0, min(event.at_ms, now_ms)), event.at_ms, said, of(said), How.EVENT)
