"""Two people who steer a replay in the same moment, and a person beside the runner: none undoes what another did."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest
from django.db import connection
from django.utils import timezone

from queues.audit import Asked, Status
from queues.errors import NotFound, QueueError, WrongState
from queues.models import AuditEntry, Replay
from queues.replay import steering
from queues.replay.steering.acts import reread
from queues.replay.types import Phase, Told
from tests.queues.replay_acts import ACTS, ANNA, BERT, planned

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("acted", "woken")]

T = TypeVar("T")


def press(plan: Replay, *some: Callable[[Replay], T]) -> list[T | QueueError]:
    """What each of several threads got that pressed in the same moment, each over a connection of its own."""
    gate = threading.Barrier(len(some))
    got: list[T | QueueError] = []

    def run(do: Callable[[Replay], T]) -> None:
        try:
            shown = fresh(plan)
            gate.wait(30)
            got.append(do(shown))
        except QueueError as error:
            got.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(do,)) for do in some]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(got) == len(some)
    return got


def fresh(plan: Replay) -> Replay:
    return Replay.objects.select_related("source").get(pk=plan.pk)


RACES = {
    "two pause": (Phase.RUNNING, steering.pause, steering.pause),
    "two start": (Phase.DRAFT, ACTS["start"].do, ACTS["start"].do),
    "approve and refuse": (Phase.WAITING, steering.approve, steering.refuse),
    "take back and pause": (Phase.ARMED, steering.take_back, steering.pause),
    "go on and cancel": (Phase.PAUSED, steering.go_on, steering.cancel),
    "start and discard": (Phase.DRAFT, ACTS["start"].do, steering.discard),
}


@pytest.mark.parametrize("name", RACES)
def test_two_people_at_once_do_not_contradict_each_other(name: str) -> None:
    phase, one, other = RACES[name]
    for _again in range(3):
        plan = planned(phase)
        got = press(plan, partial(one, Asked(ANNA)), partial(other, Asked(BERT)))
        lines = [line.kind for line in plan.lines.all()]
        done = AuditEntry.objects.exclude(status=Status.REFUSED).filter(parameters__replay=plan.pk)
        assert len([each for each in got if isinstance(each, AuditEntry)]) == done.count()
        if name == "go on and cancel":  # cancelling is possible before and after
            assert fresh(plan).phase == Phase.CANCELLING
            assert lines in ([Told.CANCELLED], [Told.WENT_ON, Told.CANCELLED])
        else:
            assert done.count() == 1
            assert len(lines) <= 1


@pytest.mark.parametrize("name", ["start", "pause", "cancel", "discard"])
def test_a_form_that_is_sent_twice_at_once_acts_once_and_both_get_its_entry(name: str) -> None:
    act = ACTS[name]
    for _again in range(3):
        plan = planned(Phase.DRAFT if Phase.DRAFT in act.leads else Phase.RUNNING)
        got = press(plan, *[partial(act.do, Asked(ANNA, key=f"of {plan.pk}"))] * 3)
        assert len({each.pk for each in got if isinstance(each, AuditEntry)}) == 1
        assert [each for each in got if isinstance(each, QueueError)] == []


def test_the_runner_and_a_person_at_once_do_not_contradict_each_other() -> None:
    def sends(plan: Replay) -> bool:
        """What a runner does when the time has come: in one statement, by the phase that it knows."""
        ours = Replay.objects.filter(pk=plan.pk, phase=Phase.ARMED, epoch=plan.epoch)
        return bool(ours.update(phase=Phase.RUNNING, started_at=timezone.now()))

    for _again in range(5):
        plan = planned(Phase.ARMED)
        got = press(plan, partial(steering.take_back, Asked(ANNA)), sends)
        phase = fresh(plan).phase
        assert phase == (Phase.RUNNING if True in got else Phase.DRAFT)
        assert any(isinstance(each, WrongState) for each in got) == (phase == Phase.RUNNING)


def test_a_draft_that_is_discarded_while_somebody_else_has_saved_it_is_told_as_gone() -> None:
    plan = planned(Phase.DRAFT)
    Replay.objects.filter(pk=plan.pk).delete()
    with pytest.raises(NotFound, match="was discarded"):
        reread(plan)
