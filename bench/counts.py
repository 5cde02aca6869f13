"""Depths and workers of a thousand queues, against the same scripts called bare."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import redis

from bench.measure import in_turn
from bench.report import Row, Table, compared, limited
from bench.scripts import READ_LIMIT_MS
from bench.stage import Stage, World
from queues.backends.bullmq.reader import BullMQ
from queues.backends.bullmq.replies import Command, Reply
from queues.registry import backend

CALLS = 50


def run(stage: Stage) -> list[Table]:
    """Counts of 1,000 queues and all workers, against the bare Lua and CLIENT LIST."""
    world = stage.thousand
    world.watch()
    reader = backend(world.config.name)
    refs = world.refs
    times = in_turn(
        stage.rounds,
        floor=bare_counts(world),
        counts=lambda: reader.counts(refs),
        clients=bare_workers(world.client),
        workers=reader.workers,
    )
    rows = [
        compared("counts", times["counts"], times["floor"], most=1.5),
        compared("workers, one CLIENT LIST", times["workers"], times["clients"]),
        Row(
            "counts, processor time of ours alone",
            f"{times['counts'].cpu:.1f} ms",
            floor=f"{times['floor'].cpu:.1f} ms",
        ),
    ]
    calls = _recorded(world)
    rows += [_held(world, calls[0], "counts"), _held(world, calls[1], "ages")]
    note = (
        f"{len(refs):,} queues. Floor: the same EVALSHA calls by redis-py with the keys already at hand, replies not "
        "looked at; for workers the bytes of CLIENT LIST."
    )
    return [Table("Counts of 1,000 queues", rows, (note,))]


def bare_counts(world: World) -> Callable[[], object]:
    """The calls that `Backend.counts` makes, without what it makes of the replies."""
    calls = _recorded(world)

    def call() -> None:
        for command in calls:
            world.client.execute_command(*command)  # type: ignore[no-untyped-call]

    return call


def _recorded(world: World) -> list[Command]:
    """What the backend sends for the counts of all queues."""
    reader = BullMQ(world.config)
    sent: list[Command] = []
    run = reader.connection.run

    def note(commands: Sequence[Command], *, tolerant: bool = False, reading: bool = False) -> list[Reply]:
        sent.extend(commands)
        return run(commands, tolerant=tolerant, reading=reading)

    reader.connection.run = note  # type: ignore[method-assign]
    reader.counts(world.refs)
    reader.connection.close()
    return sent


def _held(world: World, command: Command, name: str) -> Row:
    """For how long one call of a script holds the server's processor, whatever else the machine does."""
    began = _processor_ms(world)
    for _ in range(CALLS):
        world.client.execute_command(*command)  # type: ignore[no-untyped-call]
    took = (_processor_ms(world) - began) / CALLS
    return limited(f"one call of the script {name}, the server's processor time", took, "ms", most=READ_LIMIT_MS)


def _processor_ms(world: World) -> float:
    told = world.client.info("cpu")
    return 1000 * (float(told["used_cpu_user_main_thread"]) + float(told["used_cpu_sys_main_thread"]))


def bare_workers(client: redis.Redis) -> Callable[[], object]:
    """The bytes of CLIENT LIST and nothing else."""
    link = client.connection_pool.get_connection()

    def call() -> None:
        link.send_command("CLIENT", "LIST")  # type: ignore[no-untyped-call]
        link.read_response()

    return call
