"""Finding queues in a key space that holds much else."""

from __future__ import annotations

import pytest
import redis

from queues.backends.bullmq.reader import BullMQ
from queues.types import QueueRef
from tests.node import Node
from tests.seed import seed_job, seed_many, seed_queue
from tests.valkey import RedisCommands, Server


def _found(reader: BullMQ) -> list[str]:
    return sorted(queue.label for _seen, queues in reader.discover() for queue in queues)


def test_queues_of_every_major_and_prefix_are_found(bullmq: BullMQ, node: Node, server: Server, major: int) -> None:
    node.run(
        """
        for (const prefix of ["bull", "app:prod", "{bull}"]) {
          const q = queue(args.major, "mail", { prefix });
          await q.add("x", {});
          await q.add("y", {}, { jobId: "a:meta:meta".replaceAll(":", args.major > 4 ? ":" : "-") });
          await q.add("z", {}, { jobId: "plain" });
        }
        """,
        url=server.url,
        major=major,
    )
    assert _found(bullmq) == ["app:prod:mail", "mail", "{bull}:mail"]


def test_what_only_looks_like_a_queue_is_not_found(bullmq: BullMQ, store: redis.Redis) -> None:
    shop = seed_queue(store, "shop", waiting=3)
    seed_job(store, shop, "x:y:meta")  # a job whose id ends like a queue's key
    store.hset("bull:shop:repeat:meta", mapping={"name": "tick", "ic": "1", "data": "{}"})  # a scheduler called meta
    store.hset("site:page:meta", mapping={"title": "Home", "version": "3"})
    store.set("cache:user:meta", "text")
    store.set("a:meta", "text")
    store.hset("b:meta", "version", "bullmq:6.7.0")
    assert _found(bullmq) == ["shop"]


def test_a_queue_whose_meta_says_little_is_known_by_its_neighbours(bullmq: BullMQ, store: redis.Redis) -> None:
    store.hset("bull:paused-only:meta", "paused", "1")
    store.xadd("bull:paused-only:events", {"event": "paused"})
    store.hset("bull:counter-only:meta", "concurrency", "3")
    store.set("bull:counter-only:id", "17")
    store.hset("bull:nothing-else:meta", "paused", "1")
    assert _found(bullmq) == ["counter-only", "paused-only"]


def test_a_queue_that_has_a_job_called_meta_is_found(bullmq: BullMQ, store: redis.Redis) -> None:
    shop = seed_queue(store, "shop", waiting=1)
    seed_job(store, shop, "meta")
    assert _found(bullmq) == ["shop"]


def test_only_the_configured_prefixes_are_walked(server: Server, store: redis.Redis) -> None:
    for prefix in ("bull", "app", "app:prod"):
        seed_queue(store, "shop", prefix=prefix)
    reader = BullMQ(server.config(prefixes=("app", "app:prod")))
    assert _found(reader) == ["app:prod:shop", "app:shop"]
    reader.connection.close()


def test_the_walk_tells_how_far_it_is_and_finds_each_queue_once(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_queue(store, "long", waiting=20_000)
    refs = seed_many(store, 50)
    keys = store.dbsize()
    with redis_commands(max=2 + 2 * keys // 1000 + 4 * 60):
        steps = list(bullmq.discover())
    seen = [count for count, _queues in steps]
    assert seen == sorted(seen)
    assert seen[-1] == keys
    assert len(steps) >= 10
    found = [queue for _count, queues in steps for queue in queues]
    assert len(found) == len(set(found)) == 51
    assert set(refs) < set(found)


def test_an_empty_server_has_no_queues(bullmq: BullMQ) -> None:
    assert list(bullmq.discover()) == [(0, [])]


@pytest.mark.parametrize("key", [b":meta", b"::meta", b"x::meta", b":x:meta"])
def test_keys_with_empty_parts_are_no_queues(bullmq: BullMQ, store: redis.Redis, key: bytes) -> None:
    store.hset(key, "version", "bullmq:6.7.0")
    assert _found(bullmq) == []
    assert QueueRef("main", b"bull", b"x").slug == "x"
