"""Jobs that are sent again, each exactly once: looked at, sent, followed, and taken back."""

from __future__ import annotations

from collections.abc import Sequence

from queues.actions import NewJob, Result, Target
from queues.backends.bullmq.writer import Writer
from queues.sendings import Copy, InPlace, Looked, Sent, Standing
from queues.types import QueueRef, State


def look(writer: Writer, queue: QueueRef, targets: Sequence[Target], *, state: State) -> Sequence[Looked]:
    raise NotImplementedError


def look_copies(writer: Writer, queue: QueueRef, copies: Sequence[NewJob]) -> Sequence[Looked]:
    raise NotImplementedError


def send(
    writer: Writer,
    queue: QueueRef,
    jobs: Sequence[InPlace],
    *,
    state: State,
    plan: str,
    reset: bool,
    twins: bool,
    orphans: bool,
    drop: Sequence[str] = (),
) -> Sequence[Sent]:
    raise NotImplementedError


def send_copies(
    writer: Writer, queue: QueueRef, copies: Sequence[Copy], *, plan: str, new_ids: bool, drop: Sequence[str] = ()
) -> Sequence[Sent]:
    raise NotImplementedError


def receipts(writer: Writer, queue: QueueRef, receipts: Sequence[str]) -> Sequence[tuple[str, bytes] | None]:
    raise NotImplementedError


def drop_receipts(writer: Writer, queue: QueueRef, receipts: Sequence[str]) -> None:
    raise NotImplementedError


def standings(writer: Writer, queue: QueueRef, ids: Sequence[bytes]) -> Sequence[Standing]:
    raise NotImplementedError


def take_back(writer: Writer, queue: QueueRef, jobs: Sequence[tuple[Target, bytes]]) -> Sequence[Result]:
    raise NotImplementedError
