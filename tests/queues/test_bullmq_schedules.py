"""Schedules as the npm libraries of each major write them, read without a change to a single key."""

from __future__ import annotations

import hashlib
from typing import cast

import pytest
import redis

from queues.backends.bullmq.reader import BullMQ
from queues.schedules.types import MOST, Layout, Schedule, ScheduleRef
from queues.types import Mark, QueueRef, State
from tests.node import Node
from tests.valkey import RedisCommands, Server

SHOP = QueueRef("main", b"bull", b"shop")
DAY = 86_400_000
ODD_IDS = ("colon:a:b:c:d", "a/b", "<b>s</b>", "d41d8cd98f00b204e9800998ecf8427e", "a:1:b:c")

SCHEDULERS = """
const q = queue(args.major, "shop");
await q.upsertJobScheduler("every", { every: 60000 }, { name: "tick", data: { a: 1 }, opts: { attempts: 3 } });
await q.upsertJobScheduler("cron", { pattern: "0 3 * * *" });
await q.upsertJobScheduler("full", {
  pattern: "0 3 * * *", tz: "Europe/Berlin", limit: 5, startDate: new Date(args.start), endDate: new Date(args.end),
}, { name: "zoned" });
await q.upsertJobScheduler("offset", { every: 60000, offset: 5000 });
for (const id of args.odd) await q.upsertJobScheduler(id, { pattern: "0 3 * * *" });
"""
RUN = """
const w = worker(args.major, "shop", async () => {}, { drainDelay: 1 });
await until(async () => await args_done());
await w.close();
async function args_done() {
  return (await redis.zcard("bull:shop:completed")) >= args.runs;
}
"""
LEGACY = """
const q = queue(args.major, "shop");
const add = (name, repeat, more = {}) => q.add(name, { x: name }, { repeat, ...more });
await add("plain", { every: 60000 });
await add("zoned", { pattern: "0 3 * * *", tz: "Europe/Paris", limit: 9, endDate: new Date(args.end) });
await add("numbered", { every: 60000 }, { jobId: "jid" });
await add("a:colon", { pattern: "0 4 * * *" });
await add("a:colon", { pattern: "0 5 * * *" }, { jobId: "and:another" });
await add("keyed", { every: 60000, key: "a-key" });
await add("begun", { every: 200 });
"""


@pytest.fixture(params=[5, 6], ids=lambda major: f"bullmq{major}")
def new(request: pytest.FixtureRequest) -> int:
    """The majors that have job schedulers."""
    return cast(int, request.param)


def _dump(store: redis.Redis) -> dict[bytes, bytes]:
    return {key: cast(bytes, store.dump(key)) for key in cast("list[bytes]", store.keys())}


def _read(bullmq: BullMQ, queue: QueueRef = SHOP) -> dict[bytes, Schedule]:
    found = bullmq.schedules([queue])[queue]
    assert (len(found.schedules), found.cut, found.wrong_type) == (found.total, False, False)
    assert [each.next_ms or 0 for each in found.schedules] == sorted(each.next_ms or 0 for each in found.schedules)
    return {each.ref.id: each for each in found.schedules}


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()


def _now(store: redis.Redis) -> int:
    seconds, micros = store.time()
    return seconds * 1000 + micros // 1000


