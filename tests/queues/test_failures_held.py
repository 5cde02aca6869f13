"""Groups held in memory come to what they would come to if all were read anew, however they change."""

from __future__ import annotations

import random

import pytest

from queues.failures.find import Filters, Held, groups, known, listing
from queues.failures.find.scan import Sums
from queues.failures.find.tally import Tallying, tally
from queues.failures.types import Kind, Life
from queues.models import FailureGroup, FailureStrand
from queues.quantities import DAY, HOUR
from tests.failing import indexing, make_group

NOW = 1_800_000_000_000


def anything(rng: random.Random, pk: int) -> Sums:
    first = NOW - rng.choice([HOUR, 5 * HOUR, DAY, 3 * DAY])
    h1 = rng.choice([0, 0, 1, 5, 90])
    made = Sums(pk, rng.choice(list(Life)), rng.choice(["", "", "permanent"]), first, counts=(h1, h1 + 1, 9, 9, 9))
    kinds = rng.sample(list(Kind), rng.choice([1, 2]))
    made.of_kind, made.h1_of_kind = {kind.value: 5 for kind in kinds}, {kind.value: h1 // len(kinds) for kind in kinds}
    return made.settle()


@pytest.mark.parametrize("seed", range(20))
def test_tallies_that_follow_each_change_are_those_of_all_groups(seed: int) -> None:
    rng = random.Random(seed)
    held = {pk: anything(rng, pk) for pk in range(20)}
    tallying = Tallying(held.values(), NOW)
    for _step in range(60):
        pk = rng.randrange(25)
        before = held.pop(pk, None)
        after = None if rng.random() < 0.2 else anything(rng, pk)
        if after:
            held[pk] = after
        tallying.move(before, after, held.values())
        assert tallying.copy() == tally(held.values(), NOW)


@pytest.mark.django_db
def test_what_is_held_is_what_a_list_finds() -> None:
    indexing(queues=["a", "b"])
    made = [
        make_group(title=f"E{number}", queues=["a", "b"], life=list(Life)[number % 4], kind=list(Kind)[number % 3])
        for number in range(12)
    ]
    held = Held("main")
    held.read()
    FailureStrand.objects.filter(group=made[0]).update(h1=700)
    FailureGroup.objects.filter(pk=made[1].pk).update(life=Life.RESOLVED)
    made[2].delete()
    held.read([made[0].slug, made[1].slug, made[2].slug, "nosuch"])
    filters = Filters(["main"])
    found = groups(filters)
    mine = listing(held.tallies(found.known.now_ms), filters, found.known)
    assert (mine.totals, mine.lives, mine.kinds, mine.matching) == (
        found.totals,
        found.lives,
        found.kinds,
        found.matching,
    )
    assert (mine.transient_h1, mine.permanent_h1, mine.top_h1, mine.hit) == (
        found.transient_h1,
        found.permanent_h1,
        found.top_h1,
        found.hit,
    )
    assert held.was(made[2].slug)
    assert not held.was("nosuch")
    standing = known(["main"])
    for row in found.rows:
        ours = held.row(row.slug, standing)
        assert ours is not None
        names = ("life", "kind", "mixed", "counts", "total", "present", "growth", "last_ms", "first_ms")
        assert [getattr(ours, name) for name in names] == [getattr(row, name) for name in names]
