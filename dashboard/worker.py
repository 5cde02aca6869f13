"""How the worker ends: what runs gets three seconds, the rest goes back to the broker, nothing is waited for."""

from __future__ import annotations

import logging
import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from celery.apps.worker import Worker as CeleryWorker
from celery.concurrency.thread import TaskPool

GRACE_S = 3.0


class Threads(TaskPool):
    """Celery's pool of threads, which would wait for ever for a task that hangs, and fails when asked to end one."""

    executor: ThreadPoolExecutor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._running: set[Future[Any]] = set()

    def on_apply(self, *args: Any, **kwargs: Any) -> Any:
        result = super().on_apply(*args, **kwargs)
        self._running.add(result.f)
        result.f.add_done_callback(self._running.discard)
        return result

    def on_stop(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)
        wait(list(self._running), GRACE_S)

    def terminate_job(self, pid: int, signal: int | None = None) -> None:
        """A thread ends with its process only. Its task is not acknowledged, and so given back."""


class Worker(CeleryWorker):
    """By the end of `start` all connections are closed, and with that unfinished tasks are back in the queue."""

    def start(self) -> None:
        super().start()
        logging.shutdown()
        # Python would wait for every thread, also for one that waits for a server that never answers.
        os._exit(self.exitcode or 0)
