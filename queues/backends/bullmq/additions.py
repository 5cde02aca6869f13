"""What is put into a queue by hand: jobs, other data, log lines."""

from __future__ import annotations

from queues.actions import NewJob, Result
from queues.backends.bullmq.writer import Writer
from queues.types import JobRef, QueueRef


def edit(writer: Writer, job: JobRef, data: bytes, *, was: bytes) -> Result:
    raise NotImplementedError


def add(writer: Writer, queue: QueueRef, job: NewJob, *, token: str) -> Result:
    raise NotImplementedError


def log(writer: Writer, job: JobRef, line: str, *, token: str) -> Result:
    raise NotImplementedError
