"""The name of a sending on the server, by which nothing is sent twice: see `queues.sendings`."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from queues.types import QueueRef

LENGTH = 32  # characters


def receipt(queue: QueueRef, job: bytes, seen: bytes, *, plan: str = "") -> str:
    """The receipt of this stay of this job, the same for every plan.

    With `plan`, the token of a plan that is to send it although another has: one of that plan alone.
    """
    digest = _of_queue(queue).copy()
    digest.update(b"%d:%b%d:%b%d:%b" % (len(job), job, len(seen), seen, len(plan), plan.encode()))
    return digest.hexdigest()[:LENGTH]


@lru_cache(maxsize=1_000)
def _of_queue(queue: QueueRef) -> hashlib._Hash:
    """What the receipts of a queue's jobs begin with. A plan of a million has a handful of queues."""
    source, slug = queue.source.encode(), queue.slug.encode()
    return hashlib.sha1(b"%d:%b%d:%b" % (len(source), source, len(slug), slug), usedforsecurity=False)
