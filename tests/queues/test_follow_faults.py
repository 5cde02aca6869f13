"""What servers and clocks do to a follower, on servers of the test's own: it goes on, and says what was lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
import redis
from django.conf import LazySettings

from queues import registry
from queues.backends.bullmq import connection
from queues.events import EventKind
from queues.follow.source import SourceFollower
from queues.live import Pulse
from queues.models import Following, Notable, Stream
from tests.queues.following import Listening, add, follower, know, step
from tests.valkey import Server, StartRedis, redis_binary

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["valkey", "redis"])
def own(request: pytest.FixtureRequest, start_redis: StartRedis, settings: LazySettings) -> Iterator[Server]:
    """A server that may be killed, as the source `main`; it keeps what it was told."""
    binary = redis_binary() if request.param == "redis" else None
    server = start_redis("--appendonly", "yes", "--appendfsync", "always", binary=binary)
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    know(b"shop")
    yield server
    registry.forget()


@pytest.fixture
def one(own: Server) -> Iterator[SourceFollower]:
    made = follower(Listening())
    with own.client() as client:
        add(client, "shop", "completed", "jobId", "0")
    step(made)
    yield made
    made.close()


def add_more(own: Server, number: int, kind: str = "completed") -> None:
    with own.client() as client:
        for each in range(number):
            add(client, "shop", kind, "jobId", str(each), "failedReason", "x")


def pulse(one: SourceFollower) -> str:
    return str(one.standing.pulse)


def kinds() -> list[str]:
    return list(Notable.objects.order_by("id").values_list("kind", flat=True))


# DP-03
def test_a_server_that_restarts_with_its_data_leaves_no_gap(own: Server, one: SourceFollower) -> None:
    own.stop()
    step(one)
    assert pulse(one) == "blind"
    assert one.standing.since_ms is not None
    assert one.standing.why
    own.start()
    add_more(own, 5)
    step(one)
    step(one)
    row = Stream.objects.get()
    assert (row.read, row.lost, one.standing.pulse) == (6, 0, Pulse.LIVE)
    assert kinds() == ["source-down", "source-up"]


def test_that_a_server_does_not_answer_is_logged_once_and_that_it_answers_again(
    own: Server, one: SourceFollower, caplog: pytest.LogCaptureFixture
) -> None:
    own.stop()
    step(one)
    step(one)
    own.start()
    step(one)
    told = [record.getMessage() for record in caplog.records if record.name == "queues.follow.source"]
    assert len(told) == 2
    assert "main does not answer: 127.0.0.1" in told[0]
    assert told[1] == "main answers again"


# DP-03
def test_what_is_caught_up_is_not_told_as_what_happens_a_second(own: Server, one: SourceFollower) -> None:
    assert one.standing.events_per_s == 0
    add_more(own, 5)
    step(one)
    assert (pulse(one), one.standing.events_per_s) == ("live", 5)


def test_a_server_that_restarts_empty_is_a_gap_and_is_followed_on(own: Server, one: SourceFollower) -> None:
    own.stop()
    step(one)
    for path in own.folder.rglob("*aof*"):
        if path.is_file():
            path.unlink()
    own.start()
    step(one)
    add_more(own, 3, "failed")
    step(one)
    step(one)
    row = Stream.objects.get()
    assert (row.read, row.added) == (4, 3)
    assert kinds().count("gap") == 1
    assert kinds().count("failed") == 3
    assert Notable.objects.get(kind="gap").count is None


# DP-03
def test_scripts_that_the_server_forgot_are_sent_again(own: Server, one: SourceFollower) -> None:
    with own.client() as client:
        client.script_flush()
    add_more(own, 2)
    step(one)
    assert (Stream.objects.get().read, one.standing.pulse) == (3, Pulse.LIVE)


def test_a_replica_that_takes_no_writing_can_be_followed(own: Server, one: SourceFollower) -> None:
    add_more(own, 2)
    with own.client() as client:
        client.config_set("replica-serve-stale-data", "yes")
        client.execute_command("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(redis.exceptions.ReadOnlyError):
            client.set("a", "b")
    step(one)
    assert (Stream.objects.get().read, one.standing.pulse) == (3, Pulse.LIVE)


def test_a_server_that_swallows_packets_is_blind_in_bounded_time(own: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "READ_TIMEOUT_S", 0.3)
    monkeypatch.setattr(connection, "CONNECT_TIMEOUT_S", 0.3)
    made = follower(Listening())
    step(made)
    assert own.process
    own.process.send_signal(signal.SIGSTOP)
    try:
        step(made)
        assert pulse(made) == "blind"
    finally:
        own.process.send_signal(signal.SIGCONT)
    add_more(own, 4)
    step(made)
    step(made)
    assert (Stream.objects.get().read, pulse(made)) == (4, "live")
    made.close()


def test_a_user_who_may_not_read_is_told_so_and_it_ends(own: Server, one: SourceFollower) -> None:
    with own.client() as client:
        client.execute_command("ACL", "SETUSER", "default", "-xread")
        step(one)
        assert pulse(one) == "blind"
        assert "XREAD" in one.standing.why.upper()
        client.execute_command("ACL", "SETUSER", "default", "+xread")
    add_more(own, 1)
    step(one)
    assert pulse(one) == "live"


def test_our_clock_may_jump_by_hours(own: Server, one: SourceFollower, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Following.objects.get().covered_ms
    for module in ("source", "counting"):
        monkeypatch.setattr(f"queues.follow.{module}.now_ms", lambda: before + 5 * 3_600_000)
    add_more(own, 2)
    one.due_now("save")
    one.due_now("save all")
    one.step()
    assert 0 <= Following.objects.get().covered_ms - before < 600_000
    history = one.streams[know(b"shop")[0]].history
    assert sum(row[0] for row in history.counts.values()) == 3
    assert EventKind.GAP.value not in kinds()


def test_entries_of_a_megabyte_are_read_few_at_a_time(own: Server, one: SourceFollower) -> None:
    with own.client() as client:
        for each in range(40):
            add(client, "shop", "failed", "jobId", str(each), "failedReason", "x" * 1_000_000)
    step(one)
    step(one)
    step(one)
    assert Stream.objects.get().read == 41
    assert {len(row.text) for row in Notable.objects.all()} <= set(range(1, 502))
    assert Notable.objects.filter(size=1_000_000).count() == 40
