"""What the database remembers."""

from queues.models.failures import (
    ClassRule,
    DeadLetterQueue,
    Deploy,
    Failure,
    FailureGroup,
    FailureHour,
    FailureNote,
    FailureSample,
    FailureSignature,
    FailureStrand,
    IndexedQueue,
    Indexing,
    Letter,
)
from queues.models.following import Following, Notable, Stream
from queues.models.operating import AuditEntry, Bulk, BulkBatch, Masking, RemovedJob
from queues.models.replays import Replay, ReplayJob, ReplayLimits, ReplayLine, ReplayQueue, ReplaySpan
from queues.models.sources import Cost, Queue, Snapshot, Source

__all__ = [
    "AuditEntry",
    "Bulk",
    "BulkBatch",
    "ClassRule",
    "Cost",
    "DeadLetterQueue",
    "Deploy",
    "Failure",
    "FailureGroup",
    "FailureHour",
    "FailureNote",
    "FailureSample",
    "FailureSignature",
    "FailureStrand",
    "Following",
    "IndexedQueue",
    "Indexing",
    "Letter",
    "Masking",
    "Notable",
    "Queue",
    "RemovedJob",
    "Replay",
    "ReplayJob",
    "ReplayLimits",
    "ReplayLine",
    "ReplayQueue",
    "ReplaySpan",
    "Snapshot",
    "Source",
    "Stream",
]
