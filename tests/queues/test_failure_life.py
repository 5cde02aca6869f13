"""A group is open, resolved, ignored or regressed: as people say, and as its failures show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queues.audit import in_words
from queues.audit.types import Actor, Asked
from queues.errors import BadInput, NotFound
from queues.failures import life
from queues.failures.life import Conditions, seen
from queues.failures.merging import merge
from queues.failures.store import Store
from queues.failures.types import Life
from queues.models import AuditEntry, FailureGroup
from queues.quantities import now_ms
from tests.queues.storing import DAY, HOUR, MINUTE, SHOP, Clock, failed, store

ANA = Asked(Actor("ana", "operator", "10.0.0.7"), reason="fixed in 1.2")
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def test_a_failure_after_the_resolving_makes_a_group_regressed_since_the_first_of_them() -> None:
    change = seen(Conditions(Life.RESOLVED, resolved_ms=100), [90, 150, 120], total=9, rate=1, now=NOW)
    assert change == {"life": "regressed", "life_at": NOW, "life_by": "", "regressed_ms": 120}


def test_failures_that_are_older_than_the_resolving_change_nothing() -> None:
    assert seen(Conditions(Life.RESOLVED, resolved_ms=100), [90, 100], total=9, rate=1, now=NOW) == {}


def test_an_earlier_failure_that_is_read_later_moves_the_beginning_of_a_regression() -> None:
    regressed = Conditions(Life.REGRESSED, resolved_ms=100, regressed_ms=150)
    assert seen(regressed, [120], total=9, rate=1, now=NOW) == {"regressed_ms": 120}
    assert seen(regressed, [160, 90], total=9, rate=1, now=NOW) == {}


@pytest.mark.parametrize(
    ("conditions", "opens"),
    [
        (Conditions(Life.IGNORED), False),
        (Conditions(Life.IGNORED, ignore_total=10), True),
        (Conditions(Life.IGNORED, ignore_total=11), False),
        (Conditions(Life.IGNORED, ignore_rate=5), True),
        (Conditions(Life.IGNORED, ignore_rate=6), False),
        (Conditions(Life.IGNORED, ignore_until=NOW), True),
        (Conditions(Life.IGNORED, ignore_until=NOW + timedelta(seconds=1)), False),
        (Conditions(Life.IGNORED, ignore_until=NOW + timedelta(days=1), ignore_total=3), True),
        (Conditions(Life.OPEN), False),
    ],
)
def test_what_is_ignored_opens_when_the_first_of_its_limits_is_reached(conditions: Conditions, opens: bool) -> None:
    change = seen(conditions, [1], total=10, rate=5, now=NOW)
    assert (change.get("life") == "open") is opens
    assert bool(change) is opens


def _index(clock: Clock | None = None) -> tuple[Store, Clock]:
    clock = clock or Clock(now_ms())
    return store(1, clock), clock


@pytest.mark.django_db
def test_resolving_is_written_down_and_undone_by_the_next_failure() -> None:
    index, clock = _index()
    index.add(SHOP, [failed(1, clock.ms - HOUR)])
    group = FailureGroup.objects.get()
    entry = life.resolve(ANA, group)
    assert (group.life, group.life_by) == (Life.RESOLVED, "ana")
    assert (entry.action, entry.group, entry.reason, entry.status) == (life.RESOLVE, group, "fixed in 1.2", "done")
    assert index.add(SHOP, [failed(2, clock.ms - MINUTE)]).fresh == frozenset()  # it failed before
    written = index.add(SHOP, [failed(3, now_ms() + 1_000)])
    group.refresh_from_db()
    assert (group.life, group.life_by, group.regressed_ms) == (Life.REGRESSED, "", group.last_ms)
    assert written.fresh == {group.slug}
    assert index.add(SHOP, [failed(4, now_ms() + 2_000)]).fresh == frozenset()


@pytest.mark.django_db
def test_reopening_ends_all_that_was_said() -> None:
    index, clock = _index()
    index.add(SHOP, [failed(1, clock.ms)])
    group = FailureGroup.objects.get()
    life.ignore(ANA, group, total=10, rate=5, until=datetime.now(UTC) + timedelta(days=1))
    life.reopen(ANA, group)
    assert (group.life, group.ignore_total, group.ignore_rate, group.ignore_until) == (Life.OPEN, None, None, None)
    assert AuditEntry.objects.filter(group=group).count() == 2


@pytest.mark.django_db
def test_an_ignored_group_opens_at_its_total() -> None:
    index, clock = _index()
    index.add(SHOP, [failed(1, clock.ms)])
    group = FailureGroup.objects.get()
    life.ignore(ANA, group, total=4)
    index.add(SHOP, [failed(2, clock.ms), failed(3, clock.ms)])
    group.refresh_from_db()
    assert group.life == Life.IGNORED
    index.add(SHOP, [failed(4, clock.ms)])
    group.refresh_from_db()
    assert (group.life, group.life_by, group.ignore_total) == (Life.OPEN, "", None)


@pytest.mark.django_db
def test_an_ignored_group_opens_when_it_fails_fast_enough() -> None:
    index, clock = _index()
    index.add(SHOP, [failed(1, clock.ms)])
    group = FailureGroup.objects.get()
    life.ignore(ANA, group, rate=3)
    index.add(SHOP, [failed(job, clock.ms - DAY) for job in range(10, 20)])
    group.refresh_from_db()
    assert group.life == Life.IGNORED
    index.add(SHOP, [failed(2, clock.ms), failed(3, clock.ms, name="other")])
    group.refresh_from_db()
    assert group.life == Life.OPEN


@pytest.mark.django_db
def test_an_ignored_group_opens_at_its_time_without_any_failure() -> None:
    index, clock = _index()
    index.add(SHOP, [failed(1, clock.ms)])
    group = FailureGroup.objects.get()
    life.ignore(ANA, group, until=datetime.fromtimestamp(clock.ms / 1000 + 120, UTC))
    clock.ms += MINUTE
    index.count_windows()
    group.refresh_from_db()
    assert group.life == Life.IGNORED
    clock.ms += 2 * MINUTE
    assert group.slug in index.count_windows().groups
    group.refresh_from_db()
    assert group.life == Life.OPEN


@pytest.mark.django_db
def test_what_is_reached_already_cannot_be_waited_for() -> None:
    index, clock = _index()
    index.add(SHOP, [failed(job, clock.ms) for job in range(5)])
    group = FailureGroup.objects.get()
    with pytest.raises(BadInput):
        life.ignore(ANA, group, total=5)
    with pytest.raises(BadInput):
        life.ignore(ANA, group, rate=5)
    with pytest.raises(BadInput):
        life.ignore(ANA, group, until=datetime.now(UTC) - timedelta(hours=1))
    with pytest.raises(BadInput):
        life.ignore(ANA, group, total=0)
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
def test_a_group_that_was_merged_meanwhile_is_refused_and_nothing_is_written_down() -> None:
    index, clock = _index()
    index.add(SHOP, [failed(1, clock.ms, text="a"), failed(2, clock.ms, text="b")])
    one, other = FailureGroup.objects.order_by("pk")
    merge(ANA, one, [FailureGroup.objects.get(pk=other.pk)])
    with pytest.raises(NotFound):
        life.resolve(ANA, other)
    assert not AuditEntry.objects.filter(action=life.RESOLVE).exists()


@pytest.mark.django_db
def test_the_log_tells_in_words_what_became_of_a_group() -> None:
    index, clock = _index()
    index.add(SHOP, [failed(1, clock.ms)])
    group = FailureGroup.objects.get()
    until = datetime(2099, 5, 1, 12, 30, tzinfo=UTC)
    told = [
        in_words(life.ignore(ANA, group)),
        in_words(life.ignore(ANA, group, until=until, total=5_000, rate=60)),
        in_words(life.resolve(ANA, group)),
        in_words(life.reopen(ANA, group)),
    ]
    limits = "2099-05-01 12:30 UTC or 5,000 failures in all or 60 failures within an hour"
    assert told == ["Ignored", f"Ignored until {limits}", "Resolved", "Open again"]
