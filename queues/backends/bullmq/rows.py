"""From the small fields of a job's hash to a row of a list. A field that is not what it should be costs itself only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from queues import progress
from queues.backends.bullmq.fields import Hash
from queues.backends.bullmq.replies import integer, moment
from queues.jsonload import Unreadable, load
from queues.text import text
from queues.types import Delay, JobRef, JobRow, Mark, Progress, State, Text

# Bytes read of each field for a row.
CAPS: Mapping[bytes, int] = {
    b"name": 1024,
    b"timestamp": 32,
    b"processedOn": 32,
    b"finishedOn": 32,
    b"delay": 32,
    b"priority": 32,
    b"atm": 32,
    b"attemptsMade": 32,
    b"ats": 32,
    b"stc": 32,
    b"stalledCounter": 32,
    b"opts": 4096,
    b"progress": 1024,
    b"failedReason": 2048,
    b"pb": 256,
    b"rjk": 256,
    b"data": 0,
}
NAME_SHOWN, REASON_SHOWN, WORKER_SHOWN = 300, 500, 100  # characters


@dataclass(slots=True)
class Facts:
    """Reads typed values from one hash and notes which fields are not what they should be."""

    hash: Hash
    damaged: list[str] = field(default_factory=list)

    def number(self, *names: bytes) -> int | None:
        """The first of these fields that there is, as a whole number from 0."""
        return self._parsed(names, time=False)

    def moment(self, name: bytes) -> int | None:
        return self._parsed((name,), time=True)

    def text(self, name: bytes, cap: int) -> Text | None:
        found = self.hash.get(name)
        return text(found.raw, size=found.size, cap=cap) if found else None

    def progress(self) -> Progress | None:
        found = self.hash.get(b"progress")
        if found is None:
            return None
        parsed = progress.parse(found.raw, size=found.size)
        if Mark.MALFORMED in parsed.text.marks:
            self.damaged.append("progress")
        return parsed

    def options(self) -> Mapping[str, object] | None:
        """The options; None where they are missing, too long to read here, or not a JSON object."""
        found = self.hash.get(b"opts")
        if found is None or found.whole is None:
            if found is None:
                self.damaged.append("opts")
            return None
        try:
            value = load(found.whole)
        except Unreadable:
            value = None
        if not isinstance(value, dict):
            self.damaged.append("opts")
            return None
        return value

    def _parsed(self, names: tuple[bytes, ...], *, time: bool) -> int | None:
        for name in names:
            if (found := self.hash.get(name)) is None:
                continue
            value = moment(found.whole) if time else integer(found.whole)
            if value is None or value < 0:
                self.damaged.append(name.decode())
                return None
            return value
        return None


def row(ref: JobRef, state: State, found: Hash, *, score: bytes | None = None) -> JobRow:
    """The row of one job; `score` is its place in the set of its state, None where that is a list."""
    seen = score or found.whole(b"timestamp") or b""
    if found.missing:
        return JobRow(ref, state, missing=True, seen=seen)
    if found.other:
        return JobRow(ref, state, damaged=("key",), seen=seen)
    facts = Facts(found)
    if facts.hash.get(b"name") is None:
        facts.damaged.append("name")
    timestamp = facts.moment(b"timestamp")
    if timestamp is None and "timestamp" not in facts.damaged:
        facts.damaged.append("timestamp")
    options = facts.options()
    data = found.get(b"data")
    if data is None:
        facts.damaged.append("data")
    made = JobRow(
        ref=ref,
        state=state,
        name=facts.text(b"name", NAME_SHOWN),
        timestamp_ms=timestamp,
        processed_ms=facts.moment(b"processedOn"),
        finished_ms=facts.moment(b"finishedOn"),
        run_at_ms=run_at(score) if state is State.DELAYED else None,
        attempts_made=facts.number(b"atm", b"attemptsMade"),
        attempts_started=facts.number(b"ats"),
        attempts_max=_attempts_max(options),
        priority=facts.number(b"priority"),
        progress=facts.progress(),
        reason=facts.text(b"failedReason", REASON_SHOWN),
        size=data.size if data else 0,
        worker=facts.text(b"pb", WORKER_SHOWN),
        kind=_kind(facts) if state is State.DELAYED else None,
        seen=seen,
    )
    return replace(made, damaged=tuple(dict.fromkeys(facts.damaged))) if facts.damaged else made


def run_at(score: bytes | None) -> int | None:
    """When a delayed job is due: its score is that moment times 4096, plus a sequence number."""
    try:
        return moment(int(float(score or b"")) >> 12)
    except (ValueError, OverflowError):
        return None


def _attempts_max(options: Mapping[str, object] | None) -> int | None:
    """How often the job may be tried; npm writes 0, Python too, where nobody said so, which means once."""
    if options is None:
        return None
    attempts = options.get("attempts", 1)
    return max(attempts, 1) if isinstance(attempts, int) and not isinstance(attempts, bool) else None


def _kind(facts: Facts) -> Delay:
    """Why a job is delayed (BullMQ 4 to 6, scripts/moveToDelayed)."""
    has = facts.hash.get
    made = integer(facts.hash.whole(b"atm") or facts.hash.whole(b"attemptsMade")) or 0
    started = integer(facts.hash.whole(b"ats"))
    stalled = integer(facts.hash.whole(b"stc")) or 0
    if has(b"rjk") and not made and not started:
        return Delay.SCHEDULE
    # A start that neither ended in a failed attempt nor stalled is a step that moved itself.
    stepped = started is not None and started - stalled > made
    if made and has(b"failedReason") and not stepped:
        return Delay.BACKOFF
    if made or started or has(b"processedOn"):
        return Delay.STEP
    return Delay.SCHEDULED
