"""Where a job's time went: what its hash tells, and what events that were seen add to it."""

from __future__ import annotations

from collections.abc import Sequence

from queues.events import Event, EventKind
from queues.timeline import CLOCKS, EARLIER, PARTLY, Timeline, timeline
from queues.types import Job, JobRef, JobRow, QueueRef, State

QUEUE = QueueRef("main", b"bull", b"mail")
BASE = 1_700_000_000_000


def job(state: State, *, options: dict[str, object] | None = None, **fields: int) -> Job:
    """A job created at BASE; moments among its fields count from there."""
    moments = {name: BASE + value for name, value in fields.items() if name.endswith("_ms")}
    row = JobRow(JobRef(QUEUE, b"7"), state, **{"timestamp_ms": BASE, **fields, **moments})  # type: ignore[arg-type]
    return Job(row=row, states=(state,), options=options or {})


def event(kind: EventKind, at: int, previous: str = "") -> Event:
    return Event(QUEUE, f"{BASE + at}-0", kind, job=b"7", previous=previous)


def told(found: Timeline) -> Sequence[tuple[str, int, str]]:
    return [(str(step.label), int(step.at_ms - BASE), str(step.stretch or "")) for step in found.steps]


THREE = [
    event(EventKind.WAITING, 0),
    event(EventKind.ACTIVE, 1_000, "waiting"),
    event(EventKind.DELAYED, 31_000),
    event(EventKind.WAITING, 61_000, "delayed"),
    event(EventKind.ACTIVE, 62_000, "waiting"),
    event(EventKind.WAITING, 92_000, "active"),
    event(EventKind.ACTIVE, 93_000, "waiting"),
]


def test_without_events_only_the_last_attempt_is_known() -> None:
    found = timeline(
        job(State.FAILED, attempts_made=3, attempts_started=3, processed_ms=93_000, finished_ms=99_000), BASE + 200_000
    )
    assert told(found) == [("Added", 0, "unknown"), ("Attempt 3", 93_000, "active"), ("Failed", 99_000, "")]
    assert found.note == EARLIER
    assert found.total_ms == 99_000


def test_events_that_were_seen_add_the_earlier_attempts() -> None:
    failed = job(State.FAILED, attempts_made=3, attempts_started=3, processed_ms=92_990, finished_ms=99_000)
    found = timeline(failed, BASE + 200_000, THREE)
    assert told(found) == [
        ("Added", 0, "waiting"),
        ("Attempt 1", 1_000, "active"),
        ("Delayed", 31_000, "delayed"),
        ("Waiting again", 61_000, "waiting"),
        ("Attempt 2", 62_000, "active"),
        ("Waiting again", 92_000, "waiting"),
        ("Attempt 3", 92_990, "active"),
        ("Failed", 99_000, ""),
    ]
    assert found.note == ""
    assert sum(ms for _stretch, ms in found.spent) == 99_000


def test_attempts_of_which_nothing_was_seen_are_said_to_be_missing() -> None:
    failed = job(State.FAILED, attempts_made=3, attempts_started=3, processed_ms=93_000, finished_ms=99_000)
    found = timeline(failed, BASE + 200_000, THREE[4:])
    assert told(found)[:2] == [("Added", 0, "unknown"), ("Attempt 2", 62_000, "active")]
    assert found.note == PARTLY


def test_a_retry_that_waits_shows_since_when() -> None:
    waiting = job(State.DELAYED, attempts_made=1, attempts_started=1, processed_ms=1_000)
    found = timeline(waiting, BASE + 40_000, THREE[:3])
    assert told(found) == [("Added", 0, "waiting"), ("Attempt 1", 1_000, "active"), ("Delayed", 31_000, "delayed")]
    assert found.steps[-1].open
    assert dict(found.spent) == {"waiting": 1_000, "active": 30_000}, "what goes on is not counted yet"


def test_a_stall_that_is_told_twice_is_one_step() -> None:
    seen = [
        event(EventKind.ACTIVE, 1_000),
        event(EventKind.WAITING, 31_000, "active"),
        event(EventKind.STALLED, 31_000),
        event(EventKind.ACTIVE, 32_000),
    ]
    found = timeline(job(State.ACTIVE, attempts_started=2, processed_ms=32_000), BASE + 40_000, seen)
    assert [step[0] for step in told(found)] == ["Added", "Attempt 1", "Stalled", "Attempt 2"]
    assert found.steps[2].state == "warn"


def test_a_wait_of_no_time_is_no_step() -> None:
    seen = [
        event(EventKind.ACTIVE, 1_000),
        event(EventKind.DELAYED, 2_000),
        event(EventKind.WAITING, 3_000, "delayed"),
        event(EventKind.ACTIVE, 3_001),
        event(EventKind.DELAYED, 4_000),
        event(EventKind.WAITING, 5_000, "delayed"),
        event(EventKind.ACTIVE, 5_002),
    ]
    found = timeline(job(State.ACTIVE, attempts_started=3, processed_ms=5_001), BASE + 9_000, seen)
    names = [name for name, _at, _stretch in told(found)]
    assert names == ["Added", "Attempt 1", "Delayed", "Attempt 2", "Delayed", "Attempt 3"]


def test_a_retried_job_that_has_lost_its_times_keeps_what_was_seen() -> None:
    seen = [event(EventKind.FAILED, 9_000), event(EventKind.WAITING, 50_000, "failed")]
    found = timeline(job(State.WAITING, attempts_made=1), BASE + 60_000, seen)
    assert told(found) == [("Added", 0, "unknown"), ("Failed", 9_000, "unknown"), ("Waiting again", 50_000, "waiting")]


def test_how_it_was_added_is_no_step_of_its_own() -> None:
    seen = [event(EventKind.DELAYED, 1), event(EventKind.WAITING, 5_000, "delayed"), event(EventKind.ACTIVE, 5_100)]
    active = job(State.ACTIVE, options={"delay": 5_000}, attempts_started=1, processed_ms=5_100)
    assert told(timeline(active, BASE + 9_000, seen)) == told(timeline(active, BASE + 9_000))


def test_events_that_contradict_the_hash_are_left_out() -> None:
    failed = job(State.FAILED, attempts_made=2, attempts_started=2, processed_ms=93_000, finished_ms=99_000)
    found = timeline(failed, BASE + 200_000, [event(EventKind.STALLED, -60_000)])
    assert [step[0] for step in told(found)] == ["Added", "Attempt 2", "Failed"]
    assert found.note == EARLIER


def test_times_that_contradict_each_other_have_no_durations() -> None:
    found = timeline(job(State.COMPLETED, processed_ms=-5_000, finished_ms=10), BASE + 100, THREE)
    assert found.note == CLOCKS
    assert not found.spent


def test_no_more_steps_are_shown_than_fit_on_a_page() -> None:
    seen = [event(kind, 1_000 * n) for n in range(1, 90) for kind in (EventKind.ACTIVE, EventKind.DELAYED)]
    found = timeline(job(State.ACTIVE, attempts_started=90, processed_ms=99_000), BASE + 100_000, seen)
    assert len(found.steps) <= 8
