"""What is kept does not stay for ever, and what is young stays."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import AbstractContextManager

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from queues import retention
from queues.failures import locking
from queues.failures.store import aging
from queues.failures.store.aging import WINDOWS_DAYS
from queues.failures.store.samples import Taken
from queues.models import Failure, FailureGroup, FailureHour, FailureSample, Notable, Source
from queues.quantities import now_ms
from tests.queues.storing import DAY, DEAD, HOUR, SHOP, Clock, check_counts, failed, letter, store

pytestmark = pytest.mark.django_db


def test_events_older_than_seven_days_go_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 10)
    source = Source.objects.create(name="main")
    days = [1, 6] * 5 + [8, 30] * 15
    Notable.objects.bulk_create(
        Notable(source=source, event_id="1-0", at_ms=now_ms() - day * 86_400_000, kind="failed") for day in days
    )
    assert retention.forget_old_events() == 30
    assert Notable.objects.count() == 10
    assert retention.forget_old_events() == 0


def test_events_of_a_future_that_somebody_made_up_go_too() -> None:
    source = Source.objects.create(name="main")
    for at_ms in (now_ms() + 86_400_000, 253_402_300_799_999):
        Notable.objects.create(source=source, event_id="1-0", at_ms=at_ms, kind="gap", until_ms=at_ms)
    assert retention.forget_old_events() == 1
    assert Notable.objects.get().at_ms < now_ms() + 2 * 86_400_000


@pytest.mark.django_db(transaction=True)
def test_while_somebody_else_writes_old_events_stay_until_the_next_run(caplog: pytest.LogCaptureFixture) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("other databases lock rows")
    source = Source.objects.create(name="main")
    Notable.objects.create(source=source, event_id="1-0", at_ms=1, kind="failed")
    other = sqlite3.connect(connection.settings_dict["NAME"], uri=True, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with caplog.at_level(logging.WARNING):
            assert retention.forget_old_events() == 0
        other.execute("ROLLBACK")
    finally:
        other.close()
    assert [record.name for record in caplog.records] == ["queues.passing"]
    assert retention.forget_old_events() == 1


def test_failures_go_after_thirty_days_when_their_jobs_and_letters_are_gone(settings: Settings) -> None:
    settings.MIRANTE_FAILURES_DAYS = 30
    now = now_ms()
    index = store(1, Clock(now))
    ages = {b"young": 29, b"old": 31, b"there": 31, b"posted": 31}
    index.add(SHOP, [failed(job, now - days * DAY) for job, days in ages.items()])
    index.letters(DEAD, [letter(b"x", b"posted", failed_at=now - 31 * DAY)])
    index.gone(SHOP, [b"young", b"old", b"posted"])
    check_counts()
    assert retention.forget_old_failures() == 2  # a failure and an hour
    assert set(Failure.objects.values_list("job", flat=True)) == {"young", "there", "posted"}
    assert FailureGroup.objects.get().total == 4
    assert FailureHour.objects.count() == 1
    assert retention.forget_old_failures() == 0


def test_hours_that_windows_come_from_stay_however_short_the_history(settings: Settings) -> None:
    settings.MIRANTE_FAILURES_DAYS = 1
    now = now_ms()
    index = store(1, Clock(now))
    index.add(SHOP, [failed(days, now - days * DAY) for days in range(12)])
    retention.forget_old_failures()
    hours = FailureHour.objects.values_list("hour", flat=True)
    assert min(hours) >= (now - WINDOWS_DAYS * DAY) // HOUR
    assert len(hours) == WINDOWS_DAYS + 1


def test_minutes_are_forgotten_after_two_days_and_change_no_window() -> None:
    clock = Clock(now_ms() - 4 * DAY)
    index = store(1, clock)
    index.add(SHOP, [failed(back, clock.ms - back * HOUR) for back in range(40)])
    clock.ms = now_ms()
    assert store(2, clock).add(SHOP, [failed(b"new", clock.ms)]).new == 1
    assert FailureHour.objects.exclude(minutes=None).count() == 41
    retention._minutes._done = None
    retention.forget_old_failures()
    assert FailureHour.objects.exclude(minutes=None).count() == 1
    store(3, clock)
    check_counts()


def test_a_group_without_failures_goes_when_nobody_said_anything_about_it(settings: Settings) -> None:
    settings.MIRANTE_FAILURES_DAYS = 30
    now = now_ms()
    index = store(1, Clock(now))
    old = [failed(text.encode(), now - 40 * DAY, text=text) for text in ("idle", "owned", "noted", "resolved", "there")]
    index.add(SHOP, old)
    for each in old:
        index.samples(SHOP, [Taken(each, b"{}")])
    index.gone(SHOP, [b"idle", b"owned", b"noted", b"resolved"])
    FailureGroup.objects.filter(title="Error: owned").update(owner="ana")
    FailureGroup.objects.get(title="Error: noted").notes.create(who="ana", text="ask Bo")
    FailureGroup.objects.filter(title="Error: resolved").update(life="resolved", life_by="ana")
    retention.forget_old_failures()
    left = {title.removeprefix("Error: ") for title in FailureGroup.objects.values_list("title", flat=True)}
    assert left == {"owned", "noted", "resolved", "there"}
    assert FailureSample.objects.count() == 4
    assert set(FailureGroup.objects.values_list("total", flat=True)) == {1}
    assert index.add(SHOP, [failed(b"again", now, text="idle")]).new == 1  # its strand is made anew
    assert index.add(SHOP, [failed(b"too", now, text="owned")]).new == 1


def test_a_group_that_fails_again_while_old_ones_are_forgotten_stays(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MIRANTE_FAILURES_DAYS = 30
    now = now_ms()
    index = store(1, Clock(now))
    index.add(SHOP, [failed(b"old", now - 40 * DAY, text="old"), failed(b"idle", now - 40 * DAY, text="idle")])
    index.gone(SHOP, [b"old", b"idle"])
    real = locking.beside_the_index

    def late(source: int) -> AbstractContextManager[None]:
        index.add(SHOP, [failed(b"new", now, text="old")])
        return real(source)

    monkeypatch.setattr(aging, "beside_the_index", late)
    retention.forget_old_failures()
    assert FailureGroup.objects.get().total == 2
    assert Failure.objects.get().job == "new"
