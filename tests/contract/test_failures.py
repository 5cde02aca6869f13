"""What every backend promises about failed jobs and letters, as far as it has any. The index relies on this alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest

from queues.backend import Failures
from queues.errors import BadInput, Unreachable
from queues.failed import PAGE, FailedJob, FailedMark
from queues.types import Capability, QueueRef, State
from tests.contract.stages import Stage

NOWHERE = QueueRef("main", b"bull", b"nowhere")
LETTERS = {State.WAITING: 9, State.PRIORITIZED: 4, State.DELAYED: 5}


@pytest.fixture
def failures(stage: Stage) -> Failures:
    # One that could not would be passed over unseen: then this suite has to say which, and why.
    assert Capability.FAILURES in stage.backend.capabilities
    return cast(Failures, stage.backend)


def walked(failures: Failures, queue: QueueRef, *, newest_first: bool, most: int) -> list[FailedJob]:
    found: list[FailedJob] = []
    cursor: str | None = ""
    while cursor is not None:
        page = failures.failed_page(queue, cursor=cursor, newest_first=newest_first, most=most)
        assert len(page.jobs) <= most
        found += page.jobs
        cursor = page.cursor
    return found


def ids(jobs: Sequence[FailedJob]) -> list[bytes]:
    return [job.id for job in jobs]


def test_where_failed_sets_stand_is_told_of_each_queue(stage: Stage, failures: Failures) -> None:
    queue = stage.fill("first", {State.FAILED: 7, State.COMPLETED: 3})
    marks = failures.failed_marks([queue, NOWHERE])
    jobs = walked(failures, queue, newest_first=False, most=PAGE)
    assert marks[NOWHERE] == FailedMark(0)
    assert marks[queue] == FailedMark(7, jobs[0].score_ms, jobs[-1].score_ms, jobs[-1].id)
    assert failures.failed_marks([]) == {}


@pytest.mark.parametrize("most", [1, 4, 10, PAGE])
@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_hold_every_failed_job_once_in_order(
    stage: Stage, failures: Failures, newest_first: bool, most: int
) -> None:
    queue = stage.fill("first", {State.COMPLETED: 2, State.FAILED: 10})
    jobs = walked(failures, queue, newest_first=newest_first, most=most)
    assert len(set(ids(jobs))) == len(jobs) == 10
    order = [(job.score_ms, job.id) for job in jobs]
    assert order == sorted(order, key=lambda each: (each[0] or 0, each[1]), reverse=newest_first)
    assert all(job.name and job.reason and job.stack and job.reason_size == len(job.reason) for job in jobs)
    assert not any(job.missing or job.data is not None for job in jobs)
    page = failures.failed_page(NOWHERE, newest_first=newest_first, most=most)
    assert (list(page.jobs), page.cursor) == ([], None)


def test_one_may_begin_behind_any_job_in_either_direction(stage: Stage, failures: Failures) -> None:
    queue = stage.fill("first", {State.FAILED: 10})
    jobs = walked(failures, queue, newest_first=False, most=PAGE)
    cursor = failures.failed_at(jobs[3].score_ms or 0, jobs[3].id)
    assert ids(failures.failed_page(queue, cursor=cursor, most=PAGE).jobs) == ids(jobs[4:])
    assert ids(failures.failed_page(queue, cursor=cursor, newest_first=True, most=PAGE).jobs) == ids(jobs[2::-1])
    assert list(failures.failed_ids(queue, cursor=cursor, most=PAGE).ids) == ids(jobs[4:])
    with pytest.raises(BadInput):
        failures.failed_page(queue, cursor="~", most=1)


def test_ids_are_told_with_their_scores(stage: Stage, failures: Failures) -> None:
    queue = stage.fill("first", {State.FAILED: 10})
    jobs = walked(failures, queue, newest_first=False, most=PAGE)
    page = failures.failed_ids(queue, most=6)
    rest = failures.failed_ids(queue, cursor=page.cursor or "", most=6)
    assert (len(page.ids), rest.cursor) == (6, None)
    assert {**page.ids, **rest.ids} == {job.id: job.score_ms for job in jobs}


def test_jobs_by_their_ids_are_those_that_are_failed_now(stage: Stage, failures: Failures) -> None:
    queue = stage.fill("first", {State.FAILED: 3, State.COMPLETED: 3})
    failed = ids(walked(failures, queue, newest_first=False, most=PAGE))
    everything = [b"%d" % number for number in range(1, 8)]
    assert set(failures.failed_jobs(queue, everything)) == set(failed)
    found = failures.failed_jobs(queue, failed, data=True)
    assert all(job.data and job.data_size == len(job.data) for job in found.values())
    assert failures.failed_jobs(NOWHERE, [b"1"]) == {}


def test_letters_are_found_in_all_places_where_jobs_lie_and_not_among_those_that_ended(
    stage: Stage, failures: Failures
) -> None:
    ended = {State.FAILED: 3, State.COMPLETED: 3, State.ACTIVE: 2}
    queue = stage.fill("first", {**LETTERS, **ended})
    mark = failures.letters_marks([queue, NOWHERE])[queue]
    assert (mark.count, mark.readable) == (18, True)
    found: list[bytes] = []
    cursor: str | None = ""
    while cursor is not None:
        page = failures.letter_ids(queue, cursor=cursor, most=4)
        found += page.ids
        cursor = page.cursor
    rows = [row.ref.id for state in LETTERS for row in stage.backend.jobs(queue, [state]).rows]
    assert sorted(found) == sorted(rows)
    letters = failures.letters(queue, [*found, b"never"])
    assert set(letters) == set(found)
    assert all(letter.data and letter.score_ms is None for letter in letters.values())


def test_a_letter_that_came_changes_the_mark(stage: Stage, failures: Failures) -> None:
    queue = stage.fill("first", {State.WAITING: 2})
    before = failures.letters_marks([queue])[queue]
    assert failures.letters_marks([queue])[queue] == before
    stage.fill("first", {State.WAITING: 1})
    after = failures.letters_marks([queue])[queue]
    assert after.count == 3
    assert after.token != before.token


def test_payloads_stop_at_the_bytes_that_are_allowed(stage: Stage, failures: Failures) -> None:
    queue = stage.fill("first", {State.FAILED: 5, State.WAITING: 5})
    everything = [b"%d" % number for number in range(1, 12)]
    found = failures.payloads(queue, everything, most=1_000_000)
    assert len(found) == 10
    some = failures.payloads(queue, everything, most=sum(map(len, found.values())) // 2)
    assert 0 < len(some) < 10
    assert some.items() <= found.items()


def test_no_method_of_failures_mistakes_an_outage_for_health(stage: Stage, failures: Failures) -> None:
    queue = stage.fill("first", {State.FAILED: 2, State.WAITING: 2})
    failures.failed_marks([queue])
    stage.stop()
    calls: list[Callable[[], object]] = [
        lambda: failures.failed_marks([queue]),
        lambda: failures.failed_page(queue, most=1),
        lambda: failures.failed_jobs(queue, [b"1"]),
        lambda: failures.failed_ids(queue, most=1),
        lambda: failures.letters_marks([queue]),
        lambda: failures.letter_ids(queue, most=1),
        lambda: failures.letters(queue, [b"1"]),
        lambda: failures.payloads(queue, [b"1"], most=1),
    ]
    for call in calls:
        with pytest.raises(Unreachable):
            call()