def test_every_option_of_a_scheduler_is_read_with_the_job_that_it_has_armed(
    new: int, node: Node, server: Server, store: redis.Redis, bullmq: BullMQ
) -> None:
    start, end = _now(store) + DAY, _now(store) + 90 * DAY
    node.run(SCHEDULERS, url=server.url, major=new, start=start, end=end, odd=ODD_IDS)
    before = _dump(store)
    found = _read(bullmq)
    assert set(found) == {b"every", b"cron", b"full", b"offset", *(each.encode() for each in ODD_IDS)}
    for schedule in found.values():
        assert (schedule.layout, schedule.has_hash, schedule.damaged) == (Layout.SCHEDULER, True, {})
        assert schedule.next_ms == int(store.zscore("bull:shop:repeat", schedule.ref.id) or 0)
        assert (schedule.count, schedule.armed.exists, schedule.armed.damaged) == (1, True, ())
        assert schedule.armed.id == b"repeat:%b:%d" % (schedule.ref.id, schedule.next_ms)
        assert ScheduleRef.from_slug(SHOP, schedule.ref.slug) == schedule.ref
        repeat = schedule.armed.repeat
        assert repeat is not None
        assert (repeat.pattern, repeat.every_ms, repeat.tz, repeat.count, repeat.limit, repeat.end_ms) == (
            schedule.pattern, schedule.every_ms, schedule.tz, 1, schedule.limit, schedule.end_ms,
        )  # fmt: skip
    every, full = found[b"every"], found[b"full"]
    assert (str(every.name), every.every_ms, every.pattern, every.tz, every.limit) == ("tick", 60_000, None, None, None)
    assert (every.data_size, every.opts_size, every.data_digest) == (7, 14, _sha1(b'{"a":1}'))
    assert every.armed.state is State.WAITING
    assert (str(full.name), str(full.pattern), str(full.tz)) == ("zoned", "0 3 * * *", "Europe/Berlin")
    assert (full.limit, full.start_ms, full.end_ms, full.armed.state) == (5, start, end, State.DELAYED)
    assert full.armed.repeat is not None
    assert full.armed.repeat.start_ms == start
    assert (full.data_size, full.data_digest) == (0, _sha1(b"{}"))
    assert (found[b"offset"].offset_ms, found[b"cron"].tz) == (5000, None)
    one = bullmq.schedule(ScheduleRef(SHOP, b"every"))
    assert one is not None
    assert one.data is not None
    assert one.opts is not None
    assert (one.data.raw, one.opts.raw) == (b'{"a":1}', b'{"attempts":3}')
    assert bullmq.schedule(ScheduleRef(SHOP, b"never")) is None
    assert _dump(store) == before


def test_a_scheduler_that_has_used_up_its_limit_is_listed_with_what_became_of_its_job(
    new: int, node: Node, server: Server, store: redis.Redis, bullmq: BullMQ
) -> None:
    made = """
    const q = queue(args.major, "shop");
    await q.upsertJobScheduler("kept", { every: 100, limit: 2 });
    await q.upsertJobScheduler("swept", { every: 100, limit: 1 }, { opts: { removeOnComplete: true } });
    """
    node.run(made, url=server.url, major=new)
    node.run(RUN, url=server.url, major=new, runs=2)
    node.run("await until(async () => !(await redis.exists(args.key)))", url=server.url, key=_job(store, b"swept"))
    found = _read(bullmq)
    kept, swept = found[b"kept"], found[b"swept"]
    assert (kept.limit, kept.count, kept.armed.exists, kept.armed.state) == (2, 2, True, State.COMPLETED)
    assert (swept.limit, swept.count, swept.armed.exists, swept.armed.state) == (1, 1, False, None)
    assert swept.layout is kept.layout is Layout.SCHEDULER
    assert (swept.next_ms or 0) < _now(store)


def _job(store: redis.Redis, schedule: bytes) -> str:
    return f"bull:shop:repeat:{schedule.decode()}:{int(store.zscore('bull:shop:repeat', schedule) or 0)}"


def test_the_rule_of_the_armed_job_is_told_beside_that_of_the_schedule(
    new: int, node: Node, server: Server, store: redis.Redis, bullmq: BullMQ
) -> None:
    node.run(
        'await queue(args.major, "shop").upsertJobScheduler("s", { pattern: "0 3 * * *" });', url=server.url, major=new
    )
    store.hset("bull:shop:repeat:s", "pattern", "0 9 * * *")
    found = _read(bullmq)[b"s"]
    assert found.armed.repeat is not None
    assert (str(found.pattern), str(found.armed.repeat.pattern)) == ("0 9 * * *", "0 3 * * *")


