"""Letters of dead-letter queues are read as they come, compared, and let go."""

# mypy: allow-untyped-calls

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence

import pytest
import redis

from queues.audit.types import Actor, Asked
from queues.failed import FailedJob
from queues.failures import letters
from queues.failures.index import SourceIndexer
from queues.models import Failure, FailureGroup, Letter, Queue
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.queues.following import know
from tests.queues.indexing import fail, indexer, key, progress, remove, settle, sums_agree
from tests.valkey import RedisCommands

pytestmark = pytest.mark.django_db

ANA = Asked(Actor("ana", "admin"))


@pytest.fixture
def queues_(valkey: redis.Redis, source: SourceConfig) -> tuple[QueueRef, QueueRef]:
    letters.forget()
    shop, dead = know(b"shop", b"shop-dlq")
    return shop, dead


def post(client: redis.Redis, ref: QueueRef, *jobs: int | str, origin: str = "shop", at: int | None = None) -> None:
    at = now_ms() if at is None else at
    for job in jobs:
        data = {
            "payload": {"order": 1}, "error": {"message": "card declined", "name": "CardError"}, "failedAt": at,
            "queue": origin, "jobId": str(job), "jobName": "charge", "attemptsMade": 3,
        }  # fmt: skip
        client.hset(key(ref, f"L{job}"), mapping={"name": "dead", "data": json.dumps(data), "timestamp": at})
        client.lpush(key(ref, "wait"), f"L{job}")


class Killed:
    """The process of an index ends at a writing, which comes to nothing."""

    def __init__(self, one: SourceIndexer, writings: int) -> None:
        self._left, self._one = writings, one

    def __enter__(self) -> None:
        one = self._one
        one.due_now()
        while one._term is None:
            one.step()
        store = one._term.store
        real = store._counted

        def counted(*values: object, **more: object) -> object:
            written = real(*values, **more)  # type: ignore[arg-type]
            self._left -= 1
            if self._left <= 0:
                raise KeyboardInterrupt
            return written

        store._counted = counted  # type: ignore[method-assign,assignment]

    def __exit__(self, kind: object, _error: object, _trace: object) -> bool:
        return kind in {None, KeyboardInterrupt}


def told() -> set[tuple[str, str]]:
    """Queue and job of failures."""
    return set(Failure.objects.values_list("queue__slug", "job"))


def known(ref: QueueRef) -> set[str]:
    return set(Letter.objects.filter(queue__slug=ref.slug).values_list("job", flat=True))


def test_letters_are_failures_of_their_origin(valkey: redis.Redis, queues_: tuple[QueueRef, QueueRef]) -> None:
    _shop, dead = queues_
    post(valkey, dead, *range(25))
    one = indexer()
    settle(one)
    assert known(dead) == {f"L{number}" for number in range(25)}
    assert set(Failure.objects.values_list("queue__slug", "how", "present")) == {("shop", "letter", True)}
    post(valkey, dead, *range(25, 30))
    settle(one)
    assert len(known(dead)) == 30
    assert progress(dead).letters
    assert sums_agree()


def test_a_failure_with_its_letter_is_one(valkey: redis.Redis, queues_: tuple[QueueRef, QueueRef]) -> None:
    shop, dead = queues_
    at = now_ms() - 1000
    fail(valkey, shop, 1, 2, at=at, reason="card declined")
    post(valkey, dead, 1, 2, at=at + 20)
    one = indexer()
    settle(one)
    assert Failure.objects.count() == 2
    remove(valkey, shop, 1, 2)
    settle(one)
    assert Failure.objects.filter(in_set=False, present=True).count() == 2
    valkey.delete(key(dead, "wait"))
    settle(one)
    assert not known(dead)
    assert not Failure.objects.filter(present=True).exists()
    assert sums_agree()


