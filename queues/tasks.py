"""What runs in the background, each a thin call: beat starts `read_sources`, `scan_sources`, `run_bulks` and others.

A task that was not started in time is worth nothing, so each expires; all may run twice at once. None
has a time limit of Celery's, which a pool of threads could not keep: what they do is bounded in itself,
reading by the timeouts of the backend and a scan by `discovery.LONGEST_S`.
"""

from __future__ import annotations

import logging

from celery import Task, current_app, shared_task
from kombu import Producer
from kombu.exceptions import OperationalError

from queues import cost, discovery, readings, retention
from queues.bulk import pruning, running
from queues.errors import NotFound
from queues.registry import configured
from queues.replay.run import running as replaying

READ_EVERY_S = 10
FORGET_EVERY_S = 60
RUN_EVERY_S = 10
SCAN_LOOK_EVERY_S = 30
# A page waits for this. Without limits a broker that swallows packets is waited for until the system gives up.
PATIENCE = {"max_retries": 1, "interval_start": 0.1, "socket_connect_timeout": 2, "socket_timeout": 2}

logger = logging.getLogger(__name__)


@shared_task(ignore_result=True, expires=READ_EVERY_S)
def read_sources() -> None:
    """Have every source read, each by a task of its own: one that is dead or odd does not hold up the others."""
    for config in configured():
        _send(read_source, config.name)
    cost.prune()


@shared_task(ignore_result=True, expires=READ_EVERY_S)
def read_source(name: str) -> None:
    """Read one source, keep the reading and its health, and tell what that cost."""
    try:
        readings.store(name)
    except NotFound as error:
        logger.info("%s", error)  # the source left the configuration after the task was sent
    cost.report(now=True, silent_too=True)


@shared_task(ignore_result=True, expires=SCAN_LOOK_EVERY_S)
def scan_sources() -> None:
    """Start the scans that are due."""
    for name in discovery.due():
        _send(scan_source, name)


@shared_task(ignore_result=True, expires=60)
def scan_source(name: str) -> None:
    """Scan one source if that is still due, then start the scans that had to wait for it."""
    if name not in discovery.due():
        return
    discovery.scan(name)
    cost.report()
    scan_sources()


@shared_task(ignore_result=True, expires=FORGET_EVERY_S)
def forget_old_events() -> None:
    """Delete kept events and failures that are too old, and which jobs ended actions were about."""
    retention.forget_old_events()
    retention.forget_old_entries()
    retention.forget_old_failures()
    retention.forget_old_replays()
    pruning.forget_old_batches()


@shared_task(ignore_result=True, expires=RUN_EVERY_S)
def run_bulks() -> None:
    """Have every action over many jobs go on that nobody runs: its task was lost, or the worker that had it."""
    for bulk, epoch in running.resting():
        _send(run_bulk, bulk, epoch)


@shared_task(ignore_result=True, expires=60)
def run_bulk(bulk: int, epoch: int) -> None:
    """Run such an action for a slice, then make room for others; nothing where it has gone on since `epoch`."""
    if later := running.run(bulk, epoch):
        _send(run_bulk, bulk, later.epoch, after_s=later.after_s)


def wake_bulk(bulk: int, epoch: int) -> bool:
    """Have a worker take up such an action now. False when the broker does not answer: `run_bulks` will."""
    return _send(run_bulk, bulk, epoch)


@shared_task(ignore_result=True, expires=RUN_EVERY_S)
def run_replays() -> None:
    """Have every plan go on that nobody runs: its task was lost, or the worker that had it."""
    for replay, epoch in replaying.resting():
        _send(run_replay, replay, epoch)


@shared_task(ignore_result=True, expires=60)
def run_replay(replay: int, epoch: int) -> None:
    """Run a plan for a slice, then make room for others; nothing where it has gone on since `epoch`."""
    if later := replaying.run(replay, epoch):
        _send(run_replay, replay, later.epoch, after_s=later.after_s)


def wake_replay(replay: int, epoch: int) -> bool:
    """Have a worker take up a plan now. False when the broker does not answer: `run_replays` will."""
    return _send(run_replay, replay, epoch)


def request_scan(name: str) -> bool:
    """Ask for a scan now. True when a worker has been told; False when the broker does not answer.

    Also in the latter case the wish is kept: the next regular look for due scans starts it. Takes two
    seconds at most. NotFound for a source that is not configured.
    """
    discovery.wish(name)
    return _send(scan_sources)


def _send(task: Task[..., None], *arguments: str | int, after_s: float = 0.0) -> bool:
    try:
        with current_app.connection_for_write(connect_timeout=2, transport_options=PATIENCE) as connection:
            producer = Producer(connection, auto_declare=False)
            task.apply_async(arguments, producer=producer, retry=False, countdown=after_s)
    except OperationalError as error:
        logger.warning("%s could not be handed to a worker: %s", task.name, type(error).__name__)
        return False
    return True
