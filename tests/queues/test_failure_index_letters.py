"""Letters of dead-letter queues are read as they come, compared, and let go."""

# mypy: allow-untyped-calls

from __future__ import annotations

import json

import pytest
import redis

from queues.failures import letters
from queues.models import DeadLetterQueue, Failure, Letter, Queue
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.queues.following import know
from tests.queues.indexing import fail, indexer, key, progress, remove, settle, sums_agree
from tests.valkey import RedisCommands

pytestmark = pytest.mark.django_db


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
    row = Queue.objects.get(slug=dead.slug)
    letters.remap(row)
    settle(one)
    assert not Letter.objects.filter(unmapped="?").exists()
    assert len(known(dead)) == 5
    DeadLetterQueue.objects.create(queue=row, is_one=False)
    letters.forget()
    settle(one)
    assert not known(dead)
    DeadLetterQueue.objects.all().delete()
    letters.forget()
    settle(one)
    assert len(known(dead)) == 5
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
