"""Ids of jobs as the index keeps them: as in URLs, as long as they fit into an index of any database."""

from __future__ import annotations

import hashlib
import re

from queues.names import decode_part, encode_part

LONGEST = 1_000  # characters; rows of an index of PostgreSQL hold 2.7 KB
_DIGEST = re.compile(rb"~\.[0-9a-f]{64}")


def kept(job: bytes) -> str:
    """A job's id as `Failure.job` and `Letter.job` hold it: its slug.

    Of one that is too long for that, `~.` and the SHA-256 of the id, which is no slug: pages name such a job, and
    cannot link to it (`linked`). Takes what `known_as` gives as well.
    """
    slug = encode_part(job, colon=True)
    if len(slug) <= LONGEST and not _DIGEST.fullmatch(job):
        return slug
    return _digest(job).decode("ascii")


def known_as(job: bytes) -> bytes:
    """The id as `Store.known` tells it, to compare with ids of the server: itself unless it is too long."""
    return job if len(job) <= LONGEST // 2 or len(encode_part(job, colon=True)) <= LONGEST else _digest(job)


def id_of(slug: str) -> bytes:
    """The id that `kept` made this of, as `known_as` gives it."""
    return decode_part(slug, colon=True) if linked(slug) else slug.encode("ascii")


def linked(slug: str) -> bool:
    """Whether the job has a page of its own: its id is known in full."""
    return not slug.startswith("~.")


def _digest(job: bytes) -> bytes:
    return job if _DIGEST.fullmatch(job) else b"~." + hashlib.sha256(job).hexdigest().encode("ascii")
