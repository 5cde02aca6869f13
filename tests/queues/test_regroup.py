"""A new version of signatures groups what is indexed anew: no history, count, note or link is lost."""

# mypy: allow-untyped-calls

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import redis
from django.utils import timezone

from queues.audit.types import Actor, Asked
from queues.errors import Unreachable
from queues.failures import merging, regroup
from queues.failures.index import SourceIndexer, finding
from queues.failures.index.term import Term
from queues.failures.signature import of
from queues.failures.types import VERSION, Life, Signature, SplitBy, Thrown
from queues.models import Failure, FailureGroup, FailureNote, FailureSample, FailureSignature, FailureStrand, Indexing
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.queues.following import know
from tests.queues.indexing import equal, fail, indexer, remove, settle, sums_agree

pytestmark = pytest.mark.django_db

ANA = Asked(Actor("ana", "operator"))
Rule = Callable[[Thrown], str]


@pytest.fixture
def shop(valkey: redis.Redis, source: SourceConfig) -> QueueRef:
    return know(b"shop")[0]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.failures.index.chores.SLICE_S", 0.0)


@contextmanager
def not_regrouping() -> Iterator[pytest.MonkeyPatch]:
    """As before the index got to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regroup.Regroup, "run", lambda self, until=None: None)
        yield patch


@contextmanager
def older(rule: Rule) -> Iterator[None]:
    """Failures are indexed as an older version did, which told them apart by this alone."""

    def old(thrown: Thrown) -> Signature:
        digest = hashlib.sha1(f"old {rule(thrown)}".encode(), usedforsecurity=False).hexdigest()
        return replace(of(thrown), version=VERSION - 1, digest=digest)

    with not_regrouping() as patch:
        patch.setattr(finding.Alike, "of", lambda self, thrown: old(thrown))
        patch.setattr(finding, "of", old)
        yield


def by_reason(thrown: Thrown) -> str:
    return thrown.reason or ""


def by_nothing(thrown: Thrown) -> str:
    return ""


def regrouped(one: SourceIndexer | None = None) -> SourceIndexer:
    one = one or indexer()
    for _again in range(50):
        settle(one)
        row = Indexing.objects.get(source__name="main")
        if row.version == VERSION:
            break
    assert (row.version, row.regrouping) == (VERSION, 0)
    assert not FailureSignature.objects.exclude(version=VERSION).exists()
    assert sums_agree()
    return one


def group_of(job: int | str) -> FailureGroup:
    return FailureGroup.objects.get(strands__failures__job=str(job))


def test_a_new_source_is_of_the_version_at_once(valkey: redis.Redis, shop: QueueRef) -> None:
    fail(valkey, shop, 1, 2, 3)
    regrouped()
    assert Failure.objects.count() == 3


def test_groups_stay_what_they_are_where_their_failures_stay_together(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_reason):
        fail(valkey, shop, 1, 2, reason="card declined")
        fail(valkey, shop, 3, reason="no stock")
        settle(indexer())
    group = group_of(1)
    FailureNote.objects.create(group=group, who="ana", text="known")
    FailureGroup.objects.filter(pk=group.pk).update(owner="ana", life=Life.RESOLVED, resolved_ms=10**15)
    strand = FailureStrand.objects.get(group=group)
    before = list(strand.hours.values_list("hour", "count", "minutes"))
    regrouped()
    assert equal(valkey, shop)
    after = group_of(1)
    assert (after.pk, after.slug, after.owner, after.life, after.total) == (group.pk, group.slug, "ana", "resolved", 2)
    assert after.notes.get().text == "known"
    assert after.signatures.get().digest == of(_thrown("card declined")).digest
    assert FailureStrand.objects.get(group=after).pk == strand.pk
    assert list(strand.hours.values_list("hour", "count", "minutes")) == before
    assert FailureSample.objects.filter(signature__group=after).exists()
    assert FailureGroup.objects.filter(merged_into=None).count() == 2


def test_what_fails_afterwards_comes_to_the_same_groups(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_reason):
        fail(valkey, shop, 1, reason="card declined")
        settle(indexer())
    group = group_of(1)
    one = regrouped()
    fail(valkey, shop, 2, reason="card declined")
    settle(one)
    assert group_of(2) == group
    assert FailureGroup.objects.get(pk=group.pk).total == 2


def test_what_fails_before_its_group_is_regrouped_is_taken_into_it(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_reason):
        fail(valkey, shop, 1, 2, reason="card declined")
        settle(indexer())
    group = group_of(1)
    with not_regrouping():
        fail(valkey, shop, 3, 4, 5, reason="card declined")
        settle(indexer())
    fresh = group_of(3)
    assert fresh != group
    regrouped()
    assert {group_of(job).pk for job in (1, 2, 3, 4, 5)} == {group.pk}
    group.refresh_from_db()
    fresh.refresh_from_db()
    assert (group.total, group.strands.get().total, group.strands.get().present) == (5, 5, 5)
    assert fresh.merged_into == group
    assert merging.current(fresh.slug) == group


def test_a_group_that_someone_spoke_about_keeps_what_failed_meanwhile(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_reason):
        fail(valkey, shop, 1, reason="card declined")
        settle(indexer())
    group = group_of(1)
    FailureNote.objects.create(group=group, who="ana", text="old")
    with not_regrouping():
        fail(valkey, shop, 2, reason="card declined")
        settle(indexer())
    fresh = group_of(2)
    FailureNote.objects.create(group=fresh, who="rui", text="new")
    regrouped()
    assert group_of(1) == group_of(2) == merging.current(group.slug) == merging.current(fresh.slug)
    assert sorted(note.text for note in group_of(1).notes.all()) == ["new", "old"]


def test_a_signature_that_was_too_coarse_becomes_several_in_its_group(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_nothing):
        fail(valkey, shop, *range(10), reason="card declined")
        fail(valkey, shop, *range(10, 15), reason="no stock")
        settle(indexer())
    group = group_of(1)
    assert group.signatures.count() == 1
    regrouped()
    assert equal(valkey, shop)
    assert FailureGroup.objects.get() == group
    told = {str(each.parts["message"]): each for each in group.signatures.all()}
    assert sorted(told) == ["card declined", "no stock"]
    assert told["card declined"].strands.get().total == 10
    assert told["no stock"].strands.get().total == 5
    assert told["no stock"].strands.get().present == 5


def test_signatures_that_were_too_fine_become_one_and_their_groups_too(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_reason):
        for number in range(6):
            fail(valkey, shop, number, reason=f"order {number} not found")
        settle(indexer())
    groups = list(FailureGroup.objects.order_by("pk"))
    assert len(groups) == 6
    for group in groups:
        FailureNote.objects.create(group=group, who="ana", text=f"note of {group.slug}")
    FailureGroup.objects.filter(pk=groups[3].pk).update(runbook="https://runbooks.example/orders")
    regrouped()
    left = FailureGroup.objects.get(merged_into=None)
    assert left == groups[0]
    assert (left.total, left.signatures.count(), left.strands.count()) == (6, 1, 1)
    assert {merging.current(group.slug) for group in groups} == {left}
    assert left.notes.count() == 6
    assert left.runbook == "https://runbooks.example/orders"
    assert FailureSample.objects.filter(signature__group=left).count() <= 5


def test_jobs_that_are_gone_follow_what_samples_say(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_reason):
        fail(valkey, shop, 1, 2, 3, reason="card declined")
        one = indexer()
        settle(one)
        remove(valkey, shop, 1, 2, 3)
        settle(one)
    group = group_of(1)
    assert not Failure.objects.filter(present=True).exists()
    one = regrouped()
    assert group_of(1) == group
    assert (group.signatures.get().digest, group.strands.get().total) == (of(_thrown("card declined")).digest, 3)
    fail(valkey, shop, 4, reason="card declined")
    settle(one)
    assert group_of(4) == group


def test_of_what_nothing_is_known_any_more_stays_as_it_is(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_reason):
        fail(valkey, shop, 1, 2, reason="card declined")
        one = indexer()
        settle(one)
        remove(valkey, shop, 1, 2)
        settle(one)
    FailureSample.objects.all().delete()
    group = group_of(1)
    digest = group.signatures.get().digest
    regrouped()
    assert group_of(2) == group
    assert group.signatures.get().digest == digest
    assert FailureGroup.objects.get(pk=group.pk).total == 2


def test_a_signature_that_was_split_stays_split(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_reason):
        fail(valkey, shop, 1, 2, reason="card declined", name="charge")
        fail(valkey, shop, 3, reason="card declined", name="refund")
        settle(indexer())
    parent = group_of(1).signatures.get()
    merging.split(ANA, group_of(1), parent.pk, SplitBy.NAME)
    charge, refund = group_of(1), group_of(3)
    assert charge != refund
    one = regrouped()
    assert (group_of(1), group_of(2), group_of(3)) == (charge, charge, refund)
    fail(valkey, shop, 4, reason="card declined", name="refund")
    fail(valkey, shop, 5, reason="card declined", name="charge")
    settle(one)
    assert (group_of(4), group_of(5)) == (refund, charge)
    root = FailureSignature.objects.get(split_by=SplitBy.NAME)
    assert sorted(root.children.values_list("value", flat=True)) == ["charge", "refund"]
    assert sums_agree()


def test_groups_that_people_merged_stay_one(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_reason):
        fail(valkey, shop, 1, reason="card declined")
        fail(valkey, shop, 2, reason="no stock")
        settle(indexer())
    merging.merge(ANA, group_of(1), [group_of(2)])
    kept = group_of(1)
    one = regrouped()
    assert group_of(1) == group_of(2) == kept
    assert set(kept.signatures.values_list("placed_by", flat=True)) == {"", "ana"} or kept.signatures.count() == 2
    fail(valkey, shop, 3, reason="no stock")
    settle(one)
    assert group_of(3) == kept


def test_regrouping_regresses_nothing(valkey: redis.Redis, shop: QueueRef) -> None:
    with older(by_reason):
        for number in range(4):
            fail(valkey, shop, number, reason=f"order {number} not found")
        settle(indexer())
    FailureGroup.objects.update(life=Life.RESOLVED, resolved_ms=0, life_at=timezone.now())
    regrouped()
    assert FailureGroup.objects.get(merged_into=None).life == Life.RESOLVED


def test_it_goes_on_where_it_was_killed(valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regroup, "ROWS", 7)
    monkeypatch.setattr(regroup, "SIGNATURES", 2)
    with older(by_nothing):
        for number in range(40):
            fail(valkey, shop, number, reason=f"{'card' if number % 3 else 'stock'} of {number} refused")
        settle(indexer())
    for killed_after in (1, 2, 3, 5, 8):
        work = regroup.Regroup(begun())
        for _step in range(killed_after):
            work.run(until=_one_step())
        assert sums_agree()
    regrouped()
    assert equal(valkey, shop)
    counts = {str(row.signature.parts["message"]): row.total for row in FailureStrand.objects.all()}
    assert counts == {"card of ‹n› refused": 26, "stock of ‹n› refused": 14}


def test_a_server_that_does_not_answer_is_asked_again(
    valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    with older(by_nothing):
        fail(valkey, shop, *range(5), reason="card declined")
        fail(valkey, shop, *range(5, 9), reason="no stock")
        settle(indexer())
    monkeypatch.setattr(regroup, "AGAIN_S", 0.0)
    term = begun()
    tries: list[int] = []
    ask = term.reader.failed_jobs

    def away(queue: QueueRef, jobs: list[bytes]) -> object:
        tries.append(len(jobs))
        if len(tries) < 3:
            raise Unreachable("down", source="main")
        return ask(queue, jobs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term.reader, "failed_jobs", away)
        work = regroup.Regroup(term)
        while not work.over:
            work.run()
    assert tries == [9, 9, 9]
    assert FailureSignature.objects.filter(version=VERSION).count() == 2
    assert sums_agree()


def test_its_progress_is_told(valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regroup, "ROWS", 10)
    monkeypatch.setattr(regroup, "TELL_S", 0.0)
    with older(by_reason):
        fail(valkey, shop, *range(50), reason="card declined")
        settle(indexer())
    seen: set[tuple[int, int]] = set()
    work = regroup.Regroup(begun())
    while not work.over:
        work.run(until=_one_step())
        seen.add(Indexing.objects.values_list("regrouped", "regrouping").get())
    assert {(10, 50), (30, 50), (50, 50)} <= seen
    assert (0, 0) in seen


def _one_step() -> float:
    """A moment that is over after one turn of the loop."""
    return time.monotonic() + 0.0005


def begun() -> Term:
    """A new term of the index, in which nothing is regrouped yet."""
    one = indexer()
    with not_regrouping():
        one.step()
    assert one._term is not None
    return one._term


def _thrown(reason: str, name: str = "charge") -> Thrown:
    return Thrown(reason, f"Error: {reason}\n    at charge (/app/src/charge.js:10:5)", name, len(reason))
