"""Sources for the tests of the domain: two in memory, where no real server is meant."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from queues import cost, outages, readonly, registry
from queues.registry import SourceConfig
from tests.queues import acting
from tests.queues.fakes import FakeBackend, ScriptedActions, as_kind


@pytest.fixture
def two(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FakeBackend, FakeBackend]]:
    """The backends of the sources `main` and `other`, both in memory."""
    monkeypatch.setitem(sys.modules, "queues.backends.memory", as_kind())
    settings.MIRANTE_SOURCES = (SourceConfig("main", "", kind="memory"), SourceConfig("other", "", kind="memory"))
    monkeypatch.setattr(cost, "_reported", cost._Reported())  # or its first report comes in whichever test is slow
    registry.forget()
    first, second = registry.backend("main"), registry.backend("other")
    assert isinstance(first, FakeBackend)
    assert isinstance(second, FakeBackend)
    yield first, second
    registry.forget()
    outages.forget("main")
    outages.forget("other")


@pytest.fixture
def main(two: tuple[FakeBackend, FakeBackend]) -> FakeBackend:
    """The backend of the source `main`, in memory."""
    return two[0]


@pytest.fixture
def acted(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedActions]:
    """What can be done to the queues of the source `main`, in memory."""
    made = ScriptedActions()
    monkeypatch.setitem(sys.modules, "queues.backends.memory", as_kind(made))
    monkeypatch.setattr(cost, "_reported", cost._Reported())
    settings.MIRANTE_SOURCES = (SourceConfig("main", "", kind="memory"),)
    registry.forget()
    readonly.forget()
    yield made
    registry.forget()
    readonly.forget()
    outages.forget("main")


@pytest.fixture
def actions_in_memory(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[acting.FakeActions]:
    """The actions of a source in memory, with a queue `shop` whose failed jobs tests add."""
    made = acting.FakeActions()
    monkeypatch.setitem(sys.modules, "queues.backends.memory", acting.as_kind(made))
    monkeypatch.setattr(cost, "_reported", cost._Reported())
    settings.MIRANTE_SOURCES = (SourceConfig("main", "", kind="memory"),)
    registry.forget()
    readonly.forget()
    yield made
    registry.forget()
    readonly.forget()
    outages.forget("main")


@pytest.fixture
def shop(actions_in_memory: acting.FakeActions) -> acting.FakeActions:
    """The same, by the name of its queue."""
    return actions_in_memory


@pytest.fixture
def no_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker takes anything up: tests run the slices themselves."""
    monkeypatch.setattr("queues.tasks.wake_bulk", lambda bulk, epoch: True)
    monkeypatch.setattr("queues.tasks.wake_replay", lambda replay, epoch: True)


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody indexes failures: plans do not wait to be told what their jobs failed of again."""
    monkeypatch.setattr("queues.replay.run.ending.EXPLAINED_S", -1.0)


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The replays that a worker was asked to take up, with their epochs; none does."""
    calls: list[tuple[int, int]] = []

    def wake(replay: int, epoch: int) -> bool:
        calls.append((replay, epoch))
        return True

    monkeypatch.setattr("queues.tasks.wake_replay", wake)
    return calls
