"""Removing without a list of jobs, step by step: all that wait, a state by age, a whole queue, old events."""

from __future__ import annotations

from queues.actions import Clock, Step
from queues.backends.bullmq.writer import Writer
from queues.types import QueueRef, State


def drain(writer: Writer, queue: QueueRef, *, delayed: bool, until_ms: int, cursor: str) -> Step:
    raise NotImplementedError


def clean(writer: Writer, queue: QueueRef, state: State, *, clock: Clock, before_ms: int, cursor: str) -> Step:
    raise NotImplementedError


def obliterate(writer: Writer, queue: QueueRef, *, force: bool, cursor: str) -> Step:
    raise NotImplementedError


def trim_events(writer: Writer, queue: QueueRef, *, keep: int) -> Step:
    raise NotImplementedError
