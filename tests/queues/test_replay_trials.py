"""Trials by other people's bug reports, as far as they concern replays and no other test proves them yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from queues.models import Replay, ReplayLimits
from queues.replay import making, steering
from queues.replay.terms import Originals, Patch, PatchKind, Terms
from queues.replay.types import Acts, Choice, Phase
from queues.sendings import Conflict
from queues.types import QueueRef, State
from tests.queues.replaying import DEAD, OLGA, QUIET, SHOP, a_queue, freeze, letter
from tests.queues.runs import fail, ran, until, work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks", "no_index")]


@pytest.fixture(autouse=True)
def _at_once() -> None:
    ReplayLimits.objects.create(pk=1, undo_s=0)


def run(plan: Replay, terms: Terms, between: Callable[[], object] = lambda: None) -> Replay:
    """A plan as it was just made, by these terms, to its end."""
    plan = freeze(plan)
    steering.save(OLGA, plan, terms)
    plan = freeze(plan)
    steering.start(OLGA, plan, terms)
    return until(plan, Phase.DONE, between=between)


def left(client: redis.Redis) -> tuple[int, int]:
    """How many failed jobs and letters there are."""
    return client.zcard("bull:shop:failed"), client.llen("bull:shop-dlq:wait")


@pytest.mark.parametrize(
    ("originals", "patch", "bad", "remain"),
    [
        (Originals.WHEN_SENT, None, (), (0, 0)),
        (Originals.WHEN_DONE, None, (), (0, 0)),
        (Originals.WHEN_SENT, Patch(PatchKind.PATHS, "fixed = true"), (), (0, 0)),
        (Originals.WHEN_DONE, None, ("1",), (2, 1)),  # the copy failed again: what it was made of stays
        (Originals.KEEP, None, (), (1, 1)),
    ],
)
def test_a_letter_goes_with_the_failed_job_that_it_tells_of_and_is_not_sent_after_it(
    valkey: redis.Redis, originals: Originals, patch: Patch | None, bad: tuple[str, ...], remain: tuple[int, int]
) -> None:
    """AC-04: of one failure that is told of twice, one copy is sent, by this plan and by the next."""
    a_queue(SHOP)
    fail(valkey, ["j1"])
    letter(valkey, "l1", of="j1", at=1_000)
    terms = replace(QUIET, acts_copy=True, originals=originals, patch=patch)
    plan = run(making.of_letters(OLGA, DEAD), terms, lambda: work(valkey, bad=bad))
    assert (plan.completed, plan.failed, len(ran(valkey))) == (int(not bad), len(bad), 1)
    assert left(valkey) == remain
    again = freeze(making.of_letters(replace(OLGA, key="again"), DEAD))
    assert [row.conflict for row in again.jobs.all()] == [Conflict.SENT_BEFORE] * remain[1]


def test_what_was_copied_elsewhere_and_kept_is_not_retried_in_place_after_it(valkey: redis.Redis) -> None:
    """AC-04: the preview of the second plan says so, and a person may want it all the same."""
    other = a_queue(QueueRef("main", b"bull", b"other"))
    valkey.hset("bull:other:meta", "version", "bullmq:6.7.0")
    fail(valkey, ["j1"])
    copied = replace(QUIET, acts_copy=True, target=other.slug, originals=Originals.KEEP)
    first = run(making.of_state(OLGA, SHOP, State.FAILED), copied, lambda: work(valkey, "other"))
    again = freeze(making.of_state(replace(OLGA, key="again"), SHOP, State.FAILED))
    [row] = again.jobs.all()
    assert (row.acts, row.conflict, row.note, again.to_send) == (Acts.RETRY, Conflict.SENT_BEFORE, str(first), 0)
    wanted = replace(QUIET, choices={Conflict.SENT_BEFORE: Choice.SEND})
    again = run(again, wanted, lambda: work(valkey))
    assert (again.sent, again.completed, ran(valkey)) == (1, 1, ["j1", "j1"])
