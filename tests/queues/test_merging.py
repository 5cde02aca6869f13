"""Groups are merged, their signatures taken out and split by hand, also while the index writes."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection

from queues.audit import Actor, Asked
from queues.errors import BadInput, NotFound, WrongState
from queues.failures import merging
from queues.failures.types import Life, SplitBy
from queues.models import AuditEntry, FailureGroup, FailureNote, FailureSample, FailureSignature, FailureStrand, Source
from tests.queues.storing import MAIL, NOW, SHOP, check_counts, failed, store

pytestmark = pytest.mark.django_db

ANA = Asked(Actor("ana", "operator"), reason="one cause")


def group_of(text: str) -> FailureGroup:
    """The group in which failures of this text are now."""
    return FailureGroup.objects.get(signatures__parts__message=text, signatures__parent=None)


def signature_of(text: str) -> FailureSignature:
    return FailureSignature.objects.get(parts__message=text, parent=None)


@pytest.fixture
def two() -> tuple[FailureGroup, FailureGroup]:
    """Two groups, of three and two failures."""
    made = store()
    made.add(SHOP, [failed(number, NOW - number) for number in range(3)])
    made.add(SHOP, [failed(10 + number, NOW - number, text="bang") for number in range(2)])
    return group_of("boom"), group_of("bang")


def test_of_two_groups_one_holds_all_and_the_other_leads_to_it(two: tuple[FailureGroup, FailureGroup]) -> None:
    boom, bang = two
    entry = merging.merge(ANA, boom, [boom, bang])
    boom.refresh_from_db()
    assert boom.total == 5
    assert merging.current(bang.slug) == boom
    assert FailureGroup.objects.filter(merged_into=None).count() == 1
    assert (entry.group, entry.who, entry.reason) == (boom, "ana", "one cause")
    assert entry.parameters == {"into": boom.slug, "groups": [bang.slug]}
    check_counts()


def test_what_fails_afterwards_is_counted_in_the_one_that_stays(two: tuple[FailureGroup, FailureGroup]) -> None:
    boom, bang = two
    made = store(2)
    made.add(SHOP, [failed(20, NOW, text="bang")])  # it remembers strands from before
    merging.merge(ANA, boom, [bang])
    written = made.add(SHOP, [failed(21, NOW, text="bang"), failed(22, NOW, text="bang", name="other")])
    assert written.groups == {boom.slug}
    boom.refresh_from_db()
    assert boom.total == 8
    check_counts()


def test_the_one_that_stays_keeps_what_it_has_and_takes_what_it_lacks(two: tuple[FailureGroup, FailureGroup]) -> None:
    boom, bang = two
    FailureGroup.objects.filter(pk=boom.pk).update(owner="ours", life=Life.RESOLVED)
    FailureGroup.objects.filter(pk=bang.pk).update(owner="theirs", runbook="https://x.example/")
    FailureNote.objects.create(group=bang, who="bo", text="known")
    merging.merge(ANA, boom, [bang])
    boom.refresh_from_db()
    assert (boom.owner, boom.runbook, boom.life) == ("ours", "https://x.example/", Life.OPEN)
    assert boom.notes.get().text == "known"


def test_chains_of_merged_groups_lead_to_the_last(two: tuple[FailureGroup, FailureGroup]) -> None:
    boom, bang = two
    store(2).add(SHOP, [failed(30, NOW, text="clang")])
    clang = group_of("clang")
    merging.merge(ANA, bang, [boom])
    merging.merge(ANA, clang, [bang])
    assert merging.current(boom.slug) == merging.current(bang.slug) == clang
    clang.refresh_from_db()
    assert clang.total == 6


def test_what_cannot_be_merged_is_refused_and_nothing_changes(two: tuple[FailureGroup, FailureGroup]) -> None:
    boom, bang = two
    for others in ([], [boom]):
        with pytest.raises(BadInput):
            merging.merge(ANA, boom, others)
    other = Source.objects.create(name="other")
    far = FailureGroup.objects.create(source=other, slug="abcdef", title="x", first_ms=1, last_ms=1)
    with pytest.raises(BadInput):
        merging.merge(ANA, boom, [far])
    merging.merge(ANA, boom, [bang])
    with pytest.raises(WrongState):
        merging.merge(ANA, bang, [boom])
    with pytest.raises(NotFound):
        merging.current("ffffff")
    assert AuditEntry.objects.count() == 1
    check_counts()


def test_a_signature_taken_out_has_its_own_group_and_address_again(two: tuple[FailureGroup, FailureGroup]) -> None:
    boom, bang = two
    merging.merge(ANA, boom, [bang])
    boom.refresh_from_db()
    made = merging.take_out(ANA, boom, signature_of("bang").pk)
    assert made == bang
    made.refresh_from_db()
    boom.refresh_from_db()
    assert (made.total, boom.total, made.merged_into) == (2, 3, None)
    store(2).add(SHOP, [failed(40, NOW, text="bang")])
    made.refresh_from_db()
    assert made.total == 3
    with pytest.raises(WrongState):
        merging.take_out(ANA, boom, signature_of("boom").pk)  # its last one
    with pytest.raises(WrongState):
        merging.take_out(ANA, boom, signature_of("bang").pk)  # not there any more
    check_counts()


@pytest.mark.parametrize("by", [SplitBy.NAME, SplitBy.QUEUE])
def test_a_split_moves_what_is_there_and_what_comes_later(by: SplitBy) -> None:
    made = store()
    made.add(SHOP, [failed(number, NOW - number) for number in range(3)])
    made.add(MAIL, [failed(9, NOW - 5, name="send")])
    group = group_of("boom")
    parent = signature_of("boom")
    FailureSample.objects.filter(queue__slug="mail").update(signature=parent)
    (new,) = merging.split(ANA, group, parent.pk, by)
    group.refresh_from_db()
    assert (group.total, new.signatures.get().value) == (3, "send" if by is SplitBy.NAME else "mail")
    made.add(MAIL, [failed(10, NOW, name="send")])
    made.add(SHOP, [failed(11, NOW)])
    for each, total in ((group, 4), (new, 2)):
        each.refresh_from_db()
        assert each.total == total
    made.add(SHOP, [failed(12, NOW, name="third")])  # a third name is a third group, a known queue is not
    assert FailureGroup.objects.count() == (3 if by is SplitBy.NAME else 2)
    with pytest.raises(WrongState):
        merging.split(ANA, group, parent.pk, by)
    check_counts()


def test_a_split_by_message_tells_apart_what_comes_later() -> None:
    made = store()
    made.add(SHOP, [failed(1, NOW)])
    group = group_of("boom")
    assert merging.split(ANA, group, signature_of("boom").pk, SplitBy.MESSAGE) == []
    made.add(SHOP, [failed(2, NOW)])
    assert FailureGroup.objects.count() == 2
    group.refresh_from_db()
    assert group.total == 1
    check_counts()


@pytest.mark.django_db(transaction=True)
def test_merging_splitting_and_indexing_at_once_lose_no_failure() -> None:
    made = store()
    texts = [f"boom {letter}" for letter in "abcd"]
    made.add(SHOP, [failed(number, NOW - number, text=text) for number, text in enumerate(texts)])
    stop = threading.Event()
    added: list[int] = []
    indexer = threading.Thread(target=_index, args=(made, texts, stop, added))
    indexer.start()
    try:
        _shuffle(texts)
    finally:
        stop.set()
        indexer.join(60)
    assert added
    assert sum(FailureStrand.objects.values_list("total", flat=True)) == len(texts) + sum(added)
    check_counts()
    for strand in FailureStrand.objects.select_related("signature"):
        assert strand.group_id == strand.signature.group_id
        assert strand.group.merged_into_id is None


def _index(made: object, texts: list[str], stop: threading.Event, added: list[int]) -> None:
    """Batches of failures of all texts, until it is over."""
    for batch in _batches(texts):
        if stop.is_set():
            break
        try:
            added.append(made.add(SHOP, batch).new)  # type: ignore[attr-defined]
        except OperationalError:
            continue  # busy for longer than it waits: the same again later changes nothing
    connection.close()


def _batches(texts: list[str]) -> Iterator[list[object]]:
    for at in range(1, 2_000):
        yield [failed(1_000 * at + number, NOW - at, text=text, name=f"n{at % 3}") for number, text in enumerate(texts)]


def _shuffle(texts: list[str]) -> None:
    for _round in range(8):
        for one, other in itertools.pairwise(texts):
            first, second = group_of(one), group_of(other)
            if first != second:
                merging.merge(ANA, first, [second])
        group = group_of(texts[0])
        for text in texts[1:]:
            merging.take_out(ANA, group, signature_of(text).pk)
    merging.split(ANA, group_of(texts[1]), signature_of(texts[1]).pk, SplitBy.NAME)
