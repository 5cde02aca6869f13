"""The name of a sending on the server, by which nothing is sent twice: see `queues.sendings`."""

from __future__ import annotations

import hashlib

from queues.types import QueueRef

LENGTH = 32  # characters


def receipt(queue: QueueRef, job: bytes, seen: bytes, *, plan: str = "") -> str:
    """The receipt of this stay of this job, the same for every plan.

    With `plan`, the token of a plan that is to send it although another has: one of that plan alone.
    """
    digest = hashlib.sha1(usedforsecurity=False)
    for part in (queue.source.encode(), queue.slug.encode(), job, seen, plan.encode()):
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()[:LENGTH]
