"""What every backend promises about reading. Pages rely on this and on nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queues.backend import BODY_CAP, PAGE_SIZES, Backend
from queues.errors import BadInput, LimitExceeded, NotFound, Unreachable
from queues.types import LOG_PAGE, Capability, JobRef, Order, QueueRef, State
from tests.contract.stages import Stage

AMOUNTS = {state: 2 + number for number, state in enumerate(State)}
NOWHERE = QueueRef("main", b"bull", b"nowhere")


def test_a_backend_names_its_source_and_where_it_is(backend: Backend) -> None:
    assert backend.source == "main"
    assert backend.address
    assert backend.capabilities <= set(Capability)


def test_health_tells_a_server_and_its_version(backend: Backend) -> None:
    health = backend.health()
    assert health.server
    assert health.version


def test_every_queue_is_discovered(stage: Stage) -> None:
    filled = {stage.fill(f"queue-{number}", {State.FAILED: 1}) for number in range(5)}
    steps = list(stage.backend.discover())
    assert {queue for _seen, queues in steps for queue in queues} == filled
    assert [seen for seen, _queues in steps] == sorted(seen for seen, _queues in steps)


def test_counts_tell_the_depth_of_each_state_and_of_each_queue_its_own(stage: Stage) -> None:
    first, second = stage.fill("first", AMOUNTS), stage.fill("second", {State.FAILED: 9})
    counts = stage.backend.counts([first, second])
    assert dict(counts[first].by_state) == AMOUNTS
    assert dict(counts[second].by_state) == {**dict.fromkeys(State, 0), State.FAILED: 9}
    assert counts[first].backlog == AMOUNTS[State.WAITING] + AMOUNTS[State.PRIORITIZED]
    assert counts[first].oldest is not None
    assert counts[second].oldest is None


def test_a_queue_of_which_nothing_is_left_does_not_exist(backend: Backend) -> None:
    assert not backend.counts([NOWHERE])[NOWHERE].exists
    with pytest.raises(NotFound):
        backend.queue(NOWHERE)


def test_the_page_of_a_queue_knows_its_counts(stage: Stage) -> None:
    queue = stage.fill("first", AMOUNTS)
    assert dict(stage.backend.queue(queue).counts.by_state) == AMOUNTS


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize("state", list(State))
def test_pages_hold_every_job_of_a_state_once(stage: Stage, state: State, order: Order) -> None:
    queue = stage.fill("first", {**AMOUNTS, state: 45})
    seen: list[bytes] = []
    cursor = ""
    while True:
        page = stage.backend.jobs(queue, [state], size=20, order=order, cursor=cursor)
        assert page.total == 45
        assert {row.state for row in page.rows} == {state}
        assert bool(page.previous) == bool(cursor)
        seen += [row.ref.id for row in page.rows]
        if not (cursor := page.next):
            break
    assert len(seen) == len(set(seen)) == 45
    numbers = [int(job) for job in seen]
    assert numbers == sorted(numbers, reverse=order is Order.NEWEST)


def test_completed_and_failed_are_listed_together(stage: Stage) -> None:
    queue = stage.fill("first", {State.COMPLETED: 30, State.FAILED: 30})
    first = stage.backend.jobs(queue, [State.COMPLETED, State.FAILED], size=50)
    second = stage.backend.jobs(queue, [State.COMPLETED, State.FAILED], size=50, cursor=first.next)
    rows = [*first.rows, *second.rows]
    assert (len(first.rows), len(second.rows), first.total) == (50, 10, 60)
    ends = [row.finished_ms or 0 for row in rows]
    assert ends == sorted(ends, reverse=True)
    assert len({row.ref for row in rows}) == 60


def test_an_empty_list_is_empty_and_has_no_other_pages(stage: Stage) -> None:
    queue = stage.fill("first", {State.WAITING: 1})
    page = stage.backend.jobs(queue, [State.FAILED])
    assert (list(page.rows), page.total, page.next, page.previous) == ([], 0, "", "")


def test_what_a_page_cannot_be_is_refused(stage: Stage) -> None:
    queue = stage.fill("first", {State.FAILED: 1})
    with pytest.raises(LimitExceeded):
        stage.backend.jobs(queue, [State.FAILED], size=PAGE_SIZES[-1] + 1)
    with pytest.raises(BadInput):
        stage.backend.jobs(queue, [State.FAILED], cursor="not one of ours")


def test_a_name_filter_says_how_many_it_looked_at(stage: Stage) -> None:
    queue = stage.fill("first", {State.FAILED: 90})
    page = stage.backend.jobs(queue, [State.FAILED], size=50, name="no such name anywhere")
    assert (list(page.rows), page.scanned, page.exhausted, page.next) == ([], 90, True, "")


def test_a_job_is_shown_in_its_state_with_its_bodies(stage: Stage) -> None:
    queue = stage.fill("first", AMOUNTS)
    for state in State:
        [row, *_more] = stage.backend.jobs(queue, [state]).rows
        job = stage.backend.job(row.ref)
        assert job.states == (state,)
        assert job.row.ref == row.ref
        assert job.data is not None
        assert len(job.data.raw) <= BODY_CAP
        assert stage.backend.body(row.ref, b"data") == job.data.raw


def test_a_job_or_a_body_that_is_not_there_is_not_found(stage: Stage) -> None:
    queue = stage.fill("first", {State.FAILED: 1})
    for ask in (
        lambda: stage.backend.job(JobRef(queue, b"no such job")),
        lambda: stage.backend.body(JobRef(queue, b"no such job"), b"data"),
        lambda: stage.backend.body(JobRef(queue, b"1"), b"no such field"),
    ):
        with pytest.raises(NotFound):
            ask()


def test_logs_come_in_pages_the_last_one_first(stage: Stage) -> None:
    queue = stage.fill("first", {State.FAILED: 1})
    job = JobRef(queue, b"1")
    stage.log(queue, b"1", 2 * LOG_PAGE + 5)
    last = stage.backend.logs(job)
    assert (last.first, last.total, len(last.lines)) == (2 * LOG_PAGE + 1, 2 * LOG_PAGE + 5, 5)
    first = stage.backend.logs(job, first=1)
    assert [str(line) for line in first.lines] == [f"line {number}" for number in range(1, LOG_PAGE + 1)]


def test_a_job_is_found_by_its_exact_id_in_all_queues(stage: Stage) -> None:
    queues = [stage.fill(f"queue-{number}", {State.DELAYED: 1, State.FAILED: number}) for number in range(4)]
    assert [(hit.ref, hit.state) for hit in stage.backend.find(queues, b"4")] == [
        (JobRef(queues[3], b"4"), State.FAILED)
    ]
    assert [hit.ref.queue for hit in stage.backend.find(queues, b"1")] == queues
    assert list(stage.backend.find(queues, b"no such job")) == []


def test_workers_are_known_or_it_is_said_why_not(stage: Stage) -> None:
    queue = stage.fill("first", {State.WAITING: 1})
    workers = stage.backend.workers()
    assert workers.known == (not workers.unknown_because)
    assert workers.of(queue) == (() if workers.known else None)


def test_commands_are_counted(stage: Stage) -> None:
    before = stage.backend.commands_sent
    stage.fill("first", {State.WAITING: 1})
    assert stage.backend.commands_sent == before
    stage.backend.counts([NOWHERE])
    assert stage.backend.commands_sent > before


def test_no_method_mistakes_an_outage_for_emptiness(stage: Stage) -> None:
    queue = stage.fill("first", AMOUNTS)
    backend = stage.backend
    backend.counts([queue])
    stage.stop()
    job = JobRef(queue, b"1")
    calls: list[Callable[[], object]] = [
        backend.health,
        lambda: list(backend.discover()),
        lambda: backend.counts([queue]),
        backend.workers,
        lambda: backend.queue(queue),
        lambda: backend.jobs(queue, [State.WAITING]),
        lambda: backend.jobs(queue, [State.FAILED], name="x"),
        lambda: backend.job(job),
        lambda: backend.logs(job),
        lambda: backend.body(job, b"data"),
        lambda: backend.find([queue], b"1"),
    ]
    for call in calls:
        with pytest.raises(Unreachable) as caught:
            call()
        assert caught.value.source == "main"
        assert backend.address in str(caught.value)
