"""The schedules of queues: job schedulers of 5.x and 6.x, repeatable jobs of 4.x and 5.x.

The library's own reading of them is not used: it raises for what it cannot parse, and removes members of which it
finds no hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from queues.backend import BODY_CAP
from queues.backends.bullmq import armed, fields, legacy, schedule_rows
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.fields import Field
from queues.backends.bullmq.keys import base
from queues.backends.bullmq.replies import Command, Part, Reply, array, blobs, items, size, strange
from queues.backends.bullmq.schedule_rows import Entry
from queues.backends.bullmq.scripts import script
from queues.schedules.types import MOST, QueueSchedules, Schedule, ScheduleRef
from queues.types import Body, QueueRef

QUEUES, MEMBERS, BYTES = 500, 5000, 1024 * 1024  # that a script reads ids of
BATCH = 100  # schedules a script: some 2 ms of the server
BUDGET = 256 * 1024  # bytes that a script reads or makes a digest of
DIGEST_CAP = 64 * 1024
OPTS_CAP = 16 * 1024  # of an armed job
NUMBER_CAP, TEXT_CAP = 32, 1024
BOUND = 5000  # entries of a list looked at from each end for an armed job that is not delayed
_TEMPLATE = {b"data": BODY_CAP, b"opts": BODY_CAP}
_AT_ONCE = dict.fromkeys(_TEMPLATE, 128 * 1024)


def read(connection: Connection, queues: Sequence[QueueRef]) -> Mapping[QueueRef, QueueSchedules]:
    """All schedules of the queues: a call for 500 queues, and one for 100 schedules or fewer where data or lists are
    long. 4.x repeatables whose job is not found at once, since names and ids hold colons, are looked at again.

    BullMQ 4.18 to 6.7: scripts/addJobScheduler, addRepeatableJob, classes/repeat.
    """
    found = _members(connection, queues)
    entries = [entry for row in found.values() for entry in (row[1] if row else ())]
    made = iter(_read(connection, entries))
    return {
        queue: QueueSchedules([next(made) for _ in row[1]], total=row[0]) if row else QueueSchedules(wrong_type=True)
        for queue, row in found.items()
    }


def one(connection: Connection, ref: ScheduleRef) -> Schedule | None:
    """One schedule with its template, capped as bodies of jobs are; None where it is gone. Four to six short calls.

    What has no data of its own (repeatables, and schedulers without any) shows that of the armed job.
    """
    key = base(ref.queue) + b"repeat"
    number, score = connection.run([("ZCARD", key), ("ZSCORE", key, ref.id)])
    if not size(number) or score is None:
        return None
    if not isinstance(score, bytes):
        raise strange()
    [made] = _read(connection, [Entry(ref, score)])
    keys = [_hash_key(ref), base(ref.queue) + made.armed.id]
    template, job = ({} if table.other else dict(table.fields) for table in fields.read(connection, keys, _AT_ONCE))
    fields.fetch(connection, keys[0], template, _TEMPLATE)
    if b"data" not in template and b"data" in job:
        fields.fetch(connection, keys[1], job, {b"data": BODY_CAP})
        template[b"data"] = job[b"data"]
    return replace(made, data=_body(template.get(b"data")), opts=_body(template.get(b"opts")))


def _body(found: Field | None) -> Body | None:
    return Body(found.raw, found.size) if found else None


def _hash_key(ref: ScheduleRef) -> bytes:
    return b"%brepeat:%b" % (base(ref.queue), ref.id)


def _members(
    connection: Connection, queues: Sequence[QueueRef]
) -> Mapping[QueueRef, tuple[int, Sequence[Entry]] | None]:
    """How many schedules each queue has, and the first of them; None where its key is no sorted set."""
    found: dict[QueueRef, tuple[int, Sequence[Entry]] | None] = {}
    first = 0
    while first < len(queues):
        batch = queues[first : first + QUEUES]
        keys = [base(queue) + b"repeat" for queue in batch]
        [reply] = connection.run([script("repeats").call(keys, MOST, MEMBERS, BYTES)])
        rows = _some(reply, len(batch))
        for queue, row in zip(batch, rows, strict=False):
            found[queue] = None if row is None else _entries(queue, row)
        first += len(rows)
    return found


def _some(reply: Reply, most: int) -> list[Reply]:
    """The rows that a script came to: one at least, or a further call would be the same."""
    rows = array(reply)
    if not 0 < len(rows) <= most:
        raise strange()
    return rows


def _entries(queue: QueueRef, row: Reply) -> tuple[int, Sequence[Entry]]:
    total, told = array(row, 2)
    if not isinstance(total, int):
        raise strange()
    members = blobs(told)
    return total, [
        Entry(ScheduleRef(queue, member), score) for member, score in zip(members[::2], members[1::2], strict=True)
    ]


def _read(connection: Connection, entries: Sequence[Entry]) -> list[Schedule]:
    """The schedules; of those whose job has another id than the likeliest, looked at once more for each other guess."""
    made = _rows(connection, entries, [_likely(entry) for entry in entries])
    left = [at for at, entry in enumerate(entries) if not _job_seen(made[at]) and legacy.member(entry.ref.id)]
    guesses = {at: _guesses(entries[at])[1:] for at in left}
    while left := [at for at in left if guesses[at] and not _job_seen(made[at])]:
        found = _rows(connection, [entries[at] for at in left], [guesses[at].pop(0) for at in left])
        for at, each in zip(left, found, strict=True):
            made[at] = each if _job_seen(each) else made[at]
    return made


def _job_seen(schedule: Schedule) -> bool:
    return schedule.armed.exists or schedule.armed.state is not None


def _likely(entry: Entry) -> bytes:
    """The id that the job of the next run most likely has."""
    return b"repeat:%b:%b" % (entry.ref.id, entry.score) if entry.ref.id.count(b":") < 4 else _guesses(entry)[0]


def _guesses(entry: Entry) -> list[bytes]:
    """All ids that it may have, the likeliest first."""
    plain = b"repeat:%b:%b" % (entry.ref.id, entry.score)
    old = legacy.member(entry.ref.id)
    return [plain] if old is None else [*legacy.jobs(entry.ref.id, old, entry.score), plain]


def _rows(connection: Connection, entries: Sequence[Entry], jobs: Sequence[bytes]) -> list[Schedule]:
    made: list[Schedule] = []
    while len(made) < len(entries):
        part = slice(len(made), len(made) + BATCH)
        [reply] = connection.run([_command(entries[part], jobs[part])])
        rows = _some(reply, len(entries[part]))
        for entry, job, row in zip(entries[part], jobs[part], rows, strict=False):
            made.append(schedule_rows.parse(entry, job, items(row)))
    return made


def _command(entries: Sequence[Entry], jobs: Sequence[bytes]) -> Command:
    numbers = {queue: at for at, queue in enumerate(dict.fromkeys(entry.ref.queue for entry in entries), 1)}
    keys = [base(queue) + suffix for queue in numbers for suffix in armed.SUFFIXES]
    told: list[Part] = []
    for entry, job in zip(entries, jobs, strict=True):
        keys += [_hash_key(entry.ref), base(entry.ref.queue) + job]
        told += [numbers[entry.ref.queue], job]
    caps = (BUDGET, DIGEST_CAP, OPTS_CAP, NUMBER_CAP, TEXT_CAP, BOUND)
    return script("schedules").call(keys, *caps, len(numbers), *told)
