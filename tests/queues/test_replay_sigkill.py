"""Real processes, real servers and real workers: whatever is killed at whichever moment, each job is sent once."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from queues import outages, readonly, registry
from queues.replay.limits import change
from tests.node import Node
from tests.policy import SOAK, rounds
from tests.queues.fleet import Fleet, killing
from tests.queues.replaying import OLGA
from tests.queues.shop_floor import Floor, Life, lives

LONGEST_S = 600.0  # for one of each kind, on a loaded machine

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node,
    pytest.mark.soak,
    pytest.mark.usefixtures("no_tasks"),
]


@pytest.fixture
def fleet(tmp_path: Path, rng: random.Random, settings: Settings) -> Iterator[Fleet]:
    made = Fleet(tmp_path, rng, quick=not SOAK)
    settings.MIRANTE_SOURCES = (made.watched.config(),)
    registry.forget()
    readonly.forget()
    change(OLGA, largest=None, fastest=None, approval=None, undo_s=1, typed=1_000_000)
    made.start()
    yield made
    made.stop()
    registry.forget()
    readonly.forget()
    outages.forget("main")


@pytest.fixture
def floor(fleet: Fleet, node: Node, tmp_path: Path) -> Floor:
    file = tmp_path / "deeds"
    file.touch()
    return Floor(node, fleet.watched.url, fleet.watched.client(), file)


def test_whatever_is_killed_each_job_is_sent_once_in_its_order_and_the_ledger_is_what_workers_did(
    fleet: Fleet, floor: Floor
) -> None:
    for turn in range(rounds(sample=1, soak=6)):
        some = lives(rounds(sample=60, soak=400), rounds(sample=20, soak=80), turn)
        for life in some:
            life.begin(floor)
        try:
            with killing(fleet, rounds(sample=3, soak=15), pause_s=rounds(sample=1, soak=4)):
                until_done(some)
            for life in some:
                life.check(floor)
        finally:
            print(*fleet.said, fleet.done, *some, sep="\n")


def until_done(some: list[Life]) -> None:
    """A person starts each plan, lets it go on where it asks, and cancels some, until all have ended."""
    deadline, left = time.monotonic() + LONGEST_S, list(some)
    while left:
        left = [life for life in left if not life.step()]
        assert time.monotonic() < deadline, f"not ended: {[str(life) for life in left]}"
        time.sleep(0.1)
