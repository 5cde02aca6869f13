"""What every backend promises about schedules, as far as it has any."""

from __future__ import annotations

from typing import cast

import pytest

from queues.backend import Schedules
from queues.errors import Unreachable
from queues.schedules.types import ScheduleRef
from queues.types import Capability, QueueRef, State
from tests.contract.stages import Stage

NOWHERE = QueueRef("main", b"bull", b"nowhere")


@pytest.fixture
def schedules(stage: Stage) -> Schedules:
    assert Capability.SCHEDULES in stage.backend.capabilities, "the first backend without it needs a list of those with"
    return cast(Schedules, stage.backend)


def test_schedules_come_by_queue_in_the_order_of_their_next_runs(stage: Stage, schedules: Schedules) -> None:
    first, other = stage.fill("first", {}), stage.fill("other", {})
    stage.repeat(first, b"later", every_ms=5000, next_ms=2_000_000_005_000)
    stage.repeat(first, b"sooner", every_ms=1000, next_ms=2_000_000_000_000)
    stage.repeat(other, b"a/b:<c>", every_ms=1000, next_ms=2_000_000_001_000)
    found = schedules.schedules([other, first, NOWHERE])
    told = {queue: [(each.ref, each.every_ms, each.next_ms) for each in row.schedules] for queue, row in found.items()}
    assert told == {
        first: [
            (ScheduleRef(first, b"sooner"), 1000, 2_000_000_000_000),
            (ScheduleRef(first, b"later"), 5000, 2_000_000_005_000),
        ],
        other: [(ScheduleRef(other, b"a/b:<c>"), 1000, 2_000_000_001_000)],
        NOWHERE: [],
    }
    assert [(row.total, row.cut, row.wrong_type) for row in found.values()] == [
        (1, False, False), (2, False, False), (0, False, False),
    ]  # fmt: skip
    assert {each.armed.state for row in found.values() for each in row.schedules} == {State.DELAYED}


def test_one_schedule_is_read_by_its_exact_id_and_none_where_it_is_gone(stage: Stage, schedules: Schedules) -> None:
    queue = stage.fill("first", {})
    stage.repeat(queue, b"s\xff", every_ms=1000, next_ms=2_000_000_000_000)
    [listed] = schedules.schedules([queue])[queue].schedules
    one = schedules.schedule(ScheduleRef(queue, b"s\xff"))
    assert one is not None
    assert (one.ref, one.every_ms, one.layout, one.score) == (listed.ref, 1000, listed.layout, listed.score)
    assert one.data is not None
    assert one.data.raw == b"{}"
    assert schedules.schedule(ScheduleRef(queue, b"s")) is None


def test_a_server_that_is_away_is_never_a_server_without_schedules(stage: Stage, schedules: Schedules) -> None:
    queue = stage.fill("first", {})
    stage.stop()
    with pytest.raises(Unreachable):
        schedules.schedules([queue])
    with pytest.raises(Unreachable):
        schedules.schedule(ScheduleRef(queue, b"s"))
