"""What is kept does not stay for ever, and what is young stays."""

from __future__ import annotations

import logging
import sqlite3

import pytest
from django.db import connection

from queues import retention
from queues.models import Notable, Source
from queues.quantities import now_ms

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
