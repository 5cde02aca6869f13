"""Originals and letters that could not go with what was sent for them, and plans that are about the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
import redis
from django.utils import timezone

from queues import operations, outages, registry
from queues.actions import Action
from queues.audit.types import Status
from queues.backends.bullmq.actions import BullMQActions
from queues.errors import Unreachable
from queues.models import AuditEntry, Replay
from queues.replay import making, steering
from queues.replay.limits import change
from queues.replay.run import running
from queues.replay.run.calls import Came
from queues.replay.run.ending import LONGEST
from queues.replay.run.run import Run
from queues.replay.run.sending import Sending
from queues.replay.run.tidying import REST
from queues.replay.terms import Originals
from queues.replay.types import Acts, Phase
from queues.sendings import Conflict
from queues.types import QueueRef, State
from tests.queues import acting
from tests.queues.replaying import DEAD, OLGA, QUIET, SHOP, a_queue, letter
from tests.queues.runs import Killed, a_plan_of, a_slice, fail, free, ran, started, until, work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks", "no_index")]

OTHER = QueueRef("main", b"bull", b"other")
IDS = [f"j{number}" for number in range(4)]


@contextmanager
def held(client: redis.Redis, keys: list[str], meanwhile: Callable[[], object]) -> Iterator[None]:
    """What these keys name is held by workers until it was sent, and what happens before anything is removed then."""
    send = Sending.send

    def sent(self: Sending, *args: Any, **kwargs: Any) -> None:
        for key in keys:
            client.set(f"{key}:lock", "a worker")
        with mock.patch("queues.replay.run.sending.remove_due"):
            send(self, *args, **kwargs)
            self.rest()
        for key in keys:
            client.delete(f"{key}:lock")
        meanwhile()

    with mock.patch.object(Sending, "send", sent):
        yield


def kept(plan: Replay) -> dict[str, str]:
    return dict(plan.jobs.values_list("job", "original"))


@pytest.mark.parametrize("keep", [True, False])
def test_an_original_whose_copy_has_failed_by_then_is_kept(keep: bool, valkey: redis.Redis) -> None:
    terms = replace(QUIET, acts_copy=True, target="other")
    plan = a_plan_of(valkey, IDS, terms=terms, acts=Acts.COPY, target=OTHER)

    def fails() -> None:
        work(valkey, "other", bad={"j1"}, keep=keep)
        if not keep:  # nothing is left of a job that fails
            valkey.delete("bull:other:j1", "bull:other:failed")

    with held(valkey, [f"bull:shop:{job}" for job in IDS], fails):
        until(plan, Phase.DONE)
    assert kept(plan) == {"j0": "removed", "j1": "kept", "j2": "removed", "j3": "removed"}
    assert valkey.zrange("bull:shop:failed", 0, -1) == [b"j1"]
    assert (plan.completed, plan.failed) == (3, 1)


def test_a_letter_beside_a_job_is_kept_where_that_has_failed_by_then(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS)
    letters = a_queue(DEAD)
    for job in IDS:
        letter(valkey, f"of-{job}", of=job)
        plan.jobs.filter(job=job).update(letter_queue=letters, letter=f"of-{job}")
    with held(valkey, [f"bull:shop-dlq:of-{job}" for job in IDS], lambda: work(valkey, bad={"j2"})):
        until(plan, Phase.DONE)
    assert kept(plan) == {"j0": "removed", "j1": "removed", "j2": "kept", "j3": "removed"}
    assert valkey.lrange("bull:shop-dlq:wait", 0, -1) == [b"of-j2"]


def cancelled(valkey: redis.Redis) -> Replay:
    """A plan that was cancelled when one of its copies had completed and three were under way."""
    entry = AuditEntry.objects.create(who="olga", action="replay", status=Status.RUNNING, source="main")
    terms = replace(QUIET, acts_copy=True, originals=Originals.WHEN_DONE)
    plan = a_plan_of(valkey, IDS, terms=terms, acts=Acts.COPY, target=OTHER, entry=entry)
    until(plan, Phase.ENDING)
    work(valkey, "other", most=1)
    a_slice(plan)
    steering.cancel(OLGA, plan)
    until(plan, Phase.CANCELLED)
    assert kept(plan) == {"j0": "removed", "j1": "", "j2": "", "j3": ""}
    return plan


def test_the_originals_of_copies_that_complete_after_their_plan_was_cancelled_go_as_was_promised(
    valkey: redis.Redis,
) -> None:
    plan = cancelled(valkey)
    entry = plan.entry
    assert entry
    entry.refresh_from_db()
    assert (entry.status, entry.outcomes) == (Status.STOPPED, {"completed": 1, "under-way": 3})
    assert (plan.pk, plan.epoch) in running.resting()  # whoever looks after plans finds it
    work(valkey, "other", bad={"j2"})
    a_slice(plan)
    assert kept(plan) == {"j0": "removed", "j1": "removed", "j2": "", "j3": "removed"}
    assert valkey.zrange("bull:shop:failed", 0, -1) == [b"j2"]
    plan.refresh_from_db()
    assert (plan.phase, plan.completed, plan.failed) == (Phase.CANCELLED, 3, 1)
    entry.refresh_from_db()
    assert (entry.status, entry.outcomes) == (Status.STOPPED, {"completed": 3, "failed": 1})
    Replay.objects.filter(pk=plan.pk).update(ended_at=timezone.now() - REST)
    a_slice(plan)
    plan.refresh_from_db()
    assert plan.step == ""
    assert len(valkey.keys("bull:*:mirante:*")) == 1  # of the one whose original is there
    assert not running.unended().exists()


def test_what_a_cancelled_plan_had_sent_is_awaited_for_a_day_also_while_its_source_is_away(
    valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = cancelled(valkey)
    away = mock.Mock(side_effect=Unreachable("It does not answer.", source="main"))
    with mock.patch.object(type(registry.backend("main")), "positions", away):
        for hours in (0, 2):
            Replay.objects.filter(pk=plan.pk).update(down_since=timezone.now() - timedelta(hours=hours))
            assert a_slice(plan)
    work(valkey, "other", most=1)
    outages.forget("main")
    a_slice(plan)
    assert kept(plan) == {"j0": "removed", "j1": "removed", "j2": "", "j3": ""}
    Replay.objects.filter(pk=plan.pk).update(ended_at=timezone.now() - LONGEST)
    a_slice(plan)
    work(valkey, "other")
    a_slice(plan)
    assert set(kept(plan).values()) == {"removed", ""}
    plan.refresh_from_db()
    assert (plan.phase, plan.completed) == (Phase.CANCELLED, 2)


@pytest.mark.parametrize("originals", [Originals.KEEP, Originals.WHEN_DONE, Originals.WHEN_SENT])
def test_of_two_plans_that_send_the_same_letters_to_different_queues_one_does(
    originals: Originals, valkey: redis.Redis
) -> None:
    change(OLGA, largest=None, fastest=None, approval=None, undo_s=0, typed=1_000)
    a_queue(OTHER)
    a_queue()
    for job in IDS:
        letter(valkey, f"of-{job}", of=job)
    plans = [making.of_letters(OLGA, DEAD), making.of_letters(OLGA, DEAD)]
    terms = [replace(QUIET, originals=originals), replace(QUIET, originals=originals, target="other")]
    for plan, some in zip(plans, terms, strict=True):
        until(plan, Phase.DRAFT)
        steering.save(OLGA, plan, some)
        until(plan, Phase.DRAFT)
        assert plan.to_send == 4
    for plan, some in zip(plans, terms, strict=True):
        steering.start(OLGA, plan, some)
    for plan in plans:
        until(plan, Phase.DONE, between=lambda: [work(valkey), work(valkey, "other")])
    assert [plan.sent for plan in plans] == [4, 0]
    assert len(ran(valkey)) == 4
    assert set(plans[1].jobs.values_list("conflict", "note")) == {(Conflict.SENT_BEFORE, str(plans[0]))}


def test_of_two_plans_that_copy_and_retry_the_same_job_one_does(valkey: redis.Redis) -> None:
    a_queue(OTHER)
    fail(valkey, IDS)
    copies = a_plan_of(valkey, IDS, terms=replace(QUIET, originals=Originals.KEEP), acts=Acts.COPY, target=OTHER)
    retries = a_plan_of(valkey, IDS)
    until(copies, Phase.DONE, between=lambda: work(valkey, "other"))
    until(retries, Phase.DONE, between=lambda: work(valkey))
    assert (copies.sent, retries.sent, retries.refused) == (4, 0, 4)
    assert set(retries.jobs.values_list("conflict", "note")) == {("sent-before", str(copies))}
    assert sorted(ran(valkey)) == IDS


def test_copies_are_written_down_on_the_way_where_they_take_long(
    valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.replay.run.copying.CHUNK", 2)
    monkeypatch.setattr("queues.replay.run.sending.COPYING_S", 0.0)
    terms = replace(QUIET, originals=Originals.KEEP)
    plan = a_plan_of(valkey, IDS, terms=terms, acts=Acts.COPY, target=OTHER)
    started(plan)
    counts = []
    while a_slice(plan, 0.0):
        plan.refresh_from_db()
        counts.append(plan.sent)
        work(valkey, "other")
    assert counts[:2] == [2, 4]
    assert (plan.completed, ran(valkey)) == (4, IDS)


@pytest.mark.parametrize("originals", [Originals.KEEP, Originals.WHEN_SENT])
def test_copies_that_a_lost_worker_had_sent_are_known_by_when_they_were_and_are_not_read_again(
    originals: Originals, valkey: redis.Redis
) -> None:
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, originals=originals), acts=Acts.COPY, target=OTHER)
    started(plan)

    def dies(_run: Run, came: Sequence[Came]) -> None:
        if came:
            raise Killed

    with mock.patch("queues.replay.run.sending.record", dies), pytest.raises(Killed):
        a_slice(plan)
    work(valkey, "other", keep=False)
    free(plan)
    with mock.patch.object(BullMQActions, "stored", side_effect=AssertionError):
        until(plan, Phase.DONE)
    assert (plan.sent, plan.completed, plan.other) == (4, 4, 0)
    assert ran(valkey) == IDS


@pytest.mark.parametrize("acts", Acts)
def test_a_bulk_retry_beside_a_plan_runs_no_job_twice(
    acts: Acts, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.replay.run.sending.BATCH", 7)
    monkeypatch.setattr("queues.replay.run.going.SENDING_S", 0.0)
    monkeypatch.setattr("queues.bulk.packing.BATCH", 5)
    ids = [f"j{number}" for number in range(60)]
    plan = a_plan_of(valkey, ids, acts=acts, target=OTHER if acts is Acts.COPY else None)
    started(plan)
    entry = operations.start_bulk(
        *(OLGA, SHOP, Action.RETRY, None),
        state=State.FAILED,
        expected=60,
        until_ms=2_000,
        parameters={"reset": False},
    )
    goes = True
    while goes or plan.phase != Phase.DONE:
        goes = bool(goes and acting.a_slice(entry, seconds=0.0))
        a_slice(plan, 0.0)
        work(valkey, most=9)
        work(valkey, "other", most=9)
        plan.refresh_from_db()
    assert sorted(ran(valkey)) == sorted(ids)
    entry.refresh_from_db()
    assert 0 < plan.sent < 60
    assert plan.sent + entry.outcomes["done"] == 60