@pytest.mark.parametrize("major", [4, 5])
def test_repeatable_jobs_of_before_schedulers_are_told_from_them_before_and_after_a_run(
    major: int, node: Node, server: Server, store: redis.Redis, bullmq: BullMQ
) -> None:
    end = _now(store) + 90 * DAY
    node.run(LEGACY, url=server.url, major=major, end=end)
    node.run(RUN, url=server.url, major=major, runs=2)
    before = _dump(store)
    schedules = list(_read(bullmq).values())
    assert len(schedules) == 7
    for schedule in schedules:
        assert (schedule.layout, schedule.has_hash) == (
            (Layout.LEGACY, True) if major == 5 else (Layout.LEGACY_4, False)
        )
        assert (schedule.damaged, schedule.armed.damaged, schedule.armed.exists) == ({}, (), True)
        due = str(schedule.name) == "begun"  # before its worker was closed
        assert schedule.armed.state is State.DELAYED or (due and schedule.armed.state is State.WAITING)
        assert store.hget(b"bull:shop:" + schedule.armed.id, "rjk") == schedule.ref.id
    by_name = {str(each.name): each for each in schedules}
    plain, zoned, begun = by_name["plain"], by_name["zoned"], by_name["begun"]
    assert (plain.every_ms, plain.pattern, plain.tz, plain.end_ms) == (60_000, None, None, None)
    assert (zoned.every_ms, str(zoned.pattern), str(zoned.tz), zoned.end_ms) == (None, "0 3 * * *", "Europe/Paris", end)
    assert zoned.armed.repeat is not None
    assert (zoned.limit, zoned.armed.repeat.limit, zoned.armed.repeat.end_ms) == (None, 9, end)
    assert plain.data_digest == _sha1(b'{"x":"plain"}')
    assert begun.armed.repeat is not None
    assert (begun.armed.repeat.count or 0) >= 3
    if major == 5:
        assert (begun.count or 0) >= 2  # with which the library would take it for a scheduler
        assert by_name["keyed"].ref.id == b"a-key"
    one = bullmq.schedule(plain.ref)
    assert one is not None
    assert one.data is not None
    assert one.data.raw == b'{"x":"plain"}'
    assert _dump(store) == before


def test_a_repeatable_of_4_that_5_has_added_again_is_still_one_of_4(
    node: Node, server: Server, store: redis.Redis, bullmq: BullMQ
) -> None:
    for major in (4, 5):
        add = 'await queue(args.major, "shop").add("n", {}, { repeat: { every: 60000 } });'
        node.run(add, url=server.url, major=major)
    [found] = _read(bullmq).values()
    assert (found.ref.id, found.layout, found.has_hash, found.armed.exists) == (
        b"n::::60000",
        Layout.LEGACY_4,
        True,
        True,
    )


def test_the_job_of_a_repeatable_of_4_is_found_when_a_worker_of_5_goes_on_with_it(
    node: Node, server: Server, store: redis.Redis, bullmq: BullMQ
) -> None:
    add = 'await queue(4, "shop").add("n:m", {}, { jobId: "jid", repeat: { every: 200 } });'
    node.run(add, url=server.url)
    node.run(RUN, url=server.url, major=5, runs=2)
    [found] = _read(bullmq).values()
    assert (found.ref.id, found.layout, found.has_hash) == (b"n:m:jid:::200", Layout.LEGACY_4, False)
    assert store.hget(b"bull:shop:" + found.armed.id, "rjk") == found.ref.id
    assert found.armed.repeat is not None
    assert (found.armed.repeat.count or 0) >= 3


