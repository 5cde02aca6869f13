"""`manage.py up` ended at any moment, in parts and whole: no process stays, no job is lost, and it comes up again."""

import os
import random
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
import redis

from dashboard.processes.valkey import EmbeddedValkey
from tests.dashboard.started import FAMILY, Started, eventually, get
from tests.policy import rounds

CHILDREN = sorted(FAMILY - {"manage.py"})
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@pytest.mark.soak
def test_whatever_is_ended_and_whenever_no_process_stays_and_no_job_is_lost(tmp_path: Path, rng: random.Random) -> None:
    kept: list[str] = []
    for number in range(rounds(sample=1, soak=60)):
        up = Started(tmp_path / "var")
        try:
            if number % 2 == 0:
                _add_jobs(up, kept, seconds=rng.uniform(0, 8))
                _end_child(up, rng.choice(CHILDREN), rng.choice(SIGNALS))
            _add_jobs(up, kept, seconds=rng.uniform(0, 8))
            _end(up, rng.choice(SIGNALS))
        finally:
            up.clear()
        assert _stored(up.var_dir) >= set(kept), up.output
        assert _database_is_sound(up.var_dir / "mirante.sqlite3"), up.output


def _add_jobs(up: Started, kept: list[str], *, seconds: float) -> None:
    """Add jobs for so long, as far as Valkey is there to take them; those that it took are in `kept`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        job = f"job-{time.monotonic_ns()}"
        try:
            with up.embedded(0) as ours, up.embedded(1) as watched:
                ours.rpush("jobs", job)
                watched.rpush("jobs", job)
                kept.append(job)
        except (OSError, ValueError, KeyError, redis.RedisError):
            pass  # Not started, not yet configured, of the start before, or just ended.
        time.sleep(0.1)


def _end_child(up: Started, name: str, number: signal.Signals) -> None:
    """End one child as soon as there is one, and see it come back and everything work."""
    eventually(lambda: name in up.by_name(), f"{name} runs in:\n{up.output}")
    before = up.by_name()[name]
    before.send_signal(number)
    address = up.wait_until_ready()

    def back() -> bool:
        now = up.by_name()
        # Python can lose a SIGINT during its imports. No terminal sends one to a child, which has a session of its own.
        return set(now) == FAMILY and (now[name] != before or number is signal.SIGINT)

    eventually(back, f"{name} is back after {number.name} in:\n{up.output}")
    assert get(f"{address}healthz", Host="localhost")[0] == 200


def _end(up: Started, number: signal.Signals) -> None:
    begun = any("starting" in line for line in up.lines)
    assert up.stop(number) < 15, up.output
    # Before our own code runs, Python has its own way to end on a signal.
    allowed = {-number} if number is signal.SIGKILL else {0} if begun else {0, -number}
    assert up.process.returncode in allowed, up.output
    up.wait_until_gone()


def _stored(var_dir: Path) -> set[str]:
    """The jobs that a bare server finds in the folder, which nobody may hold any more."""
    embedded = EmbeddedValkey(var_dir / "valkey")
    program = embedded.program(os.environ)
    program.prepare()
    process = subprocess.Popen(
        program.command, cwd=program.directory, pass_fds=program.descriptors, stdout=subprocess.DEVNULL
    )
    try:
        eventually(program.ready, "Valkey answers")
        with redis.Redis.from_url(embedded.url(0)) as ours, redis.Redis.from_url(embedded.url(1)) as watched:
            return {job.decode() for job in ours.lrange("jobs", 0, -1)} & {
                job.decode() for job in watched.lrange("jobs", 0, -1)
            }
    finally:
        process.terminate()
        process.wait(60)
        embedded.close()


def _database_is_sound(path: Path) -> bool:
    if not path.exists():
        return True
    with closing(sqlite3.connect(path)) as database:
        return bool(database.execute("PRAGMA integrity_check").fetchone() == ("ok",))
