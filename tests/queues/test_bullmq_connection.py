"""Outages, logins, refusals and restarts: told in plain words, never as an empty answer, never with a secret."""

from __future__ import annotations

import socket
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from queues.backends.bullmq import connect
from queues.backends.bullmq.connection import CLIENT_NAME, Connection
from queues.backends.bullmq.reader import BullMQ
from queues.backends.bullmq.scripts import script
from queues.errors import BadInput, NotPermitted, OutOfMemory, QueueError, Unreachable, Unsupported
from queues.health import Persistence
from queues.registry import SourceConfig
from queues.types import JobRef, QueueRef, State
from tests.policy import unavailable
from tests.seed import seed_queue
from tests.valkey import RedisCommands, Server, StartRedis, eventually, free_port, redis_binary

SHOP = QueueRef("main", b"bull", b"shop")
SECRET = "s3cr3t-p4ss"

CALLS: dict[str, Callable[[BullMQ], object]] = {
    "health": lambda reader: reader.health(),
    "discover": lambda reader: list(reader.discover()),
    "counts": lambda reader: reader.counts([SHOP]),
    "workers": lambda reader: reader.workers(),
    "queue": lambda reader: reader.queue(SHOP),
    "jobs": lambda reader: reader.jobs(SHOP, [State.FAILED]),
    "waiting": lambda reader: reader.jobs(SHOP, [State.WAITING], name="x"),
    "job": lambda reader: reader.job(JobRef(SHOP, b"1")),
    "logs": lambda reader: reader.logs(JobRef(SHOP, b"1")),
    "body": lambda reader: reader.body(JobRef(SHOP, b"1"), b"data"),
    "find": lambda reader: reader.find([SHOP], b"1"),
}


def _reader(url: str, **options: str) -> BullMQ:
    return BullMQ(SourceConfig(**{"name": "main", "url": url, **options}))  # type: ignore[arg-type]


@pytest.mark.parametrize("call", CALLS)
def test_every_method_says_that_a_server_is_down_and_which(call: str) -> None:
    port = free_port()
    reader = _reader(f"redis://user:{SECRET}@127.0.0.1:{port}/3")
    with pytest.raises(Unreachable, match=f"^127.0.0.1:{port}/3 refuses connections\\.$") as caught:
        CALLS[call](reader)
    assert caught.value.source == "main"
    assert SECRET not in repr(caught.value) + str(caught.value.__cause__)


def test_a_host_name_that_nobody_knows_is_said_so() -> None:
    with pytest.raises(Unreachable, match=r"no-such-host\.invalid:6379/0 (is not a known|cannot be found)"):
        _reader("redis://no-such-host.invalid:6379/0").health()


def test_a_missing_unix_socket_is_said_so_and_a_present_one_is_used(tmp_path: Path, start_redis: StartRedis) -> None:
    path = tmp_path / "s"
    start_redis("--unixsocket", str(path))
    reader = _reader(f"unix://{path}?db=2")
    assert reader.address == f"{path}/2"
    eventually(path.exists)
    assert reader.health().keys == 0
    with pytest.raises(Unreachable, match="no socket of this name"):
        _reader(f"unix://{tmp_path}/none").health()


def test_logins_that_fail_are_told_apart_without_the_password(start_redis: StartRedis) -> None:
    guarded = start_redis("--requirepass", SECRET)
    host = f"127.0.0.1:{guarded.port}/0"
    assert _reader(f"redis://:{SECRET}@{host}").health().keys == 0
    with pytest.raises(Unreachable, match=f"^{host} asks for a password, and none was given\\.$"):
        _reader(f"redis://{host}").health()
    with pytest.raises(Unreachable, match="wrong password or user") as caught:
        _reader(f"redis://:wr0ng-one@{host}").health()
    assert "wr0ng-one" not in str(caught.value)


def test_an_acl_user_reads_and_what_is_refused_is_named(server: Server, store: redis.Redis) -> None:
    seed_queue(store, "shop", waiting=2)
    store.acl_setuser(
        "part", enabled=True, passwords=[f"+{SECRET}"], keys=["bull:*"], commands=["+@read", "+eval", "+evalsha"]
    )
    reader = _reader(server.url.replace("//", f"//part:{SECRET}@"))
    assert reader.counts([SHOP])[SHOP].backlog == 2
    assert len(reader.jobs(SHOP, [State.WAITING]).rows) == 2
    store.acl_setuser("part", commands=["-hget"])
    with pytest.raises(NotPermitted, match="does not permit HGET to our user"):
        reader.body(JobRef(SHOP, b"1"), b"data")
    health = reader.health()
    assert (health.version, health.memory_used) == ("", None)
    assert health.refused == ("INFO", "TIME", "CONFIG GET")
    store.acl_deluser("part")


def test_a_database_that_does_not_exist_is_said_so(server: Server) -> None:
    with pytest.raises((Unreachable, Unsupported), match="has no database"):
        _reader(server.url.replace("/0", "/999")).health()


