"""Letters as the index reads them: what lies in a dead-letter queue, wherever it lies there."""

# mypy: allow-untyped-calls

from __future__ import annotations

import json
from typing import cast

import pytest
import redis

from queues.backends.bullmq.reader import BullMQ
from queues.errors import BadInput, Unsupported
from queues.failed import DATA_CAP, LettersMark
from queues.types import QueueRef
from tests.node import Node
from tests.seed import seed_job, seed_queue
from tests.valkey import RedisCommands, Server

DEAD = QueueRef("main", b"bull", b"dead")
# A worker that posts what failed for good to another queue, as users write it.
POST = """
const shop = queue(args.major, "shop"), dead = queue(args.major, "dead");
if (args.paused) await dead.pause();
const w = worker(args.major, "shop", async (job) => { throw new Error(`no ${job.data.n}`); });
w.on("failed", async (job, error) => {
  const letter = { queue: "shop", id: job.id, name: job.name, data: job.data, failedReason: error.message };
  const opts = [{}, { priority: 3 }, { delay: 3600000 }, { lifo: true }][job.data.n % 4];
  await dead.add("dead-letter", letter, opts);
});
await shop.addBulk([...Array(12).keys()].map((n) => ({ name: "charge", data: { n } })));
await until(async () => (await dead.getJobCountByTypes("wait", "paused", "prioritized", "delayed")) === 12);
const counts = await dead.getJobCounts("wait", "paused", "prioritized", "delayed");
return counts;
"""


def walked(bullmq: BullMQ, most: int = 1_000, queue: QueueRef = DEAD) -> list[bytes]:
    found: list[bytes] = []
    cursor: str | None = ""
    while cursor is not None:
        page = bullmq.letter_ids(queue, cursor=cursor, most=most)
        assert len(page.ids) <= most
        assert set(page.ids.values()) <= {0}
        found += page.ids
        cursor = page.cursor
    return found


def token(bullmq: BullMQ) -> str:
    return bullmq.letters_marks([DEAD])[DEAD].token


@pytest.mark.parametrize("paused", [False, True])
def test_letters_that_a_worker_posted_are_read_wherever_they_lie(
    bullmq: BullMQ, node: Node, server: Server, major: int, paused: bool
) -> None:
    node.run(POST, url=server.url, major=major, paused=paused)
    mark = bullmq.letters_marks([DEAD])[DEAD]
    assert (mark.count, mark.readable) == (12, True)
    ids = walked(bullmq, most=5)
    assert len(set(ids)) == len(ids) == 12
    found = bullmq.letters(DEAD, ids)
    told = [json.loads(letter.data or b"") for letter in found.values()]
    assert sorted(each["data"]["n"] for each in told) == list(range(12))
    assert {each["failedReason"] for each in told} == {f"no {number}" for number in range(12)}
    assert {(letter.name, letter.score_ms, letter.missing) for letter in found.values()} == {
        (b"dead-letter", None, False)
    }
    assert all(letter.timestamp_ms for letter in found.values())


def seeded(store: redis.Redis) -> list[bytes]:
    seed_queue(store, "dead", waiting=7, parked=4, prioritized=5, delayed=6, failed=3, completed=2)
    ids = [cast("list[bytes]", store.lrange(f"bull:dead:{suffix}", 0, -1)) for suffix in ("wait", "paused")]
    ids += [cast("list[bytes]", store.zrange(f"bull:dead:{suffix}", 0, -1)) for suffix in ("prioritized", "delayed")]
    return [job for each in ids for job in each]


@pytest.mark.parametrize("most", [1, 2, 3, 7, 11, 22, 100])
def test_every_letter_is_met_once_whatever_a_page_holds(bullmq: BullMQ, store: redis.Redis, most: int) -> None:
    lying = seeded(store)
    assert bullmq.letters_marks([DEAD])[DEAD].count == len(lying) == 22
    found = walked(bullmq, most)
    assert len(found) == 22
    assert set(found) == set(lying)


def test_what_wakes_workers_of_4x_is_no_letter(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "dead", waiting=3, version="bullmq:4.18.3")
    store.rpush("bull:dead:wait", "0:1700000000000")
    store.lpush("bull:dead:wait", "0:0")
    assert bullmq.letters_marks([DEAD])[DEAD].count == 3
    assert sorted(walked(bullmq, 2)) == [b"1", b"2", b"3"]
    store.delete("bull:dead:wait")
    store.rpush("bull:dead:wait", "0:0")
    assert bullmq.letters_marks([DEAD])[DEAD].count == 0
    assert walked(bullmq) == []


