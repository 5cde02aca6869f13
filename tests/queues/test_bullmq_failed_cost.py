"""What reading failed jobs costs the server: scripts, bytes, and how long others wait."""

# mypy: allow-untyped-calls

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

import pytest
import redis

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.reader import BullMQ
from queues.failed import DATA_CAP, PAGE, REASON_CAP
from queues.types import QueueRef
from tests.seed import seed_job, seed_many, seed_queue
from tests.valkey import RedisCommands

SHOP = QueueRef("main", b"bull", b"shop")
FAILED = "bull:shop:failed"
NOW = 1_700_000_000_000


def put(store: redis.Redis, job: str | bytes, score: float | str = NOW, **fields: str | bytes | int) -> None:
    seed_job(store, SHOP, job, **fields)
    store.execute_command("ZADD", FAILED, score, job)


def test_a_page_of_a_thousand_is_eleven_short_scripts(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_queue(store, "shop", failed=2_500)
    with redis_commands(max=11):
        page = bullmq.failed_page(SHOP, most=5_000)
    assert (len(page.jobs), page.cursor is not None) == (PAGE, True)
    with redis_commands(max=1):
        bullmq.failed_ids(SHOP, most=5_000)


def test_where_many_sets_stand_is_one_script_for_each_250(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    queues = seed_many(store, 251, failed=2)
    with redis_commands(max=2):
        found = bullmq.failed_marks(queues)
    assert list(found) == queues
    assert {mark.count for mark in found.values()} == {2}
    with redis_commands(max=2):
        assert len(bullmq.letters_marks(queues)) == 251


def test_what_is_long_neither_travels_nor_shares_a_script_with_many(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    stacks = json.dumps([f"Error: {number}\n" + "    at f (/a.js:1:1)\n" * 2_400 for number in range(20)])
    for number in range(30):
        put(store, str(number), NOW + number, stacktrace=stacks, failedReason="r" * 500_000)
    bullmq.failed_marks([SHOP])
    before = cast("dict[str, int]", store.info("stats"))["total_net_output_bytes"]
    with redis_commands(max=60) as sent:
        page = bullmq.failed_page(SHOP, most=PAGE)
    after = cast("dict[str, int]", store.info("stats"))["total_net_output_bytes"]
    assert len(sent) > 25  # each of them fills the budget of a script
    assert [job.id for job in page.jobs] == [b"%d" % number for number in range(30)]
    assert {job.stack[:10] for job in page.jobs} == {b"Error: 19\n"}
    assert {(len(job.stack) > 7_000, job.stacks, len(job.reason or b"")) for job in page.jobs} == {
        (True, -1, REASON_CAP)
    }
    assert after - before < 30 * 40_000  # the watcher of commands is told of each script, too


@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_of_large_jobs_are_short_and_let_others_in_between(
    bullmq: BullMQ, store: redis.Redis, monkeypatch: pytest.MonkeyPatch, newest_first: bool
) -> None:
    for number in range(130):
        size = 600_000 if number % 10 else 5
        put(store, f"{number:03}", NOW + number // 4, failedReason="r" * size)
    at_once: list[int] = []
    run = Connection.run

    def watched(connection: Connection, commands: Sequence[object], **options: bool) -> object:
        at_once.append(len(commands))
        return run(connection, commands, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Connection, "run", watched)
    met: list[bytes] = []
    cursor: str | None = ""
    while cursor is not None:
        page = bullmq.failed_page(SHOP, cursor=cursor, newest_first=newest_first, most=PAGE)
        assert 0 < len(page.jobs) < 100
        met += [job.id for job in page.jobs]
        cursor = page.cursor
    assert met == sorted((b"%03d" % number for number in range(130)), reverse=newest_first)
    assert max(at_once) <= 4


def test_data_is_given_until_it_fills_what_is_allowed(bullmq: BullMQ, store: redis.Redis) -> None:
    for number in range(5):
        seed_job(store, SHOP, str(number), data="x" * 1_000)
    seed_job(store, SHOP, "large", data="y" * 2_000_000)
    ids = [b"large", *(b"%d" % number for number in range(5)), b"gone"]
    found = bullmq.payloads(SHOP, ids, most=1_000_000)
    assert {job: len(raw) for job, raw in found.items()} == {b"large": DATA_CAP, **dict.fromkeys(ids[1:6], 1_000)}
    assert list(bullmq.payloads(SHOP, ids, most=DATA_CAP + 2_500)) == ids[:3]
    assert bullmq.payloads(SHOP, [b"gone"], most=10) == {}
