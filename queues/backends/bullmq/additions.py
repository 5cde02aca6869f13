"""What is put into a queue by hand: jobs, other data, log lines."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _

from queues.actions import NewJob, Outcome, Result, Target
from queues.backends.bullmq import newjobs
from queues.backends.bullmq.replies import Reply, array, blob
from queues.backends.bullmq.steering import on_4
from queues.backends.bullmq.writer import STATES, Writer, result
from queues.errors import BadInput, LimitExceeded
from queues.text import text
from queues.types import JobRef, QueueRef

LONGEST_LINE = 1_000_000  # bytes
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,80}")


def edit(writer: Writer, job: JobRef, data: bytes, *, was: bytes) -> Result:
    """What was and what shall be go to the server whole, and are compared there: some 20 ms of its time for 5 MB."""
    newjobs.ensure_json(data)
    reply, _ms = writer.timed("edit", job.queue, job.id, was, data)
    return _result(job.id, reply)


def log(writer: Writer, job: JobRef, line: str, *, token: str) -> Result:
    raw = line.encode("utf-8", errors="replace")
    if len(raw) > LONGEST_LINE:
        raise LimitExceeded(_("A line of a log has at most 1,000,000 bytes."))
    if not raw:
        raise BadInput(_("An empty line is not logged."))
    return _result(job.id, writer.timed("log", job.queue, _checked(token), job.id, raw)[0])


def add(writer: Writer, queue: QueueRef, job: NewJob, *, token: str) -> Result:
    """`made` is the id. It stands with `ALREADY`, too, where this call was made before: the token is kept for a day,
    as `<queue>:mirante:<token>`. `ALREADY` without it: there is a job of this id; `CHANGED`: `made` holds the
    deduplication id."""
    asked = newjobs.checked(job)
    arguments = (asked.id, asked.name, asked.data, asked.opts, asked.timestamp, asked.delay, asked.priority)
    further = (int(asked.lifo), asked.deduplication, asked.deduplication_ms)
    reply, _ms = writer.timed("add", queue, _checked(token), *arguments, *further)
    word, state, made = array(reply, 3)
    outcome, identity = Outcome((blob(word) or b"").decode("ascii")), blob(made) or b""
    where = blob(state) or b""
    return Result(
        identity or job.id,
        outcome,
        state=STATES.get(where.decode("ascii")),
        made=identity,
        why=_why(outcome, identity, gone=where == b"gone"),
    )


def _why(outcome: Outcome, identity: bytes, *, gone: bool) -> str:
    if outcome is Outcome.UNSUPPORTED:
        return on_4()
    if outcome is Outcome.ALREADY and not identity:
        return _("There is a job of this id; nothing was added.")
    if outcome is not Outcome.CHANGED:
        return ""
    held = {"job": text(identity, cap=300).value}
    if gone:
        return _("Its deduplication id is held by job “%(job)s”, which is gone: release the id first.") % held
    return _("Its deduplication id is held by job “%(job)s”; nothing was added.") % held


def _result(job_id: bytes, reply: Reply) -> Result:
    read = result(Target(job_id), reply)
    return read if read.outcome is not Outcome.UNSUPPORTED else Result(job_id, read.outcome, why=on_4())


def _checked(token: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise BadInput(_("This form is not complete: open it again."))
    return token
