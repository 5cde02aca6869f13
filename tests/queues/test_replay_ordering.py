"""Who goes when: places by the choices, ranks by the order, chains of one key, and a canary out of all parts."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, cast

import pytest

from queues.models import Replay, ReplayJob
from queues.replay.ordering import prepare
from queues.replay.terms import Ordering, Terms
from queues.replay.types import Choice, Phase, Place
from queues.sendings import Conflict
from tests.queues.replaying import QUIET, FakeHands, Killed, a_plan, rows

pytestmark = pytest.mark.django_db


def hands(plan: Replay, *, killed_at: int | None = None) -> FakeHands:
    """No server is asked."""
    nobody = cast(Any, None)
    return FakeHands(Replay.objects.get(pk=plan.pk), nobody, nobody, killed_at)


def prepared(plan: Replay, terms: Terms) -> Replay:
    """The plan, started with these terms and in order."""
    Replay.objects.filter(pk=plan.pk).update(terms=terms.kept(), phase=Phase.ARMED)
    run, steps = hands(plan), 0
    while not prepare(run):
        steps += 1
        assert steps < 1_000
    return Replay.objects.get(pk=plan.pk)


def ready(plan: Replay) -> list[str]:
    """In the order in which they are sent."""
    return [row.job for row in rows(plan) if row.place == Place.READY]


@pytest.mark.parametrize(
    ("order", "expected"),
    [(Ordering.ORIGINAL, "bdac"), (Ordering.FAILURE, "adcb"), (Ordering.NEWEST, "bcda"), (Ordering.SAT, "abcd")],
)
def test_jobs_are_sent_in_the_order_that_was_chosen(order: Ordering, expected: str) -> None:
    plan = a_plan(jobs=[b"a", b"b", b"c", b"d"])
    for job, created, failed in (("a", 30, 1), ("b", 10, 40), ("c", 30, 30), ("d", None, 20)):
        plan.jobs.filter(job=job).update(created_ms=created, failed_ms=failed)
    assert "".join(ready(prepared(plan, replace(QUIET, order=order)))) == expected


def test_what_is_in_the_way_is_left_out_unless_somebody_chose_otherwise() -> None:
    found = [*Conflict]
    plan = a_plan(jobs=[each.name.encode() for each in found])
    for each in found:
        plan.jobs.filter(job=each.name).update(conflict=each)
    keyed = replace(QUIET, key="a")
    plan = prepared(plan, keyed)
    assert set(ready(plan)) == {"NONE", "PARENT_GONE"}
    assert (plan.to_send, plan.left_out) == (2, len(found) - 2)
    bold = dict.fromkeys(found, Choice.SEND)
    plan = prepared(plan, replace(keyed, choices=bold))
    assert set(ready(plan)) == {"NONE", "TWIN", "ID_KEPT", "PARENT_FAILED", "PARENT_GONE", "SENT_BEFORE", "NO_KEY"}
    plan = prepared(plan, replace(QUIET, choices={Conflict.PARENT_GONE: Choice.SKIP}))
    assert set(ready(plan)) == {"NONE", "NO_KEY"}, "where no order by key is kept, no key is needed"


def test_permanent_failures_can_be_left_out() -> None:
    plan = a_plan(jobs=[b"a", b"b"])
    plan.jobs.filter(job="a").update(permanent=True)
    assert ready(prepared(plan, QUIET)) == ["a", "b"]
    assert ready(prepared(plan, replace(QUIET, without_permanent=True))) == ["b"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.replay.ordering.PLACED", 7)
    monkeypatch.setattr("queues.replay.ordering.CHAINED", 5)


def of_keys(rng: random.Random, number: int) -> Replay:
    """Jobs of few keys and some of none, failed in any order, some left out."""
    plan = a_plan(jobs=[b"%d" % each for each in range(number)])
    for row in rows(plan):
        row.key, row.failed_ms = rng.choice([None, 0, 1, 2, 2**63 - 1]), rng.randrange(1_000)
        row.conflict = rng.choice(["", "", "", "left"])
        row.save()
    return plan


def chains_are_right(plan: Replay) -> None:
    """Each but the first of a key waits for the one before it; nothing else is held."""
    last: dict[int, ReplayJob] = {}
    for row in rows(plan):
        if row.place == Place.LEFT_OUT:
            assert row.conflict == "left"
            assert row.after is None
        elif row.key is None or row.key not in last:
            assert (row.place, row.after) == (Place.READY, None)
        else:
            assert (row.place, row.after) == (Place.HELD, last[row.key].pk)
        if row.key is not None and row.place != Place.LEFT_OUT:
            last[row.key] = row


@pytest.mark.usefixtures("small")
def test_jobs_of_one_key_wait_for_each_other_whatever_is_killed_in_between(rng: random.Random) -> None:
    plan = of_keys(rng, 60)
    terms = replace(QUIET, key="customer", order=Ordering.FAILURE, canary=3)
    Replay.objects.filter(pk=plan.pk).update(terms=terms.kept(), phase=Phase.ARMED)
    for turn in range(1_000):
        run = hands(plan, killed_at=turn % 3)
        try:
            while not prepare(run):
                pass
            break
        except Killed:
            continue
    chains_are_right(plan)
    plan.refresh_from_db()
    assert plan.to_send == plan.jobs.filter(place__in=[Place.READY, Place.HELD]).count()
    heads = plan.jobs.filter(canary=True)
    assert heads.count() == 3
    assert not heads.exclude(place=Place.READY).exists()


@pytest.mark.usefixtures("small")
def test_terms_that_changed_meanwhile_make_ordering_begin_anew(rng: random.Random) -> None:
    plan = of_keys(rng, 40)
    keyed = replace(QUIET, key="customer", order=Ordering.FAILURE, canary=9)
    Replay.objects.filter(pk=plan.pk).update(terms=keyed.kept(), phase=Phase.ARMED)
    run = hands(plan)
    for _step in range(9):
        prepare(run)
    other = replace(QUIET, order=Ordering.SAT, canary=1)
    plan = prepared(plan, other)
    assert ready(plan) == [row.job for row in rows(plan) if not row.conflict]
    assert not plan.jobs.exclude(after=None).exists()
    assert plan.jobs.filter(canary=True).count() == 1
    plan = prepared(plan, keyed)
    chains_are_right(plan)


@pytest.mark.parametrize(("number", "expected"), [(1, [50]), (4, [12, 37, 62, 87]), (200, list(range(100)))])
def test_the_canary_is_spread_over_all_in_their_order(number: int, expected: list[int]) -> None:
    plan = a_plan(jobs=[b"%d" % each for each in range(100)])
    plan = prepared(plan, replace(QUIET, order=Ordering.NEWEST, canary=number))
    assert [place for place, row in enumerate(rows(plan)) if row.canary] == expected


def test_a_plan_in_which_nothing_can_be_sent_is_in_order() -> None:
    plan = a_plan(jobs=[b"a"])
    plan.jobs.update(conflict="gone")
    plan = prepared(plan, replace(QUIET, key="a", canary=5))
    assert (plan.to_send, plan.left_out, ready(plan)) == (0, 1, [])
