"""What every backend promises about events, as far as it has any. The follower relies on this and on nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from queues.backend import Events
from queues.errors import Unreachable
from queues.events import EventKind
from queues.types import Capability, JobRef, QueueRef, State
from tests.contract.stages import Stage

NOWHERE = QueueRef("main", b"bull", b"nowhere")


@pytest.fixture
def events(stage: Stage) -> Events:
    if Capability.EVENTS not in stage.backend.capabilities:
        pytest.skip("this backend tells no events")
    return cast(Events, stage.backend)


def test_a_queue_that_nothing_happened_in_stands_at_the_beginning(events: Events) -> None:
    position = events.positions([NOWHERE])[NOWHERE]
    assert (position.last_id, position.length, position.first_id, position.exists) == ("0-0", 0, "", False)
    assert events.entries({NOWHERE: position.last_id}, most=10) == []


def test_what_happens_behind_a_position_is_read_once_and_in_order(stage: Stage, events: Events) -> None:
    queue, other = stage.fill("first", {State.ACTIVE: 3}), stage.fill("other", {State.ACTIVE: 1})
    stage.tell(queue, EventKind.ADDED, b"1")
    before = events.positions([queue, other])
    stage.tell(queue, EventKind.ACTIVE, b"1")
    stage.tell(queue, EventKind.ACTIVE, b"2")
    stage.tell(queue, EventKind.STALLED, b"1")
    [batch] = events.entries({each: found.last_id for each, found in before.items()}, most=10)
    assert (batch.queue, batch.number, batch.strange) == (queue, 3, 0)
    assert sum(number for tally in batch.tallies.values() for number in tally.values()) == 3
    assert batch.jobs(EventKind.ACTIVE) == [b"1", b"2"]
    told = batch.events(most=10)
    assert [(event.kind, event.job) for event in told] == [
        (EventKind.ACTIVE, b"1"),
        (EventKind.ACTIVE, b"2"),
        (EventKind.STALLED, b"1"),
    ]
    assert told[-1].id == batch.last_id
    assert [batch.upto(event.id) for event in told] == [1, 2, 3]
    after = events.positions([queue])[queue]
    assert (after.last_id, after.length) == (batch.last_id, 4)
    assert before[queue].added is None or after.added == (before[queue].added or 0) + 3
    assert events.entries({queue: batch.last_id}, most=10) == []
    [part] = events.entries({queue: before[queue].last_id}, most=2)
    assert (part.number, part.last_id) == (2, told[1].id)


def test_jobs_are_glanced_at_and_those_that_are_gone_left_out(stage: Stage, events: Events) -> None:
    queue = stage.fill("first", {State.ACTIVE: 2})
    jobs = [JobRef(queue, job) for job in (b"1", b"2", b"gone")]
    found = events.glances(jobs)
    assert set(found) == set(jobs[:2])
    assert all(glance.name for glance in found.values())


def test_what_happened_is_dated_by_the_servers_clock(stage: Stage, events: Events) -> None:
    queue = stage.fill("first", {State.ACTIVE: 1})
    before = events.server_ms()
    stage.tell(queue, EventKind.ACTIVE, b"1")
    [batch] = events.entries({queue: "0-0"}, most=10)
    assert before <= batch.events(most=1)[0].at_ms <= events.server_ms()


def test_no_method_of_events_mistakes_an_outage_for_silence(stage: Stage, events: Events) -> None:
    queue = stage.fill("first", {State.ACTIVE: 1})
    events.server_ms()
    stage.stop()
    calls: list[Callable[[], object]] = [
        lambda: events.positions([queue]),
        lambda: events.entries({queue: "0-0"}, most=10),
        lambda: events.glances([JobRef(queue, b"1")]),
        events.server_ms,
    ]
    for call in calls:
        with pytest.raises(Unreachable):
            call()
