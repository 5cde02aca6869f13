"""Plans from their start to their end: what is sent, in which order, what people do meanwhile, what is written down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast
from unittest import mock

import pytest
import redis
from django.utils import timezone

from queues.audit.types import Status
from queues.models import AuditEntry, Replay, ReplayJob, ReplaySpan
from queues.replay import originals, steering
from queues.replay.run import running
from queues.replay.run.ending import TIDYING
from queues.replay.run.sending import Sending
from queues.replay.run.tidying import REST
from queues.replay.terms import Originals
from queues.replay.types import Acts, Choice, Phase, Place
from queues.sendings import Conflict, Fate
from queues.types import QueueRef, State
from tests.queues.replaying import OLGA, QUIET, SHOP, a_queue, hands
from tests.queues.runs import a_plan_of, a_slice, fail, free, line, ran, started, told, until, work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks", "no_index")]

OTHER = QueueRef("main", b"bull", b"other")
IDS = [f"j{number}" for number in range(60)]
COPIED = replace(QUIET, acts_copy=True, target="other", originals=Originals.WHEN_SENT)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of ten, and a look after each."""
    monkeypatch.setattr("queues.replay.run.sending.BATCH", 10)
    monkeypatch.setattr("queues.replay.run.going.SENDING_S", 0.0)


def with_entry(plan: Replay) -> Replay:
    plan.entry = AuditEntry.objects.create(who="olga", action="replay", status=Status.RUNNING, source="main")
    plan.save(update_fields=["entry"])
    return plan


def keys(client: redis.Redis) -> list[str]:
    """The receipts that are left."""
    return sorted(key.decode() for key in cast("Iterator[bytes]", client.scan_iter("*:mirante:*")))


def members(client: redis.Redis, key: str) -> list[str]:
    return [job.decode() for job in cast("list[bytes]", client.zrange(key, 0, -1))]


def places(plan: Replay) -> dict[str, int]:
    found: dict[str, int] = {}
    for place in plan.jobs.values_list("place", flat=True):
        found[place] = found.get(place, 0) + 1
    return found


def test_a_plan_goes_from_its_start_to_its_end_and_tells(valkey: redis.Redis) -> None:
    ids = [f"j{number}" for number in range(1_500)]
    plan = with_entry(a_plan_of(valkey, ids))
    until(plan, Phase.DONE, between=lambda: work(valkey, bad={"j7"}))
    assert ran(valkey) == ids
    assert (plan.sent, plan.completed, plan.failed, plan.other, plan.to_send) == (1_500, 1_499, 1, 0, 0)
    assert told(plan) == ["started", "all-sent", "done"]
    assert line(plan, "started") == {"number": 1_500}
    assert places(plan) == {"sent": 1_500}
    assert sum(span.sent for span in ReplaySpan.objects.filter(replay=plan)) == 1_500
    assert keys(valkey) == []
    assert plan.entry
    plan.entry.refresh_from_db()
    assert (plan.entry.status, plan.entry.outcomes) == (Status.DONE, {"completed": 1_499, "failed": 1})
    assert "1,500 jobs were sent; 1,499 completed, 1 failed again." in plan.entry.note
    assert plan.started_at
    assert plan.sent_at
    assert plan.ended_at
    assert running.run(plan.pk, plan.epoch) is None


def test_nothing_is_sent_before_its_time(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS, starts_at=timezone.now() + timedelta(hours=1))
    later = a_slice(plan)
    plan.refresh_from_db()
    assert later
    assert later.after_s > 0
    assert (plan.phase, valkey.llen("bull:shop:wait")) == (Phase.ARMED, 0)


def test_jobs_of_several_queues_keep_the_order_within_each(valkey: redis.Redis) -> None:
    fail(valkey, [f"o{number}" for number in range(30)], "other")
    plan = a_plan_of(valkey, IDS)
    other = a_queue(OTHER)
    ReplayJob.objects.bulk_create(
        ReplayJob(replay=plan, queue=other, target=other, job=f"o{number}", seen="1000", created_ms=1_000 + 2 * number)
        for number in range(30)
    )
    until(plan, Phase.ENDING)
    for queue, ids in (("shop", IDS), ("other", [f"o{number}" for number in range(30)])):
        waiting = cast("list[bytes]", valkey.lrange(f"bull:{queue}:wait", 0, -1))
        assert [job.decode() for job in reversed(waiting)] == ids


def test_jobs_that_somebody_moved_meanwhile_are_refused_each_with_its_reason(valkey: redis.Redis) -> None:
    plan = with_entry(a_plan_of(valkey, IDS))
    valkey.zrem("bull:shop:failed", "j1")
    valkey.lpush("bull:shop:wait", "j1")
    valkey.delete("bull:shop:j2")
    valkey.zadd("bull:shop:failed", {"j3": 5_000})
    until(plan, Phase.DONE, between=lambda: work(valkey))
    refused = {row.job: row.conflict for row in plan.jobs.filter(place=Place.REFUSED)}
    assert refused == {"j1": Conflict.LEFT, "j2": Conflict.GONE, "j3": Conflict.LEFT}
    assert (plan.sent, plan.refused, plan.completed) == (57, 3, 57)
    assert plan.entry
    plan.entry.refresh_from_db()
    assert plan.entry.outcomes == {"completed": 57, "refused": 3}


