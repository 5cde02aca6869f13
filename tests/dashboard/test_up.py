"""`manage.py up` and `demo` for real: every process, its console, its ends."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import redis
from django.conf import settings

from tests.dashboard.started import FAMILY, Started, clean_environment, eventually, get

Start = Callable[..., Started]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `manage.py up` (or other arguments) on one data folder, as often as asked."""
    made: list[Started] = []

    def starter(*arguments: str, **env: str) -> Started:
        made.append(Started(tmp_path / "var", *arguments, **env))
        return made[-1]

    yield starter
    for started in made:
        started.clear()


# Each has Ctrl-C come at a moment where an exception is swallowed: during the import of Django, and in a callback.
LOSING = {
    "import": """
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "django":
                    interrupt()
        sys.meta_path.insert(0, Finder())
        """,
    "callback": """
        from dashboard.processes import ready
        class Cell:
            def __del__(self):
                interrupt()
        ready.migrate = Cell
        """,
}
LOSE = """
import os, runpy, signal, sys
def interrupt():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        pass
    print("lost", flush=True)
    os._exit(3)
{losing}
sys.argv = ["manage.py", "up"]
runpy.run_path("manage.py", run_name="__main__")
"""


def admin_password(started: Started) -> str:
    return started.wait_for(r"Password: +(\S+)  \(kept in").group(1)


def test_it_comes_up_with_nothing_configured_and_sigterm_ends_all_of_it(start: Start) -> None:
    up = start()
    address = up.wait_until_ready()
    assert re.fullmatch(r"http://127\.0\.0\.1:8\d\d\d/", address)
    status, body, _ = get(f"{address}healthz", Host="localhost")
    assert (status, '"database": "ok"' in body) == (200, True)
    assert len(admin_password(up)) > 16
    assert "superuser privileges" not in up.output
    for name in ("secret-key", "admin-password", "mirante.sqlite3"):
        assert stat.S_IMODE((up.var_dir / name).stat().st_mode) == 0o600
    running = up.by_name()
    assert set(running) == FAMILY
    secret = up.embedded(0).connection_pool.connection_kwargs["password"]
    assert secret not in up.output + "".join(" ".join(process.cmdline()) for process in running.values())
    # Ctrl-C in a terminal goes to a whole group: here it reaches the supervisor alone.
    assert len({os.getpgid(process.pid) for process in running.values()}) == len(FAMILY)
    # All listen on the loopback alone.
    for process in running.values():
        assert {c.laddr.ip for c in process.net_connections() if c.status == psutil.CONN_LISTEN} <= {"127.0.0.1"}
    assert up.stop(signal.SIGTERM) < 15
    assert up.process.returncode == 0
    assert up.lines[-1].endswith("mirante | stopped")
    up.wait_until_gone()


@pytest.mark.parametrize(("losing", "code"), [("import", -signal.SIGINT), ("callback", 0)])
def test_ctrl_c_is_not_lost_while_it_comes_up(tmp_path: Path, losing: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOSE.format(losing=textwrap.dedent(LOSING[losing]))],
        env=clean_environment(tmp_path / "var"),
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_jobs_survive_the_end_and_a_new_start_and_nothing_is_left_between(start: Start, number: signal.Signals) -> None:
    up = start()
    up.wait_until_ready()
    with up.embedded(1) as watched, up.embedded(0) as ours:
        watched.hset("bull:orders:1", mapping={"name": "order", "data": "{}"})
        watched.lpush("bull:orders:wait", "1")
        ours.lpush("another-queue", "task")
    assert up.stop(number) < 15
    assert up.process.returncode == (0 if number is signal.SIGINT else -signal.SIGKILL)
    up.wait_until_gone()
    again = start()
    again.wait_until_ready()
    with again.embedded(1) as watched, again.embedded(0) as ours:
        assert watched.lrange("bull:orders:wait", 0, -1) == [b"1"]
        assert watched.hget("bull:orders:1", "name") == b"order"
        assert ours.lrange("another-queue", 0, -1) == [b"task"]
        assert not watched.exists("another-queue")
    assert admin_password(again) == admin_password(up)
    again.stop()


