"""What every backend promises about acting on queues and jobs. Operations rely on this and on nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from queues.actions import BATCH, CLOCKS, Clock, NewJob, Outcome, Result, Step, Target
from queues.backend import Actions
from queues.errors import LimitExceeded, QueueError, Unreachable, WrongState
from queues.types import Capability, JobRef, QueueRef, State
from tests.contract.stages import Stage

NOWHERE = QueueRef("main", b"bull", b"nowhere")
SOON = 10**10  # ms from now: all that is there
Verb = Callable[[Actions, QueueRef, Sequence[Target]], Sequence[Result]]
VERBS: dict[str, Verb] = {
    "retry": lambda actions, queue, targets: actions.retry(queue, targets, state=State.FAILED, reset=False),
    "promote": lambda actions, queue, targets: actions.promote(queue, targets),
    "delay": lambda actions, queue, targets: actions.delay(queue, targets, run_at_ms=_now() + 60_000),
    "priority": lambda actions, queue, targets: actions.priority(queue, targets, priority=7),
    "remove": lambda actions, queue, targets: actions.remove(queue, targets, state=None, children=False),
    "fail": lambda actions, queue, targets: actions.fail(queue, targets, reason="by hand"),
    "requeue": lambda actions, queue, targets: actions.requeue(queue, targets),
}
# Where each verb takes jobs from, and where they are then.
MOVES = {
    "retry": (State.FAILED, State.WAITING),
    "promote": (State.DELAYED, State.WAITING),
    "delay": (State.DELAYED, State.DELAYED),
    "priority": (State.WAITING, State.PRIORITIZED),
    "remove": (State.COMPLETED, None),
    "fail": (State.ACTIVE, State.FAILED),
    "requeue": (State.ACTIVE, State.WAITING),
}
EVERYWHERE = dict.fromkeys(State, 3)


@pytest.fixture
def actions(stage: Stage) -> Iterator[Actions]:
    assert Capability.ACTIONS in stage.backend.capabilities, "the first backend that only reads needs a list without it"
    yield stage.actions
    stage.actions.close()


@pytest.mark.parametrize("verb", VERBS)
def test_jobs_are_moved_each_with_a_result_in_the_order_that_was_asked(
    verb: str, stage: Stage, actions: Actions
) -> None:
    source, destination = MOVES[verb]
    queue = stage.fill("first", {source: 30})
    targets = [Target(b"%d" % number) for number in (5, 999, 7, 30)]
    results = VERBS[verb](actions, queue, targets)
    assert [result.id for result in results] == [b"5", b"999", b"7", b"30"]
    assert [result.outcome for result in results] == [Outcome.DONE, Outcome.GONE, Outcome.DONE, Outcome.DONE]
    counts = stage.backend.counts([queue])[queue].by_state
    assert counts[source] == (30 if destination is source else 27)
    if destination:
        assert counts[destination] == (30 if destination is source else 3)
    assert sum(counts.values()) == (27 if destination is None else 30)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "delay"])
def test_what_is_done_is_not_done_again(verb: str, stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {MOVES[verb][0]: 3})
    targets = [Target(b"1"), Target(b"2")]
    VERBS[verb](actions, queue, targets)
    before = dict(stage.backend.counts([queue])[queue].by_state)
    again = VERBS[verb](actions, queue, targets)
    assert Outcome.DONE not in {result.outcome for result in again}
    assert stage.backend.counts([queue])[queue].by_state == before


@pytest.mark.parametrize("verb", VERBS)
def test_too_many_targets_are_refused_and_none_cost_nothing(verb: str, stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {MOVES[verb][0]: 2})
    with pytest.raises(LimitExceeded):
        VERBS[verb](actions, queue, [Target(b"1")] * (BATCH + 1))
    assert VERBS[verb](actions, queue, []) == []
    assert stage.backend.counts([queue])[queue].by_state[MOVES[verb][0]] == 2


@pytest.mark.parametrize("verb", VERBS)
def test_acting_where_nothing_is_makes_nothing(verb: str, stage: Stage, actions: Actions) -> None:
    [result] = VERBS[verb](actions, NOWHERE, [Target(b"1")])
    assert result.outcome is Outcome.GONE
    assert not stage.backend.counts([NOWHERE])[NOWHERE].exists


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "remove"])
def test_jobs_of_other_states_stay_as_they_are(verb: str, stage: Stage, actions: Actions) -> None:
    """But a waiting or delayed job may take another rank or moment."""
    queue = stage.fill("first", EVERYWHERE)
    fits = {
        "delay": (State.DELAYED,),
        "priority": (State.WAITING, State.PRIORITIZED, State.DELAYED, State.WAITING_CHILDREN),
    }.get(verb, (MOVES[verb][0],))
    others = [state for state in State if state not in fits]
    targets = [Target(row.ref.id) for state in others for row in stage.backend.jobs(queue, [state]).rows]
    results = VERBS[verb](actions, queue, targets)
    assert {result.outcome for result in results} <= {Outcome.WRONG_STATE, Outcome.ALREADY, Outcome.CHILDREN}
    assert stage.backend.counts([queue])[queue].by_state == EVERYWHERE


def test_a_queue_is_paused_and_resumed_once(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {State.WAITING: 5})
    assert _all(actions.pause, queue) == 1
    assert actions.pause(queue).kept == {Outcome.ALREADY: 1}
    assert stage.backend.counts([queue])[queue].paused
    assert _all(actions.resume, queue) == 1
    assert actions.resume(queue).kept == {Outcome.ALREADY: 1}
    counts = stage.backend.counts([queue])[queue]
    assert not counts.paused
    assert counts.by_state[State.WAITING] == 5


def test_limits_are_set_and_cleared(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {State.WAITING: 1})
    assert actions.concurrency(queue, 4).outcome is Outcome.DONE
    assert actions.rate_limit(queue, 5, 6000).outcome is Outcome.DONE
    counts = stage.backend.counts([queue])[queue]
    assert (counts.concurrency, counts.rate_max, counts.rate_duration_ms) == (4, 5, 6000)
    assert actions.concurrency(queue, None).outcome is Outcome.DONE
    assert actions.rate_limit(queue, None).outcome is Outcome.DONE
    counts = stage.backend.counts([queue])[queue]
    assert (counts.concurrency, counts.rate_max, counts.rate_duration_ms) == (None, None, None)
    assert actions.release_limit(queue).outcome is Outcome.ALREADY


def test_a_job_is_added_once_with_its_exact_data(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {State.WAITING: 2})
    job = NewJob(b"job", b'{"a": 1.0}', b'{"delay": 60000}')
    first, again = actions.add(queue, job, token="t"), actions.add(queue, job, token="t")
    assert (first.outcome, again.outcome) == (Outcome.DONE, Outcome.ALREADY)
    assert first.made == again.made
    assert stage.backend.counts([queue])[queue].by_state[State.DELAYED] == 1
    assert actions.stored(queue, [first.made], most=10_000)[first.made].fields[b"data"] == b'{"a": 1.0}'


def test_data_is_edited_only_as_long_as_nobody_else_has(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {State.FAILED: 1})
    job, was = JobRef(queue, b"1"), actions.stored(queue, [b"1"], most=10_000)[b"1"].fields[b"data"]
    outcomes = [actions.edit(job, data, was=was).outcome for data in (b"[1]", b"[1]", b"[2]")]
    assert outcomes == [Outcome.DONE, Outcome.ALREADY, Outcome.CHANGED]
    assert actions.stored(queue, [b"1"], most=10_000)[b"1"].fields[b"data"] == b"[1]"
    assert actions.edit(JobRef(queue, b"9"), b"1", was=b"1").outcome is Outcome.GONE


def test_a_line_is_logged_once(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {State.FAILED: 1})
    stage.log(queue, b"1", 2)
    outcomes = [actions.log(JobRef(queue, b"1"), "mine", token=token).outcome for token in ("a", "a", "b")]
    assert outcomes == [Outcome.DONE, Outcome.ALREADY, Outcome.DONE]
    assert actions.stored(queue, [b"1"], most=10_000)[b"1"].logs == [b"line 1", b"line 2", b"mine", b"mine"]
    assert actions.log(JobRef(queue, b"9"), "mine", token="c").outcome is Outcome.GONE


def test_copies_stop_at_the_bytes_that_are_allowed(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {State.FAILED: 10})
    ids = [b"%d" % number for number in range(1, 11)]
    assert set(actions.stored(queue, ids, most=1_000_000)) == set(ids)
    some = actions.stored(queue, ids, most=2_000)
    assert 0 < len(some) < 10
    assert actions.stored(queue, [b"99"], most=1_000_000) == {}


@pytest.mark.parametrize("state", list(State))
def test_the_members_of_a_state_are_found_each_once(state: State, stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {state: 25, **({State.FAILED: 3} if state is not State.FAILED else {})})
    found: list[bytes] = []
    scanned, cursor = 0, ""
    while True:
        members = actions.members(queue, state, cursor=cursor, until_ms=_now() + SOON, most=10)
        assert members.scanned <= 10
        scanned += members.scanned
        found += [target.id for target in members.targets]
        if members.cursor is None:
            break
        cursor = members.cursor
    assert len(found) == len(set(found)) == scanned == 25


def test_what_was_seen_of_a_member_is_what_is_acted_on(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {State.FAILED: 4})
    members = actions.members(queue, State.FAILED, until_ms=_now() + SOON, most=10)
    first = actions.retry(queue, members.targets, state=State.FAILED, reset=False)
    assert {result.outcome for result in first} == {Outcome.DONE}
    other = [Target(target.id, target.seen + b"1") for target in members.targets]
    queue = stage.fill("second", {State.FAILED: 4})
    results = actions.retry(queue, other, state=State.FAILED, reset=False)
    assert {result.outcome for result in results} == {Outcome.WRONG_STATE}


def test_draining_removes_what_waits_and_leaves_the_rest(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", EVERYWHERE)
    _steps(lambda cursor: actions.drain(queue, delayed=False, until_ms=_now() + SOON, cursor=cursor))
    counts = stage.backend.counts([queue])[queue].by_state
    gone = {State.WAITING, State.PRIORITIZED}
    assert {state for state in State if not counts[state]} == gone
    _steps(lambda cursor: actions.drain(queue, delayed=True, until_ms=_now() + SOON, cursor=cursor))
    counts = stage.backend.counts([queue])[queue].by_state
    assert {state for state in State if not counts[state]} == gone | {State.DELAYED}


@pytest.mark.parametrize(("state", "clock"), [(state, clock) for state, clocks in CLOCKS.items() for clock in clocks])
def test_cleaning_goes_by_the_clock_that_was_named(state: State, clock: Clock, stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {state: 6})
    _steps(lambda cursor: actions.clean(queue, state, clock=clock, before_ms=1, cursor=cursor))
    assert stage.backend.counts([queue])[queue].by_state[state] == 6
    _steps(lambda cursor: actions.clean(queue, state, clock=clock, before_ms=_now() + SOON, cursor=cursor))
    if state is not State.WAITING_CHILDREN:
        assert stage.backend.counts([queue])[queue].by_state[state] == 0


def test_obliterating_needs_a_paused_queue_without_active_jobs_or_force(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", EVERYWHERE)
    with pytest.raises(WrongState):
        actions.obliterate(queue, force=False)
    _all(actions.pause, queue)
    with pytest.raises(WrongState):
        actions.obliterate(queue, force=False)
    assert stage.backend.counts([queue])[queue].exists
    _steps(lambda cursor: actions.obliterate(queue, force=True, cursor=cursor))
    assert not stage.backend.counts([queue])[queue].exists


def test_nothing_is_in_the_way_on_an_ordinary_queue(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {State.FAILED: 1})
    assert actions.unable(queue) == {}
    assert actions.read_only(queue) == ""


def test_a_server_that_is_away_is_said_to_be_by_every_action(stage: Stage, actions: Actions) -> None:
    queue = stage.fill("first", {State.FAILED: 1})
    actions.unable(queue)
    stage.stop()
    for verb in VERBS.values():
        with pytest.raises(Unreachable):
            verb(actions, queue, [Target(b"1")])
    calls: list[Callable[[], object]] = [
        lambda: actions.unable(queue),
        lambda: actions.pause(queue),
        lambda: actions.resume(queue),
        lambda: actions.concurrency(queue, 1),
        lambda: actions.release_limit(queue),
        lambda: actions.add(queue, NewJob(b"job", b"1"), token="t"),
        lambda: actions.edit(JobRef(queue, b"1"), b"1", was=b"2"),
        lambda: actions.log(JobRef(queue, b"1"), "x", token="t"),
        lambda: actions.obliterate(queue, force=True),
        lambda: actions.trim_events(queue, keep=1),
    ]
    for call in calls:
        with pytest.raises(QueueError):
            call()


def _now() -> int:
    return int(time.time() * 1000)


def _all(verb: Callable[[QueueRef], Step], queue: QueueRef) -> int:
    step = verb(queue)
    done = step.done
    while step.cursor is not None:
        step = verb(queue)
        done += step.done
    return done


def _steps(call: Callable[[str], Step]) -> int:
    done, cursor = 0, ""
    while True:
        step = call(cursor)
        done += step.done
        if step.cursor is None:
            return done
        cursor = step.cursor
