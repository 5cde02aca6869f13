"""The data of those jobs of which a signature wants to keep a sample."""

from __future__ import annotations

from queues.errors import QueueError, Unreachable
from queues.failures.index.term import Term
from queues.failures.store.samples import Taken
from queues.failures.types import Found, How
from queues.types import QueueRef

AT_ONCE = 50  # jobs of one call, each of 32 KB at most


def keep(term: Term) -> None:
    """Read and write what is wanted of one queue, up to 50 jobs. What cannot be read now is wanted again."""
    if not term.wanted:
        return
    queue = next(iter(term.wanted))[0]
    wanted = {job: each for (ref, job), each in term.wanted.items() if ref == queue}
    part = dict(list(wanted.items())[:AT_ONCE])
    for job in part:
        del term.wanted[queue, job]
    try:
        data = _data(term, queue, part)
    except Unreachable:
        raise
    except QueueError:
        return
    with term.writing(len(part)):
        term.store.samples(queue, [Taken(each, *data.get(job, (None, 0))) for job, each in part.items()])


def _data(term: Term, queue: QueueRef, part: dict[bytes, Found]) -> dict[bytes, tuple[bytes | None, int]]:
    """What the jobs hold as far as they are still there, and the true sizes."""
    in_set = [job for job, each in part.items() if each.how is How.SET]
    jobs = term.reader.failed_jobs(queue, in_set, data=True) if in_set else {}
    found = {job: (each.data, each.data_size) for job, each in jobs.items()}
    others = [job for job, each in part.items() if each.how is How.LETTER]
    if others:
        letters = term.reader.letters(queue, others)
        found |= {job: (each.data, max(each.data_size, len(each.data or b""))) for job, each in letters.items()}
    return found