def test_what_cannot_be_told_apart_is_told_so(store: redis.Redis, bullmq: BullMQ) -> None:
    """A repeatable with a key of its own, or a job scheduler of the first 5.x: without a job the keys are the same."""
    store.zadd("bull:shop:repeat", {"either": 1, "digest": 2, "certain": 3, "a:b:1:UTC:lost": 4})
    store.hset("bull:shop:repeat:certain", mapping={"name": "n", "every": 1000, "opts": "{}"})
    store.hset("bull:shop:repeat:a:b:1:UTC:lost:4", mapping={"opts": '{"repeat":{"every":1000}}'})
    store.hset("bull:shop:repeat:either", mapping={"name": "n", "every": 1000, "ic": 2})
    found = _read(bullmq)
    assert (found[b"either"].layout, found[b"either"].armed.exists) == (Layout.UNKNOWN, False)
    assert (found[b"digest"].layout, found[b"digest"].has_hash) == (Layout.UNKNOWN, False)
    lost = found[b"a:b:1:UTC:lost"]  # by the id of its job a scheduler, although the id could be one of 4.x
    assert (lost.layout, lost.armed.exists, found[b"certain"].layout) == (Layout.UNKNOWN, True, Layout.SCHEDULER)
    store.hset("bull:shop:repeat:either:1", mapping={"opts": '{"repeat":{"every":1000,"key":"either"}}'})
    assert _read(bullmq)[b"either"].layout is Layout.LEGACY
    store.hset("bull:shop:repeat:either:1", mapping={"opts": '{"repeat":{"every":1000}}'})
    assert _read(bullmq)[b"either"].layout is Layout.SCHEDULER


@pytest.mark.parametrize(
    ("place", "state"),
    [("delayed", State.DELAYED), ("prioritized", State.PRIORITIZED), ("completed", State.COMPLETED),
     ("failed", State.FAILED), ("waiting-children", State.WAITING_CHILDREN), ("active", State.ACTIVE),
     ("wait", State.WAITING), ("paused", State.WAITING)],
)  # fmt: skip
def test_the_armed_job_is_found_wherever_it_is(store: redis.Redis, bullmq: BullMQ, place: str, state: State) -> None:
    seed(store, b"s", 5)
    if place in ("active", "wait", "paused"):
        store.rpush(f"bull:shop:{place}", *map(str, range(11_000)), "repeat:s:5", *map(str, range(11_000)))
    else:
        store.zadd(f"bull:shop:{place}", {"repeat:s:5": 1})
    armed = _read(bullmq)[b"s"].armed
    assert (armed.exists, armed.state, armed.inferred) == (True, state, place in ("active", "wait", "paused"))
    if armed.inferred:
        store.rpush(f"bull:shop:{place}", "repeat:s:5")
        armed = _read(bullmq)[b"s"].armed
        assert (armed.state, armed.inferred) == (state, False)


def seed(store: redis.Redis, schedule: bytes, score: float, **fields: object) -> None:
    """A scheduler with an armed job that stands nowhere."""
    store.zadd("bull:shop:repeat", {schedule: score})
    store.hset(b"bull:shop:repeat:" + schedule, mapping={"name": "n", "every": 1000, "offset": 0, **fields})  # type: ignore[dict-item]
    exact = cast(bytes, store.eval('return redis.call("ZSCORE", KEYS[1], ARGV[1])', 1, "bull:shop:repeat", schedule))
    job = b"bull:shop:repeat:%b:%b" % (schedule, exact)
    store.hset(job, mapping={"opts": '{"repeat":{"every":1000}}', "data": "{}"})


def test_unusable_values_cost_themselves_only_and_are_shown_as_they_stand(store: redis.Redis, bullmq: BullMQ) -> None:
    wrong = {"every": "often", "offset": "", "startDate": "-5", "endDate": "1e400", "limit": "NaN", "ic": "9" * 30}
    seed(store, b"odd", 1, **wrong, tz=b"\xff\x00", pattern="x" * 5000, name=b"\x1b[31m")
    seed(store, b"sound", 2)
    odd = _read(bullmq)[b"odd"]
    assert (odd.every_ms, odd.offset_ms, odd.start_ms, odd.end_ms, odd.limit, odd.count) == (None,) * 6
    assert {name: str(told) for name, told in odd.damaged.items()} == wrong
    assert all(Mark.MALFORMED in told.marks for told in odd.damaged.values())
    assert odd.pattern is not None
    assert odd.tz is not None
    assert (odd.pattern.size, odd.pattern.marks, odd.tz.marks) == (5000, (Mark.CUT,), (Mark.BYTES,))
    assert str(odd.name) == "\\x1b[31m"
    sound = _read(bullmq)[b"sound"]
    assert (sound.damaged, sound.every_ms, sound.layout, sound.armed.damaged) == ({}, 1000, Layout.SCHEDULER, ())


