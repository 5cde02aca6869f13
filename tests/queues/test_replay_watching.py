"""What becomes of replayed jobs, by the events of a real queue with real workers, and by looking at the jobs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import redis

from queues.actions import Target
from queues.models import (
    Failure,
    FailureGroup,
    FailureSignature,
    FailureStrand,
    Replay,
    ReplayJob,
    ReplayQueue,
    ReplaySpan,
)
from queues.registry import actions
from queues.replay.naming import job_id
from queues.replay.terms import KeyFailed, Originals
from queues.replay.types import Place
from queues.replay.watching import (
    Watching,
    begin,
    canary_standing,
    last_ended,
    unended,
    unexplained,
)
from queues.sendings import Fate
from queues.types import QueueRef
from tests.node import Node
from tests.queues import sent, streams
from tests.queues.replaying import QUIET, SHOP, Killed, a_queue, hands
from tests.queues.sent import failed, fates, in_memory, send, told, watch
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
    send(run)
    assert unended(run.replay) == 5
    sent.work(node, valkey_server, major)
    found = watch(plan)
    completed, bad = Fate.COMPLETED, Fate.FAILED
    assert list(fates(plan).values()) == [completed, bad, completed, completed, bad]
    assert (found.completed, found.failed, found.other) == (3, 2, 0)
    assert all((row.ended_ms or 0) >= (row.sent_ms or 0) for row in plan.jobs.all())
    spans = ReplaySpan.objects.filter(replay=plan)
    assert (sum(span.completed for span in spans), sum(span.failed for span in spans)) == (3, 2)
    assert unended(found) == 0
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