def test_a_second_start_on_the_same_folder_is_refused(start: Start) -> None:
    up = start()
    up.wait_until_ready()
    second = start()
    second.process.wait(120)
    assert second.process.returncode == 1
    eventually(lambda: "Error" in second.output, "the second start says why")
    (line,) = second.lines
    assert line == f"CommandError: {up.var_dir} is in use by another start of Mirante (process {up.process.pid})"
    assert get(f"{up.wait_until_ready()}healthz", Host="localhost")[0] == 200
    up.stop()


def test_a_child_that_is_killed_comes_back_with_its_data_until_it_happens_too_often(start: Start) -> None:
    up = start()
    address = up.wait_until_ready()
    up.embedded(1).set("kept", "yes")
    before = up.by_name()
    mark = len(up.lines)
    for name in sorted(FAMILY - {"manage.py"}):
        before[name].kill()
    for name in ("valkey", "web", "worker", "beat", "follow"):
        up.wait_for(rf"{name} was ended by SIGKILL: starting it again in 0.5 s", after=mark)

    def back() -> bool:
        now = up.by_name()
        return set(now) == FAMILY and all(now[name].pid != before[name].pid for name in FAMILY - {"manage.py"})

    eventually(back, "all children run again")
    # The same address and port: connections wait while the web process starts.
    assert get(f"{address}healthz", Host="localhost")[0] == 200
    eventually(lambda: answers(up.embedded(1)), "Valkey answers on the same port")
    assert up.embedded(1).get("kept") == b"yes"
    for times in range(2, 6):
        eventually(lambda: "beat" in up.by_name(), "beat is back")
        up.by_name()["beat"].kill()
        up.wait_for(rf"(?s)(beat was ended by SIGKILL.*){{{times}}}")
    up.process.wait(60)
    assert up.process.returncode == 1
    eventually(lambda: "all is stopped, because beat cannot run" in up.output, "the reason is said")
    up.wait_until_gone()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def test_a_redis_that_was_named_is_watched_and_its_password_is_never_shown(start: Start, tmp_path: Path) -> None:
    other = Started(tmp_path / "other")
    try:
        other.wait_until_ready()
        client = other.embedded(3)
        client.config_set("requirepass", "hunter22-in-use")
        port = client.connection_pool.connection_kwargs["port"]
        right = f"redis://:hunter22-in-use@127.0.0.1:{port}/3"
        wrong = f"redis://:hunter22-mistaken@127.0.0.1:{port}/3"
        up = start(MIRANTE_SOURCES=f"right={right} wrong={wrong}", LOG_LEVEL="debug")
        address = up.wait_until_ready()
        # Time for the worker and its clock to try both.
        eventually(lambda: '"reachable": true' in get(f"{address}healthz", Host="localhost")[1], "one source was read")
        commands = "".join(" ".join(process.cmdline()) for process in up.by_name().values())
        _, health, _ = get(f"{address}healthz", Host="localhost")
        up.stop()
        assert "hunter22" not in up.output + commands + health
        # Ours are in the embedded one: the watched one got no key of Celery or Channels.
        assert redis.Redis.from_url(right).dbsize() == 0
    finally:
        other.clear()


