"""What is lost on the way of actions over many jobs: answers, sources, workers; and what is said and done then."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from queues import operations, outages, registry
from queues.audit import Status
from queues.bulk import lease
from queues.bulk.lease import take
from queues.bulk.progress import progress
from queues.errors import NotPermitted, OutOfMemory, ReadOnly
from queues.lease import FREE_AFTER_S, LeaseLost
from queues.registry import SourceConfig
from tests.queues.acting import OLGA, FakeActions, a_slice, bulk_of, outcome, retry_all, to_its_end

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_tasks")]


def test_a_lost_answer_is_asked_for_again_and_said(shop: FakeActions) -> None:
    shop.fail(1_000)
    entry = retry_all()
    shop.loses_answer_after = 300
    later = a_slice(entry)
    assert later
    assert later.after_s > 0
    entry.refresh_from_db()
    assert entry.status == Status.RUNNING
    assert entry.outcomes == {"done": 300}
    assert "goes on by itself" in entry.note
    told = progress(entry)
    assert told
    assert (told.handled, told.total) == (300, 1_000)
    assert told.waits_because == entry.note
    entry = to_its_end(entry)
    assert outcome(entry) == ("done", {"done": 300, "already": 700})
    assert "700 of" in entry.note
    assert len(shop.retried) == 1_000
    assert len(shop.asked[-1]) == 700


def test_a_source_that_is_away_is_waited_for_and_no_batch_is_called_repeated(shop: FakeActions) -> None:
    shop.fail(10)
    entry = retry_all()
    a_slice(entry, seconds=0)
    shop.down = True
    pauses = []
    for _again in range(6):
        outages.forget("main")
        later = a_slice(entry)
        assert later
        pauses.append(later.after_s)
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0]
    entry.refresh_from_db()
    assert "refuses connections" in entry.note
    shop.down = False
    outages.forget("main")
    entry = to_its_end(entry)
    assert (*outcome(entry), entry.note) == ("done", {"done": 10}, "")


def test_an_outage_between_two_batches_calls_none_of_the_others_repeated(shop: FakeActions) -> None:
    shop.fail(4_000)
    entry = retry_all()

    def goes() -> None:
        shop.down = True

    shop.after = goes
    assert a_slice(entry)
    entry.refresh_from_db()
    assert entry.outcomes == {"done": 1_000}
    shop.down, shop.after = False, lambda: None
    outages.forget("main")
    shop.failed[b"3999"] = b"2000"  # somebody else was at it
    entry = to_its_end(entry)
    assert outcome(entry) == ("done", {"done": 3_999, "wrong-state": 1})
    assert "interrupted" not in entry.note


def test_a_source_that_is_away_for_an_hour_is_given_up_with_what_was_not_handled(shop: FakeActions) -> None:
    shop.fail(1_500)
    entry = retry_all()
    shop.after = lambda: setattr(shop, "down", True)
    assert a_slice(entry)
    lease.unended().update(down_since=timezone.now() - timedelta(hours=1, seconds=1))
    outages.forget("main")
    assert a_slice(entry) is None
    entry.refresh_from_db()
    assert outcome(entry) == ("failed", {"done": 1_000})
    assert "500 jobs were not handled" in entry.note


def test_a_worker_that_is_lost_between_redis_and_database_repeats_its_batch_and_says_so(shop: FakeActions) -> None:
    shop.fail(1_000)
    entry = retry_all()

    def dies() -> None:
        raise KeyboardInterrupt

    shop.after = dies
    with pytest.raises(KeyboardInterrupt):
        a_slice(entry)
    assert len(shop.retried) == 1_000
    shop.after = lambda: None
    shop.failed[b"5"] = b"2000"  # it ran, and failed again
    assert a_slice(entry) is None  # held, for all that others know
    lease.unended().update(holder="")
    entry = to_its_end(entry)
    assert (*outcome(entry), entry.exceptions) == ("done", {"already": 1_000}, [])
    assert "1,000 of" in entry.note
    assert len(shop.retried) == 1_000


@pytest.mark.parametrize("end", ["stopped", "failed"])
def test_what_ends_after_its_worker_was_lost_says_that_more_may_have_been_done(
    end: str, shop: FakeActions, settings: Settings
) -> None:
    shop.fail(3_500)
    entry = retry_all(expected=3_500)

    def dies() -> None:
        raise KeyboardInterrupt

    shop.after = dies
    with pytest.raises(KeyboardInterrupt):
        a_slice(entry)
    shop.after = lambda: None
    lease.unended().update(holder="")
    if end == "stopped":
        operations.stop(OLGA, entry)
    else:
        settings.MIRANTE_SOURCES = (SourceConfig("main", "", kind="memory", read_only=True),)
        registry.forget()
    entry = to_its_end(entry)
    assert outcome(entry) == (end, {})
    assert len(shop.retried) == 1_000
    assert "3,500 jobs were not handled. A worker was lost on the way: up to 2,000 of these" in entry.note


def test_what_the_server_refuses_leaves_no_doubt(shop: FakeActions) -> None:
    shop.fail(1_500)
    entry = retry_all(expected=1_500)

    def forbidden() -> None:
        raise NotPermitted("forbidden")

    shop.after = forbidden  # within the call that acts
    entry = to_its_end(entry)
    assert outcome(entry) == ("failed", {})
    assert entry.note == "forbidden 1,500 jobs were not handled."


def _full() -> None:
    raise OutOfMemory("full.")


def test_a_server_without_memory_is_waited_for(shop: FakeActions) -> None:
    shop.fail(10)
    entry = retry_all()
    a_slice(entry, seconds=0)
    shop.before = _full
    pauses = [later.after_s for _again in range(3) if (later := a_slice(entry))]
    assert pauses == [0.5, 1.0, 2.0]
    entry.refresh_from_db()
    assert (entry.status, entry.note) == (Status.RUNNING, "full. It goes on by itself as soon as there is room.")
    shop.before = lambda: None
    entry = to_its_end(entry)
    assert (*outcome(entry), entry.note) == ("done", {"done": 10}, "")


def test_a_server_that_has_no_memory_for_an_hour_is_given_up(shop: FakeActions) -> None:
    shop.fail(10)
    entry = retry_all(expected=10)
    a_slice(entry, seconds=0)
    shop.before = _full
    assert a_slice(entry)
    lease.unended().update(down_since=timezone.now() - timedelta(hours=1, seconds=1))
    assert a_slice(entry) is None
    entry.refresh_from_db()
    assert outcome(entry) == ("failed", {})
    assert entry.note == "full. It was tried for an hour. 10 jobs were not handled."


def test_a_silent_holder_is_freed_by_the_looker_s_own_clock_and_can_write_no_more(shop: FakeActions) -> None:
    shop.fail(1)
    bulk = bulk_of(retry_all())
    now = [100.0]
    watch = lease.watch(lambda: now[0])
    assert watch.resting() == [(bulk.pk, 0)]
    held = take(bulk.pk, 0)
    assert held
    assert take(bulk.pk, 0) is None
    for _again in range(4):
        assert not watch.resting()
        now[0] += FREE_AFTER_S - 1
        held.keep()
    assert not watch.resting()
    now[0] += FREE_AFTER_S
    assert watch.resting() == [(bulk.pk, 2)]
    with pytest.raises(LeaseLost):
        held.keep()
    assert take(bulk.pk, 1) is None
    assert take(bulk.pk, 2)


def test_a_worker_that_was_overtaken_writes_nothing(shop: FakeActions) -> None:
    shop.fail(1_000)
    entry = retry_all()

    def overtaken() -> None:
        shop.after = lambda: None
        lease.unended().update(holder="", epoch=bulk_of(entry).epoch + 1)
        to_its_end(entry)

    shop.after = overtaken
    assert a_slice(entry) is None
    entry.refresh_from_db()
    assert outcome(entry) == ("done", {"already": 1_000})
    assert len(shop.retried) == 1_000


def test_an_error_of_ours_ends_the_action_and_is_logged(shop: FakeActions, caplog: pytest.LogCaptureFixture) -> None:
    shop.fail(1)
    entry = retry_all()

    def odd() -> None:
        raise RuntimeError("odd")

    shop.after = odd
    entry = to_its_end(entry)
    assert entry.status == Status.FAILED
    assert "An error of Mirante" in entry.note
    assert "odd" in caplog.text
    assert not lease.unended()


def test_a_source_that_became_read_only_ends_the_action(shop: FakeActions, settings: Settings) -> None:
    shop.fail(1)
    entry = retry_all(expected=1)
    settings.MIRANTE_SOURCES = (SourceConfig("main", "", kind="memory", read_only=True),)
    registry.forget()
    entry = to_its_end(entry)
    assert entry.status == Status.FAILED
    assert "read-only" in entry.note
    assert "1 job was not handled" in entry.note
    with pytest.raises(ReadOnly):
        retry_all()
    assert not lease.unended()
    assert not shop.retried
