"""When a plan stops by itself, holds for a while, and goes on again; and what it says of it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from unittest import mock

import pytest
import redis
from django.utils import timezone
from pytest_django.fixtures import Settings

from queues import outages, registry
from queues.errors import OutOfMemory, Unreachable
from queues.models import Replay, ReplayQueue
from queues.replay import steering
from queues.replay.run import stopping, targets
from queues.replay.run.halted import Halted
from queues.replay.run.run import Run
from queues.replay.run.sending import Sending
from queues.replay.run.stopping import within
from queues.replay.terms import AfterLoss, Hours, KeyFailed, Originals
from queues.replay.types import Acts, Choice, Phase, Place, Stop, Told
from queues.sendings import Conflict
from queues.types import QueueRef
from tests.failing import make_group
from tests.queues.replaying import OLGA, QUIET
from tests.queues.runs import a_plan_of, a_slice, fail, free, line, started, told, until, work
from tests.valkey import Server

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks", "no_index", "quick")]

IDS = [f"j{number}" for number in range(200)]
OTHER = QueueRef("main", b"bull", b"other")
COPIED = replace(QUIET, acts_copy=True)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """It looks all the time, at small batches."""
    monkeypatch.setattr("queues.replay.run.sending.BATCH", 20)
    monkeypatch.setattr("queues.replay.run.going.SENDING_S", 0.0)
    monkeypatch.setattr("queues.replay.run.looks.SHARE", 0)
    monkeypatch.setattr("queues.replay.run.targets.READ_EVERY_S", 0.0)
    targets._workers.clear()
    yield
    targets._workers.clear()


@contextmanager
def meanwhile(client: redis.Redis, **values: Any) -> Iterator[None]:
    """A worker that takes whatever is sent at once."""
    send = Sending.send

    def sent(self: Sending, *args: Any, **kwargs: Any) -> None:
        send(self, *args, **kwargs)
        self.run.land()
        work(client, **values)

    with mock.patch.object(Sending, "send", sent):
        yield


def sent(plan: Replay) -> int:
    return plan.jobs.filter(place=Place.SENT).count()


# --- the canary ----------------------------------------------------------------------------------------


def test_a_canary_of_which_too_many_fail_again_stops_the_plan(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, canary=10, canary_failed=1))
    with meanwhile(valkey, bad=IDS):
        until(plan, Phase.STOPPED)
    assert (plan.why, sent(plan), plan.failed) == (Stop.CANARY, 10, 10)
    assert line(plan, Told.STOPPED) == {"why": "canary", "ended": 10, "failed": 10, "limit": 1, "number": 10}


def test_a_plan_that_stopped_awaits_for_a_while_what_the_index_says_of_those_that_failed_again(
    valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, canary=10, canary_failed=1))
    with meanwhile(valkey, bad=IDS):
        until(plan, Phase.STOPPED)
    monkeypatch.setattr("queues.replay.run.halted.Looks", mock.Mock(return_value=mock.Mock(wait_s=0.0)))
    work: Any = Halted(cast(Run, mock.Mock(replay=plan, facts={})))
    assert work.step() == math.inf, "it has had its time"
    monkeypatch.setattr("queues.replay.run.ending.EXPLAINED_S", 600.0)
    assert work.step() < math.inf
    plan.jobs.update(again=make_group())
    assert work.step() == math.inf


def test_a_canary_that_passes_lets_the_rest_follow(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, canary=10, canary_failed=1))
    started(plan)
    a_slice(plan, 0.1)
    assert sent(plan) == 10
    work(valkey)
    until(plan, Phase.RUNNING, Phase.ENDING)
    assert plan.rest_at
    assert line(plan, Told.CANARY_PASSED) == {"ended": 10, "failed": 0, "limit": 1, "number": 10}
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert plan.completed == 200


def test_a_canary_that_takes_too_long_waits_for_a_person_who_lets_the_rest_follow(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, canary=10, canary_failed=1, canary_wait_s=-1))
    until(plan, Phase.DECIDING)
    assert line(plan, Told.CANARY_LATE) == {"ended": 0, "number": 10, "failed": 0}
    work(valkey, most=4, bad=IDS)
    a_slice(plan, 0.1)
    plan.refresh_from_db()
    assert (plan.phase, plan.failed) == (Phase.DECIDING, 4)  # it is watched meanwhile
    steering.go_on(OLGA, plan)
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert plan.completed == 196


def test_a_canary_of_which_nothing_could_be_sent_lets_a_person_decide(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS[:20], terms=replace(QUIET, canary=5, canary_failed=1))
    valkey.delete("bull:shop:failed")
    until(plan, Phase.DECIDING)
    assert plan.refused == 5


# --- too many failures again ---------------------------------------------------------------------------


def test_a_plan_stops_when_too_many_of_the_last_ones_fail_again_and_goes_on_by_what_ends_then(
    valkey: redis.Redis,
) -> None:
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, stop_percent=10))
    bad = IDS[60:]
    with meanwhile(valkey, bad=bad):
        until(plan, Phase.STOPPED)
    assert plan.why == Stop.FAILING
    figures = line(plan, Told.STOPPED)
    assert figures["failed"] > figures["number"] * 0.1
    assert sent(plan) <= 100
    steering.go_on(OLGA, plan)
    with meanwhile(valkey):
        until(plan, Phase.DONE)
    assert plan.completed == 200 - plan.failed


def test_a_few_ends_say_nothing_yet(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS[:19], terms=replace(QUIET, stop_percent=10, pace_from=1_000.0, pace_to=1_000.0))
    with meanwhile(valkey, bad=IDS):
        until(plan, Phase.DONE)
    assert plan.failed == 19


def test_of_ten_thousand_with_a_third_poisoned_no_more_than_the_canary_and_a_step_of_the_ramp_are_sent(
    valkey: redis.Redis, rng: random.Random
) -> None:
    ids = [f"j{number}" for number in range(10_000)]
    bad = rng.sample(ids, 3_000)
    terms = replace(QUIET, canary=25, canary_failed=2, stop_percent=10, pace_from=100.0, pace_to=400.0, double_s=2)
    plan = a_plan_of(valkey, ids, terms=terms)
    with meanwhile(valkey, bad=bad):
        until(plan, Phase.STOPPED, most=4_000)
    assert plan.why in (Stop.CANARY, Stop.FAILING)
    assert sent(plan) <= 25 + 200


def test_where_the_canary_passes_by_luck_no_more_than_a_step_of_the_ramp_follows(
    valkey: redis.Redis, rng: random.Random
) -> None:
    ids = [f"j{number}" for number in range(10_000)]
    terms = replace(QUIET, canary=25, canary_failed=2, stop_percent=10, pace_from=100.0, pace_to=400.0, double_s=2)
    plan = a_plan_of(valkey, ids, terms=terms)
    until(plan, Phase.CANARY, seconds=0.0)
    lucky = set(plan.jobs.filter(canary=True).values_list("job", flat=True))
    bad = rng.sample([job for job in ids if job not in lucky], 3_000)
    with meanwhile(valkey, bad=bad):
        until(plan, Phase.STOPPED, most=4_000)
    assert (plan.why, sent(plan) <= 25 + 200) == (Stop.FAILING, True)


def test_what_failed_again_in_the_canary_counts_for_the_rest(valkey: redis.Redis) -> None:
    terms = replace(QUIET, canary=25, canary_failed=24, stop_percent=10, pace_from=20.0, pace_to=20.0)
    plan = a_plan_of(valkey, IDS, terms=terms)
    with meanwhile(valkey, bad=IDS[::3]):
        until(plan, Phase.STOPPED, most=4_000)
    assert (plan.why, sent(plan)) == (Stop.FAILING, 25)


# --- the target ----------------------------------------------------------------------------------------


def test_a_paused_target_stops_the_plan_unless_the_terms_say_otherwise(valkey: redis.Redis) -> None:
    valkey.hset("bull:shop:meta", "paused", "1")
    plan = a_plan_of(valkey, IDS)
    until(plan, Phase.STOPPED)
    assert (plan.why, sent(plan)) == (Stop.PAUSED, 0)
    assert line(plan, Told.STOPPED) == {"why": "target-paused", "queue": "shop"}
    steering.go_on(OLGA, plan)
    until(plan, Phase.STOPPED)
    valkey.hdel("bull:shop:meta", "paused")
    steering.go_on(OLGA, plan)
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert plan.completed == 200
    valkey.hset("bull:shop:meta", "paused", "1")
    other = a_plan_of(valkey, [f"k{number}" for number in range(30)], terms=replace(QUIET, stop_paused=False))
    until(other, Phase.ENDING)
    assert sent(other) == 30


def test_a_target_that_is_paused_while_the_canary_is_awaited_stops_it(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, canary=5, canary_failed=1))
    started(plan)
    a_slice(plan, 0.1)
    valkey.hset("bull:shop:meta", "paused", "1")
    until(plan, Phase.STOPPED)
    assert (plan.why, sent(plan)) == (Stop.PAUSED, 5)


def test_a_target_without_a_worker_stops_the_plan_after_a_while(
    valkey: redis.Redis, valkey_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, stop_idle=True, pace_from=100.0, pace_to=100.0))
    started(plan)
    a_slice(plan, 0.2)
    plan.refresh_from_db()
    assert plan.phase == Phase.RUNNING  # a deploy restarts workers
    monkeypatch.setattr(stopping, "IDLE_S", 0.0)
    until(plan, Phase.STOPPED)
    assert plan.why == Stop.NO_WORKER
    assert line(plan, Told.STOPPED)["queue"] == "shop"
    worker = valkey_server.client()
    worker.client_setname("bull:c2hvcA==")
    targets._workers.clear()
    steering.go_on(OLGA, plan)
    until(plan, Phase.DONE, between=lambda: work(valkey), most=4_000)
    assert ReplayQueue.objects.get(replay=plan).workers == 1
    worker.close()


def test_a_plan_holds_while_the_backlog_is_deep_and_never_makes_it_deeper(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS[:90], terms=replace(QUIET, depth_max=30))
    depths: list[int] = []

    def look() -> None:
        depths.append(valkey.llen("bull:shop:wait"))
        work(valkey, most=10)

    until(plan, Phase.DONE, between=look, most=2_000)
    assert max(depths) == 30
    assert plan.completed == 90
    assert told(plan).count("held") == 1  # not with every job
    assert plan.holding == Stop.NONE


def test_a_plan_holds_while_the_oldest_waiting_job_is_too_old(valkey: redis.Redis) -> None:
    valkey.hset("bull:shop:x", mapping={"name": "mail", "data": "{}", "opts": "{}", "timestamp": "1000", "delay": "0"})
    valkey.lpush("bull:shop:wait", "x")
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, age_max_s=300))
    started(plan)
    a_slice(plan, 0.1)
    plan.refresh_from_db()
    assert (plan.phase, plan.holding, sent(plan)) == (Phase.RUNNING, Stop.AGE, 0)
    assert (line(plan, Told.HELD)["why"], line(plan, Told.HELD)["limit_s"]) == ("age", 300)
    work(valkey)
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert "free" in told(plan)


@pytest.mark.parametrize(
    ("hours", "at", "open"),
    [
        (Hours("12345", "09:00", "17:00", "Europe/Berlin"), datetime(2026, 11, 30, 8, 0, tzinfo=UTC), True),
        (Hours("12345", "09:00", "17:00", "Europe/Berlin"), datetime(2026, 11, 30, 7, 59, tzinfo=UTC), False),
        (Hours("12345", "09:00", "17:00", "Europe/Berlin"), datetime(2026, 11, 30, 16, 0, tzinfo=UTC), False),
        (Hours("12345", "09:00", "17:00", "Europe/Berlin"), datetime(2026, 7, 1, 7, 0, tzinfo=UTC), True),  # summer
        (Hours("12345", "09:00", "17:00", "Europe/Berlin"), datetime(2026, 11, 28, 10, 0, tzinfo=UTC), False),
        (Hours("5", "22:00", "06:00", "UTC"), datetime(2026, 11, 28, 5, 59, tzinfo=UTC), True),  # Friday's night
        (Hours("5", "22:00", "06:00", "UTC"), datetime(2026, 11, 27, 5, 59, tzinfo=UTC), False),
        (Hours("5", "00:00", "00:00", "UTC"), datetime(2026, 11, 27, 13, 0, tzinfo=UTC), True),
        (Hours("5", "00:00", "00:00", "UTC"), datetime(2026, 11, 28, 13, 0, tzinfo=UTC), False),
        # The hour that is left out, and the one that comes twice.
        (Hours("7", "02:30", "04:00", "Europe/Berlin"), datetime(2026, 3, 29, 1, 0, tzinfo=UTC), True),
        (Hours("7", "02:00", "02:30", "Europe/Berlin"), datetime(2026, 10, 25, 1, 15, tzinfo=UTC), True),
    ],
)
def test_working_hours_are_those_of_their_time_zone(hours: Hours, at: datetime, open: bool) -> None:  # noqa: A002
    assert within(hours, at) is open


def test_a_plan_holds_outside_of_its_hours(valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = [False]
    monkeypatch.setattr(stopping, "within", lambda hours, at: opened[0])
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, hours=Hours("1234567", "09:00", "17:00", "UTC")))
    started(plan)
    assert a_slice(plan, 0.1)
    plan.refresh_from_db()
    assert (plan.holding, sent(plan)) == (Stop.HOURS, 0)
    opened[0] = True
    until(plan, Phase.DONE, between=lambda: work(valkey))


# --- keys ----------------------------------------------------------------------------------------------


def test_what_waits_behind_a_job_that_failed_again_stops_the_plan_at_its_end_until_a_person_says_so(
    valkey: redis.Redis,
) -> None:
    fail(valkey, IDS[:12], keys=3)
    plan = a_plan_of(valkey, IDS[:12], keys=3, terms=replace(QUIET, key="key"))
    until(plan, Phase.STOPPED, between=lambda: work(valkey, bad={"j1"}))
    assert (plan.why, plan.completed, plan.failed) == (Stop.BLOCKED, 8, 1)
    assert line(plan, Told.STOPPED) == {"why": "blocked", "number": 3}
    assert set(plan.jobs.filter(place=Place.HELD).values_list("conflict", flat=True)) == {"before-it"}
    steering.go_on(OLGA, plan)
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert plan.completed == 11


def test_what_was_found_about_a_job_still_counts_where_it_was_held_and_let_go_on(valkey: redis.Redis) -> None:
    """A replay had sent it, somebody chose to send it once more, and one before it of its key failed again."""
    first = a_plan_of(valkey, IDS[:2], terms=replace(COPIED, originals=Originals.KEEP), acts=Acts.COPY, target=OTHER)
    until(first, Phase.DONE, between=lambda: work(valkey, "other"))
    choices = {Conflict.SENT_BEFORE: Choice.SEND, Conflict.ID_KEPT: Choice.SEND}
    terms = replace(COPIED, key="key", choices=choices)
    again = a_plan_of(valkey, IDS[:2], terms=terms, acts=Acts.COPY, target=OTHER)
    again.jobs.update(conflict=Conflict.SENT_BEFORE)
    until(again, Phase.STOPPED, between=lambda: work(valkey, "other", bad={"3"}))
    assert (again.why, again.failed, again.jobs.get(place=Place.HELD).conflict) == (Stop.BLOCKED, 1, "sent-before")
    steering.go_on(OLGA, again)
    until(again, Phase.DONE, between=lambda: work(valkey, "other"))
    assert (again.completed, again.failed, again.refused) == (1, 1, 0)


def test_with_other_terms_the_next_of_a_key_follows_one_that_failed_again(valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS[:12], keys=3, terms=replace(QUIET, key="key", key_failed=KeyFailed.GO_ON))
    until(plan, Phase.DONE, between=lambda: work(valkey, bad={"j1"}))
    assert (plan.completed, plan.failed) == (11, 1)


# --- the server and its workers ------------------------------------------------------------------------


@contextmanager
def broken(error: Exception) -> Iterator[None]:
    """No call that sends comes through."""

    def fails(*_args: object, **_kwargs: object) -> None:
        raise error

    with mock.patch.object(type(registry.actions("main")), "send", fails):
        yield


def later(plan: Replay, span: timedelta) -> None:
    """So much time has passed since the outage began."""
    Replay.objects.filter(pk=plan.pk).update(down_since=timezone.now() - span)
    outages.forget("main")


@pytest.mark.parametrize(
    ("error", "span", "why"),
    [
        (lambda: OutOfMemory("full."), timedelta(minutes=1), Stop.UNWELL),
        (lambda: Unreachable("It does not answer.", source="main"), timedelta(minutes=10), Stop.AWAY),
    ],
)
def test_a_server_that_is_unwell_is_waited_for_and_then_stops_the_plan(
    error: Callable[[], Exception], span: timedelta, why: Stop, valkey: redis.Redis
) -> None:
    plan = a_plan_of(valkey, IDS)
    started(plan)
    with broken(error()):
        pauses = []
        for _again in range(4):
            outages.forget("main")
            after = a_slice(plan, 0.1)
            assert after
            pauses.append(after.after_s)
        assert pauses == [0.5, 1.0, 2.0, 4.0]
        assert told(plan).count("down") == 1
        plan.refresh_from_db()
        assert (plan.phase, plan.down_since is not None) == (Phase.RUNNING, True)
        later(plan, span)
        a_slice(plan, 0.1)
        plan.refresh_from_db()
        assert (plan.phase, plan.why, plan.note) == (Phase.STOPPED, why, str(error()))
    outages.forget("main")
    steering.go_on(OLGA, plan)
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert "up" in told(plan)
    assert (plan.completed, plan.down_since) == (200, None)


def test_a_source_that_becomes_read_only_stops_the_plan_at_once(
    valkey: redis.Redis, valkey_server: Server, settings: Settings
) -> None:
    plan = a_plan_of(valkey, IDS)
    started(plan)
    settings.MIRANTE_SOURCES = (replace(valkey_server.config(), read_only=True),)
    registry.forget()
    until(plan, Phase.STOPPED)
    assert (plan.why, sent(plan)) == (Stop.UNWELL, 0)
    assert "read-only" in plan.note


@pytest.mark.parametrize("after_loss", AfterLoss)
def test_a_plan_whose_worker_was_lost_goes_on_or_waits_for_a_person(after_loss: AfterLoss, valkey: redis.Redis) -> None:
    plan = a_plan_of(valkey, IDS, terms=replace(QUIET, after_loss=after_loss))
    started(plan)
    Replay.objects.filter(pk=plan.pk).update(holder="who has died", epoch=plan.epoch + 1)
    free(plan)
    a_slice(plan, 0.0)
    plan.refresh_from_db()
    if after_loss is AfterLoss.WAIT:
        assert (plan.phase, plan.why, sent(plan)) == (Phase.PAUSED, Stop.LOST, 0)
        steering.go_on(OLGA, plan)
    else:
        assert "lost" in told(plan)
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert plan.completed == 200


def test_an_error_of_ours_stops_the_plan_and_is_logged(valkey: redis.Redis, caplog: pytest.LogCaptureFixture) -> None:
    plan = a_plan_of(valkey, IDS)
    started(plan)
    with broken(RuntimeError("odd")):
        until(plan, Phase.STOPPED)
    assert "An error of Mirante" in plan.note
    assert "odd" in caplog.text
    steering.go_on(OLGA, plan)
    until(plan, Phase.DONE, between=lambda: work(valkey))
