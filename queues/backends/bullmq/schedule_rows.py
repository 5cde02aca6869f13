"""From what the script tells of a schedule to what it is. A field that is not what it should be costs itself only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from queues.backends.bullmq import armed, legacy
from queues.backends.bullmq.legacy import Member
from queues.backends.bullmq.replies import Reply, array, blob, count, integer, moment
from queues.quantities import LARGEST
from queues.schedules.types import Armed, Layout, Schedule, ScheduleRef
from queues.text import text
from queues.types import Mark, Text

_NAMES = (b"name", b"pattern", b"tz", b"every", b"offset", b"startDate", b"endDate", b"limit", b"ic")
_WIDTH = 16
# What only a job scheduler's hash holds; `ic` and `data` come to that of a repeatable too when a 5.x worker runs it.
_OF_SCHEDULERS = (b"offset", b"startDate", b"limit")


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of the set of schedules, with its score as the server writes it."""

    ref: ScheduleRef
    score: bytes


@dataclass(slots=True)
class Facts:
    """The small fields of a schedule's hash: bytes, or the length of what is too long; and those not fit for use."""

    fields: Mapping[bytes, bytes | int]
    damaged: dict[str, Text] = field(default_factory=dict)

    def text(self, name: bytes) -> Text | None:
        found = self.fields.get(name)
        return None if found is None else _shown(found)

    def number(self, name: bytes) -> int | None:
        return self._parsed(name, time=False)

    def moment(self, name: bytes) -> int | None:
        return self._parsed(name, time=True)

    def _parsed(self, name: bytes, *, time: bool) -> int | None:
        found = self.fields.get(name)
        if found is None:
            return None
        value = None
        if isinstance(found, bytes):
            value = moment(found) if time else integer(found)
        if value is None or abs(value) > LARGEST:
            self.damaged[name.decode()] = _shown(found, Mark.MALFORMED)
            return None
        return value


@lru_cache(maxsize=4096)
def _shown(found: bytes | int, *marks: Mark) -> Text:
    return text(b"", size=found, marks=marks) if isinstance(found, int) else text(found, marks=marks)


def parse(entry: Entry, job: bytes, reply: list[Reply]) -> Schedule:
    """One schedule and its armed job, which was looked for by the id `job`."""
    row = array(reply, _WIDTH)
    found, rule = armed.parse(job, row[13], row[14], row[15])
    old = legacy.member(entry.ref.id) if row[0] == 0 else None
    told = {name: value for name, value in zip(_NAMES, row[1:10], strict=True) if isinstance(value, bytes | int)}
    facts = Facts(_of_member(old) if old else told)
    if row[0] == -1:
        facts.damaged["key"] = text(b"")
    digest = blob(row[12])
    return Schedule(
        ref=entry.ref,
        layout=_layout(entry.ref.id, told, opts=count(row[11]) > 0, old=old, found=found, rule=rule),
        score=entry.score,
        armed=found,
        next_ms=_next(entry.score, facts),
        has_hash=row[0] == 1,
        name=facts.text(b"name"),
        pattern=facts.text(b"pattern"),
        every_ms=facts.number(b"every"),
        tz=facts.text(b"tz"),
        offset_ms=facts.number(b"offset"),
        start_ms=facts.moment(b"startDate"),
        end_ms=facts.moment(b"endDate"),
        limit=facts.number(b"limit"),
        count=facts.number(b"ic"),
        data_size=count(row[10]),
        opts_size=count(row[11]),
        data_digest=bytes.fromhex(digest.decode("ascii")) if digest else None,
        damaged=facts.damaged,
    )


def _next(score: bytes, facts: Facts) -> int | None:
    found = moment(score)
    if found is None:
        facts.damaged["repeat"] = text(score, marks=(Mark.MALFORMED,))
    return found


def _of_member(old: Member) -> Mapping[bytes, bytes]:
    """What a 4.x member says, by the names that the fields of a hash would have."""
    name, _job = old.splits[0]
    rule = b"every" if old.rule.isdigit() else b"pattern"
    told = {b"name": name, b"endDate": old.end, b"tz": old.tz, rule: old.rule}
    return {each: value for each, value in told.items() if value or each == b"name"}


def _layout(
    schedule: bytes,
    told: Mapping[bytes, bytes | int],
    *,
    opts: bool,
    old: Member | None,
    found: Armed,
    rule: Mapping[str, object],
) -> Layout:
    """How a schedule is kept: by its fields, by its id, by its armed job, and else it cannot be told."""
    if old is not None:
        own = found.id.startswith(b"repeat:%b:" % schedule)  # not a digest of it, as those of 4.x have
        return Layout.UNKNOWN if own and (found.exists or found.state) else Layout.LEGACY_4
    if opts or any(name in told for name in _OF_SCHEDULERS):
        return Layout.SCHEDULER
    if not told:
        return Layout.UNKNOWN
    name, end, tz, pattern, every = (_bytes(told, each) for each in (b"name", b"endDate", b"tz", b"pattern", b"every"))
    given = rule.get("jobId")
    job = str(given).encode("utf-8", errors="surrogatepass") if isinstance(given, str | int) else b""
    same = {"name": name, "job": job, "end": end, "tz": tz, "rule": pattern or every}
    if schedule == b":".join(same.values()):
        return Layout.LEGACY_4
    key = rule.get("key")
    if legacy.is_digest(schedule, **same) or (isinstance(key, str) and key.encode(errors="replace") == schedule):
        return Layout.LEGACY
    return Layout.SCHEDULER if rule else Layout.UNKNOWN


def _bytes(told: Mapping[bytes, bytes | int], name: bytes) -> bytes:
    found = told.get(name)
    return found if isinstance(found, bytes) else b""
