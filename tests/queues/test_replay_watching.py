"""What becomes of replayed jobs, by the events of a real queue with real workers, and by looking at the jobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
import redis
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from queues.actions import Target
from queues.models import (
    Failure,
    FailureGroup,
    FailureSignature,
    FailureStrand,
    Replay,
    ReplayJob,
    ReplayLine,
    ReplayQueue,
    ReplaySpan,
)
from queues.registry import actions, backend
from queues.replay.naming import job_id
from queues.replay.terms import KeyFailed, Originals
from queues.replay.types import Place, Told
from queues.replay.watching import (
    Watching,
    begin,
    canary_standing,
    last_ended,
    oldest_unended_ms,
    unended,
    unexplained,
    ways,
    work,
)
from queues.replay.watching.learnt import Learnt
from queues.replay.watching.ways import Landed, Way
from queues.replay.watching.writing import Overtaken, write
from queues.sendings import Fate
from queues.types import QueueRef
from tests.node import Node
from tests.queues import sent, streams
from tests.queues.moving import put
from tests.queues.replaying import QUIET, SHOP, Killed, a_queue, hands
from tests.queues.sent import failed, fates, send, watch
from tests.valkey import Server, eventually

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source")]

OTHER = QueueRef("main", b"bull", b"other")


@pytest.mark.node
@pytest.mark.parametrize("major", [5, 6])
def test_what_becomes_of_replayed_jobs_is_told_by_their_events(
    major: int, node: Node, valkey_server: Server, valkey: redis.Redis
) -> None:
    jobs: list[sent.Made] = [
        ("a", "good", {}),
        ("b", "bad", {}),
        ("c", "good", {"removeOnComplete": True}),
        ("d", "good", {"priority": 3}),
        ("~e <b>", "bad", {}),
    ]
    plan = failed(node, valkey_server, valkey, jobs, major)
    run = hands(plan)
    rows = send(run)
    assert unended(run.replay) == 5
    assert oldest_unended_ms(run.replay) == min(row.sent_ms or 0 for row in rows)
    sent.work(node, valkey_server, major)
    found = watch(plan)
    completed, bad = Fate.COMPLETED, Fate.FAILED
    assert list(fates(plan).values()) == [completed, bad, completed, completed, bad]
    assert (found.completed, found.failed, found.other) == (3, 2, 0)
    assert all((row.ended_ms or 0) >= (row.sent_ms or 0) for row in plan.jobs.all())
    spans = ReplaySpan.objects.filter(replay=plan)
    assert (sum(span.completed for span in spans), sum(span.failed for span in spans)) == (3, 2)
    assert (unended(found), oldest_unended_ms(found)) == (0, None)
    assert (last_ended(found).number, last_ended(found).failed) == (5, 2)
    assert last_ended(found, 100, after_ms=2**50).number == 0


@pytest.mark.node
def test_an_attempt_that_failed_is_seen_before_the_job_has_ended(
    node: Node, valkey_server: Server, valkey: redis.Redis
) -> None:
    backoff = {"attempts": 3, "backoff": {"type": "fixed", "delay": 600_000}}
    plan = failed(node, valkey_server, valkey, [("a", "good", {}), ("b", "bad", {"attempts": 1})])
    copied = sent.a_running_plan(["b"], valkey, terms=QUIET)
    run = hands(copied)
    copied.jobs.update(canary=True)
    sent.send_copies(run, SHOP, name=b"bad", opts=json.dumps(backoff).encode())
    send(hands(plan), ["a"])
    sent.work(node, valkey_server)
    found = watch(copied)
    [row] = found.jobs.all()
    assert (row.fate, row.tries, row.ended_ms, found.retrying, found.running) == (Fate.RETRYING, 1, None, 1, 0)
    canary = canary_standing(found)
    assert (canary.sent, canary.ended, canary.failed, canary.retrying) == (1, 0, 0, 1)
    actions("main").promote(SHOP, [Target(job_id(row.made))])
    sent.work(node, valkey_server)
    found = watch(copied)
    assert (found.jobs.get().tries, found.retrying, unended(found)) == (2, 1, 1)


@pytest.mark.node
def test_a_job_whose_worker_hangs_too_often_has_failed_again(
    node: Node, valkey_server: Server, valkey: redis.Redis
) -> None:
    plan = failed(node, valkey_server, valkey, [("a", "good", {})])
    send(hands(plan))
    node.run(
        """
        const hang = () => new Promise(() => {});
        const dead = worker(6, "shop", hang,
          { lockDuration: 60000, stalledInterval: 100, maxStalledCount: 0, concurrency: 3 });
        await redis.del("bull:shop:stalled-check");
        await until(() => redis.exists("bull:shop:a:lock"));
        """,
        url=valkey_server.url,
    )
    assert watch(plan).running == 1
    valkey.delete("bull:shop:a:lock", "bull:shop:stalled-check")
    eventually(lambda: watch(plan).failed == 1)
    assert (Replay.objects.get(pk=plan.pk).running, fates(plan)) == (0, {"a": Fate.FAILED})


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


def test_jobs_that_somebody_removes_are_gone_also_where_no_event_says_so(valkey: redis.Redis) -> None:
    plan = in_memory(valkey, ["a", "b", "c"])
    valkey.delete("bull:shop:a")
    told(valkey, "removed", "a", prev="wait")
    valkey.delete("bull:shop:b")  # as drain does
    valkey.lrem("bull:shop:wait", 0, "b")
    found = watch(plan)
    assert fates(plan) == {"a": Fate.GONE, "b": Fate.GONE, "c": Fate.NONE}
    assert (found.other, unended(found)) == (2, 1)


def test_what_happened_before_a_job_was_sent_and_after_it_ended_is_not_its_own(valkey: redis.Redis) -> None:
    plan = in_memory(valkey, ["a"], sent_ms=streams.NOON + 1_000)
    told(valkey, "failed", "a", entry=f"{streams.NOON}-1")
    told(valkey, "completed", "a", entry=f"{streams.NOON + 1_500}-1")
    told(valkey, "failed", "a", entry=f"{streams.NOON + 1_600}-1")
    found = watch(plan)
    assert (found.completed, found.failed) == (1, 0)
    assert plan.jobs.get().ended_ms == streams.NOON + 1_500
    told(valkey, "failed", "a", entry=f"{streams.NOON + 1_700}-1")
    assert watch(plan).failed == 0


def test_a_job_that_another_takes_back_before_it_runs_is_gone(valkey: redis.Redis) -> None:
    plan = in_memory(valkey, ["a", "b"])
    told(valkey, "failed", "a", prev="waiting")
    valkey.lrem("bull:shop:wait", 0, "b")
    valkey.zadd("bull:shop:failed", {"b": 1000})  # with the score that it had, and no event tells
    watch(plan)
    assert fates(plan) == {"a": Fate.GONE, "b": Fate.GONE}


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


def test_two_plans_on_one_queue_each_see_their_own(valkey: redis.Redis) -> None:
    first, second = in_memory(valkey, ["a", "b"]), in_memory(valkey, ["c", "d"])
    for job in "abcd":
        told(valkey, "completed" if job in "ac" else "failed", job)
    assert [(plan.completed, plan.failed) for plan in map(watch, (first, second))] == [(1, 1), (1, 1)]
    assert fates(second) == {"c": Fate.COMPLETED, "d": Fate.FAILED}


def test_a_paused_queue_holds_its_jobs_and_they_are_said_to_wait(valkey: redis.Redis) -> None:
    plan = in_memory(valkey, ["a", "b"])
    valkey.rename("bull:shop:wait", "bull:shop:paused")
    valkey.hset("bull:shop:meta", "paused", "1")
    found = watch(plan)
    assert (unended(found), found.running, found.retrying, found.other) == (2, 0, 0, 0)


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


@pytest.mark.parametrize(("behind", "ways_on"), [(KeyFailed.HOLD, "h"), (KeyFailed.GO_ON, "r")])
def test_the_next_of_a_key_may_be_sent_when_the_one_before_it_has_ended(
    behind: KeyFailed, ways_on: str, valkey: redis.Redis
) -> None:
    plan = in_memory(valkey, ["a", "b"], terms=replace(QUIET, key="order", key_failed=behind))
    held = [
        ReplayJob.objects.create(
            replay=plan, queue=row.queue, target=row.queue, job=f"{row.job}2", place=Place.HELD, after=row.pk
        )
        for row in plan.jobs.select_related("queue")
    ]
    told(valkey, "completed", "a")
    told(valkey, "failed", "b", prev="active")
    watch(plan)
    places = [ReplayJob.objects.get(pk=row.pk).place for row in held]
    assert places == [Place.READY, Place.HELD if ways_on == "h" else Place.READY]


def test_jobs_that_failed_again_are_told_into_which_group_once_the_index_knows(valkey: redis.Redis) -> None:
    plan = in_memory(valkey, ["a", "b", "c"])
    for job in "abc":
        told(valkey, "failed", job, prev="active")
    found = watch(plan)
    assert unexplained(found) == 3
    kept, merged = a_group("kept"), a_group("merged")
    FailureGroup.objects.filter(pk=merged.pk).update(merged_into=kept)
    at = plan.jobs.get(job="a").sent_ms or 0
    a_failure(kept, "a", at + 50)
    a_failure(merged, "b", at + 50)
    plan.jobs.filter(job="c").update(failed_ms=at - 100)
    a_failure(kept, "c", at - 100)  # the one for which it is replayed
    watch(plan)
    assert dict(plan.jobs.values_list("job", "again")) == {"a": kept.pk, "b": kept.pk, "c": None}


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


@pytest.mark.node
def test_an_original_goes_when_its_copy_has_completed_and_stays_when_that_failed(
    node: Node, valkey_server: Server, valkey: redis.Redis
) -> None:
    plan = failed(
        node,
        valkey_server,
        valkey,
        [("a", "good", {}), ("b", "good", {})],
        terms=replace(QUIET, acts_copy=True, originals=Originals.WHEN_DONE),
    )
    run = hands(plan)
    sent.send_copies(run, OTHER)
    sent.work(node, valkey_server, name="other")
    moved = valkey.zadd("bull:shop:failed", {"b": 5.0})
    assert moved == 0  # it failed anew meanwhile
    with pytest.raises(Killed):
        Watching(hands(plan, killed_at=1)).step()  # removed, and not written down
    found = watch(plan)
    assert found.completed == 2
    assert dict(plan.jobs.values_list("job", "original")) == {"a": "removed", "b": "kept"}
    assert valkey.zrange("bull:shop:failed", 0, -1) == [b"b"]


def test_what_was_never_begun_to_be_watched_is_looked_at_all_the_same(valkey: redis.Redis) -> None:
    plan = in_memory(valkey, ["a"])
    ReplayQueue.objects.filter(replay=plan).delete()
    valkey.lrem("bull:shop:wait", 0, "a")
    valkey.zadd("bull:shop:completed", {"a": streams.NOON})
    assert watch(plan).completed == 1


def test_the_beginning_is_noted_once(valkey: redis.Redis) -> None:
    plan = sent.a_running_plan(["a"], valkey)
    first = streams.write(valkey, "event", "paused")
    begin(hands(plan), [SHOP])
    streams.write(valkey, "event", "resumed")
    begin(hands(plan), [SHOP])
    row = ReplayQueue.objects.get(replay=plan)
    assert (row.position, row.added) == (first, 1)
    valkey.set("bull:other:events", "no stream")
    a_queue(OTHER)
    begin(hands(plan), [SHOP, OTHER])
    assert ReplayQueue.objects.filter(replay=plan).count() == 2


def in_memory(valkey: redis.Redis, jobs: Sequence[str], *, sent_ms: int | None = None, **values: Any) -> Replay:
    """A plan whose jobs were sent a moment ago, and wait."""
    plan = sent.a_running_plan(jobs, valkey, **values)
    for job in jobs:
        put(valkey, job, "wait")
    begin(hands(plan), [SHOP])
    seconds, micros = valkey.time()
    now = seconds * 1000 + micros // 1000 if sent_ms is None else sent_ms
    plan.jobs.update(place=Place.SENT, sent_ms=now)
    Replay.objects.filter(pk=plan.pk).update(sent=len(jobs))
    plan.refresh_from_db()
    return plan


def told(valkey: redis.Redis, word: str, job: str, *, entry: str = "*", prev: str = "") -> None:
    streams.write(valkey, "event", word, "jobId", job, *(("prev", prev) if prev else ()), entry=entry)


def a_group(slug: str) -> FailureGroup:
    return FailureGroup.objects.create(source=a_queue().source, slug=slug, title=slug, first_ms=0, last_ms=0)


def a_failure(group: FailureGroup, job: str, score_ms: int) -> None:
    queue = a_queue()
    signature, _made = FailureSignature.objects.get_or_create(
        source=queue.source, group=group, version=1, digest=group.slug
    )
    strand, _made = FailureStrand.objects.get_or_create(
        signature=signature, group=group, queue=queue, defaults={"first_ms": 0, "last_ms": 0}
    )
    Failure.objects.create(queue=queue, strand=strand, job=job, at_ms=score_ms, score_ms=score_ms)
