"""Workers of plans: one at a time, overtaken, ended, handed on, and with a database that does not write."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
import redis
from django.db import OperationalError, connection
from django.utils import timezone

from queues.backends.bullmq.actions import BullMQActions
from queues.lease import FREE_AFTER_S
from queues.models import Replay
from queues.replay import steering
from queues.replay.run import facts, running
from queues.replay.run.going import Going
from queues.replay.run.run import ALIVE_S, SURE_S
from queues.replay.run.running import Later
from queues.replay.run.sending import Sending
from queues.replay.terms import AfterLoss
from queues.replay.types import Acts, Phase
from queues.tasks import run_replay, run_replays
from tests.queues.replaying import OLGA, QUIET
from tests.queues.runs import a_plan_of, a_slice, free, ran, started, told, until, work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks", "no_index")]

HELD_S = 0.3
IDS = [f"j{number}" for number in range(60)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of ten, and a look after each."""
    monkeypatch.setattr("queues.replay.run.sending.BATCH", 10)
    monkeypatch.setattr("queues.replay.run.going.SENDING_S", 0.0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("small")
def test_a_worker_that_was_frozen_in_the_middle_of_a_sending_and_overtaken_does_nothing_twice(
    valkey: redis.Redis,
) -> None:
    plan = a_plan_of(valkey, IDS)
    started(plan)
    frozen, thaws = threading.Event(), threading.Event()
    send = Sending._through

    def slow(self: Sending, *args: Any) -> None:
        if threading.current_thread() is first and not frozen.is_set():
            frozen.set()
            thaws.wait(60)
        send(self, *args)

    def slices() -> None:
        running.run(plan.pk, plan.epoch, slice_s=0.0)
        connection.close()

    first = threading.Thread(target=slices)
    with (
        mock.patch.object(Sending, "_through", slow),
        mock.patch.object(Going, "_ahead", False),  # all in the thread that has the connection
    ):
        plan.refresh_from_db()
        first.start()
        assert frozen.wait(60)
        free(plan)
        until(plan, Phase.DONE, between=lambda: work(valkey, bad={"j3", "j59"}))
        thaws.set()
        first.join(60)
    plan.refresh_from_db()
    assert ran(valkey) == IDS
    assert (plan.phase, plan.sent, plan.completed, plan.failed) == (Phase.DONE, 60, 58, 2)
    assert valkey.llen("bull:shop:wait") == 0


@pytest.mark.parametrize("acts", Acts)
def test_a_worker_that_was_held_up_while_another_took_over_sends_no_more(
    acts: Acts, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.replay.run.run.ALIVE_S", 0.0)
    monkeypatch.setattr("queues.replay.run.run.SURE_S", HELD_S)
    plan = a_plan_of(valkey, IDS, acts=acts)
    started(plan)
    name = "send" if acts is Acts.RETRY else "send_copies"
    sends, held = getattr(BullMQActions, name), [True]

    def sent(*given: Any, **how: Any) -> Any:
        if held.pop():
            free(plan)
            steering.cancel(OLGA, plan)
            until(plan, Phase.CANCELLED)
            time.sleep(HELD_S)
        return sends(*given, **how)

    monkeypatch.setattr(BullMQActions, name, sent)
    monkeypatch.setattr(Going, "_ahead", False)  # all in the thread that has the connection
    assert a_slice(plan) is None
    plan.refresh_from_db()
    assert (plan.sent, plan.back) == (0, 60)
    assert valkey.zcard("bull:shop:failed") == 60
    assert valkey.llen("bull:shop:wait") == 0


def test_nobody_takes_over_as_long_as_a_worker_may_be_sure_that_it_is_not_overtaken() -> None:
    assert ALIVE_S < SURE_S < FREE_AFTER_S


def test_a_plan_is_run_by_one_worker_at_a_time_and_found_by_the_clock(
    valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, ...]] = []
    monkeypatch.setattr("queues.tasks._send", lambda task, *arguments, **_options: sent.append(arguments))
    plan = a_plan_of(valkey, IDS)
    run_replays()
    assert sent == [(plan.pk, plan.epoch)]
    Replay.objects.filter(pk=plan.pk).update(holder="somebody")
    assert a_slice(plan) is None
    sent.clear()
    run_replays()
    assert sent == []


def test_a_slice_hands_the_plan_on_to_the_next_one(valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr("queues.tasks._send", lambda *given, **options: sent.append((*given, options["after_s"])))
    plan = a_plan_of(valkey, IDS, starts_at=timezone.now() + timedelta(hours=1))
    run_replay(plan.pk, plan.epoch)
    run_replay(plan.pk, plan.epoch)  # the same task delivered twice
    assert sent == [(run_replay, plan.pk, plan.epoch + 1, 10.0)]


@pytest.mark.usefixtures("small")
def test_a_database_that_does_not_write_costs_no_more_than_a_moment(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, after_loss=AfterLoss.WAIT))
    started(plan)

    def busy(_run: object, came: object) -> None:
        if came:
            raise OperationalError("database is locked")

    with mock.patch("queues.replay.run.sending.record", busy):
        assert a_slice(plan) == Later(plan.epoch + 1, 1.0)
    assert valkey.llen("bull:shop:wait") > 0
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert ran(valkey) == IDS
    assert "lost" not in told(plan)


def test_a_halted_plan_of_which_nothing_is_under_way_costs_nobody_anything(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS, phase=Phase.PAUSED, started_at=timezone.now())
    assert running.resting() == []
    Replay.objects.filter(pk=plan.pk).update(sent=1)
    assert running.resting() == [(plan.pk, plan.epoch)]


def test_a_process_that_ends_gives_back_what_it_holds(valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = threading.Event()
    monkeypatch.setattr(running, "_ends", ends)
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, pace_from=5.0, pace_to=5.0))
    started(plan)
    send = Sending.send

    def ending(self: Sending, *args: Any, **kwargs: Any) -> Any:
        running.end_soon()
        return send(self, *args, **kwargs)

    with mock.patch.object(Sending, "send", ending):
        a_slice(plan, 60.0)
    plan.refresh_from_db()
    assert (plan.holder, facts.LOST in plan.facts) == ("", False)
    assert a_slice(plan) is None
    ends.clear()
    assert a_slice(plan, 0.0)
