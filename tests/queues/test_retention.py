"""What is kept does not stay for ever, and what is young stays."""

from __future__ import annotations

import pytest

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
