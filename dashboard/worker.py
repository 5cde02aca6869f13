"""How the worker ends: what runs gets three seconds, the rest goes back to the broker, nothing is waited for."""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import Any

from celery.apps.worker import Worker as CeleryWorker
from celery.apps.worker import (  # type: ignore[attr-defined]
    install_worker_int_handler,
    install_worker_term_hard_handler,
)
from celery.concurrency.thread import TaskPool

GRACE_S = 3.0
# More than the grace and one of Celery's waits of 5 s for a broker that is silent.
LIMIT_S = 10.0


class Threads(TaskPool):
    """Celery's pool of threads, which would wait for ever for a task that hangs."""

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

    def on_terminate(self) -> None:
        self.on_stop()


class Worker(CeleryWorker):
    """By the end of `start` all connections are closed, and with that unfinished tasks are back in the queue.

    SIGQUIT, or a second SIGINT, ends it in at most `LIMIT_S`, whatever it waits for. When that is needed its exit
    code is 1, and its tasks come back by the visibility timeout only.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._told_to_end: SimpleQueue[None] = SimpleQueue()
        super().__init__(*args, **kwargs)

    def start(self) -> None:
        # Now, because a signal handler must not start a thread.
        threading.Thread(target=self._end_anyway, name="end-anyway", daemon=True).start()
        super().start()
        logging.shutdown()
        # Python would wait for every thread, also for one that waits for a server that never answers.
        os._exit(self.exitcode or 0)

    def install_platform_tweaks(self, worker: Any) -> None:
        """Signals only leave a note, on which Celery's loop ends.

        Celery's own handler of SIGQUIT stops the pool at once, in the middle of whatever the main thread does: when
        that is handing over a task, the thread waits for ever for a lock of the pool that it holds itself.
        """
        super().install_platform_tweaks(worker)
        install_worker_term_hard_handler(worker, callback=_note_the_end)
        install_worker_int_handler(worker, callback=_on_first_ctrl_c)

    def _end_anyway(self) -> None:
        self._told_to_end.get()
        time.sleep(LIMIT_S)
        os._exit(1)


def _note_the_end(worker: Worker) -> None:
    # One of the few things that may be done in a signal handler: its `put` waits for no lock.
    worker._told_to_end.put(None)


def _on_first_ctrl_c(worker: Worker) -> None:
    install_worker_term_hard_handler(worker, sig="SIGINT", callback=_note_the_end)
