"""What every backend promises about sending jobs again. Replays rely on this and on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, cast

import pytest

from queues.actions import BATCH, NewJob, Outcome, Target
from queues.backend import Actions
from queues.errors import LimitExceeded, Unreachable
from queues.sendings import Conflict, Copy, Fate, InPlace, Replays, Sent
from queues.types import Capability, QueueRef, State
from tests.contract.stages import Stage

NOWHERE = QueueRef("main", b"bull", b"nowhere")
PLAN, OTHER = "a" * 32, "b" * 32
DONE, ALREADY = Outcome.DONE, Outcome.ALREADY


class Both(Actions, Replays, Protocol):
    """The same object has both."""


@pytest.fixture
def actions(stage: Stage) -> Iterator[Both]:
    assert Capability.REPLAYS in stage.backend.capabilities, "the first backend without it needs a list of those with"
    yield cast(Both, stage.actions)
    stage.actions.close()


def _jobs(stage: Stage, queue: QueueRef, state: State) -> list[InPlace]:
    rows = stage.backend.jobs(queue, [state]).rows
    return [InPlace(Target(row.ref.id, row.seen), f"receipt-{row.ref.id.decode()}") for row in rows]


def _send(
    actions: Both,
    queue: QueueRef,
    jobs: Sequence[InPlace],
    *,
    plan: str = PLAN,
    state: State = State.FAILED,
    drop: Sequence[str] = (),
) -> Sequence[Sent]:
    return actions.send(queue, jobs, state=state, plan=plan, reset=False, twins=False, orphans=False, drop=drop)


def _copies(number: int) -> list[Copy]:
    return [Copy(NewJob(b"job", b'{"n": %d.0}' % at), f"copy-{at}") for at in range(number)]


@pytest.mark.parametrize("state", [State.FAILED, State.COMPLETED])
def test_jobs_are_sent_once_and_whoever_asks_again_is_told(state: State, stage: Stage, actions: Both) -> None:
    queue = stage.fill("first", {state: 5})
    jobs = [*_jobs(stage, queue, state), InPlace(Target(b"99"), "receipt-99")]
    first = _send(actions, queue, jobs, state=state)
    assert [one.id for one in first] == [job.target.id for job in jobs]
    assert [one.outcome for one in first] == [DONE] * 5 + [Outcome.GONE]
    assert all(one.made == one.id and one.at_ms and one.was for one in first[:5])
    again = _send(actions, queue, jobs, state=state)
    assert [(one.outcome, one.again, one.was) for one in again[:5]] == [(DONE, True, one.was) for one in first[:5]]
    other = _send(actions, queue, jobs, state=state, plan=OTHER)
    assert [(one.outcome, one.plan) for one in other[:5]] == [(ALREADY, PLAN)] * 5
    counts = stage.backend.counts([queue])[queue].by_state
    assert (counts[State.WAITING], counts[state]) == (5, 0)


def test_an_earlier_stay_of_a_job_is_not_sent(stage: Stage, actions: Both) -> None:
    queue = stage.fill("first", {State.FAILED: 2})
    jobs = [InPlace(Target(job.target.id, job.target.seen + b"1"), "r") for job in _jobs(stage, queue, State.FAILED)]
    results = _send(actions, queue, jobs)
    assert {(one.outcome, one.conflict) for one in results} == {(Outcome.WRONG_STATE, Conflict.LEFT)}
    assert stage.backend.counts([queue])[queue].by_state[State.FAILED] == 2


def test_copies_are_sent_once_with_their_exact_data(stage: Stage, actions: Both) -> None:
    queue = stage.fill("first", {State.WAITING: 2})
    first = actions.send_copies(queue, _copies(3), plan=PLAN, new_ids=False)
    again = actions.send_copies(queue, _copies(3), plan=PLAN, new_ids=False)
    other = actions.send_copies(queue, _copies(4), plan=OTHER, new_ids=False)
    assert [(one.outcome, one.again) for one in (*first, *again)] == [(DONE, False)] * 3 + [(DONE, True)] * 3
    assert [(one.outcome, one.plan) for one in other] == [(ALREADY, PLAN)] * 3 + [(DONE, "")]
    made = [one.made for one in first]
    assert [one.made for one in again] == [one.made for one in other[:3]] == made
    stored = actions.stored(queue, made, most=100_000)
    assert [stored[one].fields[b"data"] for one in made] == [b'{"n": %d.0}' % at for at in range(3)]
    assert stage.backend.counts([queue])[queue].by_state[State.WAITING] == 6


def test_an_id_that_is_taken_is_in_the_way_unless_it_may_give_way(stage: Stage, actions: Both) -> None:
    queue = stage.fill("first", {State.WAITING: 1})
    copies = [Copy(NewJob(b"job", b"1", id=b"mine"), receipt) for receipt in ("a", "b")]
    assert [one.conflict for one in actions.look_copies(queue, [copies[0].job])] == [Conflict.NONE]
    first, second = actions.send_copies(queue, copies, plan=PLAN, new_ids=False)
    assert (first.made, second.outcome, second.conflict) == (b"mine", Outcome.UNSUPPORTED, Conflict.ID_KEPT)
    assert [one.conflict for one in actions.look_copies(queue, [copies[0].job])] == [Conflict.ID_KEPT]
    first, second = actions.send_copies(queue, copies, plan=PLAN, new_ids=True)
    assert (first.again, second.outcome) == (True, DONE)
    assert second.made not in (b"", b"mine")


def _told(actions: Both, queue: QueueRef, names: list[str]) -> list[tuple[str, bytes] | None]:
    return [None if found is None else (found.plan, found.made) for found in actions.receipts(queue, names)]


def test_receipts_tell_by_whom_until_they_are_dropped(stage: Stage, actions: Both) -> None:
    queue = stage.fill("first", {State.FAILED: 3})
    one, two, three = _jobs(stage, queue, State.FAILED)
    _send(actions, queue, [one, two])
    names = [job.receipt for job in (one, two, three)]
    assert _told(actions, queue, names) == [(PLAN, one.target.id), (PLAN, two.target.id), None]
    _send(actions, queue, [three], plan=OTHER, drop=[one.receipt])
    assert _told(actions, queue, names) == [None, (PLAN, two.target.id), (OTHER, three.target.id)]
    actions.drop_receipts(queue, names)
    assert actions.receipts(queue, names) == [None] * 3


def test_what_is_looked_at_is_told_and_left_alone(stage: Stage, actions: Both) -> None:
    queue = stage.fill("first", {State.FAILED: 2, State.WAITING: 2, State.COMPLETED: 1})
    before = dict(stage.backend.counts([queue])[queue].by_state)
    failed = [job.target for job in _jobs(stage, queue, State.FAILED)]
    waiting = [job.target for job in _jobs(stage, queue, State.WAITING)]
    found = actions.look(queue, [*failed, waiting[0], Target(b"99")], state=State.FAILED)
    assert [one.id for one in found] == [failed[0].id, failed[1].id, waiting[0].id, b"99"]
    assert [one.conflict for one in found] == [Conflict.NONE, Conflict.NONE, Conflict.LEFT, Conflict.GONE]
    assert all(one.name and one.created_ms and one.failed_ms for one in found[:2])
    letters = actions.look(queue, [*waiting, failed[0], Target(b"99")], state=State.WAITING)
    assert [one.conflict for one in letters] == [Conflict.NONE, Conflict.NONE, Conflict.LEFT, Conflict.GONE]
    assert stage.backend.counts([queue])[queue].by_state == before


def test_how_jobs_stand_is_told_of_every_state(stage: Stage, actions: Both) -> None:
    fates = {
        State.WAITING: Fate.WAITING,
        State.PRIORITIZED: Fate.WAITING,
        State.DELAYED: Fate.WAITING,
        State.ACTIVE: Fate.RUNNING,
        State.WAITING_CHILDREN: Fate.RUNNING,
        State.COMPLETED: Fate.COMPLETED,
        State.FAILED: Fate.FAILED,
    }
    queue = stage.fill("first", dict.fromkeys(State, 1))
    ids = [stage.backend.jobs(queue, [state]).rows[0].ref.id for state in fates]
    found = actions.standings(queue, [*ids, b"99"])
    assert [one.fate for one in found] == [*fates.values(), Fate.GONE]
    ended = [one.fate for one in found if one.ended_ms is not None]
    assert ended == [Fate.COMPLETED, Fate.FAILED]


@pytest.mark.parametrize("state", [State.FAILED, State.COMPLETED])
def test_what_no_worker_has_begun_is_taken_back_once(state: State, stage: Stage, actions: Both) -> None:
    queue = stage.fill("first", {state: 4})
    jobs = _jobs(stage, queue, state)
    stored = actions.stored(queue, [job.target.id for job in jobs], most=100_000)
    sent = _send(actions, queue, jobs, state=state)
    kept = [(job.target, one.was or b"") for job, one in zip(jobs, sent, strict=True)]
    assert [one.outcome for one in actions.take_back(queue, kept)] == [DONE] * 4
    assert [one.outcome for one in actions.take_back(queue, kept)] == [ALREADY] * 4
    assert _jobs(stage, queue, state) == jobs
    assert actions.stored(queue, [job.target.id for job in jobs], most=100_000) == stored
    assert [one.outcome for one in _send(actions, queue, jobs, state=state, plan=OTHER)] == [DONE] * 4


def test_too_many_at_once_are_refused_and_none_make_nothing(stage: Stage, actions: Both) -> None:
    many = BATCH + 1
    calls: list[Callable[[], object]] = [
        lambda: actions.look(NOWHERE, [Target(b"1")] * many, state=State.FAILED),
        lambda: actions.look_copies(NOWHERE, [NewJob(b"a", b"1")] * many),
        lambda: _send(actions, NOWHERE, [InPlace(Target(b"1"), "r")] * many),
        lambda: actions.send_copies(NOWHERE, _copies(many), plan=PLAN, new_ids=False),
        lambda: actions.receipts(NOWHERE, ["r"] * many),
        lambda: actions.standings(NOWHERE, [b"1"] * many),
        lambda: actions.take_back(NOWHERE, [(Target(b"1"), b"")] * many),
    ]
    for call in calls:
        with pytest.raises(LimitExceeded):
            call()
    assert _send(actions, NOWHERE, []) == []
    assert actions.send_copies(NOWHERE, [], plan=PLAN, new_ids=False) == []
    assert [one.conflict for one in _send(actions, NOWHERE, [InPlace(Target(b"1"), "r")])] == [Conflict.GONE]
    assert [one.fate for one in actions.standings(NOWHERE, [b"1"])] == [Fate.GONE]
    assert [one.conflict for one in actions.look(NOWHERE, [Target(b"1")], state=State.FAILED)] == [Conflict.GONE]
    assert not stage.backend.counts([NOWHERE])[NOWHERE].exists


def test_a_server_that_is_away_is_said_to_be_by_every_method(stage: Stage, actions: Both) -> None:
    queue = stage.fill("first", {State.FAILED: 1})
    jobs = _jobs(stage, queue, State.FAILED)
    stage.stop()
    calls: list[Callable[[], object]] = [
        lambda: actions.look(queue, [Target(b"1")], state=State.FAILED),
        lambda: actions.look_copies(queue, [NewJob(b"a", b"1")]),
        lambda: _send(actions, queue, jobs),
        lambda: actions.send_copies(queue, _copies(1), plan=PLAN, new_ids=False),
        lambda: actions.receipts(queue, ["r"]),
        lambda: actions.drop_receipts(queue, ["r"]),
        lambda: actions.standings(queue, [b"1"]),
        lambda: actions.take_back(queue, [(Target(b"1"), b"")]),
    ]
    for call in calls:
        with pytest.raises(Unreachable):
            call()
