"""The supervisor on small programs: output, restarts, giving up, order, and ends that leave nothing behind."""

import io
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dashboard.credentials import redact
from dashboard.processes.child import Program, tethered
from dashboard.processes.console import Console
from dashboard.processes.listen import CannotListen, web_socket
from dashboard.processes.lock import Busy, FolderLock
from dashboard.processes.supervisor import Policy, Supervisor
from tests.dashboard.started import eventually

QUICK = Policy(crashes=3, first_backoff=0.05, longest_backoff=0.1, start_within=60, grace=10, last_grace=10)
SLEEP = "import time; time.sleep(600)"


def python(name: str, script: str, *, stage: int = 1, ready: Callable[[], bool] = lambda: True) -> Program:
    return Program(
        name=name,
        command=(sys.executable, "-S", "-c", textwrap.dedent(script)),
        environment=lambda: os.environ | {"PYTHONUNBUFFERED": "1"},
        stage=stage,
        ready=ready,
    )


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def supervise(
    *programs: Program, policy: Policy = QUICK, announce: Callable[[], None] = interrupt, secrets: tuple[str, ...] = ()
) -> tuple[int, list[str]]:
    """Exit code and console; stops by itself when all programs are ready."""
    out = io.StringIO()
    code = Supervisor(programs, console=Console(out, secrets=secrets), announce=announce, policy=policy).run()
    return code, [line[9:] for line in out.getvalue().splitlines()]


def when(*paths: Path) -> Callable[[], bool]:
    """Readiness of a program that writes a file when it has come far enough."""
    return lambda: all(path.exists() for path in paths)


def says(path: Path) -> str:
    """Python that writes the process id into a file, whole or not at all."""
    new = path.with_suffix(".new")
    return (
        f"import os, pathlib; n = pathlib.Path({str(new)!r}); n.write_text(str(os.getpid())); n.rename({str(path)!r})"
    )


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_lines_carry_the_name_of_their_program_also_an_unfinished_last_one(tmp_path: Path) -> None:
    done = tmp_path / "done"
    script = f"print('one'); print('two', end=''); {says(done)}; {SLEEP}"
    code, lines = supervise(python("web", script, ready=when(done)))
    assert code == 0
    assert [line for line in lines if line.startswith("web")] == ["web     | one", "web     | two"]
    assert lines[-1] == "mirante | stopped"


