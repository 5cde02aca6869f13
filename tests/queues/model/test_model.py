"""Applications of both majors and operators who press every button, by chance: no job is lost or doubled."""

from __future__ import annotations

import random

import pytest
import redis

from queues.actions import Action
from queues.models import RemovedJob
from tests.node import Node
from tests.policy import rounds
from tests.queues.model.buttons import BUTTONS
from tests.queues.model.rounds import PAUSES, made
from tests.valkey import Server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.node, pytest.mark.usefixtures("watched")]

FLEETS = {"5.x": (5, (5,)), "6.x": (6, (6,)), "mixed": (5, (5, 6))}


def test_the_model_presses_every_button() -> None:
    assert set(BUTTONS) == set(Action)


@pytest.mark.soak
@pytest.mark.parametrize("pause", PAUSES)
@pytest.mark.parametrize("fleet", FLEETS)
def test_jobs_are_those_of_before_and_what_was_asked_and_each_is_worked_on_once(
    *, fleet: str, pause: str, node: Node, server: Server, store: redis.Redis, rng: random.Random
) -> None:
    newest, majors = FLEETS[fleet]
    for number in range(rounds(sample=1, soak=12)):
        seed = rng.random()
        node.reset()
        store.flushall()
        RemovedJob.objects.all().delete()
        one = made(node, server.url, store, random.Random(seed), majors)
        try:
            one.begin(pause, most=newest)
            for _step in range(rounds(sample=16, soak=40)):
                one.step()
            one.finish()
        except Exception:
            print(f"round {number} of seed {seed}:", *one.operator.log, sep="\n  ")
            raise
