"""What reading costs a monitored server, counted over all our processes."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from queues import cost
from queues.models import Cost
from tests.queues.fakes import FakeBackend

pytestmark = pytest.mark.django_db


def rate() -> float | None:
    return cost.commands_per_second(["main"])["main"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds, set by hand."""
    at = [1_800_000_000.0]
    monkeypatch.setattr(cost, "time", type("Clock", (), {"time": lambda: at[0], "monotonic": lambda: at[0]}))
    monkeypatch.setattr(cost, "_reported", cost._Reported())
    return at


def test_commands_of_all_processes_add_up_to_a_mean_of_the_last_minute(
    main: FakeBackend, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rate() is None
    main.commands_sent = 100
    cost.report(now=True)
    assert rate() is None  # the slot is not over
    monkeypatch.setattr(cost, "_reported", cost._Reported())  # another process
    main.commands_sent = 50
    cost.report(now=True)
    clock[0] += 10
    assert rate() == 15
    cost.report(now=True, silent_too=True)
    clock[0] += 10
    assert rate() == 7.5
    clock[0] += 100
    assert rate() is None  # nobody reports: not known, and not zero


def test_a_process_reports_at_most_every_ten_seconds_and_loses_nothing(main: FakeBackend, clock: list[float]) -> None:
    cost.report()
    main.commands_sent = 7
    clock[0] += 9
    cost.report()
    assert not Cost.objects.exists()
    clock[0] += 1
    cost.report()
    main.commands_sent = 9
    clock[0] += 10
    cost.report()
    main.commands_sent = 3  # began anew
    clock[0] += 10
    cost.report()
    assert list(Cost.objects.order_by("slot").values_list("commands", flat=True)) == [7, 2, 3]
    clock[0] += 3700
    cost.prune()
    assert not Cost.objects.exists()


@pytest.mark.usefixtures("two")
def test_the_cost_of_all_sources_is_one_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        assert cost.commands_per_second(["main", "other"]) == {"main": None, "other": None}