def test_a_letter_that_arrives_while_one_walks_moves_no_other(bullmq: BullMQ, store: redis.Redis) -> None:
    store.rpush("bull:dead:wait", *[str(number) for number in range(10)])
    page = bullmq.letter_ids(DEAD, most=4)
    store.lpush("bull:dead:wait", "new", "newer")
    rest = bullmq.letter_ids(DEAD, cursor=page.cursor or "", most=100)
    assert set(page.ids).isdisjoint(rest.ids)
    assert {b"%d" % number for number in range(10)} <= set(page.ids) | set(rest.ids)


def test_the_token_differs_when_a_letter_came_or_went(bullmq: BullMQ, store: redis.Redis) -> None:
    seeded(store)
    tokens = [token(bullmq)]
    assert token(bullmq) == tokens[0]
    for change in (
        lambda: store.lpush("bull:dead:wait", "new"),
        lambda: store.rpop("bull:dead:wait"),
        lambda: store.lrem("bull:dead:paused", 1, cast("list[str]", store.lrange("bull:dead:paused", 1, 1))[0]),
        lambda: store.zadd("bull:dead:delayed", {"late": 1}),
        lambda: store.zrem(
            "bull:dead:prioritized", cast("list[bytes]", store.zrange("bull:dead:prioritized", 1, 1))[0]
        ),
        lambda: (store.rpop("bull:dead:wait"), store.lpush("bull:dead:wait", "another")),
        lambda: store.delete("bull:dead:wait", "bull:dead:paused", "bull:dead:prioritized", "bull:dead:delayed"),
    ):
        change()
        tokens.append(token(bullmq))
    assert len(set(tokens)) == len(tokens)


def test_letters_are_given_by_their_ids_with_their_data(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_job(store, DEAD, "1", data='{"a":1}', name="letter", timestamp=1_700_000_000_000, failedReason="again")
    seed_job(store, DEAD, "2", data="x" * 100_000)
    seed_job(store, DEAD, "3", data="y" * 2_000_000)
    store.hset("bull:dead:4", "name", "without")
    store.set("bull:dead:5", "a string")
    found = bullmq.letters(DEAD, [b"3", b"1", b"2", b"4", b"5", b"gone"])
    assert list(found) == [b"3", b"1", b"2", b"4"]
    first = found[b"1"]
    assert (first.name, first.data, first.data_size) == (b"letter", b'{"a":1}', 7)
    assert (first.timestamp_ms, first.reason, first.score_ms) == (1_700_000_000_000, b"again", None)
    assert {id_: (len(each.data or b""), each.data_size) for id_, each in found.items() if id_ != b"1"} == {
        b"3": (DATA_CAP, 2_000_000),
        b"2": (DATA_CAP, 100_000),
        b"4": (0, 0),
    }
    assert found[b"4"].data is None
    assert bullmq.letters(DEAD, []) == {}


@pytest.mark.parametrize("suffix", ["wait", "paused", "prioritized", "delayed"])
def test_a_queue_with_a_key_of_another_type_is_said_to_be_unreadable(
    bullmq: BullMQ, store: redis.Redis, suffix: str
) -> None:
    store.sadd(f"bull:dead:{suffix}", "a set")
    other = QueueRef("main", b"bull", b"other")
    marks = bullmq.letters_marks([DEAD, other])
    assert marks[DEAD] == LettersMark(0, readable=False)
    assert (marks[other].count, marks[other].readable) == (0, True)
    with pytest.raises(Unsupported):
        walked(bullmq)


ODD_CURSORS = ("x", "[]", "[0]", "[9,0]", "[-1,0]", '[1,0,"1"]', '[1,0,"x","a"]', "[0,1e400]", "[0,true]", "\ud800")


@pytest.mark.parametrize("cursor", ODD_CURSORS)
def test_a_cursor_that_is_none_of_ours_is_refused(bullmq: BullMQ, cursor: str) -> None:
    with pytest.raises(BadInput):
        bullmq.letter_ids(DEAD, cursor=cursor, most=1)


def test_a_page_of_letters_is_few_calls(bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands) -> None:
    seed_queue(store, "dead", waiting=3_000, delayed=1_000)
    with redis_commands(max=3):
        page = bullmq.letter_ids(DEAD, most=5_000)
    assert (len(page.ids), page.cursor) == (4_000, None)
    with redis_commands(max=20):
        assert len(bullmq.letters(DEAD, list(page.ids)[:1_000])) == 1_000