def test_control_characters_and_passwords_do_not_reach_the_console(tmp_path: Path) -> None:
    done = tmp_path / "done"
    script = rf"""
        print("\x1b[2Jred is gone")
        print("cannot reach redis://user:pa/ss@host:6379/0 and postgres://u:hunter22@db/x")
        print("{{'password': 'correct-horse'}}")
        {says(done)}
        {SLEEP}
    """
    _, lines = supervise(python("web", script, ready=when(done)), secrets=("correct-horse",))
    assert lines[:3] == [
        r"web     | \x1b[2Jred is gone",
        "web     | cannot reach redis://***@host:6379/0 and postgres://***@db/x",
        "web     | {'password': '***'}",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://:p@host/0, then a@b", "redis://***@host/0, then a@b"),
        ("at https://user:p@host/path?x=a@b.c", "at https://***@host/path?x=a@b.c"),
        ("mail to ops@example.com", "mail to ops@example.com"),
        ("rediss://u:p@a/0 smtp+starttls://u:p@b", "rediss://***@a/0 smtp+starttls://***@b"),
        ("'redis://:p@host' \"postgres://u:p@h/n\"", "'redis://***@host' \"postgres://***@h/n\""),
    ],
)
def test_user_and_password_are_taken_out_of_urls_only(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_a_later_stage_starts_when_the_earlier_is_ready_and_stops_before_it(tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    store = f"""
        import signal, sys, time, pathlib
        def leave(*_):
            print("store ends,", "after web" if pathlib.Path({str(ended)!r}).exists() else "before web")
            sys.exit()
        signal.signal(signal.SIGTERM, leave)
        time.sleep(0.5)
        {says(begun)}
        time.sleep(600)
    """
    web = f"""
        import signal, sys, time, pathlib
        def leave(*_):
            time.sleep(0.5)
            pathlib.Path({str(ended)!r}).write_text("")
            sys.exit()
        signal.signal(signal.SIGTERM, leave)
        print("web begins,", "after store" if pathlib.Path({str(begun)!r}).exists() else "before store")
        {says(tmp_path / "web")}
        time.sleep(600)
    """
    code, lines = supervise(
        python("store", store, stage=0, ready=when(begun)), python("web", web, ready=when(tmp_path / "web"))
    )
    assert code == 0
    assert "web     | web begins, after store" in lines
    assert "store   | store ends, after web" in lines


def test_a_child_that_ends_is_started_again_whatever_its_exit_code(tmp_path: Path) -> None:
    count, third = tmp_path / "count", tmp_path / "third"
    script = f"""
        import pathlib, sys, time
        count = pathlib.Path({str(count)!r})
        runs = len(count.read_text()) + 1 if count.exists() else 1
        count.write_text("x" * runs)
        if runs == 3:
            {says(third)}
            time.sleep(600)
        sys.exit(runs - 1)
    """
    code, lines = supervise(python("worker", script, ready=when(third)))
    assert code == 0
    assert "mirante | worker ended with exit code 0: starting it again in 0.05 s" in lines
    assert "mirante | worker ended with exit code 1: starting it again in 0.1 s" in lines


def test_repeated_crashes_stop_everything_with_the_last_lines_and_a_failure(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    other = python("web", f"{says(pid)}; {SLEEP}", ready=when(pid))
    worker = python("worker", "print('no such table'); raise SystemExit(3)", ready=lambda: False)
    code, lines = supervise(other, worker)
    assert code == 1
    assert "mirante | worker ended with exit code 3, 3 times in a row: stopping" in lines
    after = lines[lines.index("mirante | all is stopped, because worker cannot run. Its last lines:") :]
    assert after[1:] == ["worker  | no such table"] * 3
    assert is_gone(int(pid.read_text()))


def test_what_never_gets_ready_stops_everything(tmp_path: Path) -> None:
    policy = Policy(start_within=1, grace=10)
    code, lines = supervise(python("web", f"print('waiting'); {SLEEP}", ready=lambda: False), policy=policy)
    assert code == 1
    assert lines[-1] == "web     | waiting"


def test_a_child_that_does_not_stop_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    pids = [tmp_path / "child", tmp_path / "grandchild"]
    script = f"""
        import signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-S", "-c", {f"{says(pids[1])}; {SLEEP}"!r}])
        {says(pids[0])}
        time.sleep(600)
    """
    policy = Policy(grace=1, last_grace=1)
    code, lines = supervise(python("web", script, ready=when(*pids)), policy=policy)
    assert code == 0
    assert "mirante | web did not stop within 1 s: killed" in lines
    eventually(lambda: all(is_gone(int(path.read_text())) for path in pids), "child and grandchild are gone")


def test_a_child_that_crashed_leaves_no_grandchild_to_its_successor(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    script = f"""
        import pathlib, subprocess, sys, time
        if pathlib.Path({str(first)!r}).exists():
            {says(second)}
            time.sleep(600)
        subprocess.Popen([sys.executable, "-S", "-c", {f"{says(first)}; {SLEEP}"!r}])
        while not pathlib.Path({str(first)!r}).exists():
            time.sleep(0.02)
        sys.exit(1)
    """
    code, _ = supervise(python("web", script, ready=when(second)))
    assert code == 0
    eventually(lambda: is_gone(int(first.read_text())), "the grandchild is gone")


def test_a_second_ctrl_c_does_not_wait_for_a_slow_child(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    stubborn = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {says(pid)}; {SLEEP}"

    def twice() -> None:
        interrupt()
        interrupt()
        signal.setitimer(signal.ITIMER_REAL, 0.5)

    before = signal.signal(signal.SIGALRM, lambda *_: interrupt())
    begun = time.monotonic()
    try:
        code, _ = supervise(
            python("web", stubborn, ready=when(pid)), policy=Policy(grace=120, last_grace=120), announce=twice
        )
    finally:
        signal.signal(signal.SIGALRM, before)
    assert code == 0
    assert time.monotonic() - begun < 60


def test_a_reader_that_has_gone_ends_everything(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as out:
        program = python("web", f"{says(pid)}; print('x'); {SLEEP}", ready=when(pid))
        assert Supervisor([program], console=Console(out), announce=lambda: None, policy=QUICK).run() == 0
        assert not pid.exists() or is_gone(int(pid.read_text()))
        # So that closing, which flushes, finds somebody.
        with Path(os.devnull).open("w") as nobody:
            os.dup2(nobody.fileno(), out.fileno())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_tethered_command_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"""
        import subprocess, sys, time
        from dashboard.processes.child import tethered
        subprocess.Popen(tethered([sys.executable, "-S", "-c", {f"{says(pid)}; {SLEEP}"!r}]), start_new_session=True)
        time.sleep(600)
    """
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)])
    try:
        eventually(pid.exists, "the child runs")
    finally:
        parent.kill()
        parent.wait()
    eventually(lambda: is_gone(int(pid.read_text())), "the child is gone", patience=30)


def test_a_tethered_command_whose_parent_is_already_gone_never_starts() -> None:
    command = tethered([sys.executable, "-c", "print('started')"])
    command[command.index(str(os.getpid()))] = "1" if os.getpid() != 1 else "2"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_command_that_is_not_there_is_named() -> None:
    done = subprocess.run(tethered(["/no/such/program"]), capture_output=True, text=True, check=False)
    assert done.stderr == "cannot start /no/such/program: No such file or directory\n"


def test_a_folder_is_locked_against_a_second_start(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(Busy, match=rf"in use by another start of Mirante \(process {os.getpid()}\)"):
        FolderLock(tmp_path, patience=0.1)
    lock.release()
    FolderLock(tmp_path, patience=0.1).release()


def test_a_port_that_was_asked_for_and_is_taken_is_an_error() -> None:
    with web_socket("127.0.0.1", None) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=f"PORT: {port} on 127.0.0.1 is in use"):
            web_socket("127.0.0.1", port)


def test_without_a_port_the_next_free_one_is_taken() -> None:
    with web_socket("127.0.0.1", None) as first, web_socket("127.0.0.1", None) as second:
        assert 8000 <= first.getsockname()[1] < second.getsockname()[1]


def test_an_address_of_another_machine_is_an_error() -> None:
    with pytest.raises(CannotListen, match="BIND: expected an address of this machine"):
        web_socket("192.0.2.7", None)


def test_a_listening_socket_takes_connections_before_the_web_process_is_there() -> None:
    with web_socket("127.0.0.1", None) as listening, socket.create_connection(listening.getsockname(), timeout=5):
        pass
