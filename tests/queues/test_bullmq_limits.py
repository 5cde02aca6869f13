"""Limits of a queue, what cannot be done to one, and users and servers that take no writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
import redis

from queues.actions import Action, Outcome, Step
from queues.backends.bullmq.actions import BullMQActions
from queues.errors import BadInput, ReadOnly
from queues.types import QueueRef
from tests.node import Node
from tests.seed import seed_queue
from tests.valkey import Server, StartRedis, eventually, free_port, redis_binary, valkey_binary

SHOP = QueueRef("main", b"bull", b"shop")
FIVE, SIX = "bullmq:5.81.5", "bullmq:6.7.0"
OPEN = """
const q = queue(args.major, "shop");
await q.addBulk([1, 2, 3, 4, 5].map((n) => ({ name: "job", data: n })));
keep.most = 0; keep.now = 0; keep.done = 0;
keep.release = [];
for (const _ of [1, 2, 3]) {
  worker(args.major, "shop", async () => {
    keep.most = Math.max(keep.most, ++keep.now);
    await new Promise((resolve) => keep.release.push(resolve));
    keep.now--; keep.done++;
  }, { drainDelay: 600 });
}
"""
RUNNING = "await until(() => keep.now === args.count); await sleep(200); return keep.now;"
RELEASE = (
    "await until(() => { keep.release.splice(0).forEach((r) => r()); return keep.done === 5; }); return keep.most;"
)
LIMITED = """
const q = queue(args.major, "shop");
await q.addBulk([1, 2, 3].map((n) => ({ name: "job", data: n })));
keep.done = [];
keep.first = worker(args.major, "shop", async (job) => { keep.done.push(job.id); }, { maximumRateLimitDelay: 1000 });
await until(() => keep.done.length === 1);
await sleep(200);
return keep.done.length;
"""
ALL_DONE = "await until(() => keep.done.length === 3); return keep.done;"
GLOBALS = """
const q = queue(args.major, "shop");
return [await q.getGlobalConcurrency(), await q.getGlobalRateLimit()];
"""
SET = """
const q = queue(args.major, "shop");
await q.setGlobalConcurrency(7);
await q.setGlobalRateLimit(9, 1000);
"""


@pytest.fixture(params=[5, 6], ids=lambda major: f"bullmq{major}")
def new(request: pytest.FixtureRequest) -> int:
    """The majors whose queues can be limited."""
    return cast(int, request.param)


def test_a_raised_concurrency_wakes_workers_and_no_more_run_than_it_allows(
    new: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    assert operating.concurrency(SHOP, 1).outcome is Outcome.DONE
    node.run(OPEN, url=server.url, major=new)
    assert node.run(RUNNING, url=server.url, count=1) == 1
    assert operating.concurrency(SHOP, 2).outcome is Outcome.DONE
    assert node.run(RUNNING, url=server.url, count=2) == 2
    assert operating.concurrency(SHOP, 2).outcome is Outcome.ALREADY
    assert node.run(RELEASE, url=server.url) == 2


def test_bullmq_knows_the_limits_that_were_set_and_cleared(
    new: int, node: Node, server: Server, operating: BullMQActions
) -> None:
    operating.concurrency(SHOP, 3)
    operating.rate_limit(SHOP, 10, 60_000)
    assert node.run(GLOBALS, url=server.url, major=new) == [3, {"max": 10, "duration": 60_000}]
    node.run(SET, url=server.url, major=new)
    assert operating.concurrency(SHOP, 7).outcome is Outcome.ALREADY
    assert operating.rate_limit(SHOP, 9, 1000).outcome is Outcome.ALREADY
    assert operating.concurrency(SHOP, None).outcome is Outcome.DONE
    assert operating.rate_limit(SHOP, None).outcome is Outcome.DONE
    assert node.run(GLOBALS, url=server.url, major=new) == [None, None]
    assert operating.rate_limit(SHOP, None).outcome is Outcome.ALREADY


def test_a_limit_that_is_released_lets_jobs_start_at_once(
    new: int, node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    operating.rate_limit(SHOP, 1, 3_600_000)
    assert node.run(LIMITED, url=server.url, major=new) == 1
    operating.rate_limit(SHOP, 1000, 3_600_000)
    store.set("bull:shop:limiter", 1000, px=3_600_000)
    assert operating.release_limit(SHOP).outcome is Outcome.DONE
    assert node.run(ALL_DONE, url=server.url) == ["1", "2", "3"]
    store.delete("bull:shop:limiter")
    assert operating.release_limit(SHOP).outcome is Outcome.ALREADY


@pytest.mark.parametrize("most", [0, -1, 10**12])
def test_limits_that_make_no_sense_are_refused(most: int, store: redis.Redis, operating: BullMQActions) -> None:
    with pytest.raises(BadInput):
        operating.concurrency(SHOP, most)
    with pytest.raises(BadInput):
        operating.rate_limit(SHOP, most, 1000)
    with pytest.raises(BadInput):
        operating.rate_limit(SHOP, 1, most if most < 1 else 10**12)
    assert store.keys() == []


def test_on_4_only_three_actions_are_possible_and_the_rest_says_why(
    node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run("await queue(4, 'shop').add('job', {});", url=server.url)
    unable = operating.unable(SHOP)
    assert set(Action) - set(unable) == {Action.RETRY, Action.PROMOTE, Action.REMOVE}
    assert all("BullMQ 4" in why for why in unable.values())
    for result in (operating.concurrency(SHOP, 1), operating.rate_limit(SHOP, 1, 1), operating.release_limit(SHOP)):
        assert result.outcome is Outcome.UNSUPPORTED
        assert "BullMQ 4" in result.why


def test_markers_of_4_in_a_queue_without_a_version_tell_4(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=1, version="")
    assert operating.unable(SHOP) == {}
    store.rpush("bull:shop:wait", "0:0")
    assert Action.PAUSE in operating.unable(SHOP)


@pytest.mark.parametrize("version", [FIVE, SIX, "", "own:9.1", "bullmq-pro:7.1.0"])
def test_everything_can_be_done_to_queues_of_5_of_6_and_of_nobody_in_one_call(
    version: str, store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", waiting=1, failed=1, delayed=1, version=version)
    operating.unable(SHOP)  # the server knows the script now
    before = operating.commands_sent
    assert operating.unable(SHOP) == {}
    assert operating.commands_sent - before == 1


def test_a_version_that_is_not_known_yet_is_left_alone(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", waiting=1, version="bullmq:7.0.0")
    assert set(operating.unable(SHOP)) == set(Action)
    assert "bullmq:7.0.0" in operating.unable(SHOP)[Action.PAUSE]


def test_a_queue_with_keys_that_are_not_bullmqs_is_left_alone(store: redis.Redis, operating: BullMQActions) -> None:
    seed_queue(store, "shop", failed=1)
    store.set("bull:shop:wait", "mine")
    assert set(operating.unable(SHOP)) == set(Action)
    assert "“wait”" in operating.unable(SHOP)[Action.RETRY]


@pytest.fixture(params=[valkey_binary, redis_binary], ids=["valkey", "redis"])
def guarded(request: pytest.FixtureRequest, start_redis: StartRedis) -> Server:
    """A server of one test, with a queue on it."""
    server = start_redis(binary=request.param())
    with server.client() as client:
        seed_queue(client, "shop", waiting=2, failed=2)
    return server


RULES = {
    "nothing but reading": ("~*", "+@read", "+@connection"),
    "reading and scripts": ("~*", "+@read", "+@connection", "+eval", "+evalsha"),
    "all but lists": ("~*", "+@all", "-lpush"),
    "all but the stream": ("~*", "+@all", "-xadd"),
    "no hashes": ("~*", "+@all", "-hset"),
    "reading of keys": ("%R~*", "+@all"),
    "keys of others": ("%R~*", "~other:*", "+@all"),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_user_without_rights_is_told_so_and_nothing_is_done_by_half(rule: str, guarded: Server) -> None:
    operating = _as_user(guarded, *RULES[rule])
    try:
        before = _contents(guarded)
        assert "permit" in operating.read_only(SHOP)
        for act in (operating.pause, operating.release_limit):
            with pytest.raises(ReadOnly, match="permit"):
                act(SHOP)
        assert _contents(guarded) == before
        scripts = "~*" in RULES[rule] and rule != "nothing but reading"
        assert set(operating.unable(SHOP)) == (set() if scripts else set(Action))
    finally:
        operating.close()


@pytest.mark.parametrize("rules", [("~*", "+@all"), ("~bull:shop:*", "+@all"), ("~bull:*", "+@all", "-time", "-keys")])
def test_a_user_with_the_rights_may_and_asking_changes_nothing(rules: tuple[str, ...], guarded: Server) -> None:
    operating = _as_user(guarded, *rules)
    try:
        before = _contents(guarded)
        assert operating.read_only(SHOP) == ""
        assert _contents(guarded) == before
        assert operating.pause(SHOP) == Step(1)
    finally:
        operating.close()


def test_rights_are_asked_for_once_a_minute_and_not_with_each_script(
    store: redis.Redis, operating: BullMQActions
) -> None:
    seed_queue(store, "shop", failed=1)
    operating.pause(SHOP)
    before = operating.commands_sent
    operating.resume(SHOP)
    operating.pause(SHOP)
    operating.resume(SHOP)
    assert operating.commands_sent - before <= 3 * 3 + 1  # looks at the clock around each; one text that was not known


@pytest.mark.parametrize("queue", [b"shop", b"none"], ids=["a queue", "no queue"])
def test_a_replica_takes_no_writes(queue: bytes, guarded: Server) -> None:
    with guarded.client() as client:
        client.replicaof("127.0.0.1", str(free_port()))
        operating = BullMQActions(guarded.config())
        before = _contents(guarded)
        ref = QueueRef("main", b"bull", queue)
        assert "replica" in operating.read_only(ref)
        with pytest.raises(ReadOnly, match="replica"):
            operating.resume(ref)
        assert _contents(guarded) == before
        operating.close()


def test_a_server_that_has_too_few_replicas_takes_no_writes(guarded: Server) -> None:
    operating = BullMQActions(guarded.config())
    with guarded.client() as client:
        client.config_set("min-replicas-to-write", 1)
        assert "too few replicas" in operating.read_only(SHOP)
        client.config_set("min-replicas-to-write", 0)
    assert operating.read_only(SHOP) == ""
    operating.close()


@pytest.mark.parametrize("binary", [valkey_binary, redis_binary], ids=["valkey", "redis"])
def test_a_server_that_cannot_save_its_data_takes_no_writes(binary: Callable[[], str], start_redis: StartRedis) -> None:
    server = start_redis("--save", "3600 1", "--dbfilename", "folder", binary=binary())
    operating = BullMQActions(server.config())
    with server.client() as client:
        seed_queue(client, "shop", waiting=1)
        (server.folder / "folder").mkdir()  # now that it answers: before, it may still be looking for what it had saved
        client.bgsave()
        eventually(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
    assert "cannot save" in operating.read_only(SHOP)
    with pytest.raises(ReadOnly, match="cannot save"):
        operating.pause(SHOP)
    operating.close()


def _as_user(server: Server, *rules: str) -> BullMQActions:
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "mirante", "on", ">secret", "resetkeys", *rules)
    return BullMQActions(server.config(url=server.url.replace("//", "//mirante:secret@")))


def _contents(server: Server) -> dict[bytes, bytes | None]:
    with server.client() as client:
        return {key: cast("bytes | None", client.dump(key)) for key in sorted(cast("list[bytes]", client.keys()))}