def test_a_server_that_restarts_is_read_again_with_its_scripts_gone(start_redis: StartRedis) -> None:
    server = start_redis()
    reader = BullMQ(server.config())
    with server.client() as client:
        seed_queue(client, "shop", waiting=2)
    assert reader.counts([SHOP])[SHOP].backlog == 2
    server.stop()
    with pytest.raises(Unreachable):
        reader.counts([SHOP])
    server.start()
    assert eventually(lambda: _exists(reader) is False)
    with server.client() as client:
        seed_queue(client, "shop", waiting=2)
        assert reader.counts([SHOP])[SHOP].backlog == 2
        client.script_flush()
        assert [job.ref.id for job in reader.jobs(SHOP, [State.WAITING]).rows] == [b"2", b"1"]


def _exists(reader: BullMQ) -> bool | None:
    try:
        return reader.counts([SHOP])[SHOP].exists
    except Unreachable:
        return None


def test_scripts_that_a_server_has_forgotten_are_sent_again_in_the_midst_of_a_pipeline(
    bullmq: BullMQ, store: redis.Redis
) -> None:
    seed_queue(store, "shop", waiting=2)
    keys = [b"bull:shop:1", b"bull:shop:1:processed"]
    store.script_flush()
    command = script("ages").call(keys, 0, 2)
    replies = bullmq.connection.run([("ECHO", "a"), command, ("ECHO", "b"), command])
    assert replies[0] == b"a"
    assert replies[2] == b"b"
    created = int(store.hget("bull:shop:1", "timestamp") or 0)
    assert replies[1] == replies[3] == [[created], [created]]


def test_a_stale_connection_is_replaced_without_anybody_noticing(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "shop", waiting=1)
    for _time in range(3):
        assert bullmq.counts([SHOP])[SHOP].backlog == 1
        store.client_kill_filter(_type="normal", skipme=True)


def test_a_connection_that_dies_under_a_command_is_replaced_once(store: redis.Redis, server: Server) -> None:
    seed_queue(store, "shop", waiting=1)
    with _dying(server.port) as (port, lives):
        reader = _reader(f"redis://127.0.0.1:{port}/0")
        lives[:] = [1, 100]
        assert reader.counts([SHOP])[SHOP].backlog == 1
        reader.connection.close()
        lives[:] = [1, 1]
        with pytest.raises(Unreachable, match="closed the connection"):
            reader.counts([SHOP])
        reader.connection.close()


