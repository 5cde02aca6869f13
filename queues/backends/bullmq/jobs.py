"""Everything about one job, its log, one exact body, and the search for a job by its id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from queues.backend import BODY_CAP, DOWNLOAD_CAP
from queues.backends.bullmq import family, fields, membership, stacks
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.fields import Field, Hash
from queues.backends.bullmq.keys import base, job_key
from queues.backends.bullmq.membership import BOUND, Membership
from queues.backends.bullmq.replies import Reply, integer, size, strange
from queues.backends.bullmq.rows import row
from queues.backends.bullmq.scripts import script
from queues.errors import LimitExceeded, NotFound
from queues.jsonload import Unreadable, load
from queues.text import text
from queues.types import Body, Found, Job, JobRef, JobRow, QueueRef, State, Text

FIELDS_SHOWN = 200
FIELD_SHOWN = 2048  # bytes
FIND_BATCH = 1000
NOTHING = (b"", b"null")  # what a processor leaves that returns nothing (classes/job: moveToCompleted)
STALLED = b"job stalled more than allowable limit"  # BullMQ 4 to 6: scripts/moveStalledJobsToWait
_KINDS = (b"none", b"string", b"list", b"set", b"zset", b"hash", b"stream", b"vectorset")

# Bytes read of the fields that have a place of their own on the page.
CAPS: Mapping[bytes, int] = {
    b"name": 4096,
    b"data": BODY_CAP,
    b"opts": BODY_CAP,
    b"returnvalue": BODY_CAP,
    b"progress": BODY_CAP,
    b"failedReason": BODY_CAP,
    b"stacktrace": stacks.READ,
    b"parentKey": 4096,
    b"rjk": 4096,
    b"deid": 4096,
    b"defa": FIELD_SHOWN,
}
AT_ONCE = 128 * 1024  # bytes of a field that the first script gives back; longer ones are read one by one
BODIES = {name: cap for name, cap in CAPS.items() if cap > AT_ONCE}


def read(connection: Connection, job: JobRef) -> Job:
    """A job with its capped bodies: one pipeline, one more for its family, one more where bodies exceed 128 KB.

    One that a schedule made costs a short call more.
    Beyond 1 MB a field costs a call of its own; of one beyond 8 MB only the size is read.
    """
    key = job_key(job)
    wanted = [part for name, cap in CAPS.items() for part in (name, min(cap, AT_ONCE))]
    about, member, ttl, logs, *kin = connection.run(
        [
            script("hash").call([key], FIELDS_SHOWN, FIELD_SHOWN, *wanted),
            membership.command(job, bound=BOUND),
            ("PTTL", key + b":lock"),
            ("LLEN", key + b":logs"),
            *family.commands(job),
        ]
    )
    found = membership.parse(member)
    table = family.rows_of(about)
    _refuse_what_is_no_job(job, found, table)
    caps = {name: CAPS.get(name, FIELD_SHOWN) for name in table}
    fields.complete(connection, [key], [table], caps)
    fields.fetch(connection, key, table, BODIES)
    known = Hash(table, missing=found.kind == b"none")
    lock_ms = size(ttl) if size(ttl) > 0 else None
    state, inferred = membership.judged(found, locked=lock_ms is not None)
    parts = row(job, state or State.WAITING, known, score=found.score)
    made = _job(job, parts, known)
    return replace(
        made,
        states=found.states or ((state,) if state else ()),
        state_inferred=inferred,
        lock_ttl_ms=lock_ms,
        logs_count=size(logs),
        family=family.read(connection, job, known, kin),
        next_run=_is_next_run(connection, job, made.scheduler_id),
    )


def _is_next_run(connection: Connection, job: JobRef, scheduler: bytes | None) -> bool:
    """As the scripts tell it that act: a scheduler's score is its next moment, with which the job's id ends."""
    if not scheduler or not job.id.startswith(b"repeat:"):
        return False
    at = integer(connection.run([("ZSCORE", base(job.queue) + b"repeat", scheduler)], tolerant=True)[0])
    return at is not None and job.id.endswith(b":%d" % at)


def _job(job: JobRef, parts: JobRow, known: Hash) -> Job:
    traces, trace_count, traces_raw = stacks.split(known.get(b"stacktrace"))
    return Job(
        row=parts,
        states=(),
        data=_body(known, b"data"),
        opts=_body(known, b"opts"),
        returnvalue=_body(known, b"returnvalue") if known.whole(b"returnvalue") not in NOTHING else None,
        progress=_body(known, b"progress"),
        reason=_body(known, b"failedReason"),
        stacks=traces,
        stack_count=trace_count,
        stacks_raw=traces_raw,
        options=_options(known),
        ended_by_stall=known.whole(b"failedReason") == STALLED,
        stalled_count=integer(known.whole(b"stc") or known.whole(b"stalledCounter")),
        deferred_failure=_text(known, b"defa"),
        scheduler_id=known.whole(b"rjk"),
        deduplication_id=known.whole(b"deid"),
        fields=[(text(name), Body(one.raw[:FIELD_SHOWN], one.size)) for name, one in known.fields.items()],
        key=text(job_key(job)).value,
    )


def _refuse_what_is_no_job(job: JobRef, found: Membership, table: Mapping[bytes, Field]) -> None:
    """A queue's own keys have names that could be ids: `wait`, `meta`, `repeat:<scheduler>`."""
    if found.kind == b"none":
        if not found.states:
            raise NotFound(_("There is no job %(id)s in %(queue)s.") % _names(job))
    elif not found.is_hash or not (looks_like_a_job(job, table) or found.states):
        raise NotFound(_("%(id)s is not a job: this key of %(queue)s holds something else.") % _names(job))


