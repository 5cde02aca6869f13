"""Copies that a plan sends: new jobs as they are added by hand, each once, in order, under an id that is free."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import cast

import pytest
import redis

from queues.actions import NewJob, Outcome
from queues.backends.bullmq.actions import BullMQActions
from queues.errors import Unsure
from queues.sendings import Conflict, Sent
from queues.types import QueueRef
from tests.node import Node
from tests.queues.moving import at_once, everywhere, fields, places, put
from tests.queues.sent_jobs import (
    DONE,
    OTHER,
    PLAN,
    SHOP,
    copy,
    lose_the_second_answer,
    outcomes,
    picture,
    receipts,
    send_copies,
    token,
    told_by,
)
from tests.seed import seed_queue
from tests.valkey import Server

FINISH = """
const q = queue(args.major, "shop");
await q.resume();
const order = [];
const w = worker(args.major, "shop", async (job) => { order.push([job.id, job.data]); });
await until(() => order.length >= args.count);
return order;
"""
OPTIONS: dict[str, dict[str, object]] = {
    "none": {},
    "delayed": {"delay": 3_600_000, "timestamp": 4_000_000_000_000 - 2 * 10**12},
    "urgent": {"priority": 7},
    "first": {"lifo": True},
    "attempts": {"attempts": 3, "backoff": {"type": "exponential", "delay": 100}},
    "kept": {"removeOnComplete": {"age": 3600, "count": 5}, "kl": 3, "fpof": True},
    "deduplicated": {"de": {"id": "one"}},
    "for a while": {"de": {"id": "two", "ttl": 60_000}},
}


@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
@pytest.mark.parametrize("new", [5, 6], ids=["bullmq5", "bullmq6"])
def test_copies_are_finished_in_their_order_with_their_exact_data(
    new: int, paused: bool, *, node: Node, server: Server, operating: BullMQActions
) -> None:
    node.run("await queue(args.major, 'shop').waitUntilReady();", url=server.url, major=new)
    if paused:
        node.run("await queue(args.major, 'shop').pause();", url=server.url, major=new)
    copies = [
        copy("x", b'[1, null, "\\ud83d"]', id=b"own id"),
        copy("y", b'{"b" : 1.0}'),
        copy("u", b"3", b'{"priority":3}'),
        copy("z", b'"\xc3\xbc"'),
    ]
    assert outcomes(send_copies(operating, *copies)) == [DONE] * 4
    assert outcomes(send_copies(operating, *copies)) == [DONE] * 4
    order = node.run(FINISH, url=server.url, major=new, count=4)
    assert order == [["own id", [1, None, "\ud83d"]], ["2", {"b": 1.0}], ["4", "ü"], ["3", 3]]


@pytest.mark.parametrize("version", ["bullmq:5.81.5", "bullmq:6.7.0"])
@pytest.mark.parametrize("paused", [False, True], ids=["open", "paused"])
def test_a_copy_is_what_an_added_job_is(
    paused: bool, version: str, store: redis.Redis, operating: BullMQActions
) -> None:
    jobs = [NewJob(b"job", b'{"b" : 1.0}', json.dumps({"timestamp": 2, **opts}).encode()) for opts in OPTIONS.values()]
    jobs.append(NewJob(b"own", b"1", b'{"timestamp":2}', b"own"))
    seed_queue(store, "shop", waiting=1, paused=paused, version=version, until_ms=1)
    for number, job in enumerate(jobs):
        assert operating.add(SHOP, job, token=f"t{number}").outcome is DONE
    expected = picture(store)
    store.flushall()
    seed_queue(store, "shop", waiting=1, paused=paused, version=version, until_ms=1)
    copies = [copy(str(number), job.data, job.opts, id=job.id) for number, job in enumerate(jobs)]
    results = send_copies(operating, *copies)
    assert outcomes(results) == [DONE] * len(jobs)
    store.hset("bull:shop:own", "name", "own")
    assert picture(store) == expected


def test_a_copy_is_sent_once_by_whichever_plan_and_all_are_told_its_id(
    store: redis.Redis, operating: BullMQActions
) -> None:
    first = send_copies(operating, copy("x"), copy("y"))
    again = send_copies(operating, copy("x"), copy("y"))
    other = send_copies(operating, copy("x"), copy("y"), copy("z"), plan=OTHER)
    assert [(one.outcome, one.made, one.again) for one in first] == [(DONE, b"1", False), (DONE, b"2", False)]
    assert [(one.outcome, one.made, one.again) for one in again] == [(DONE, b"1", True), (DONE, b"2", True)]
    assert [(one.outcome, one.made, one.plan) for one in other] == [
        (Outcome.ALREADY, b"1", PLAN),
        (Outcome.ALREADY, b"2", PLAN),
        (DONE, b"3", ""),
    ]
    assert everywhere(store) == [b"1", b"2", b"3"]
    assert told_by(operating, SHOP, token("y"), token("z")) == [(PLAN, b"2"), (OTHER, b"3")]
    send_copies(operating, copy("w"), drop=[token("x"), token("y")])
    assert receipts(store) == sorted([token("w").encode(), token("z").encode()])


def test_two_who_copy_at_once_make_one_job_of_each(store: redis.Redis, operating: BullMQActions) -> None:
    copies = [copy(str(number)) for number in range(50)]
    both = at_once(lambda: send_copies(operating, *copies))
    assert [one.made for one in both[0]] == [one.made for one in both[1]]
    assert len(everywhere(store)) == 50


def test_an_id_that_is_free_is_kept_and_one_that_is_taken_gives_way_only_where_that_is_wanted(
    store: redis.Redis, operating: BullMQActions
) -> None:
    put(store, "taken", "failed")
    copies = [copy("a", id=b"free"), copy("b", id=b"taken"), copy("c", id=b"free"), copy("d")]
    kept = send_copies(operating, *copies)
    assert [(one.outcome, one.conflict, one.note, one.made) for one in kept] == [
        (DONE, Conflict.NONE, "", b"free"),
        (Outcome.UNSUPPORTED, Conflict.ID_KEPT, "taken", b""),
        (Outcome.UNSUPPORTED, Conflict.ID_KEPT, "free", b""),
        (DONE, Conflict.NONE, "", b"2"),
    ]
    assert places(store)["failed"] == [b"taken"]
    renewed = send_copies(operating, *copies, new_ids=True)
    assert [(one.outcome, one.made, one.again) for one in renewed] == [
        (DONE, b"free", True),
        (DONE, b"3", False),
        (DONE, b"4", False),
        (DONE, b"2", True),
    ]
    assert [json.loads(fields(store, job)[b"opts"]).get("jobId") for job in ("free", "3", "4")] == ["free", None, None]
    looked = operating.look_copies(SHOP, [NewJob(b"job", b"", id=b"taken"), NewJob(b"job", b"", id=b"other")])
    assert [(one.conflict, one.note) for one in looked] == [(Conflict.ID_KEPT, "taken"), (Conflict.NONE, "")]


def test_a_deduplication_id_is_in_the_way_as_long_as_its_holder_has_not_ended(
    store: redis.Redis, operating: BullMQActions
) -> None:
    held = b'{"de":{"id":"one"}}'
    first, second = send_copies(operating, copy("a", opts=held), copy("b", opts=held))
    assert (first.outcome, first.made) == (DONE, b"1")
    assert (second.outcome, second.conflict, second.note) == (Outcome.UNSUPPORTED, Conflict.TWIN, "1")
    [looked] = operating.look_copies(SHOP, [NewJob(b"job", b"", held)])
    assert (looked.conflict, looked.note) == (Conflict.TWIN, "1")
    store.lrem("bull:shop:wait", 1, "1")
    store.zadd("bull:shop:completed", {"1": 1})
    assert operating.look_copies(SHOP, [NewJob(b"job", b"", held)])[0].conflict is Conflict.NONE
    assert [one.made for one in send_copies(operating, copy("b", opts=held))] == [b"2"]
    assert store.get("bull:shop:de:one") == b"2"
    store.delete("bull:shop:2", "bull:shop:wait")
    store.pexpire("bull:shop:de:one", 60_000)  # held for a time, and its holder is gone
    assert [one.made for one in send_copies(operating, copy("c", opts=held))] == [b"3"]
    assert store.get("bull:shop:de:one") == b"2"
    assert fields(store, "3")[b"deid"] == b"one"


def test_a_twin_that_somebody_wants_waits_beside_the_holder_of_its_deduplication_id(
    store: redis.Redis, operating: BullMQActions
) -> None:
    held = b'{"de":{"id":"one"}}'
    made = [one.made for one in send_copies(operating, copy("a", opts=held), copy("b", opts=held), twins=True)]
    assert made == [b"1", b"2"]
    assert store.get("bull:shop:de:one") == b"1"
    assert fields(store, "2")[b"deid"] == b"one"


def test_what_bullmq_would_not_add_is_refused_alone(store: redis.Redis, operating: BullMQActions) -> None:
    copies = [
        copy("a"),
        copy("b", b"{torn"),
        copy("c", opts=b'{"delay":-1}'),
        copy("d", opts=b'{"parent":{"id":"1","queue":"bull:a"}}'),
        copy("e", id=b"12"),
        copy("f", id=b"\xff"),
        copy("g", id=b"wait"),
        copy("h"),
    ]
    results = send_copies(operating, *copies)
    assert [one.conflict for one in results] == [Conflict.NONE, *[Conflict.REFUSED] * 6, Conflict.NONE]
    assert all(one.outcome is Outcome.UNSUPPORTED and one.note for one in results[1:7])
    assert places(store) == {"wait": [b"2", b"1"]}
    looked = operating.look_copies(SHOP, [one.job for one in copies])
    assert [one.conflict is Conflict.REFUSED for one in looked] == [False, False, *[True] * 5, False]


def test_on_4_nothing_is_copied_and_the_reason_is_told(
    node: Node, server: Server, store: redis.Redis, operating: BullMQActions
) -> None:
    node.run("await queue(4, 'shop').add('job', {});", url=server.url)
    before = picture(store)
    [result] = send_copies(operating, copy("a"))
    assert (result.outcome, result.conflict) == (Outcome.UNSUPPORTED, Conflict.REFUSED)
    assert "BullMQ 4 works on this queue" in result.note
    assert picture(store) == before
    assert receipts(store) == []


def test_a_job_that_is_named_like_the_key_of_a_deduplication_id_is_not_written_over(
    store: redis.Redis, operating: BullMQActions
) -> None:
    put(store, "de:a:b", "failed")
    assert outcomes(send_copies(operating, copy("x", opts=b'{"de":{"id":"a:b"}}'))) == [DONE]
    assert fields(store, "de:a:b")[b"name"] == b"send"


def test_large_copies_go_few_in_a_script_and_keep_their_order(store: redis.Redis, operating: BullMQActions) -> None:
    queue = QueueRef("main", b"{a:b}", b"shop")
    copies = [copy(str(number), b'"%b"' % (b"x" * 700_000)) for number in range(12)]
    store.config_resetstat()
    results = operating.send_copies(queue, copies, plan=PLAN, new_ids=False)
    assert [one.made for one in results] == [b"%d" % number for number in range(1, 13)]
    assert cast("list[bytes]", store.lrange("{a:b}:shop:wait", 0, -1))[::-1] == [one.made for one in results]
    told = cast("dict[str, dict[str, int]]", store.info("commandstats"))
    assert sum(told.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("eval", "evalsha")) >= 6


def test_an_answer_that_is_lost_leaves_what_is_known_and_the_rest_is_found_by_asking_again(
    store: redis.Redis, operating: BullMQActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = [copy(str(number), b"{torn" if number == 3 else b"1") for number in range(150)]
    lose_the_second_answer(monkeypatch)
    with pytest.raises(Unsure) as caught:
        send_copies(operating, *copies)
    known = cast("list[Sent]", caught.value.results)
    assert len(known) == 101
    assert [one.conflict for one in known[:5]] == [*[Conflict.NONE] * 3, Conflict.REFUSED, Conflict.NONE]
    results = send_copies(operating, *copies)
    assert results[:101] == [replace(one, again=one.outcome is DONE) for one in known]
    assert [one.made for one in results if one.made] == [b"%d" % number for number in range(1, 150)]
    assert store.llen("bull:shop:wait") == 149