def test_letters_that_went_are_let_go_whatever_their_place(
    valkey: redis.Redis, queues_: tuple[QueueRef, QueueRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.failures.index.letterbox.PAGE", 7)
    monkeypatch.setattr("queues.failures.index.letterbox.ROWS", 5)
    _shop, dead = queues_
    post(valkey, dead, *range(40))
    one = indexer()
    settle(one)
    valkey.lrem(key(dead, "wait"), 1, "L20")
    valkey.rpop(key(dead, "wait"))
    post(valkey, dead, 50)
    valkey.lrem(key(dead, "wait"), 1, "L30")
    valkey.zadd(key(dead, "delayed"), {"L30": 1})
    settle(one)
    assert known(dead) == {f"L{number}" for number in (*range(1, 20), *range(21, 40), 50)}


def test_letters_whose_jobs_are_gone_do_not_keep_it_busy(
    valkey: redis.Redis, queues_: tuple[QueueRef, QueueRef], redis_commands: RedisCommands
) -> None:
    _shop, dead = queues_
    post(valkey, dead, *range(5))
    valkey.lpush(key(dead, "wait"), "nothing-there")
    one = indexer()
    settle(one)
    assert len(known(dead)) == 5
    with redis_commands(max=5):
        for _again in range(5):
            one.due_now("letters")
            one.step()


def test_what_is_said_about_a_queue_has_its_letters_read_anew(
    valkey: redis.Redis, queues_: tuple[QueueRef, QueueRef]
) -> None:
    _shop, dead = queues_
    post(valkey, dead, *range(5))
    one = indexer()
    settle(one)
    letters.say(ANA, dead, is_one=True, mapping={"error": "why", "job": "number"})
    settle(one)
    assert told() == {(dead.slug, f"L{number}") for number in range(5)}, "nothing is there by these paths"
    letters.say(ANA, dead, is_one=True, mapping={"name": "payload.order"})
    settle(one)
    assert told() == {("shop", str(number)) for number in range(5)}
    assert FailureGroup.objects.get().strands.get().name == "1"
    letters.say(ANA, dead, is_one=False)
    settle(one)
    assert not known(dead)
    assert not FailureGroup.objects.exists()
    letters.say(ANA, dead, is_one=None)
    settle(one)
    assert len(known(dead)) == 5
    assert told() == {("shop", str(number)) for number in range(5)}
    assert sums_agree()


def test_a_queue_that_is_pinned_is_read_without_waiting_and_no_letter_twice(
    valkey: redis.Redis, queues_: tuple[QueueRef, QueueRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    know(b"graveyard")
    monkeypatch.setattr("queues.failures.index.letterbox.UNTOLD", 3)
    grave = QueueRef("main", b"bull", b"graveyard")
    post(valkey, grave, *range(7))
    one = indexer()
    settle(one)
    assert not known(grave)
    letters.say(ANA, grave, is_one=True)
    settle(one)
    assert told() == {("shop", str(number)) for number in range(7)}
    letters.say(ANA, grave, is_one=None)
    settle(one)
    assert not known(grave)
    assert not Failure.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_one", [True, False], ids=["read-anew", "none"])
@pytest.mark.parametrize("writings", [1, 2, 4, 7, 12])
def test_whoever_goes_on_after_a_kill_in_the_middle_ends_where_one_that_lived_does(
    valkey: redis.Redis,
    queues_: tuple[QueueRef, QueueRef],
    monkeypatch: pytest.MonkeyPatch,
    writings: int,
    is_one: bool,
) -> None:
    for most in ("READ", "UNTOLD"):
        monkeypatch.setattr(f"queues.failures.index.letterbox.{most}", 3)
    _shop, dead = queues_
    at = now_ms()
    post(valkey, dead, *range(20), origin="nowhere", at=at)
    one = indexer()
    settle(one)
    assert {slug for slug, _job in told()} == {dead.slug}
    letters.say(ANA, dead, is_one=is_one, mapping={"queue": "meta.queue"})
    with Killed(one, writings):
        settle(one)
    assert sums_agree()
    two = indexer(epoch=2)
    settle(two)
    expected = {("shop", str(number)) for number in range(20)} if is_one else set()
    assert told() == expected
    assert Failure.objects.count() == len(expected) == len(known(dead))
    assert sum(FailureGroup.objects.values_list("total", flat=True)) == len(expected)
    assert progress(dead).reread == 0
    assert sums_agree()
    two.close()
    one.close()


def test_letters_that_come_and_go_while_others_are_read_anew_are_right_too(
    valkey: redis.Redis, queues_: tuple[QueueRef, QueueRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.failures.index.letterbox.READ", 3)
    _shop, dead = queues_
    post(valkey, dead, *range(20))
    one = indexer()
    settle(one)
    letters.say(ANA, dead, is_one=True, mapping={"job": "payload.order"})
    real, calls = one._reader.letters, itertools.count(1)

    def changing(queue: QueueRef, jobs: Sequence[bytes]) -> Mapping[bytes, FailedJob]:
        if next(calls) == 2:
            post(valkey, dead, 50)
            valkey.lrem(key(dead, "wait"), 1, "L7")
            valkey.delete(key(dead, "L8"), key(dead, "L15"))
        return real(queue, jobs)

    monkeypatch.setattr(one._reader, "letters", changing)
    settle(one)
    settle(one)
    stay = {f"L{number}" for number in (*range(7), *range(9, 15), *range(16, 20), 50)}
    assert stay <= known(dead) <= stay | {"L8", "L15"}, "what was read before its job was gone is known by its id"
    assert set(Failure.objects.filter(present=True).values_list("job", flat=True)) == {"1"}
    assert sums_agree()


def test_a_name_that_means_letters_no_more_keeps_what_they_told(valkey: redis.Redis, source: SourceConfig) -> None:
    letters.forget()
    _shop, dead = know(b"shop", b"shop-failed")
    post(valkey, dead, *range(3))
    one = indexer()
    settle(one)
    assert len(known(dead)) == 3
    Queue.objects.filter(slug="shop").update(gone_since=Queue.objects.get(slug="shop").found_at)
    settle(one)
    assert not known(dead)
    assert Failure.objects.filter(present=False).count() == 3
    assert sums_agree()


def test_letters_of_a_queue_that_went_away_are_gone(valkey: redis.Redis, queues_: tuple[QueueRef, QueueRef]) -> None:
    _shop, dead = queues_
    post(valkey, dead, *range(5))
    one = indexer()
    settle(one)
    row = Queue.objects.get(slug=dead.slug)
    row.gone_since = row.found_at
    row.save()
    settle(one)
    assert not known(dead)
    assert not Failure.objects.filter(present=True).exists()
