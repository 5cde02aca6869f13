"""Everything that can be done to queues and jobs: refused where it must be, written down before it begins, done once.

Each operation writes its `AuditEntry` first, then acts, then completes it, and gives it back. Asked for again with the
same form (its key, and the same parameters), it gives back the first entry and does nothing. It raises a `QueueError`
after the entry says so: `ReadOnly`, `Unreachable`, `Unsure` and so on. Who may do what is for the web to say.
"""

from queues.operations.background import clean, drain, obliterate, start_bulk, stop
from queues.operations.jobs import delay, fail, priority, promote, remove, requeue, retry
from queues.operations.restoring import restore
from queues.operations.single import duplicate, edit, log, remove_children
from queues.operations.steering import (
    add,
    concurrency,
    pause,
    rate_limit,
    release_deduplication,
    release_limit,
    resume,
    trim_events,
)

INLINE = 200  # targets that are acted on within a request; more are for `start_bulk`

__all__ = [
    "INLINE",
    "add",
    "clean",
    "concurrency",
    "delay",
    "drain",
    "duplicate",
    "edit",
    "fail",
    "log",
    "obliterate",
    "pause",
    "priority",
    "promote",
    "rate_limit",
    "release_deduplication",
    "release_limit",
    "remove",
    "remove_children",
    "requeue",
    "restore",
    "resume",
    "retry",
    "start_bulk",
    "stop",
    "trim_events",
]