def looks_like_a_job(job: JobRef, table: Mapping[bytes, Field]) -> bool:
    """Whether a hash is a job's: each has a timestamp, unless damaged; a scheduler's or the queue's own has none."""
    if b"timestamp" in table:
        return True
    scheduler = job.id.startswith(b"repeat:") and job.id.count(b":") == 1
    return not scheduler and any(name in table for name in (b"data", b"opts", b"name"))


def _names(job: JobRef) -> dict[str, str]:
    return {"id": job.label[:200], "queue": job.queue.label[:200]}


def _body(known: Hash, name: bytes) -> Body | None:
    found = known.get(name)
    return Body(found.raw, found.size) if found else None


def _text(known: Hash, name: bytes) -> Text | None:
    found = known.get(name)
    return text(found.raw, size=found.size) if found else None


def _options(known: Hash) -> Mapping[str, object]:
    try:
        value = load(known.whole(b"opts") or b"")
    except Unreadable:
        return {}
    return value if isinstance(value, dict) else {}


def body(connection: Connection, job: JobRef, name: bytes) -> bytes:
    """The exact bytes of one field. NotFound without one, LimitExceeded beyond `DOWNLOAD_CAP`. Two round trips."""
    length = size(connection.run([("HSTRLEN", job_key(job), name)])[0])
    if length > DOWNLOAD_CAP:
        told = _("This field holds %(size)s MB; no more than %(most)s MB can be downloaded at once.")
        raise LimitExceeded(told % {"size": length // 2**20, "most": DOWNLOAD_CAP // 2**20})
    reply = connection.run([("HGET", job_key(job), name)])[0]
    if not isinstance(reply, bytes):
        raise NotFound(_("The job %(id)s in %(queue)s has no such field.") % _names(job))
    return reply


def find(connection: Connection, queues: Sequence[QueueRef], job_id: bytes) -> list[Found]:
    """The job of this id in each of the queues: a TYPE for each, then the names and states of those there are."""
    refs = [JobRef(queue, job_id) for queue in queues] if job_id else []
    hits: list[JobRef] = []
    for first in range(0, len(refs), FIND_BATCH):
        batch = refs[first : first + FIND_BATCH]
        kinds = connection.run([("TYPE", job_key(ref)) for ref in batch])
        hits += [ref for ref, kind in zip(batch, kinds, strict=True) if _kind(kind) == b"hash"]
    hits = hits[:FIND_BATCH]
    caps = {b"name": 1024, b"timestamp": 32, b"data": 0, b"opts": 0}
    tables = fields.read(connection, [job_key(ref) for ref in hits], caps)
    known = membership.read_many(connection, hits)
    return [
        Found(ref, _text(table, b"name") or text(b""), member.state)
        for ref, table, member in zip(hits, tables, known, strict=True)
        if looks_like_a_job(ref, table.fields) or member.states
    ]


def _kind(reply: Reply) -> bytes:
    """The type of a key; that of a module has a name of nine characters."""
    if isinstance(reply, bytes) and (reply in _KINDS or len(reply) == 9):
        return reply
    raise strange()