def test_what_another_plan_has_sent_is_refused_with_its_name(valkey: redis.Redis) -> None:
    first = a_plan_of(valkey, IDS[:5], terms=replace(COPIED, originals=Originals.KEEP), acts=Acts.COPY, target=OTHER)
    until(first, Phase.DONE, between=lambda: work(valkey, "other"))
    assert (first.completed, len(keys(valkey))) == (5, 5)
    assert set(first.jobs.values_list("original", flat=True)) == {"kept"}
    second = a_plan_of(valkey, IDS[:6], terms=COPIED, acts=Acts.COPY, target=OTHER)
    until(second, Phase.DONE, between=lambda: work(valkey, "other"))
    refused = second.jobs.filter(place=Place.REFUSED)
    assert {(row.conflict, row.note) for row in refused} == {(Conflict.SENT_BEFORE, str(first))}
    assert (second.refused, second.completed) == (5, 1)
    assert members(valkey, "bull:shop:failed") == sorted(IDS[:5])


def test_what_another_plan_has_sent_is_sent_again_where_a_person_chose_so(valkey: redis.Redis) -> None:
    first = a_plan_of(valkey, IDS[:5], terms=replace(COPIED, originals=Originals.KEEP), acts=Acts.COPY, target=OTHER)
    until(first, Phase.DONE, between=lambda: work(valkey, "other"))
    terms = replace(COPIED, choices={Conflict.ID_KEPT: Choice.SEND})
    second = a_plan_of(valkey, IDS[:5], phase=Phase.RUNNING, terms=terms, acts=Acts.COPY, target=OTHER)
    second.jobs.update(conflict=Conflict.SENT_BEFORE)
    Replay.objects.filter(pk=second.pk).update(started_at=timezone.now())
    until(second, Phase.DONE, between=lambda: work(valkey, "other"))
    assert second.completed == 5


def test_copies_go_to_the_target_and_their_originals_go_once_they_are_safely_in(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS, terms=COPIED, acts=Acts.COPY, target=OTHER)
    until(plan, Phase.DONE, between=lambda: work(valkey, "other"))
    assert ran(valkey) == IDS
    assert members(valkey, "bull:shop:failed") == []
    assert set(plan.jobs.values_list("original", flat=True)) == {"removed"}
    assert len(keys(valkey)) == 60
    assert plan.step == TIDYING
    assert a_slice(plan) is None  # who is about to send the same may still come
    Replay.objects.filter(pk=plan.pk).update(ended_at=timezone.now() - REST)
    a_slice(plan)
    plan.refresh_from_db()
    assert (plan.phase, plan.step, keys(valkey)) == (Phase.DONE, "", [])


def test_an_original_that_is_held_goes_later_and_one_that_somebody_moved_meanwhile_is_kept(
    valkey: redis.Redis,
) -> None:
    plan = a_plan_of(valkey, IDS[:3], terms=COPIED, acts=Acts.COPY, target=OTHER)
    for job in ("j0", "j1"):
        valkey.set(f"bull:shop:{job}:lock", "a worker")
    send = Sending.send

    def sent(self: Sending, *args: Any, **kwargs: Any) -> Any:
        with mock.patch("queues.replay.run.sending.remove_due"):
            came = send(self, *args, **kwargs)
        assert members(valkey, "bull:shop:failed") == ["j0", "j1"]
        valkey.zadd("bull:shop:failed", {"j0": 9_000})
        valkey.delete("bull:shop:j0:lock", "bull:shop:j1:lock")
        return came

    with mock.patch.object(Sending, "send", sent):
        until(plan, Phase.DONE, between=lambda: work(valkey, "other"))
    assert dict(plan.jobs.values_list("job", "original")) == {"j0": "kept", "j1": "removed", "j2": "removed"}
    assert members(valkey, "bull:shop:failed") == ["j0"]


def test_a_letter_beside_a_job_goes_when_the_job_was_sent(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS[:3])
    letters = a_queue(OTHER)
    for number in range(3):
        valkey.hset(f"bull:other:l{number}", mapping={"name": "mail", "data": "{}", "opts": "{}", "timestamp": "1"})
        valkey.lpush("bull:other:wait", f"l{number}")
        plan.jobs.filter(job=f"j{number}").update(letter_queue=letters, letter=f"l{number}")
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert valkey.llen("bull:other:wait") == 0
    assert set(plan.jobs.values_list("original", flat=True)) == {"removed"}


