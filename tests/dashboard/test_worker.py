"""How a worker ends: a real one, to which signals come at the worst moments."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import redis
from django.conf import settings

from tests.dashboard.started import clean_environment
from tests.valkey import Server

# The main thread hands over a task that hangs, and holds the locks of the pool, when the signals come.
SIGNALLED = """
    import os, runpy, sys, time
    from concurrent.futures.thread import ThreadPoolExecutor
    from celery.signals import worker_ready
    from dashboard import worker
    from dashboard.celery import app

    @app.task(name="hanging")
    def hanging():
        time.sleep(3600)

    worker_ready.connect(lambda **_: hanging.delay(), weak=False)

    def signalled(self, start=ThreadPoolExecutor._adjust_thread_count):
        ThreadPoolExecutor._adjust_thread_count = start
        for number in {numbers}:
            os.kill(os.getpid(), number)
        {then}
        start(self)

    ThreadPoolExecutor._adjust_thread_count = signalled
    worker.GRACE_S, worker.LIMIT_S = 0.2, {limit_s}
    sys.argv = ["celery", "-q", "-A", "dashboard", "worker"]
    runpy.run_module("celery", run_name="__main__")
    """


def end_of(
    folder: Path, broker: Server, *numbers: signal.Signals, limit_s: float, then: str = "pass"
) -> subprocess.CompletedProcess[str]:
    program = textwrap.dedent(SIGNALLED).format(numbers=[int(n) for n in numbers], then=then, limit_s=limit_s)
    env = {"APP_REDIS_URL": broker.url, "REDIS_URL": "redis://127.0.0.1:1/0", "SECRET_KEY": settings.SECRET_KEY}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=clean_environment(folder / "var") | env,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "numbers",
    [
        (signal.SIGTERM,),
        (signal.SIGQUIT,),
        (signal.SIGQUIT, signal.SIGQUIT, signal.SIGQUIT),
        (signal.SIGINT, signal.SIGINT),
        (signal.SIGTERM, signal.SIGQUIT),
    ],
)
def test_a_signal_while_a_task_is_handed_over_ends_the_worker_and_gives_the_task_back(
    tmp_path: Path, valkey: redis.Redis, valkey_server: Server, numbers: tuple[signal.Signals, ...]
) -> None:
    done = end_of(tmp_path, valkey_server, *numbers, limit_s=3600)
    assert done.returncode == 0, done.stderr
    assert "Unrecoverable" not in done.stderr
    assert (valkey.hlen("mirante:unacked"), valkey.llen("mirante:mirante")) == (0, 1)


def test_a_worker_that_waits_for_ever_ends_all_the_same(
    tmp_path: Path, valkey: redis.Redis, valkey_server: Server
) -> None:
    done = end_of(tmp_path, valkey_server, signal.SIGQUIT, limit_s=0.5, then="time.sleep(3600)")
    assert (done.returncode, "Cold shutdown" in done.stdout) == (1, True), done.stderr