@contextmanager
def _dying(target: int) -> Iterator[tuple[int, list[int]]]:
    """A way to a server on which the next connections live for so many messages from us, the greeting included."""
    lives: list[int] = []

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("127.0.0.1", target)) as there:
                for _message in range(lives.pop(0) if lives else 100):
                    if not (said := self.request.recv(1 << 20)):
                        return
                    there.sendall(said)
                    self.request.sendall(there.recv(1 << 20))
                self.request.recv(1 << 20)  # and dies of the next one

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Relay) as relay:
        relay.daemon_threads = True
        thread = threading.Thread(target=relay.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield relay.server_address[1], lives
        relay.shutdown()
        thread.join()


def test_reading_goes_on_while_the_server_is_out_of_memory(server: Server, store: redis.Redis) -> None:
    reader = BullMQ(server.config())
    seed_queue(store, "shop", waiting=5, failed=5)
    store.config_set("maxmemory", 1)
    try:
        store.script_flush()
        for name in ("counts", "jobs", "job", "queue", "logs", "find", "workers", "health", "discover"):
            CALLS[name](reader)
        assert reader.health().eviction_policy == "noeviction"
        with pytest.raises(OutOfMemory, match="out of memory"):
            reader.connection.call("SET", "x", "y")
    finally:
        store.config_set("maxmemory", 0)


def test_a_busy_server_is_unreachable_and_never_empty(start_redis: StartRedis) -> None:
    server = start_redis("--busy-reply-threshold", "50")
    reader = BullMQ(server.config())
    client = server.client()

    def block() -> None:
        with pytest.raises(redis.ResponseError):
            client.eval("while true do end", 0)

    thread = threading.Thread(target=block)
    thread.start()
    error = eventually(lambda: _error(reader))
    assert isinstance(error, Unreachable)
    assert "busy with a script" in str(error)
    with server.client() as other:
        other.script_kill()
    thread.join()
    eventually(lambda: _error(reader) is None)
    client.close()


def _error(reader: BullMQ) -> QueueError | None:
    try:
        reader.counts([SHOP])
    except QueueError as error:
        return error
    return None


def test_a_cluster_is_named_as_one_and_never_read_by_half(start_redis: StartRedis) -> None:
    server = start_redis("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    reader = BullMQ(server.config())
    with pytest.raises(Unsupported, match="Redis Cluster"):
        list(reader.discover())
    with pytest.raises(Unsupported, match="Redis Cluster"):
        reader.counts([SHOP, QueueRef("main", b"bull", b"other")])
    assert reader.health().mode == "cluster"


def test_health_tells_what_the_server_is(bullmq: BullMQ, server: Server, store: redis.Redis) -> None:
    health = bullmq.health()
    assert health.server == ("Valkey" if "valkey" in server.binary else "Redis")
    assert health.version[0].isdigit()
    assert (health.mode, health.role, health.persistence, health.last_save_failed) == (
        "standalone",
        "master",
        (),
        False,
    )
    assert health.clients is not None
    assert health.ping_ms is not None
    assert health.clock_offset_ms is not None
    assert abs(health.clock_offset_ms) < 5_000
    assert health.refused == ()
    store.config_set("appendonly", "yes")
    store.config_set("save", "60 1")
    try:
        assert bullmq.health().persistence == (Persistence.AOF, Persistence.RDB)
    finally:
        store.config_set("appendonly", "no")
        store.config_set("save", "")


def test_our_connections_have_a_name_that_is_no_workers_and_count_their_commands(
    bullmq: BullMQ, store: redis.Redis
) -> None:
    before = bullmq.commands_sent
    bullmq.counts([SHOP])
    assert bullmq.commands_sent - before in (1, 2)  # the second where the script had to be sent
    assert CLIENT_NAME in {client["name"] for client in store.client_list()}
    assert bullmq.workers().by_queue == {}


def test_many_threads_share_a_backend(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "shop", waiting=7, failed=40)
    seen: set[tuple[int, int]] = set()
    others = {client["id"] for client in store.client_list()}  # of backends of other tests, until they are collected

    def work() -> None:
        for _time in range(20):
            seen.add((bullmq.counts([SHOP])[SHOP].backlog, len(bullmq.jobs(SHOP, [State.FAILED]).rows)))

    threads = [threading.Thread(target=work) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {(7, 40)}
    clients = [client for client in store.client_list() if client["id"] not in others]
    assert len([client for client in clients if client["name"] == CLIENT_NAME]) <= 16


def test_more_commands_than_allowed_are_seen_and_named(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    def send() -> None:
        with redis_commands(max=2):
            store.get("not ours")
            bullmq.connection.run([("PING",), ("ECHO", b'odd " bytes \xff'), ("SCAN", 0)])

    with pytest.raises(AssertionError, match=r"3 commands, not at most 2: PING ECHO SCAN"):
        send()
    with redis_commands(max=1) as sent:
        bullmq.connection.call("PING")
    assert sent == ["PING"]


@pytest.mark.parametrize("url", ["nonsense", "http://x", "redis://h:notaport/0"])
def test_an_address_that_cannot_be_read_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(BadInput, match="source “main”"):
        connect(SourceConfig("main", url))


def test_addresses_are_shown_without_user_or_password() -> None:
    assert Connection(SourceConfig("main", f"redis://me:{SECRET}@example.org")).address == "example.org:6379/0"
    assert Connection(SourceConfig("main", f"rediss://:{SECRET}@[::1]:7000/4")).address == "[::1]:7000/4"


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    crt, key = tmp_path / "crt.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(crt)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        unavailable("openssl is not installed")
    return crt, key


def test_tls_is_spoken_and_a_certificate_nobody_vouches_for_is_refused(
    start_redis: StartRedis, certificate: tuple[Path, Path]
) -> None:
    crt, key = certificate
    port = str(free_port())
    options = ("--tls-port", port, "--tls-cert-file", str(crt), "--tls-key-file", str(key), "--tls-auth-clients", "no")
    plain = start_redis(*options, "--tls-ca-cert-file", str(crt), binary=redis_binary())
    assert _reader(f"rediss://127.0.0.1:{port}/0", ca_file=str(crt)).health().keys == 0
    with pytest.raises(Unreachable, match="certificate that is not trusted"):
        _reader(f"rediss://127.0.0.1:{port}/0").health()
    with pytest.raises(Unreachable, match=r"TLS|closed|answer"):
        _reader(f"rediss://127.0.0.1:{plain.port}/0", ca_file=str(crt)).health()
    with pytest.raises(Unreachable):
        _reader(f"redis://127.0.0.1:{port}/0").health()


@pytest.mark.parametrize("size", [0, 1, 10, 11, 100_000, 3_000_000])
def test_the_head_of_a_long_string_is_read_and_the_connection_stays_usable(
    bullmq: BullMQ, store: redis.Redis, size: int
) -> None:
    value = bytes(range(256)) * (size // 256) + b"\r\n" * (size % 256 // 2) + b"x" * (size % 2)
    store.set("long", value)
    for _again in range(3):
        assert bullmq.connection.head(("GET", "long"), 10) == (value[:10], size)
        assert bullmq.connection.head(("GET", "long"), 4_000_000) == (value, size)
        assert bullmq.connection.head(("GET", "nothing"), 10) is None
        assert bullmq.connection.call("PING") == b"PONG"
    store.lpush("list", "1")
    assert bullmq.connection.head(("GET", "list"), 10) is None
    with pytest.raises(Unsupported):
        bullmq.connection.head(("NO-SUCH-COMMAND",), 10)
    with pytest.raises(Unreachable, match="does not speak like Redis"):
        bullmq.connection.head(("DBSIZE",), 10)
    assert bullmq.connection.call("PING") == b"PONG"