def test_a_letter_that_was_delayed_when_it_was_looked_at_is_removed_from_where_it_waits_by_then(
    valkey: redis.Redis,
) -> None:
    plan = a_plan_of(valkey, [])
    letters = a_queue(OTHER)
    valkey.hset("bull:other:l", mapping={"name": "mail", "data": "{}", "opts": "{}", "timestamp": "1"})
    valkey.lpush("bull:other:wait", "l")
    ReplayJob.objects.create(replay=plan, queue=letters, job="l", seen="1", state=State.DELAYED, acts=Acts.COPY)
    assert list(originals.remove(hands(plan), plan.jobs.all()).values()) == ["removed"]
    assert valkey.llen("bull:other:wait") == 0


def test_completed_jobs_are_sent_again_as_copies_with_new_numbers(valkey: redis.Redis) -> None:
    fail(valkey, ["7"])
    work(valkey)
    valkey.rename("bull:shop:failed", "bull:shop:completed")
    terms = replace(QUIET, originals=Originals.KEEP)
    plan = a_plan_of(valkey, [], phase=Phase.RUNNING, terms=terms, started_at=timezone.now(), total=1, to_send=1)
    queue = a_queue(SHOP)
    ReplayJob.objects.create(
        replay=plan, queue=queue, target=queue, job="7", seen="1000", state=State.COMPLETED, acts=Acts.COPY
    )
    until(plan, Phase.DONE, between=lambda: work(valkey))
    row = plan.jobs.get()
    assert (row.place, row.fate, row.original) == (Place.SENT, Fate.COMPLETED, "kept")
    assert row.made != "7"


# --- people --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_who_pauses_in_the_middle_of_a_batch_finds_it_written_down_and_nothing_more_sent(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS)
    started(plan)
    send = Sending.send
    calls: list[int] = []

    def paused(self: Sending, *args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            steering.pause(OLGA, Replay.objects.get(pk=plan.pk))
        return send(self, *args, **kwargs)

    before = plan.sent
    with mock.patch.object(Sending, "send", paused):
        until(plan, Phase.PAUSED)
        a_slice(plan)
    plan.refresh_from_db()
    assert (plan.phase, plan.sent) == (Phase.PAUSED, before + 20)
    assert valkey.llen("bull:shop:wait") == plan.sent
    assert places(plan)["sent"] == plan.sent
    steering.go_on(OLGA, plan)
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert ran(valkey) == IDS


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("take_back", [False, True])
def test_who_cancels_puts_back_what_was_not_sent_and_what_nobody_has_begun(
    take_back: bool, valkey: redis.Redis
) -> None:
    plan = with_entry(a_plan_of(valkey, IDS))
    started(plan)
    while plan.sent < 20:
        a_slice(plan, 0.0)
        plan.refresh_from_db()
    sent = plan.sent
    work(valkey, most=5)
    steering.cancel(OLGA, plan, take_back=take_back)
    until(plan, Phase.CANCELLED)
    there = 5 if take_back else sent
    assert (plan.sent, plan.back, plan.to_send) == (there, 60 - there, 0)
    assert places(plan) == {"sent": there, "back": 60 - there}
    assert valkey.zcard("bull:shop:failed") == 60 - there
    assert valkey.llen("bull:shop:wait") == there - 5
    assert plan.entry
    plan.entry.refresh_from_db()
    assert plan.entry.status == Status.STOPPED
    assert plan.entry.outcomes["back"] == 60 - there
    again = a_plan_of(valkey, [], phase=Phase.RUNNING, started_at=timezone.now())
    plan.jobs.filter(place=Place.BACK).update(replay=again, place=Place.READY)
    Replay.objects.filter(pk=again.pk).update(to_send=60 - there)
    until(again, Phase.DONE, between=lambda: work(valkey))
    assert again.completed == 60 - there


@pytest.mark.usefixtures("small")
def test_what_a_lost_worker_had_sent_is_known_when_the_plan_is_cancelled(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS)
    started(plan)

    def dies(_run: object, came: object) -> None:
        if came:
            raise KeyboardInterrupt

    with mock.patch("queues.replay.run.sending.record", dies), pytest.raises(KeyboardInterrupt):
        a_slice(plan)
    waiting = valkey.llen("bull:shop:wait")
    plan.refresh_from_db()
    assert plan.sent < waiting
    steering.cancel(OLGA, plan)
    free(plan)
    until(plan, Phase.CANCELLED)
    assert plan.sent == waiting
    assert plan.back == 60 - waiting


def test_a_draft_of_many_jobs_is_cancelled_without_a_server(
    valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan_of(valkey, IDS, phase=Phase.CANCELLING)
    monkeypatch.setattr(running, "writer", None)
    until(plan, Phase.CANCELLED)
    assert plan.back == 60


def test_what_has_not_ended_within_a_day_is_left_as_it_is(valkey: redis.Redis) -> None:
    plan = with_entry(a_plan_of(valkey, IDS))
    until(plan, Phase.ENDING)
    work(valkey, most=10)
    Replay.objects.filter(pk=plan.pk).update(sent_at=timezone.now() - timedelta(hours=24, seconds=1))
    until(plan, Phase.DONE)
    assert plan.completed == 10
    assert plan.entry
    plan.entry.refresh_from_db()
    assert plan.entry.outcomes == {"completed": 10, "under-way": 50}
