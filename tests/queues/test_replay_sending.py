"""Batches that are under way to the server while others are read and written down."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, cast
from unittest import mock

import pytest
import redis

from queues.backends.bullmq.actions import BullMQActions
from queues.errors import Unsure
from queues.lease import LeaseLost
from queues.models import Replay
from queues.replay import steering
from queues.replay.run import facts, running
from queues.replay.run.calls import Answer, Retry
from queues.replay.run.run import Run
from queues.replay.terms import Originals
from queues.replay.types import Acts, Phase, Place
from queues.types import QueueRef
from tests.queues.replaying import OLGA, QUIET, a_queue
from tests.queues.runs import a_plan_of, a_slice, fail, free, until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks", "no_index")]

IDS = [f"j{number}" for number in range(60)]
SMALL = 10
SURE_S = 5.0  # by then a loaded machine has come to what happens late

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


def lose() -> None:
    raise LeaseLost


def copied(plan: Replay, *jobs: str) -> None:
    plan.jobs.filter(job__in=jobs).update(acts=Acts.COPY, target=a_queue())


def elsewhere(plan: Replay, client: redis.Redis) -> None:
    """One of them is in a queue of its own, to which nothing was sent before."""
    client.zrem("bull:shop:failed", "j25")
    fail(client, ["j25"], "dispatch")
    plan.jobs.filter(job="j25").update(queue=a_queue(QueueRef("main", b"bull", b"dispatch")))


@pytest.mark.parametrize("too_late", range(1, 8))
@pytest.mark.parametrize("kind", ["in place", "to two queues", "one as a copy", "all as copies"])
def test_what_it_was_too_late_for_goes_before_all_that_is_behind_it(
    kind: str, too_late: int, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine slept for a while, and nobody took over."""
    monkeypatch.setattr("queues.replay.run.sending.BATCH", SMALL)
    monkeypatch.setattr("queues.replay.run.copying.CHUNK", 3)
    number = itertools.count(1)
    for name in ("send", "send_copies"):
        real = getattr(BullMQActions, name)

        def late(*given: Any, until_ms: int, real: Callable[..., object] = real, **how: Any) -> object:
            return real(*given, until_ms=0 if next(number) == too_late else until_ms, **how)

        monkeypatch.setattr(BullMQActions, name, late)
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, originals=Originals.WHEN_SENT))
    if kind == "to two queues":
        elsewhere(plan, valkey)
    else:
        copied(plan, *{"in place": [], "one as a copy": ["j25"], "all as copies": IDS}[kind])
    until(plan, Phase.ENDING, seconds=60.0)
    names = {row.made or row.job: row.job for row in plan.jobs.all()}
    assert [names[job] for job in waiting(valkey)] == [job for job in IDS if kind != "to two queues" or job != "j25"]
    assert (plan.sent, plan.refused, plan.to_send) == (60, 0, 0)


def test_after_a_loss_all_that_was_under_way_is_found_though_refusals_have_let_others_go(
    valkey: redis.Redis, calls: Callable[[Call], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of pairs of a key the first are refused; what was sent then is lost with its worker, and the plan cancelled."""
    monkeypatch.setattr("queues.replay.run.settling.IN_DOUBT", 2 * SMALL)
    jobs = [f"j{number:02}" for number in range(120)]
    plan = a_plan_of(valkey, jobs, terms=replace(QUIET, key="key"))
    rows = list(plan.jobs.order_by("pk"))
    for number, row in enumerate(rows):
        plan.jobs.filter(pk=row.pk).update(key=number // 2)
    firsts = [row.job for row in rows[::2]]
    valkey.zrem("bull:shop:failed", *firsts[:30])
    real, once = Retry.call, [True]

    def lost(retry: Retry, run: Run, answer: Answer) -> None:
        real(retry, run, answer)
        if once and any(came.sent for came in answer.came):
            once.clear()
            answer.came.clear()
            answer.error = Unsure("cut", source="main", results=[])

    calls(lost)
    while once:
        a_slice(plan)
    Replay.objects.filter(pk=plan.pk).update(facts={facts.LOST: True})
    steering.cancel(OLGA, plan)
    until(plan, Phase.CANCELLED)
    sent = {row.job for row in plan.jobs.filter(place=Place.SENT)}
    assert sent == set(waiting(valkey))
    assert len(sent) == plan.sent == SMALL


@pytest.mark.parametrize("times", [1, 4])
def test_a_plan_that_was_cancelled_asks_until_all_that_was_sent_before_a_loss_is_written_down(
    times: int, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is too late for that so many times: a machine slept again, or the clock of the server was put forward."""
    plan, sends, number = a_plan_of(valkey, IDS), BullMQActions.send, itertools.count()

    def late(*given: Any, until_ms: int, **how: Any) -> object:
        return sends(*given, until_ms=0 if next(number) in range(1, times + 1) else until_ms, **how)

    monkeypatch.setattr(BullMQActions, "send", late)
    with mock.patch("queues.replay.run.sending.record", lambda _run, came: lose() if came else None):
        a_slice(plan)
    assert valkey.llen("bull:shop:wait") == 60
    free(plan)
    steering.cancel(OLGA, plan)
    until(plan, Phase.CANCELLED)
    assert {row.place for row in plan.jobs.all()} == {Place.SENT}
    assert (plan.sent, plan.back) == (60, 0)


def test_what_reaches_the_server_late_stands_in_the_ledger_of_a_plan_that_was_cancelled(
    valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection was cut whose proxy still had what was to be sent; the plan was paused, and cancelled then."""
    monkeypatch.setattr("queues.replay.run.run.SURE_S", SURE_S)
    plan, sends, late = a_plan_of(valkey, IDS), BullMQActions.send, list[Callable[[], object]]()

    def cut(*given: Any, **how: Any) -> object:
        late.append(lambda: sends(*given, **how))
        raise Unsure("cut", source="main", results=[])

    with monkeypatch.context() as cutting:
        cutting.setattr(BullMQActions, "send", cut)
        while not late:
            a_slice(plan)
    for act in (steering.pause, steering.cancel):
        act(OLGA, plan)
        a_slice(plan)
    late[0]()
    until(plan, Phase.CANCELLED, between=lambda: time.sleep(0.05))
    assert [row.job for row in plan.jobs.filter(place=Place.SENT).order_by("rank", "pk")] == waiting(valkey) == IDS
    assert (plan.sent, plan.back, plan.to_send) == (60, 0, 0)


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
