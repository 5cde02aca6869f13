"""Batches that are under way to the server while others are read and written down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import cast

import pytest
import redis

from queues.lease import LeaseLost
from queues.models import Replay
from queues.replay.run import running
from queues.replay.run.calls import Answer, Retry
from queues.replay.run.run import Run
from queues.replay.types import Phase, Place
from tests.queues.runs import a_plan_of, a_slice, until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks", "no_index")]

IDS = [f"j{number}" for number in range(60)]
SMALL = 10

Call = Callable[[Retry, Run, Answer], None]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[Call], list[int]]:
    """Have what is sent go through another call, in batches of ten; gives how many rows each was asked to send."""

    monkeypatch.setattr("queues.replay.run.sending.BATCH", SMALL)

    def through(call: Call) -> list[int]:
        numbers: list[int] = []

        def counted(retry: Retry, run: Run, answer: Answer) -> None:
            numbers.append(len(retry.rows))
            call(retry, run, answer)

        monkeypatch.setattr(Retry, "call", counted)
        return numbers

    return through


def waiting(client: redis.Redis) -> list[str]:
    """As workers would take them."""
    return [job.decode() for job in reversed(cast("list[bytes]", client.lrange("bull:shop:wait", 0, -1)))]


def test_what_nothing_came_of_goes_before_what_was_prepared_meanwhile(
    valkey: redis.Redis, calls: Callable[[Call], list[int]]
) -> None:
    real = Retry.call

    def some(retry: Retry, run: Run, answer: Answer) -> None:
        if len(numbers) == 2:  # as when the server's clock says that it is too late for the others
            retry = replace(retry, rows=retry.rows[:4], jobs=retry.jobs[:4])
        real(retry, run, answer)

    numbers = calls(some)
    plan = a_plan_of(valkey, IDS)
    until(plan, Phase.ENDING)
    assert waiting(valkey) == IDS
    assert (plan.sent, plan.refused, plan.to_send) == (60, 0, 0)


def test_a_worker_that_lost_its_plan_has_nothing_under_way_when_it_lets_it_go(
    valkey: redis.Redis, calls: Callable[[Call], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost, under_way = Retry.call, threading.Event(), list[Retry]()

    def slow(retry: Retry, run: Run, answer: Answer) -> None:
        under_way.append(retry)
        lost.wait(30)
        time.sleep(0.3)  # longer than letting go takes
        real(retry, run, answer)
        under_way.remove(retry)

    def meanwhile(run: Run, call: Callable[[], None]) -> Future[None]:
        monkeypatch.setattr(Run, "look", overtaken)
        return sends(run, call)

    def overtaken(_run: Run) -> None:
        lost.set()
        raise LeaseLost

    sends = Run.meanwhile
    plan = a_plan_of(valkey, IDS)
    until(plan, Phase.RUNNING, seconds=0.0)
    before = valkey.llen("bull:shop:wait")
    numbers = calls(slow)
    monkeypatch.setattr(Run, "meanwhile", meanwhile)
    assert running.run(plan.pk, plan.epoch) is None
    assert (numbers, under_way) == ([SMALL], [])
    assert waiting(valkey) == IDS[: before + SMALL]


def test_all_that_was_sent_in_a_slice_is_written_down_at_its_end(
    valkey: redis.Redis, calls: Callable[[Call], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = calls(Retry.call)
    plan = a_plan_of(valkey, IDS)
    until(plan, Phase.RUNNING, seconds=0.0)
    look = Run.look

    def paused(run: Run) -> None:
        if len(numbers) >= 3:
            Replay.objects.filter(pk=plan.pk).update(phase=Phase.PAUSED)
        look(run)

    monkeypatch.setattr(Run, "look", paused)
    a_slice(plan)
    plan.refresh_from_db()
    sent = [row.job for row in plan.jobs.filter(place=Place.SENT).order_by("rank", "pk")]
    assert sent == waiting(valkey) == IDS[: plan.sent]
    assert 0 < plan.sent < len(IDS)
