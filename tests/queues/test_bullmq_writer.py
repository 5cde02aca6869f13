"""What is sent by what writes: never twice, in batches of the right size, with errors that tell what they are."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import pytest
import redis
from hiredis import Reader
from redis.exceptions import ResponseError

from queues.actions import BATCH, NewJob, Outcome, Target
from queues.backends.bullmq.actions import BullMQActions
from queues.backends.bullmq.faults import refused
from queues.backends.bullmq.pace import AIM_MS, LEAST, MOST, Pace
from queues.errors import LimitExceeded, NotPermitted, OutOfMemory, QueueError, ReadOnly, Unreachable, Unsure
from queues.types import QueueRef, State
from tests.seed import seed_queue
from tests.valkey import RedisCommands, Server, StartRedis, redis_binary, valkey_binary

SHOP = QueueRef("main", b"bull", b"shop")


class Cut:
    """Between us and a server: passes on what is sent, and breaks the connection instead of giving certain answers."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.after: int | None = None  # scripts whose answers still pass
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def config(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                ours, _address = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._pass, args=(ours,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _pass(self, ours: socket.socket) -> None:
        asked, told = Reader(), Reader()
        with ours, socket.create_connection(("127.0.0.1", self._server.port)) as theirs:
            while sent := ours.recv(1 << 20):
                theirs.sendall(sent)
                asked.feed(sent)
                commands = [str(command) for command in _all(asked)]
                answers = b""
                while commands:
                    answer = theirs.recv(1 << 20)
                    told.feed(answer)
                    answers += answer
                    del commands[: len(list(_all(told)))]
                if b"EVAL" in sent and self.after is not None:
                    if self.after == 0:
                        return  # it is done by now; nobody hears of it
                    self.after -= 1
                ours.sendall(answers)


def _all(reader: Reader) -> Iterator[object]:
    """The commands, or the answers, that are there whole."""
    while (one := reader.gets()) is not False:
        yield one


@contextmanager
def cut(server: Server) -> Iterator[tuple[Cut, BullMQActions]]:
    between = Cut(server)
    operating = BullMQActions(server.config(url=between.config()))
    try:
        yield between, operating
    finally:
        operating.close()
        between.close()


def _warm(store: redis.Redis, operating: BullMQActions) -> None:
    """The server knows the script, and we know that we may write."""
    seed_queue(store, "shop", failed=1)
    [result] = operating.retry(SHOP, [Target(b"1")], state=State.FAILED, reset=False)
    assert result.outcome is Outcome.DONE


def test_a_lost_answer_is_unsure_and_nothing_is_sent_twice(server: Server, store: redis.Redis) -> None:
    with cut(server) as (between, operating):
        _warm(store, operating)
        seed_queue(store, "shop", failed=10)
        between.after = 0
        targets = [Target(b"%d" % number) for number in range(2, 12)]
        store.config_resetstat()
        with pytest.raises(Unsure, match="may or may not have been done") as raised:
            operating.retry(SHOP, targets, state=State.FAILED, reset=False)
        calls = cast("dict[str, dict[str, int]]", store.info("commandstats"))
        assert calls["cmdstat_evalsha"]["calls"] == 1
        assert "cmdstat_eval" not in calls
        assert raised.value.results == []
        assert store.llen("bull:shop:wait") == 11  # it had been done
        between.after = None
        again = operating.retry(SHOP, targets, state=State.FAILED, reset=False)
        assert [result.outcome for result in again] == [Outcome.ALREADY] * 10
        assert store.llen("bull:shop:wait") == 11


def test_what_had_been_answered_before_is_told_with_the_error(server: Server, store: redis.Redis) -> None:
    with cut(server) as (between, operating):
        _warm(store, operating)
        seed_queue(store, "shop", failed=30)
        operating._writer.pace("retry").size = 10
        between.after = 1
        targets = [Target(b"%d" % number) for number in range(2, 32)]
        with pytest.raises(Unsure) as raised:
            operating.retry(SHOP, targets, state=State.FAILED, reset=False)
        assert [result.outcome for result in raised.value.results] == [Outcome.DONE] * 10  # type: ignore[attr-defined]


def test_an_added_job_whose_answer_was_lost_is_added_once(server: Server, store: redis.Redis) -> None:
    with cut(server) as (between, operating):
        operating.add(SHOP, NewJob(b"job", b"1"), token="first")
        between.after = 0
        with pytest.raises(Unsure):
            operating.add(SHOP, NewJob(b"job", b"2"), token="second")
        between.after = None
        result = operating.add(SHOP, NewJob(b"job", b"2"), token="second")
        assert (result.outcome, result.made) == (Outcome.ALREADY, b"2")
        assert store.llen("bull:shop:wait") == 2


def test_a_lost_answer_to_a_question_is_no_doubt(server: Server, store: redis.Redis) -> None:
    with cut(server) as (between, operating):
        seed_queue(store, "shop", failed=1)
        between.after = 0
        for ask in (lambda: operating.unable(SHOP), lambda: operating.pause(SHOP)):  # rights are asked for first
            with pytest.raises(Unreachable) as raised:
                ask()
            assert not isinstance(raised.value, Unsure)
        assert not store.hexists("bull:shop:meta", "paused")


def test_a_server_that_was_not_reached_is_no_doubt(start_redis: StartRedis) -> None:
    server = start_redis()
    server.stop()
    operating = BullMQActions(server.config())
    with pytest.raises(Unreachable) as raised:
        operating.pause(SHOP)
    assert not isinstance(raised.value, Unsure)


def test_a_script_that_the_server_has_forgotten_is_sent_as_text_and_acts_once(
    store: redis.Redis, operating: BullMQActions
) -> None:
    _warm(store, operating)
    store.script_flush()
    seed_queue(store, "shop", failed=1)
    results = operating.retry(SHOP, [Target(b"2")], state=State.FAILED, reset=False)
    assert [result.outcome for result in results] == [Outcome.DONE]
    assert store.lrange("bull:shop:wait", 0, -1) == [b"2", b"1"]


def test_a_batch_has_bounds(operating: BullMQActions) -> None:
    with pytest.raises(LimitExceeded):
        operating.retry(SHOP, [Target(b"1")] * (BATCH + 1), state=State.FAILED, reset=False)


def test_many_targets_are_sent_in_scripts_that_grow(
    store: redis.Redis, operating: BullMQActions, redis_commands: RedisCommands
) -> None:
    seed_queue(store, "shop", failed=1000)
    targets = [Target(b"%d" % number) for number in range(1, 1001)]
    with redis_commands(max=200) as sent:
        results = operating.retry(SHOP, targets, state=State.FAILED, reset=False)
    assert {result.outcome for result in results} == {Outcome.DONE}
    assert [result.id for result in results] == [target.id for target in targets]
    assert 2 <= sent.count("EVALSHA") < 50


def test_a_script_that_is_slow_is_given_less_and_one_that_is_fast_more() -> None:
    pace = Pace()
    pace.took(pace.size, AIM_MS * 10)
    slow = pace.size
    assert slow == 10
    for _ in range(20):
        pace.took(pace.size, 0.0)
    assert pace.size == MOST
    pace.took(MOST, 1e9)
    assert pace.size == LEAST
    pace.took(0, 5)
    assert pace.size == LEAST


def test_what_takes_the_server_long_is_timed_by_its_own_clock(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=1)
    data = b'"' + b"x" * 20_000_000 + b'"'
    store.hset("bull:shop:1", "data", data)
    operating._writer.timed("edit", SHOP, b"9", b"1", b"2")
    _reply, ms = operating._writer.timed("edit", SHOP, b"1", data, data[:-2] + b'y"')
    assert ms >= 1


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("ACL failure in script: User ro has no permissions to run the 'lpush' command script: x", NotPermitted),
        ("The user executing the script can't run this command or subcommand script: f4b6, on x:1.", NotPermitted),
        ("NOPERM this user has no permissions to access one of the keys used as arguments", NotPermitted),
        ("ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write against", ReadOnly),
        ("ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed", OutOfMemory),
        ("READONLY You can't write against a read only replica. script: 52d5, on @user_script:1.", ReadOnly),
        ("OOM command not allowed when used memory > 'maxmemory'. script: 52d5, on @user_script:1.", OutOfMemory),
        ("MISCONF Errors writing to the AOF file: No space left on device", ReadOnly),
        ("NOREPLICAS Not enough good replicas to write.", ReadOnly),
    ],
)
def test_errors_within_scripts_are_told_for_what_they_are(said: str, kind: type[QueueError]) -> None:
    error = refused(ResponseError(said), ("EVALSHA", "x"), source="main", address="here:1/0")
    assert type(error) is kind
    assert "here:1/0" in str(error)


@pytest.mark.parametrize("binary", [valkey_binary, redis_binary], ids=["valkey", "redis"])
def test_a_server_without_memory_says_so_and_nothing_is_done_by_half(
    binary: Callable[[], str], start_redis: StartRedis
) -> None:
    server = start_redis(binary=binary())
    with server.client() as client:
        seed_queue(client, "shop", failed=2)
        operating = BullMQActions(server.config())
        operating.unable(SHOP)
        client.config_set("maxmemory", 1)
        before = cast(int, client.dbsize())
        with pytest.raises(OutOfMemory):
            operating.add(SHOP, NewJob(b"job", b"1"), token="t")
        assert client.dbsize() == before
        client.config_set("maxmemory", 0)
        operating.add(SHOP, NewJob(b"job", b"1"), token="t")
        operating.close()
