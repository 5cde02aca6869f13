"""Workers as their connections name themselves: Node's of each major, Python's, and clients that are none."""

from __future__ import annotations

import asyncio

import pytest
import redis
from bullmq import Worker as PythonWorker

from queues.backends.bullmq.clients import parse
from queues.backends.bullmq.reader import BullMQ
from queues.types import QueueRef, Workers
from tests.node import Node
from tests.seed import seed_queue
from tests.valkey import RedisCommands, Server, eventually


def test_workers_of_each_major_are_counted_by_prefix_and_queue(
    bullmq: BullMQ, node: Node, server: Server, major: int
) -> None:
    node.run(
        """
        const work = async () => {};
        worker(args.major, "shop", work, { name: "bob" });
        worker(args.major, "shop", work);
        worker(args.major, "shop", work, { prefix: "app:prod", name: "a:w:b" });
        worker(args.major, "ünï q?", work);
        events(args.major, "shop");
        queue(args.major, "idle");
        """,
        url=server.url,
        major=major,
    )

    def all_of_them() -> Workers | None:
        found = bullmq.workers()
        return found if len(found.by_queue) == 3 and len(found.by_queue[b"bull", b"shop"]) == 2 else None

    found = eventually(all_of_them)

    def names(prefix: str, name: str) -> list[str] | None:
        workers = found.of(QueueRef("main", prefix.encode(), name.encode()))
        return None if workers is None else sorted(worker.name for worker in workers)

    named = "bob" if major > 4 else ""
    assert names("bull", "shop") == ["", named]
    assert names("app:prod", "shop") == (["a:w:b"] if major > 4 else [""])
    assert names("bull", "ünï q?") == [""]
    assert names("bull", "idle") == names("bull", "mirante") == []


def test_a_python_worker_is_one_worker(bullmq: BullMQ, server: Server) -> None:
    async def run() -> list[int]:
        async def work(job: object, token: str) -> None: ...

        workers = [
            PythonWorker("reports", work, {"connection": server.url, **extra})
            for extra in ({}, {}, {"name": "bob"}, {"prefix": "app:prod"})
        ]
        queues = [QueueRef("main", prefix, b"reports") for prefix in (b"bull", b"app:prod")]

        def both() -> list[int] | None:
            counts = [len(bullmq.workers().of(queue) or ()) for queue in queues]
            return counts if counts == [3, 1] else None

        try:
            return await asyncio.to_thread(lambda: eventually(both))
        finally:
            for worker in workers:
                await worker.close(force=True)

    assert asyncio.run(run()) == [3, 1]


@pytest.mark.parametrize(("name", "expected"), [
    (b"bull:c2hvcA==", [(b"bull", b"shop", "")]),
    (b"bull:c2hvcA==:w:a=b", [(b"bull", b"shop", "a=b")]),
    (b"a:w:c2hvcA==:w:x:w:y", [(b"a:w", b"shop", "x:w:y")]),
    (b"{bull}:c2hvcA==", [(b"{bull}", b"shop", "")]),
    (b"bull:c2hvcA==:qe", []),
    (b"bull:c2hvcHM=:w:", [(b"bull", b"shops", "")]),
    (b"bull:jobs", [(b"bull", b"jobs", "")]),
    (b"orders", [(b"bull", b"orders", "")]),
    (b"mirante", []),
    (b"", []),
])  # fmt: skip
def test_names_of_clients_are_read(name: bytes, expected: list[tuple[bytes, bytes, str]]) -> None:
    listing = b"id=3 addr=127.0.0.1:5 laddr=x name=%b age=7 idle=2 flags=b db=0 cmd=bzpopmin user=default\n" % name
    found = [(*key, worker.name) for key, workers in parse(listing).items() for worker in workers]
    assert found == expected
    for workers in parse(listing).values():
        assert [(worker.address, worker.idle_s, worker.age_s) for worker in workers] == [("127.0.0.1:5", 2, 7)]


def test_a_client_that_is_merely_named_like_a_queue_is_no_worker() -> None:
    line = b"id=3 addr=127.0.0.1:5 name=orders age=7 idle=2 db=0 cmd=%b\n"
    assert parse(line % b"get" + line % b"evalsha") == {}
    assert len(parse(line % b"evalsha" + line % b"bzpopmin")[b"bull", b"orders"]) == 1


def test_a_listing_of_odd_lines_is_read_without_failing() -> None:
    assert parse(b"") == {}
    assert parse(b"\r\n\n name\nid=1\nid=2 name=\xff\xfe age=x\nname==:=:w:=\n") is not None


def test_a_user_without_client_list_learns_that_and_reads_the_rest(
    store: redis.Redis, server: Server, redis_commands: RedisCommands
) -> None:
    seed_queue(store, "shop", waiting=3)
    store.acl_setuser("viewer", enabled=True, passwords=["+s3cret"], keys=["*"], commands=["+@all", "-client"])
    reader = BullMQ(server.config(url=server.url.replace("//", "//viewer:s3cret@")))
    workers = reader.workers()
    assert (workers.known, workers.unknown_because) == (False, "not permitted (CLIENT LIST)")
    shop = QueueRef("main", b"bull", b"shop")
    assert workers.of(shop) is None
    assert reader.counts([shop])[shop].backlog == 3
    assert reader.health().keys == 3 + 3  # jobs; wait, meta, id
    reader.connection.close()
    store.acl_deluser("viewer")
