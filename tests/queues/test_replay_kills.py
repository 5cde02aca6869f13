"""Plans whose worker is killed at any point of their life, again and again: nothing is lost, nothing is sent twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import pytest
import redis

from queues.audit.types import Status
from queues.models import Replay
from queues.replay import making, steering
from queues.replay.limits import change
from queues.replay.terms import KeyFailed, Originals, Terms
from queues.replay.types import Phase, Place
from queues.types import QueueRef, State
from tests.policy import rounds
from tests.queues.replaying import OLGA, QUIET, SHOP, a_queue
from tests.queues.runs import Fuse, deadly, fail, killed_until, ran, told, work

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.soak,
    pytest.mark.usefixtures("source", "no_tasks", "no_index", "small_batches"),
]

OTHER = QueueRef("main", b"bull", b"other")
IDS = [f"j{number}" for number in range(60)]
KEYS = 6  # each of so many jobs in turn has the same key
BAD = {"j7", "j31"}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many points in a short life."""
    monkeypatch.setattr("queues.replay.run.sending.BATCH", 10)
    monkeypatch.setattr("queues.replay.run.originals.BATCH", 10)
    monkeypatch.setattr("queues.replay.run.copying.CHUNK", 5)
    monkeypatch.setattr("queues.replay.run.going.SENDING_S", 0.0)


@dataclass(frozen=True)
class Life:
    """A way to live, and what must hold at its end.

    `ordered`: jobs run in their order, or those of each key do. Without `keep` those that complete are gone at once.
    """

    terms: Terms
    queue: str  # that jobs go to
    ordered: bool = True
    keep: bool = True

    def begin(self, client: redis.Redis) -> Replay:
        fail(client, IDS, keys=KEYS)
        change(OLGA, largest=None, fastest=None, approval=None, undo_s=0, typed=1_000)
        a_queue(OTHER)
        return making.of_state(OLGA, SHOP, State.FAILED)

    def work(self, client: redis.Redis) -> None:
        work(client, self.queue, most=7, bad=BAD, keep=self.keep)

    def is_right(self, client: redis.Redis, plan: Replay) -> None:
        ended = {*_set(client, self.queue, "completed"), *_set(client, self.queue, "failed")}
        assert Counter(ran(client)) == Counter(IDS)
        assert ended == (set(IDS) if self.keep else BAD)
        if self.ordered:
            assert ran(client) == IDS
        if self.terms.key:
            place = {job: number for number, job in enumerate(ran(client))}
            for key in range(KEYS):
                assert sorted(IDS[key::KEYS], key=place.__getitem__) == IDS[key::KEYS]
        assert (plan.sent, plan.completed, plan.failed, plan.other) == (60, 58, 2, 0), told(plan)
        assert not plan.jobs.exclude(place=Place.SENT).exists()
        assert plan.entry
        assert plan.entry.status == Status.DONE
        assert plan.entry.outcomes == {"completed": 58, "failed": 2}


CANARY = Life(replace(QUIET, canary=5, canary_failed=4, stop_percent=50), "shop", ordered=False)
IN_PLACE = Life(replace(QUIET, pace_from=400.0, pace_to=None, double_s=1), "shop", keep=False)
KEYED = Life(replace(QUIET, key="key", key_failed=KeyFailed.GO_ON, canary=4, canary_failed=3), "shop", ordered=False)
COPIED = Life(replace(QUIET, acts_copy=True, target="other", originals=Originals.WHEN_SENT), "other")
KEPT = Life(replace(QUIET, acts_copy=True, target="other", originals=Originals.WHEN_DONE), "other")
LIVES = {
    "in place": IN_PLACE,
    "with a canary": CANARY,
    "in the order of keys": KEYED,
    "copied": COPIED,
    "copied and kept until done": KEPT,
}


def _set(client: redis.Redis, queue: str, state: str) -> list[str]:
    return [job.decode() for job in cast("list[bytes]", client.zrange(f"bull:{queue}:{state}", 0, -1))]


def live(life: Life, client: redis.Redis, fuse: Fuse, points: Iterator[int]) -> tuple[Replay, int]:
    """From the wish to the end, killed at these points."""
    plan = life.begin(client)
    with deadly(fuse):
        kills = killed_until(plan, {Phase.DRAFT}, fuse, points)
    steering.save(OLGA, plan, life.terms)
    with deadly(fuse):
        kills += killed_until(plan, {Phase.DRAFT}, fuse, points)
    steering.start(OLGA, plan, life.terms)
    with deadly(fuse):
        kills += killed_until(plan, {Phase.DONE}, fuse, points, lambda: life.work(client))
    return plan, kills


@pytest.mark.parametrize("name", LIVES)
def test_a_plan_that_is_killed_at_random_points_sends_each_job_once_and_in_its_order(
    name: str, valkey: redis.Redis, rng: random.Random
) -> None:
    life = LIVES[name]
    many = rounds(sample=20, soak=200)
    points = (rng.randint(0, 25) for _kill in range(many))
    plan, kills = live(life, valkey, Fuse(), points)
    assert kills
    life.is_right(valkey, plan)
