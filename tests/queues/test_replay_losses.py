"""What is known of replayed jobs after losses: of events, of the worker, of memory."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import pytest
import redis
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from queues.events import Position
from queues.models import (
    Replay,
    ReplayLine,
    ReplayQueue,
)
from queues.registry import backend
from queues.replay.terms import KeyFailed
from queues.replay.types import Place, Told
from queues.replay.watching import (
    Watching,
    ways,
    work,
)
from queues.replay.watching.learnt import Learnt
from queues.replay.watching.streams import Gap, Stream
from queues.replay.watching.ways import Landed, Way
from queues.replay.watching.writing import Overtaken, write
from queues.sendings import Fate
from queues.types import QueueRef
from tests.node import Node
from tests.queues import sent, streams
from tests.queues.replaying import QUIET, SHOP, Killed, hands
from tests.queues.sent import failed, fates, in_memory, send, told, watch
from tests.valkey import Server

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source")]

OTHER = QueueRef("main", b"bull", b"other")


@pytest.mark.node
@pytest.mark.parametrize("lost", ["trimmed", "deleted", "replaced"])
def test_where_events_are_lost_jobs_are_looked_at_and_what_nobody_can_tell_is_unknown(
    lost: str, node: Node, valkey_server: Server, valkey: redis.Redis
) -> None:
    jobs: list[sent.Made] = [("a", "good", {}), ("b", "bad", {}), ("c", "good", {"removeOnComplete": True})]
    plan = failed(node, valkey_server, valkey, jobs)
    send(hands(plan))
    sent.work(node, valkey_server)
    if lost == "trimmed":
        valkey.xtrim(streams.STREAM, maxlen=0)
    else:
        valkey.delete(streams.STREAM)
    if lost == "replaced":
        streams.write(valkey, "event", "paused", entry="1-1")
    found = watch(plan)
    assert fates(plan) == {"a": Fate.COMPLETED, "b": Fate.FAILED, "c": Fate.UNKNOWN}
    assert (found.completed, found.failed, found.other) == (1, 1, 1)
    assert ReplayQueue.objects.get(replay=plan).lost > 0
    [line] = ReplayLine.objects.filter(replay=plan, kind=Told.BLIND)
    assert line.facts["queue"] == "shop"
    assert (line.facts["number"] is None) == (lost != "trimmed")


def test_losses_are_one_line_a_minute_and_matter_only_while_something_is_under_way(valkey: redis.Redis) -> None:
    plan = in_memory(valkey, ["a"])
    watching = Watching(hands(plan))
    for _time in range(3):
        streams.write(valkey, "event", "paused")
        streams.write(valkey, "event", "resumed")
        valkey.xtrim(streams.STREAM, maxlen=1, approximate=False)
        watching.step()
    line = ReplayLine.objects.get(replay=plan, kind=Told.BLIND)
    assert line.facts["number"] == ReplayQueue.objects.get(replay=plan).lost == 3
    told(valkey, "completed", "a")
    watching.step()
    streams.write(valkey, "event", "paused")
    valkey.xtrim(streams.STREAM, maxlen=0)
    watching.step()
    assert ReplayQueue.objects.get(replay=plan).lost == 3


@pytest.mark.parametrize("memory", [100_000, 2])
def test_events_of_others_cost_no_look_into_the_database(
    memory: int, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "MEMORY", memory)
    monkeypatch.setattr(work, "READ_S", 60.0)
    plan = in_memory(valkey, ["a", "b", "c", "d"])
    with valkey.pipeline() as pipe:
        for number in range(6_000):
            for word in ("active", "completed"):
                pipe.xadd(streams.STREAM, {"event": word, "jobId": f"other-{number}", "prev": "active"})
        pipe.execute()
    told(valkey, "completed", "d")
    with CaptureQueriesContext(connection) as queries:
        found = watch(plan)
    assert (found.completed, fates(plan)["d"]) == (1, Fate.COMPLETED)
    assert len(queries) < 60
    assert found.targets.get().position == cast(Any, backend("main")).positions([SHOP])[SHOP].last_id


@pytest.mark.node
def test_what_a_lost_worker_had_sent_is_understood_when_it_is_written_down_late(
    node: Node, valkey_server: Server, valkey: redis.Redis
) -> None:
    jobs: list[sent.Made] = [("a", "good", {"removeOnComplete": True}), ("b", "good", {"removeOnComplete": True})]
    plan = failed(node, valkey_server, valkey, jobs)
    run = hands(plan)
    send(run, ["a"])
    rows = sent.dispatch(run, ["b"])
    sent.work(node, valkey_server)
    watching = Watching(run)
    watching.step()
    assert fates(plan) == {"a": Fate.COMPLETED, "b": Fate.NONE}
    sent.write_down(run, rows)
    watching.step()
    assert fates(plan) == {"a": Fate.COMPLETED, "b": Fate.COMPLETED}


@pytest.mark.node
def test_a_kill_between_any_two_writings_loses_nothing_and_counts_nothing_twice(
    node: Node, valkey_server: Server, valkey: redis.Redis
) -> None:
    jobs: list[sent.Made] = [(f"j{n}", "bad" if n % 3 else "good", {}) for n in range(9)]
    plan = failed(node, valkey_server, valkey, jobs, terms=replace(QUIET, key="id", key_failed=KeyFailed.GO_ON))
    rows = send(hands(plan), [f"j{n}" for n in range(8)])
    plan.jobs.filter(job="j8").update(place=Place.HELD, after=rows[0].pk)
    sent.work(node, valkey_server)
    kills = 0
    for number in range(20):
        with transaction.atomic():
            run = hands(plan, killed_at=number)
            try:
                for _step in range(2):
                    Watching(run).step()
            except Killed:
                kills += 1
            found = watch(plan)
            assert (found.completed, found.failed, found.other) == (3, 5, 0)
            assert sorted(fates(plan).values()) == ["", *["completed"] * 3, *["failed"] * 5]
            assert plan.jobs.get(job="j8").place == Place.READY
            assert sum(span.completed + span.failed for span in plan.spans.all()) == 8
            transaction.set_rollback(True)
    assert 0 < kills < 20


def test_ends_that_somebody_else_has_written_are_not_counted_again(valkey: redis.Redis) -> None:
    plan = in_memory(valkey, ["a", "b"])
    run = hands(plan)
    learnt = Learnt()
    for row in plan.jobs.all():
        learnt.end(Landed(Way(row.pk, row.sent_ms or 0), row.queue_id, row.job.encode()), Fate.COMPLETED, 7)
    plan.jobs.filter(job="a").update(fate=Fate.FAILED, ended_ms=5)
    with pytest.raises(Overtaken):
        write(run, learnt, ())
    assert (Replay.objects.get(pk=plan.pk).completed, plan.jobs.get(job="b").ended_ms) == (0, None)
    told(valkey, "completed", "b")
    Watching(run).step()
    assert (run.replay.completed, plan.jobs.get(job="a").ended_ms) == (1, 5)


def test_a_process_remembers_what_is_under_way_only_while_nobody_else_had_the_plan(valkey: redis.Redis) -> None:
    plan = in_memory(valkey, ["a", "b", "c"])
    plan.jobs.filter(job="c").update(place=Place.READY)
    first = Watching(hands(plan))
    first.step()
    first.rest()
    Replay.objects.filter(pk=plan.pk).update(epoch=1)
    with CaptureQueriesContext(connection) as queries:
        watching = Watching(hands(plan))
        watching.step()
    assert len(queries) <= 6
    watching.rest()
    Replay.objects.filter(pk=plan.pk).update(epoch=3)
    plan.jobs.filter(job="a").update(place=Place.BACK)
    plan.jobs.filter(job="c").update(place=Place.SENT, sent_ms=1)
    told(valkey, "completed", "b")
    told(valkey, "completed", "c")
    assert watch(plan).completed == 2
    assert fates(plan) == {"a": Fate.NONE, "b": Fate.COMPLETED, "c": Fate.COMPLETED}


@pytest.mark.parametrize(
    ("ours", "theirs", "gap"),
    [
        ("1-0", Position("5-0", 3, None, "3-0"), Gap(None, 3)),  # a server that does not count what was added
        ("3-0", Position("5-0", 3, None, "3-0"), None),
        ("0-0", Position("5-0", 3, None, "3-0"), None),
        ("1-0", Position("5-0", 0, None, ""), Gap(None, 5)),
        ("5-0", Position("5-0", 0, None, ""), None),
        ("1-0", Position("5-0", 0, 12, ""), Gap(2, 5)),
        ("9-0", Position("5-0", 3, 3, "3-0"), Gap(None, None)),
        ("9-0", Position("0-0", 0, 0, "", exists=False), Gap(None, None)),
        ("0-0", Position("0-0", 0, 0, "", exists=False), None),
        ("5-0", Position("5-0", 3, 10, "3-0"), None),
        ("5-0", Position("5-0", 3, 7, "3-0"), Gap(None, 5)),
        ("5-0", None, None),
    ],
)
def test_what_was_lost_of_a_stream_is_told_as_far_as_a_server_tells(
    ours: str, theirs: Position | None, gap: Gap | None
) -> None:
    counted = None if theirs is not None and theirs.added is None else 10
    stream = Stream(1, 1, SHOP, ours, counted)
    assert stream.compare(theirs) == gap
    assert stream.readable == (theirs is not None)
    assert not stream.behind or (theirs is not None and bool(theirs.length))


def test_large_entries_are_asked_for_a_few_at_a_time(valkey: redis.Redis) -> None:
    stream = Stream(1, 1, SHOP, "0-0", 0)
    assert stream.most == 16
    streams.write(valkey, "event", "failed", "jobId", "a", "failedReason", "x" * 1_000_000)
    [batch] = cast(Any, backend("main")).entries({SHOP: "0-0"}, most=10)
    stream.take(batch)
    assert stream.most == 4


def test_a_busy_stream_is_to_be_read_again_before_what_it_holds_is_dropped(valkey: redis.Redis) -> None:
    plan = in_memory(valkey, ["a"])
    watching = Watching(hands(plan))
    for second in (1, 4, 7):
        streams.write(valkey, "event", "paused", entry=f"{streams.NOON + second * 1_000}-0")
    watching.step()
    assert watching.within_s == math.inf  # nothing was dropped yet
    valkey.xtrim(streams.STREAM, maxlen=2, approximate=False)
    watching.step()
    assert watching.within_s == 1.0
