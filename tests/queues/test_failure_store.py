"""Every failure is written and counted once, in its group, however often and in whatever order it is told."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues import masking
from queues.audit.types import Actor, Asked
from queues.errors import NotFound
from queues.failures.merging import merge, split
from queues.failures.store import Lost, ids, kinds
from queues.failures.store.places import Place
from queues.failures.store.samples import Taken
from queues.failures.store.strands import MOST_NAMES, NEW, OTHERS
from queues.failures.types import How, SplitBy
from queues.models import (
    Failure,
    FailureGroup,
    FailureSample,
    FailureSignature,
    FailureStrand,
    IndexedQueue,
    Indexing,
)
from queues.types import QueueRef
from tests.hostile import ANSI, BIDI, MARKUP
from tests.queues.storing import (
    DAY,
    HOUR,
    MAIL,
    MINUTE,
    NOW,
    SHOP,
    Clock,
    check_counts,
    event,
    failed,
    signature,
    state,
    store,
)

pytestmark = pytest.mark.django_db

ANA = Asked(Actor("ana", "operator"))


def test_a_failure_is_written_with_its_group_signature_and_strand() -> None:
    written = store().add(SHOP, [failed(7, NOW - 5_000, worker="w1", attempts=3)])
    row = Failure.objects.select_related("strand__signature__group").get()
    assert (row.job, row.score_ms, row.worker, row.attempts) == ("7", NOW - 5_000, "w1", 3)
    assert (row.in_set, row.present, row.how) == (True, True, How.SET)
    group = row.strand.signature.group
    assert row.strand.group == group
    assert (group.title, group.total, group.life) == ("Error: boom", 1, "open")
    assert group.slug == row.strand.signature.digest[:6]
    assert row.strand.name == "pay"
    assert (written.new, set(written.groups), set(written.fresh)) == (1, {group.slug}, {group.slug})
    check_counts()


def test_the_same_failures_again_change_nothing() -> None:
    index = store()
    batch = [failed(job, NOW - job * 1_000, text=f"boom {job % 3}") for job in range(20)]
    index.add(SHOP, batch)
    before = state()
    again = index.add(SHOP, batch)
    assert (again.new, again.groups, again.fresh) == (0, frozenset(), frozenset())
    assert store(2).add(SHOP, batch[:5]).new == 0
    assert state() == before
    check_counts()


def test_one_batch_may_tell_a_failure_twice_and_several_failures_of_a_job() -> None:
    index = store()
    written = index.add(SHOP, [failed(1, NOW - 10), failed(1, NOW - 10), failed(1, NOW - HOUR), failed(2)])
    assert written.new == 3
    in_set = Failure.objects.filter(in_set=True).values_list("job", "score_ms")
    assert sorted(in_set) == [("1", NOW - 10), ("2", NOW)]
    check_counts()


def test_a_job_that_failed_again_is_in_the_set_with_its_last_failure_only() -> None:
    index = store()
    index.add(SHOP, [failed(1, NOW - HOUR)])
    index.add(SHOP, [failed(1, NOW, text="other")])
    assert list(Failure.objects.order_by("score_ms").values_list("in_set", flat=True)) == [False, True]
    assert index.known(SHOP) == {b"1": NOW}
    check_counts()


def test_failures_of_one_cause_share_a_group_over_queues_and_job_names() -> None:
    index = store()
    index.add(SHOP, [failed(1), failed(2, name="refund")])
    index.add(MAIL, [failed(1)])
    group = FailureGroup.objects.get()
    assert group.total == 3
    assert FailureSignature.objects.count() == 1
    assert FailureStrand.objects.count() == 3


def test_groups_whose_digests_begin_alike_have_longer_names() -> None:
    index = store()
    for text, digest in (("a", "abcdef" + "0" * 34), ("b", "abcdef" + "1" * 34), ("c", "abcdef" + "10" * 17)):
        index.add(SHOP, [failed(text.encode(), text=text, signature=signature(text, digest=digest))])
    assert sorted(FailureGroup.objects.values_list("slug", flat=True)) == ["abcdef", "abcdef1", "abcdef10"]


def test_jobs_that_left_are_gone_and_stay_counted() -> None:
    index = store()
    index.add(SHOP, [failed(job, NOW - job) for job in range(5)])
    left = index.gone(SHOP, [b"1", b"2", b"none"])
    assert len(left.groups) == 1
    strand = FailureStrand.objects.get()
    assert (strand.total, strand.present) == (5, 3)
    assert index.count(SHOP) == 3
    assert index.gone(SHOP, [b"1", b"2"]).groups == frozenset()
    check_counts()


def test_a_failure_that_was_taken_for_gone_and_is_in_the_set_is_back_and_not_new() -> None:
    index = store()
    index.add(SHOP, [failed(1)])
    index.gone(SHOP, [b"1"])
    assert index.add(SHOP, [failed(1)]).new == 0
    assert index.known(SHOP) == {b"1": NOW}
    check_counts()


def test_trimmed_and_emptied_sets_are_told_in_one_word() -> None:
    index = store()
    index.add(SHOP, [failed(job, NOW - job) for job in range(10)])
    index.add(MAIL, [failed(1)])
    index.gone_before(SHOP, NOW - 4)
    assert sorted(index.known(SHOP).values()) == [NOW - 4, NOW - 3, NOW - 2, NOW - 1, NOW]
    assert index.known(SHOP, NOW - 3, NOW - 1) == {b"1": NOW - 1, b"2": NOW - 2, b"3": NOW - 3}
    index.gone_all(SHOP)
    assert (index.count(SHOP), index.count(MAIL)) == (0, 1)
    check_counts()


def test_an_event_alone_is_a_failure_that_is_nowhere_any_more() -> None:
    index = store()
    assert index.add(SHOP, [event(1)]).new == 1
    row = Failure.objects.get()
    assert (row.how, row.in_set, row.present) == (How.EVENT, False, False)
    assert index.add(SHOP, [event(1)]).new == 0
    assert index.add(SHOP, [event(1, NOW + 2_000)]).new == 1  # a job of the same id was added and failed again
    check_counts()


def test_an_event_about_a_failure_that_the_set_or_a_letter_told_is_not_a_second_one() -> None:
    index = store()
    index.add(SHOP, [failed(1, NOW)])
    index.gone(SHOP, [b"1"])
    assert index.add(SHOP, [event(1, NOW + 30_000)]).new == 0
    assert index.add(SHOP, [event(1, NOW + 90_000)]).new == 1


def test_an_event_joins_the_one_signature_of_its_message_in_its_queue() -> None:
    index = store()
    index.add(SHOP, [failed(1)])
    index.add(SHOP, [event(2)])
    assert FailureGroup.objects.get().total == 2
    index.add(MAIL, [event(3)])
    assert FailureGroup.objects.count() == 2  # nothing of that message is known there


def test_an_event_whose_message_is_that_of_two_signatures_has_its_own() -> None:
    index = store()
    index.add(SHOP, [failed(1, place="charge"), failed(2, place="refund")])
    index.add(SHOP, [event(3)])
    assert FailureGroup.objects.count() == 3


def test_after_a_merge_failures_are_counted_where_their_signature_is_now() -> None:
    index = store()
    index.add(SHOP, [failed(1, text="a"), failed(2, text="b")])
    one, other = FailureGroup.objects.order_by("slug")
    merge(ANA, one, [other])
    index.add(SHOP, [failed(3, text="a"), failed(4, text="b")])
    one.refresh_from_db()
    other.refresh_from_db()
    assert (one.total, other.total, other.merged_into) == (4, 0, one)
    check_counts()


@pytest.mark.parametrize("by", [SplitBy.NAME, SplitBy.QUEUE])
def test_after_a_split_failures_go_to_the_part_that_they_are_of(by: SplitBy) -> None:
    index = store()
    index.add(SHOP, [failed(1, name="a"), failed(2, name="a"), failed(3, name="b")])
    index.add(MAIL, [failed(1, name="a")])
    split(ANA, FailureGroup.objects.get(), FailureSignature.objects.get().pk, by)
    index.add(SHOP, [failed(4, name="a"), failed(5, name="b")])
    index.add(MAIL, [failed(6, name="a"), failed(7, name="c")])
    totals = sorted(FailureGroup.objects.values_list("total", flat=True))
    assert totals == ([1, 2, 5] if by is SplitBy.NAME else [3, 5])
    assert not FailureSignature.objects.get(split_by=by).strands.exists()
    check_counts()


def test_after_a_split_by_message_each_message_has_its_group() -> None:
    index = store()
    alike = signature("user # unknown")
    index.add(SHOP, [failed(1, text="user 1 unknown", signature=alike)])
    split(ANA, FailureGroup.objects.get(), FailureSignature.objects.get().pk, SplitBy.MESSAGE)
    batch = [failed(job, text=f"user {job % 2} unknown", signature=alike) for job in range(2, 8)]
    index.add(SHOP, batch)
    index.add(SHOP, [failed(9, text="user 1 unknown", signature=alike)])
    made = FailureGroup.objects.exclude(signatures__parent=None)
    assert sorted(made.values_list("title", "total")) == [("user 0 unknown", 3), ("user 1 unknown", 4)]
    assert index.add(SHOP, batch).new == 0
    check_counts()


def test_an_older_term_is_refused_and_leaves_nothing_half_written() -> None:
    older = store(4)
    older.add(SHOP, [failed(1)])
    newer = store(5)
    before = state()
    for act in (
        lambda: older.add(SHOP, [failed(2, text="new")]),
        lambda: older.gone_all(SHOP),
        lambda: older.stand(why="no"),
        lambda: older.progress(SHOP, scanned=3),
        older.count_windows,
    ):
        with pytest.raises(Lost):
            act()
    assert not older.begin()
    assert state() == before
    assert newer.add(SHOP, [failed(2)]).new == 1


def test_what_breaks_off_leaves_nothing_and_is_written_when_it_is_told_again() -> None:
    index = store()

    def half() -> None:
        with index.writing():
            index.add(SHOP, [failed(1)])
            index.progress(SHOP, scanned=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert not Failure.objects.exists()
    assert not FailureGroup.objects.exists()
    assert not IndexedQueue.objects.exists()
    assert index.add(SHOP, [failed(1)]).new == 1
    check_counts()


def test_several_writings_are_one_transaction() -> None:
    index = store()
    beats = Indexing.objects.get().beats
    with index.writing():
        index.add(SHOP, [failed(1)])
        index.add(SHOP, [failed(2)])
        index.progress(SHOP, scanned=2, scanning=False)
        index.stand(behind_ms=7)
    row = Indexing.objects.get()
    assert (row.beats, row.behind_ms) == (beats + 1, 7)
    assert IndexedQueue.objects.get().scanned == 2
    check_counts()


def test_a_queue_without_a_row_is_told() -> None:
    with pytest.raises(NotFound):
        store().add(QueueRef("main", b"bull", b"unknown"), [failed(1)])


def test_a_hostile_job_costs_its_own_row_only() -> None:
    index = store()
    odd = [MARKUP, ANSI, BIDI, "\x00", "\ud800", "x" * 100_000, "", "name=" + "é" * 2_000]
    batch = [
        failed(f"job {at} {text}".encode("utf-8", "surrogatepass"), text=text, name=text, worker=text, place=text)
        for at, text in enumerate(odd)
    ]
    assert index.add(SHOP, batch).new == len(odd)
    assert index.add(SHOP, batch).new == 0
    for strand in FailureStrand.objects.select_related("group", "signature"):
        assert len(strand.name) <= 500
        assert len(strand.group.title) <= 200
        assert "\x00" not in strand.name + strand.group.title + str(strand.signature.parts)
    assert all(len(row.worker) <= 200 for row in Failure.objects.all())
    check_counts()


def test_ids_that_are_too_long_are_told_from_each_other_and_found_again() -> None:
    index = store()
    long, longer = b"j" * 5_000, b"j" * 5_001
    index.add(SHOP, [failed(long), failed(longer), failed(b"short")])
    assert all(len(job) <= ids.LONGEST for job in Failure.objects.values_list("job", flat=True))
    assert set(index.known(SHOP)) == {ids.known_as(long), ids.known_as(longer), b"short"}
    assert not ids.linked(ids.kept(long))
    index.gone(SHOP, [ids.known_as(long)])
    index.gone(SHOP, [longer])
    assert set(index.known(SHOP)) == {b"short"}


def test_job_names_without_end_do_not_make_strands_without_end() -> None:
    index = store()
    index.add(SHOP, [failed(job, name=f"n{job}") for job in range(MOST_NAMES + 50)])
    assert FailureStrand.objects.count() == MOST_NAMES + 1
    assert FailureStrand.objects.get(name=OTHERS).total == 50
    check_counts()


def test_kinds_of_failures_without_end_do_not_make_groups_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MOST_KINDS", 20)
    index = store()
    index.add(MAIL, [failed(b"m", text="known elsewhere")])
    index.add(SHOP, [failed(job, text=f"kind {job:x} of many {chr(97 + job)}") for job in range(50)])
    written = index.add(SHOP, [failed(b"late", text="a late kind"), failed(b"m", text="known elsewhere")])
    assert FailureGroup.objects.count() == 1 + 20 + 1
    rest = FailureSignature.objects.get(digest=kinds.others(Place(0, SHOP)).digest)
    assert rest.group.total == 31
    assert "more kinds" in rest.group.title
    assert rest.strands.get().kind == "unknown"
    assert FailureGroup.objects.get(title__contains="known elsewhere").total == 2
    assert rest.group.slug in written.groups
    assert not written.fresh
    split(ANA, rest.group, rest.pk, SplitBy.MESSAGE)
    index.add(SHOP, [failed(b"later", text="a later kind")])
    assert rest.strands.get().total == 32
    assert index.count(SHOP) == 53
    check_counts()


def test_what_is_kept_is_masked_by_the_rules_of_its_queue() -> None:
    masking.preload([masking.Added("*taxid*", "main", SHOP.slug)])
    index = store()
    text = "bad request taxid=123456789 token=abcdefgh"
    found = failed(1, text=text, name="pay")
    index.add(SHOP, [found])
    index.samples(SHOP, [Taken(found, b'{"taxId": "123456789", "total": 5}')])
    sample = FailureSample.objects.get()
    group = FailureGroup.objects.get()
    parts = FailureSignature.objects.get().parts
    for kept in (group.title, str(parts), sample.reason, sample.stack, sample.payload):
        assert "123456789" not in kept
        assert "abcdefgh" not in kept
    assert '"total": 5' in sample.payload


def test_samples_are_few_bounded_and_spread() -> None:
    index = store()
    wanted = []
    for back in range(10 * 60, 0, -10):  # ten hours, six failures an hour
        found = failed(back, NOW - back * MINUTE, text="t" * 5_000)
        for _job, score in index.add(SHOP, [found]).wanted:
            wanted.append(score)
            index.samples(SHOP, [Taken(found, b"[" + b"1," * 50_000 + b"1]")])
    assert len(wanted) == 10
    times = sorted(FailureSample.objects.values_list("at_ms", flat=True))
    assert times == [wanted[0], *wanted[-4:]]
    sample = FailureSample.objects.order_by("at_ms").last()
    assert sample
    assert (len(sample.reason), len(sample.payload)) == (2_000, 8_000)
    assert sample.sizes["payload"] == 100_003
    assert sample.sizes["reason"] == 5_000


def test_a_sample_is_wanted_until_it_is_kept_and_one_of_a_signature_at_a_time() -> None:
    index = store()
    assert len(index.add(SHOP, [failed(1), failed(2), failed(3, text="other")]).wanted) == 2
    assert len(index.add(SHOP, [failed(4)]).wanted) == 1
    index.samples(SHOP, [Taken(failed(4), None)])
    index.samples(SHOP, [Taken(failed(4), None), Taken(failed(4), None)])
    assert index.add(SHOP, [failed(5)]).wanted == []
    assert FailureSample.objects.get().payload == ""


def test_a_batch_costs_a_few_statements_however_many_failures_it_holds() -> None:
    index = store()
    index.add(SHOP, [failed(0)])

    def cost(jobs: range) -> int:
        with CaptureQueriesContext(connection) as found:
            index.add(SHOP, [failed(job, NOW - job) for job in jobs])
        return len(found)

    assert cost(range(1_000, 2_000)) <= cost(range(1, 10)) + 2


def test_old_failures_are_no_part_of_windows_that_they_are_too_old_for() -> None:
    index = store()
    ages = [0, 30 * MINUTE, 2 * HOUR, 10 * HOUR, 2 * DAY, 5 * DAY, 30 * DAY]
    index.add(SHOP, [failed(at, NOW - age) for at, age in enumerate(ages)])
    strand = FailureStrand.objects.get()
    assert [strand.h1, strand.h3, strand.h24, strand.d3, strand.d7, strand.total] == [2, 3, 4, 5, 6, 7]
    check_counts()


def test_how_many_groups_are_open_is_known() -> None:
    index = store(1, Clock())
    index.add(SHOP, [failed(job, text=str(job)) for job in range(3)])
    FailureGroup.objects.filter(title="Error: 1").update(life="ignored")
    assert index.opened() == 2


def test_many_new_signatures_are_written_in_several_short_transactions() -> None:
    index = store()
    batch = [failed(job, text=f"boom {job}") for job in range(NEW * 2 + 50)]
    beats = Indexing.objects.get().beats
    written = index.add(SHOP, batch)
    assert (written.new, len(written.groups), len(written.fresh), len(written.wanted)) == (len(batch),) * 4
    assert Indexing.objects.get().beats == beats + 3
    assert index.add(SHOP, batch).new == 0
    check_counts()
