"""What can be done to BullMQ's queues and jobs: each method of the contract, handed to the module that knows how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queues.actions import Action, Below, Clock, Members, NewJob, Result, Step, Stored, Target
from queues.backends.bullmq import (
    additions,
    copies,
    moves,
    removals,
    replays,
    replays_back,
    replays_looking,
    steering,
    sweeps,
)
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.writer import Writer
from queues.registry import SourceConfig
from queues.sendings import Copy, InPlace, Looked, Receipt, Sent, Standing
from queues.types import JobRef, QueueRef, State

CONNECTIONS = 4


class BullMQActions:
    """BullMQ 4.x (retry, promote, remove, send), 5.x and 6.x. See `queues.backend.Actions` for each method, and
    `queues.sendings.Replays` for those that send jobs again."""

    def __init__(self, config: SourceConfig) -> None:
        self._writer = Writer(Connection(config, connections=CONNECTIONS, once=True))

    @property
    def commands_sent(self) -> int:
        return self._writer.connection.commands_sent

    def unable(self, queue: QueueRef) -> Mapping[Action, str]:
        return steering.unable(self._writer, queue)

    def read_only(self, queue: QueueRef) -> str:
        return steering.read_only(self._writer, queue)

    def members(
        self, queue: QueueRef, state: State, *, cursor: str = "", until_ms: int, name: str = "", most: int
    ) -> Members:
        return copies.members(self._writer, queue, state, cursor=cursor, until_ms=until_ms, name=name, most=most)

    def stored(self, queue: QueueRef, ids: Sequence[bytes], *, most: int) -> Mapping[bytes, Stored]:
        return copies.stored(self._writer, queue, ids, most=most)

    def retry(
        self, queue: QueueRef, targets: Sequence[Target], *, state: State, reset: bool, twins: bool = False
    ) -> Sequence[Result]:
        return moves.retry(self._writer, queue, targets, state=state, reset=reset, twins=twins)

    def promote(self, queue: QueueRef, targets: Sequence[Target]) -> Sequence[Result]:
        return moves.promote(self._writer, queue, targets)

    def delay(self, queue: QueueRef, targets: Sequence[Target], *, run_at_ms: int) -> Sequence[Result]:
        return moves.delay(self._writer, queue, targets, run_at_ms=run_at_ms)

    def priority(self, queue: QueueRef, targets: Sequence[Target], *, priority: int) -> Sequence[Result]:
        return moves.priority(self._writer, queue, targets, priority=priority)

    def fail(self, queue: QueueRef, targets: Sequence[Target], *, reason: str) -> Sequence[Result]:
        return moves.fail(self._writer, queue, targets, reason=reason)

    def requeue(self, queue: QueueRef, targets: Sequence[Target]) -> Sequence[Result]:
        return moves.requeue(self._writer, queue, targets)

    def edit(self, job: JobRef, data: bytes, *, was: bytes) -> Result:
        return additions.edit(self._writer, job, data, was=was)

    def add(self, queue: QueueRef, job: NewJob, *, token: str) -> Result:
        return additions.add(self._writer, queue, job, token=token)

    def log(self, job: JobRef, line: str, *, token: str) -> Result:
        return additions.log(self._writer, job, line, token=token)

    def remove(
        self, queue: QueueRef, targets: Sequence[Target], *, state: State | None, children: bool
    ) -> Sequence[Result]:
        return removals.remove(self._writer, queue, targets, state=state, children=children)

    def below(self, job: JobRef) -> Sequence[Below]:
        return copies.below(self._writer, job)

    def remove_children(self, job: JobRef) -> Result:
        return removals.remove_children(self._writer, job)

    def drain(self, queue: QueueRef, *, delayed: bool, until_ms: int, cursor: str = "") -> Step:
        return sweeps.drain(self._writer, queue, delayed=delayed, until_ms=until_ms, cursor=cursor)

    def clean(self, queue: QueueRef, state: State, *, clock: Clock, before_ms: int, cursor: str = "") -> Step:
        return sweeps.clean(self._writer, queue, state, clock=clock, before_ms=before_ms, cursor=cursor)

    def obliterate(self, queue: QueueRef, *, force: bool, cursor: str = "") -> Step:
        return sweeps.obliterate(self._writer, queue, force=force, cursor=cursor)

    def trim_events(self, queue: QueueRef, *, keep: int) -> Step:
        return sweeps.trim_events(self._writer, queue, keep=keep)

    def release_deduplication(self, queue: QueueRef, deduplication_id: bytes) -> Result:
        return steering.release_deduplication(self._writer, queue, deduplication_id)

    def pause(self, queue: QueueRef) -> Step:
        return steering.pause(self._writer, queue)

    def resume(self, queue: QueueRef) -> Step:
        return steering.resume(self._writer, queue)

    def concurrency(self, queue: QueueRef, most: int | None) -> Result:
        return steering.concurrency(self._writer, queue, most)

    def rate_limit(self, queue: QueueRef, most: int | None, duration_ms: int = 0) -> Result:
        return steering.rate_limit(self._writer, queue, most, duration_ms)

    def release_limit(self, queue: QueueRef) -> Result:
        return steering.release_limit(self._writer, queue)

    def look(self, queue: QueueRef, targets: Sequence[Target], *, state: State) -> Sequence[Looked]:
        return replays_looking.look(self._writer, queue, targets, state=state)

    def look_copies(self, queue: QueueRef, copies: Sequence[NewJob]) -> Sequence[Looked]:
        return replays_looking.look_copies(self._writer, queue, copies)

    def send(
        self,
        queue: QueueRef,
        jobs: Sequence[InPlace],
        *,
        state: State,
        plan: str,
        reset: bool,
        twins: bool,
        orphans: bool,
        until_ms: int | None = None,
        drop: Sequence[str] = (),
    ) -> Sequence[Sent]:
        how = replays.How(state, reset=reset, twins=twins, orphans=orphans)
        return replays.send(self._writer, queue, jobs, how, plan=plan, until_ms=until_ms, drop=drop)

    def send_copies(
        self,
        queue: QueueRef,
        copies: Sequence[Copy],
        *,
        plan: str,
        new_ids: bool,
        twins: bool = False,
        until_ms: int | None = None,
        drop: Sequence[str] = (),
    ) -> Sequence[Sent]:
        named = replays.Named(new_ids=new_ids, twins=twins)
        return replays.send_copies(self._writer, queue, copies, named, plan=plan, until_ms=until_ms, drop=drop)

    def receipts(self, queue: QueueRef, receipts: Sequence[str]) -> Sequence[Receipt | None]:
        return replays.receipts(self._writer, queue, receipts)

    def drop_receipts(self, queue: QueueRef, receipts: Sequence[str]) -> None:
        replays.drop_receipts(self._writer, queue, receipts)

    def standings(self, queue: QueueRef, ids: Sequence[bytes]) -> Sequence[Standing]:
        return replays_looking.standings(self._writer, queue, ids)

    def take_back(self, queue: QueueRef, jobs: Sequence[tuple[Target, bytes]]) -> Sequence[Result]:
        return replays_back.take_back(self._writer, queue, jobs)

    def close(self) -> None:
        self._writer.connection.close()