def test_a_port_in_use_is_named(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        up = start(PORT=str(port))
        up.process.wait(120)
        eventually(lambda: bool(up.lines), "it says why")
    assert up.process.returncode == 1
    assert up.lines == [
        f"CommandError: PORT: {port} on 127.0.0.1 is in use by another program; choose another, or leave PORT unset"
    ]


def test_a_database_that_cannot_be_reached_is_named_without_its_password(start: Start) -> None:
    up = start(DATABASE_URL="postgres://someone:hunter22@127.0.0.1:1/mirante")
    up.process.wait(120)
    eventually(lambda: bool(up.lines), "it says why")
    assert up.process.returncode == 1
    assert up.lines[0].startswith("CommandError: DATABASE_URL: the database cannot be used: ")
    assert "Traceback" not in up.output
    assert "hunter22" not in up.output


def stopped_at_once(start: Start, **env: str) -> str:
    """The one line of a start that fails."""
    up = start(**env)
    up.process.wait(120)
    eventually(lambda: bool(up.lines), "it says why")
    assert up.process.returncode == 1
    (line,) = up.lines
    return line


@pytest.mark.parametrize("name", ["lock", "static", "valkey", "valkey/valkey.conf"])
def test_a_var_folder_that_cannot_be_written_to_is_named_in_a_line(start: Start, tmp_path: Path, name: str) -> None:
    var_dir = tmp_path / "var"
    # A file where a folder is needed, and the other way round: root, too, cannot write there.
    if name in ("static", "valkey"):
        var_dir.mkdir()
        (var_dir / name).touch()
    else:
        (var_dir / name / "x").mkdir(parents=True)
    if name == "valkey/valkey.conf":
        up = start()
        up.process.wait(120)
        assert up.process.returncode == 1
        assert "mirante | valkey cannot be started: [Errno" in up.output
        assert "Traceback" not in up.output
        up.wait_until_gone()
    else:
        line = stopped_at_once(start)
        assert line.startswith(f"CommandError: MIRANTE_VAR_DIR: {var_dir} cannot be written to: ")
        assert str(var_dir / name) in line


def test_a_database_file_that_cannot_be_written_is_named_in_a_line(start: Start, tmp_path: Path) -> None:
    (tmp_path / "var" / "mirante.sqlite3").mkdir(parents=True)
    line = stopped_at_once(start)
    assert line.startswith(f"CommandError: DATABASE_URL: the database {tmp_path}/var/mirante.sqlite3 cannot be used: ")


def test_a_demo_never_writes_to_a_redis_that_was_named(start: Start) -> None:
    demo = start("demo", REDIS_URL="redis://127.0.0.1:1/0")
    demo.process.wait(120)
    eventually(lambda: bool(demo.lines), "it says why")
    assert demo.process.returncode == 1
    assert demo.output.startswith("CommandError: REDIS_URL or MIRANTE_SOURCES is set")


def test_a_demo_fills_the_watched_database_and_leaves_no_process_when_killed(start: Start) -> None:
    demo = start("demo")
    demo.wait_until_ready()
    watched = demo.embedded(1)
    eventually(lambda: watched.dbsize() > 50, "the shop writes jobs")
    # The fragile worker is a grandchild, killed and started again by its parent.
    eventually(lambda: len(demo.processes()) == len(FAMILY) + 2, "the fragile worker runs")
    demo.stop(signal.SIGKILL)
    demo.wait_until_gone()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_a_worker_whose_task_hangs_ends_quietly_and_gives_the_task_back(start: Start, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        up = start(REDIS_URL=f"redis://127.0.0.1:{silent.getsockname()[1]}/0", LOG_LEVEL="debug")
        up.wait_until_ready()
        ours = up.embedded(0)
        # The worker's first look at the source: it waits for an answer now.
        eventually(lambda: bool(ours.hlen("mirante:unacked")), "the worker looks at the source")
        mark = len(up.lines)
        worker = up.by_name()["worker"]
        begun = time.monotonic()
        worker.send_signal(number)
        eventually(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, "the worker has ended")
        took = time.monotonic() - begun
        assert not ours.hlen("mirante:unacked")
        up.wait_for("worker ended with exit code 0", after=mark)
        assert took < 7
        assert up.stop() < 15
    assert up.process.returncode == 0
    assert "Traceback" not in up.output
    assert "critical" not in up.output
    up.wait_until_gone()