@pytest.mark.parametrize("score", [float("inf"), float("-inf"), -1, 1.5, 1e300])
def test_a_next_run_that_no_calendar_shows_is_damage_and_its_job_is_still_found(
    store: redis.Redis, bullmq: BullMQ, score: float
) -> None:
    seed(store, b"s", score)
    found = bullmq.schedules([SHOP])[SHOP].schedules[0]
    assert (found.next_ms, list(found.damaged), found.armed.exists) == (None, ["repeat"], True)
    assert str(found.damaged["repeat"]) == found.score.decode()


@pytest.mark.parametrize(
    ("opts", "damaged"),
    [(b"{", ("opts",)), (b"[1]", ("opts",)), (b"", ("opts",)), (b'{"repeat":1}', ("repeat",)), (b"{}", ("repeat",)),
     (b"[" * 9000, ("opts",)), (b'{"repeat":{}, "x":"' + b"x" * 20_000 + b'"}', ("opts",)),
     (b'{"repeat":{"tz":5,"every":"x","endDate":"2027-01-01T00:00","limit":true,"count":[],"pattern":"\\ud800"}}',
      ("every", "tz", "endDate", "limit", "count"))],
)  # fmt: skip
def test_options_of_an_armed_job_that_cannot_be_used_are_named(
    store: redis.Redis, bullmq: BullMQ, opts: bytes, damaged: tuple[str, ...]
) -> None:
    seed(store, b"s", 5)
    store.hset("bull:shop:repeat:s:5", "opts", opts)
    armed = _read(bullmq)[b"s"].armed
    assert (armed.exists, armed.damaged) == (True, damaged)


def test_dates_of_an_armed_job_are_read_as_javascript_reads_them(store: redis.Redis, bullmq: BullMQ) -> None:
    seed(store, b"s", 5)
    rule = '{"repeat":{"every":"1000","startDate":"2027-01-01","endDate":"2027-06-01T12:00:00.500Z"}}'
    store.hset("bull:shop:repeat:s:5", "opts", rule)
    repeat = _read(bullmq)[b"s"].armed.repeat
    assert repeat is not None
    assert (repeat.every_ms, repeat.start_ms, repeat.end_ms) == (1000, 1_798_761_600_000, 1_811_851_200_500)


def test_keys_of_other_types_and_missing_ones_are_told_and_cost_nobody_else(store: redis.Redis, bullmq: BullMQ) -> None:
    other, empty = QueueRef("main", b"bull", b"other"), QueueRef("main", b"bull", b"empty")
    store.set("bull:other:repeat", "x")
    for schedule in (b"string", b"set", b"job-string", b"gone"):
        seed(store, schedule, 5)
    store.delete("bull:shop:repeat:string", "bull:shop:repeat:set", "bull:shop:repeat:gone", "bull:shop:repeat:gone:5")
    store.set("bull:shop:repeat:string", "x")
    store.zadd("bull:shop:repeat:set", {"x": 1})
    store.delete("bull:shop:repeat:job-string")
    store.set("bull:shop:repeat:job-string:5", "x")
    store.set("bull:shop:delayed", "x")
    store.set("bull:shop:wait", "x")
    store.delete("bull:shop:repeat:job-string:5")
    store.sadd("bull:shop:repeat:job-string:5", "x")
    found = bullmq.schedules([SHOP, other, empty])
    assert (found[other].wrong_type, found[other].total) == (True, 0)
    assert (found[empty].wrong_type, found[empty].total) == (False, 0)
    schedules = {each.ref.id: each for each in found[SHOP].schedules}
    assert {each: list(schedule.damaged) for each, schedule in schedules.items()} == {
        b"string": ["key"], b"set": ["key"], b"job-string": [], b"gone": [],
    }  # fmt: skip
    assert schedules[b"job-string"].armed.damaged == ("key",)
    assert (schedules[b"gone"].has_hash, schedules[b"gone"].armed.exists) == (False, False)
    for ref in (ScheduleRef(SHOP, b"string"), ScheduleRef(SHOP, b"gone"), ScheduleRef(SHOP, b"job-string")):
        assert bullmq.schedule(ref) is not None
    assert bullmq.schedule(ScheduleRef(other, b"x")) is None


