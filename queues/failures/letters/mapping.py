"""Where the parts of a failure stand in the data of a letter: the common shapes, and paths that a user set."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.utils.translation import gettext as _

from queues import paths
from queues.errors import BadInput
from queues.failures.letters import book
from queues.paths import Step
from queues.types import QueueRef

# In the order in which they are tried: what names its part most plainly comes first.
COMMON: Dict[str, Sequence[str]] = {
    "payload": ("payload", "data", "job.data", "originalData", "originalPayload", "original.data", "body"),
    "error": (
        *("error.message", "err.message", "error.msg", "error", "err", "failedReason", "reason", "errorMessage"),
        *("job.failedReason", "exception.message", "exception", "message"),
    ),
    "class": ("error.name", "err.name", "error.type", "errorName", "errorType", "exception.type"),
    "code": ("error.code", "err.code", "errorCode"),
    "stack": (
        *("stack", "error.stack", "err.stack", "stacktrace", "stackTrace", "job.stacktrace", "trace"),
        "exception.stack",
    ),
    "failed_at": (
        *("failedAt", "failed_at", "error.at", "job.finishedOn", "finishedOn", "deadAt", "occurredAt"),
        *("timestamp", "time", "date"),
    ),
    "queue": (
        *("origin.queue", "origin.queueName", "queue", "queueName", "originQueue", "originalQueue", "sourceQueue"),
        *("source.queue", "original.queue", "job.queueName", "job.queue", "meta.queue", "origin"),
    ),
    "job": (
        *("origin.jobId", "origin.id", "jobId", "originalJobId", "originalId", "originJobId", "job.id", "job_id"),
        *("original.id", "meta.jobId", "id"),
    ),
    "name": (
        *("origin.jobName", "origin.name", "jobName", "originalJobName", "originalName", "job.name", "original.name"),
        *("meta.jobName", "name"),
    ),
    "attempts": (
        *("origin.attempts", "origin.attemptsMade", "attemptsMade", "attempts", "job.attemptsMade", "retries"),
        "meta.attempts",
    ),
    "opts": ("opts", "job.opts", "origin.opts", "originalOpts", "original.opts", "jobOpts", "meta.opts"),
}
PARTS = tuple(COMMON)
ALL = "."  # in place of the path of the payload: a letter is the job itself, moved over as it was


@dataclass(frozen=True, slots=True)
class Mapping:
    """The paths of each part, to be tried in their order. `own` are the parts for which a user set one."""

    paths: Dict[str, Sequence[Sequence[Step]]]
    own: frozenset[str] = frozenset()

    def find(self, data: object, part: str) -> object:
        """What the data says of a part: the first path that leads to something other than null; else MISSING."""
        for steps in self.paths[part]:
            value = paths.get(data, steps)
            if value is not paths.MISSING and value is not None:
                return value
        return paths.MISSING


def mapping_of(queue: QueueRef) -> Mapping:
    """How letters of a queue are read: by the user's paths, and the common ones for parts without."""
    told = book.said(queue)
    return made(tuple(sorted(told.mapping.items()))) if told else made(())


@lru_cache(maxsize=64)
def made(own: tuple[tuple[str, str], ...]) -> Mapping:
    """A mapping from pairs of part and path, as `checked` gives them."""
    chosen = dict(own)
    found = {part: [_steps(path) for path in ([chosen[part]] if part in chosen else COMMON[part])] for part in PARTS}
    return Mapping(found, frozenset(chosen))


def checked(own: Dict[str, str]) -> dict[str, str]:
    """The paths that a user gave, empty ones left out. BadInput for a part or path that is none."""
    kept = {part: path.strip() for part, path in own.items() if path.strip()}
    if odd := kept.keys() - COMMON.keys():
        raise BadInput(_("A letter has no part called “%(part)s”.") % {"part": min(odd)[:40]})
    for part, path in kept.items():
        if (part, path) != ("payload", ALL):
            paths.parse(path)
    return kept


def _steps(path: str) -> Sequence[Step]:
    return [] if path == ALL else paths.parse(path)
