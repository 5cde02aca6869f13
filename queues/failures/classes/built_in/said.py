"""What somebody said outright: the author of the job, or BullMQ itself."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from queues.failures.classes.matching import BuiltIn
from queues.failures.types import Kind

RULES: Sequence[BuiltIn] = (
    BuiltIn(
        "UnrecoverableError",
        Kind.PERMANENT,
        _("the job’s own code said that no retry can help"),
        _("A retry fails the same way: the job’s own code says so. Fix the cause first, or edit and replay."),
        classes=("unrecoverableerror", "nonretryable*", "nonretriable*", "permanent*error", "poison*"),
        messages=("unrecoverableerror:",),
    ),
    BuiltIn(
        "retryable by name",
        Kind.TRANSIENT,
        _("the job’s own code said that a retry can help"),
        _("A retry can help: the job’s own code says so."),
        classes=("retryable*", "retriable*", "transient*", "temporary*", "*retrylater*", "tryagain*"),
    ),
    # The worker died or hung. A deploy that killed it is over; a payload that kills each worker is poison.
    BuiltIn(
        "stalled",
        Kind.UNKNOWN,
        _("the worker that held the job stopped renewing its lock, more often than is allowed"),
        _(
            "The worker died or hung while it ran this job. If that was a deploy or a crash of the machine, a retry "
            "can help; if the job itself exhausts memory or blocks the event loop, it takes the next worker down "
            "too. Retry one and watch its worker."
        ),
        shapes=("stalled",),
        messages=("job stalled more than allowable limit", "job started more than allowable limit"),
    ),
    BuiltIn(
        "lost lock",
        Kind.TRANSIENT,
        _("the worker ended the job after it had lost its lock to another"),
        _("A retry can help. The job may have run to its end already: look for its effects before."),
        messages=("missing lock for job", "lock mismatch for job", "could not renew lock", "missing key for job"),
    ),
    BuiltIn(
        "child failed",
        Kind.UNKNOWN,
        _("a child of the flow failed, and the parent with it"),
        _("Look at the child that failed first: what holds for it holds for this job."),
        messages=("child bull:", "child job failed", "failparentonfailure"),
    ),
    BuiltIn(
        "server without memory",
        Kind.TRANSIENT,
        _("a server or the machine had no memory left"),
        _("A retry can help once there is memory again. See what fills it, or it comes back."),
        codes=(
            "enomem",
            "53200",
            "er_out_of_resources",
            "er_outofmemory",
            "er_out_of_sortmemory",
            "1037",
            "1041",
            "oom",
        ),
        messages=("oom command not allowed", "cannot allocate memory", "enomem", "out of shared memory"),
    ),
    # A heap that one job fills is filled by it again; one that leaks or that others fill is not. Nobody can tell.
    BuiltIn(
        "out of memory",
        Kind.UNKNOWN,
        _("the process that ran the job had no memory left, or was killed"),
        _(
            "If this job alone needs too much memory, it fails the same way and takes others with it; if the process "
            "was full of others, a retry can help. Retry one and watch its memory."
        ),
        codes=("err_worker_out_of_memory", "sigkill", "err_memory_allocation_failed"),
        messages=(
            *("heap out of memory", "out of memory", "allocation failed", "oomkilled", "memory limit", "sigkill"),
            *("not enough memory", "allocation size overflow"),
        ),
    ),
    BuiltIn(
        "process ended",
        Kind.UNKNOWN,
        _("the process or thread that ran the job ended before the job did"),
        _("Look at the log of the worker for what ended it. Retry one and watch before you retry all."),
        codes=("sigabrt", "sigsegv", "sigterm", "sigbus", "sigill"),
        messages=("unexpected exit code", "exited unexpectedly", "child process exited", "worker exited", "sigsegv"),
    ),
)