def test_huge_values_are_measured_and_not_read(
    store: redis.Redis, bullmq: BullMQ, redis_commands: RedisCommands
) -> None:
    large = b"x" * 30_000_000
    seed(store, b"large", 1, data=large, opts=large, name=large, every=large)
    for number in range(60):
        seed(store, b"s%d" % number, 2, data=b"%d" % number + b"x" * 60_000)
    store.config_resetstat()
    with redis_commands(max=20) as sent:
        found = _read(bullmq)
    assert "cmdstat_hgetall" not in store.info("commandstats")  # no hash that may be long is read whole
    assert len(sent) > 10  # digests of 3.6 MB in all are made in several scripts
    first = found[b"large"]
    assert (first.data_size, first.opts_size, first.data_digest) == (30_000_000, 30_000_000, None)
    assert first.name is not None
    assert (first.name.size, list(first.damaged)) == (30_000_000, ["every"])
    assert len({each.data_digest for each in found.values()}) == 61
    assert found[b"s7"].data_digest == _sha1(b"7" + b"x" * 60_000)
    one = bullmq.schedule(ScheduleRef(SHOP, b"large"))
    assert one is not None
    assert one.data is not None
    assert (one.data.size, one.data.cut) == (30_000_000, True)


def test_many_schedules_of_many_queues_are_read_by_few_scripts_and_each_queue_to_a_bound(
    store: redis.Redis, bullmq: BullMQ, redis_commands: RedisCommands
) -> None:
    queues = [QueueRef("main", b"bull", b"q%d" % number) for number in range(200)]
    with store.pipeline(transaction=False) as pipe:
        for queue in queues:
            for number in range(10):
                pipe.zadd(b"bull:%b:repeat" % queue.name, {f"s{number}": number})
                pipe.hset(b"bull:%b:repeat:s%d" % (queue.name, number), mapping={"name": "n", "every": 5, "ic": 1})
        pipe.zadd("bull:shop:repeat", {f"s{number}": number for number in range(MOST + 500)})
        pipe.execute()
    before = _dump(store)
    with redis_commands(max=1 + 30):
        found = bullmq.schedules([SHOP, *queues])
    assert _dump(store) == before
    assert [found[queue].total for queue in queues] == [10] * 200
    assert [[each.next_ms for each in found[queue].schedules] for queue in queues] == [list(range(10))] * 200
    assert (len(found[SHOP].schedules), found[SHOP].total, found[SHOP].cut) == (MOST, MOST + 500, True)
    with redis_commands(max=0):
        assert bullmq.schedules([]) == {}


def test_ids_that_are_long_end_the_list_of_their_queue_and_of_no_other(
    store: redis.Redis, bullmq: BullMQ, redis_commands: RedisCommands
) -> None:
    store.zadd("bull:shop:repeat", {b"%d" % number + b"x" * 300_000: number for number in range(6)})
    queues = [SHOP, *(QueueRef("main", b"bull", b"q%d" % number) for number in range(3))]
    for queue in queues[1:]:
        store.zadd(b"bull:%b:repeat" % queue.name, {b"y" * 700_000: 1})
    with redis_commands(max=6) as sent:
        found = bullmq.schedules(queues)
    assert len(sent) >= 5  # no script gives back more than 1 MB of ids, but for those of one queue
    assert (len(found[SHOP].schedules), found[SHOP].total, found[SHOP].cut) == (3, 6, True)
    assert [(len(found[queue].schedules), found[queue].cut) for queue in queues[1:]] == [(1, False)] * 3
