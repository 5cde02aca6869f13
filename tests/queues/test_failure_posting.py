"""A letter and the failure that it tells of are one failure, whichever of them is seen first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queues.failures.letters import remap
from queues.failures.types import How
from queues.models import Failure, FailureGroup, FailureHour, FailureSample, FailureStrand, IndexedQueue, Letter, Queue
from tests.queues.storing import (
    DAY,
    DEAD,
    HOUR,
    MAIL,
    MINUTE,
    NOW,
    SHOP,
    check_counts,
    event,
    failed,
    letter,
    state,
    store,
)

pytestmark = pytest.mark.django_db


def test_a_letter_joins_the_failure_of_the_set_that_it_tells_of() -> None:
    index = store()
    index.add(SHOP, [failed(1, NOW - HOUR)])
    written = index.letters(DEAD, [letter(b"x", 1, NOW - HOUR + 900, failed_at=NOW - HOUR + 300)])
    assert written.new == 0
    assert Letter.objects.get().failure == Failure.objects.get()
    check_counts()


def test_a_letter_whose_job_is_gone_keeps_its_failure_present_until_it_is_gone_too() -> None:
    index = store()
    index.add(SHOP, [failed(1)])
    index.letters(DEAD, [letter(b"x", 1, failed_at=NOW)])
    index.gone_all(SHOP)
    row = Failure.objects.get()
    assert (row.in_set, row.present) == (False, True)
    told = index.letters_gone(DEAD, [b"x"])
    row.refresh_from_db()
    assert not row.present
    assert told.groups == {FailureGroup.objects.get().slug}
    check_counts()


def test_a_letter_of_a_failure_that_was_gone_makes_it_present_again() -> None:
    index = store()
    index.add(SHOP, [failed(1)])
    index.gone(SHOP, [b"1"])
    index.letters(DEAD, [letter(b"x", 1, failed_at=NOW)])
    assert Failure.objects.get().present
    check_counts()


def test_a_letter_alone_is_a_failure_of_the_queue_that_it_names() -> None:
    index = store()
    written = index.letters(DEAD, [letter(b"x", 1, NOW, failed_at=NOW - MINUTE)])
    row = Failure.objects.select_related("queue").get()
    assert (row.queue.slug, row.job, row.score_ms, row.how) == ("shop", "1", NOW - MINUTE, How.LETTER)
    assert (row.in_set, row.present, written.new) == (False, True, 1)
    assert Letter.objects.values_list("job", "at_ms").get() == ("x", NOW)
    check_counts()


def test_a_letter_that_names_no_queue_is_a_failure_of_its_own_queue() -> None:
    store().letters(DEAD, [letter(b"x", b"x", origin=None)])
    assert Failure.objects.select_related("queue").get().queue.slug == DEAD.slug
    check_counts()


def test_letters_seen_again_change_nothing() -> None:
    index = store()
    index.add(SHOP, [failed(1)])
    posted = [letter(b"x", 1, failed_at=NOW), letter(b"y", 2, failed_at=NOW), letter(b"z", 3)]
    assert index.letters(DEAD, posted).new == 2
    before = state()
    again = index.letters(DEAD, posted)
    assert (again.new, again.groups) == (0, frozenset())
    assert state() == before


def test_the_failure_of_the_set_takes_over_what_a_letter_told_first() -> None:
    index = store()
    index.letters(DEAD, [letter(b"x", 1, failed_at=NOW - 2 * HOUR - 400)])
    letter_group = FailureGroup.objects.get().slug
    written = index.add(SHOP, [failed(1, NOW - 2 * HOUR, worker="w1", attempts=3)])
    row = Failure.objects.get()
    assert (row.how, row.score_ms, row.in_set, row.present, row.worker) == (How.SET, NOW - 2 * HOUR, True, True, "w1")
    assert written.new == 0
    group = FailureGroup.objects.get()
    assert group.slug != letter_group  # the set tells the stack: what only the letter had is gone
    assert (group.total, FailureStrand.objects.get().total) == (1, 1)
    assert sum(FailureHour.objects.values_list("count", flat=True)) == 1
    assert Letter.objects.get().failure == row
    assert index.add(SHOP, [failed(1, NOW - 2 * HOUR)]).new == 0
    index.gone(SHOP, [b"1"])
    assert Failure.objects.get().present
    check_counts()


def test_what_somebody_said_about_a_group_of_letters_outlives_its_failures() -> None:
    index = store()
    index.letters(DEAD, [letter(b"x", 1, failed_at=NOW)])
    FailureGroup.objects.update(owner="ana")
    index.add(SHOP, [failed(1, NOW)])
    assert sorted(FailureGroup.objects.values_list("owner", "total")) == [("", 1), ("ana", 0)]


def test_a_letter_without_a_time_tells_of_the_last_failure_before_it() -> None:
    index = store()
    index.add(SHOP, [failed(1, NOW - DAY)])
    index.add(SHOP, [failed(1, NOW - HOUR)])
    index.add(SHOP, [failed(1, NOW)])
    index.letters(DEAD, [letter(b"x", 1, NOW - HOUR + 5 * MINUTE)])
    assert Letter.objects.get().failure.score_ms == NOW - HOUR


def test_a_letter_without_a_time_that_came_first_is_taken_over_by_any_failure_before_it() -> None:
    index = store()
    index.letters(DEAD, [letter(b"x", 1, NOW)])
    assert index.add(SHOP, [failed(1, NOW - 3 * HOUR)]).new == 0
    assert Failure.objects.get().score_ms == NOW - 3 * HOUR
    check_counts()


def test_another_failure_of_the_job_is_not_what_the_letter_tells_of() -> None:
    index = store()
    index.add(SHOP, [failed(1, NOW)])
    assert index.letters(DEAD, [letter(b"x", 1, NOW - HOUR, failed_at=NOW - HOUR)]).new == 1
    assert Failure.objects.count() == 2
    index.add(MAIL, [failed(1, NOW - HOUR)])  # of another queue: no letter told of that
    assert Failure.objects.count() == 3
    check_counts()


def test_two_letters_of_one_failure_hold_it_until_both_are_gone() -> None:
    index = store()
    posted = [letter(b"x", 1, failed_at=NOW), letter(b"y", 1, failed_at=NOW + 5_000)]
    assert index.letters(DEAD, posted).new == 1
    index.letters_gone(DEAD, [b"x"])
    assert Failure.objects.get().present
    index.letters_gone(DEAD, [b"y"])
    assert not Failure.objects.get().present
    check_counts()


def test_a_letter_whose_id_was_used_again_tells_of_the_new_failure() -> None:
    index = store()
    index.letters(DEAD, [letter(b"x", 1, NOW - DAY, failed_at=NOW - DAY)])
    index.letters(DEAD, [letter(b"x", 1, NOW, failed_at=NOW)])
    assert Letter.objects.get().failure.score_ms == NOW
    assert sorted(Failure.objects.values_list("score_ms", "present")) == [(NOW - DAY, False), (NOW, True)]
    check_counts()


def test_a_letter_of_a_job_that_was_removed_as_it_failed_joins_its_event() -> None:
    index = store()
    index.add(SHOP, [event(1, NOW)])
    assert index.letters(DEAD, [letter(b"x", 1, failed_at=NOW + 100)]).new == 0
    assert Failure.objects.get().present
    assert index.add(SHOP, [event(1, NOW)]).new == 0
    check_counts()


def test_letters_that_are_read_anew_tell_what_they_tell_now_and_nothing_twice() -> None:
    index = store()
    index.letters(DEAD, [letter(b"x", b"x", NOW - 3 * HOUR, origin=None), letter(b"y", 2, failed_at=NOW)])
    index.letters(DEAD, [letter(b"w", 2, failed_at=NOW)])
    again = [letter(b"x", 1, NOW - 3 * HOUR, failed_at=NOW - 4 * HOUR)]
    written = index.letters(DEAD, again, anew=[b"x"])
    assert sorted(Failure.objects.values_list("queue__slug", "job")) == [("shop", "1"), ("shop", "2")]
    assert written.new == 0
    group = FailureGroup.objects.get()
    assert (group.total, group.first_ms, group.last_ms) == (2, NOW - 4 * HOUR, NOW)
    check_counts()
    before = state()
    index.letters(DEAD, again, anew=[b"x"])
    assert state() == before


def test_first_and_last_follow_what_is_left() -> None:
    index = store()
    index.letters(DEAD, [letter(b"%d" % ago, ago, failed_at=NOW - ago * HOUR) for ago in (1, 2, 3, 30)])
    index.letters_untold(DEAD, [b"30", b"1"])
    group, strand = FailureGroup.objects.get(), FailureStrand.objects.get()
    ends = (NOW - 3 * HOUR, NOW - 2 * HOUR)
    assert (strand.first_ms, strand.last_ms) == (group.first_ms, group.last_ms) == ends
    check_counts()


def test_what_was_no_letter_takes_its_failure_and_group_along_unless_somebody_touched_it() -> None:
    index = store()
    posted = [letter(b"x", 1, failed_at=NOW), letter(b"y", 2, failed_at=NOW)]
    index.letters(DEAD, posted)
    slug = FailureGroup.objects.get().slug
    told = index.letters_untold(DEAD, [b"x", b"y"])
    assert told.groups == {slug}
    assert not any(model.objects.exists() for model in (Failure, FailureStrand, FailureGroup, FailureHour, Letter))
    index.letters(DEAD, posted)
    FailureGroup.objects.update(owner="ana")
    index.letters_untold(DEAD, [b"x", b"y"])
    assert FailureGroup.objects.get().total == 0
    check_counts()


def test_what_the_set_or_an_event_tells_too_outlives_a_letter_that_was_none() -> None:
    index = store()
    index.add(SHOP, [failed(1, NOW), event(2, NOW)])
    index.letters(DEAD, [letter(b"x", 1, failed_at=NOW), letter(b"y", 2, failed_at=NOW)])
    index.letters_untold(DEAD, [b"x", b"y"])
    assert sorted(Failure.objects.values_list("job", "in_set", "present")) == [("1", True, True), ("2", False, False)]
    check_counts()


def test_a_letter_read_anew_leaves_the_failure_that_another_tells_of() -> None:
    index = store()
    index.letters(DEAD, [letter(b"x", 1, failed_at=NOW), letter(b"y", 1, failed_at=NOW)])
    index.letters(DEAD, [letter(b"x", 5, failed_at=NOW)], anew=[b"x"])
    assert sorted(Failure.objects.values_list("job", "present")) == [("1", True), ("5", True)]
    check_counts()


def test_a_wish_to_read_letters_anew_is_kept_until_it_is_done_and_a_later_one_is_not_lost() -> None:
    index = store()
    index.progress(DEAD, letters="token")
    index.letters(DEAD, [letter(b"x", 1), letter(b"y", 2)])
    remap(Queue.objects.get(slug=DEAD.slug))
    last = index.wished_anew(DEAD)
    assert last == Letter.objects.get(job="y").pk == IndexedQueue.objects.get().reread
    remap(Queue.objects.get(slug=DEAD.slug))
    index.read_anew(DEAD, last)
    assert IndexedQueue.objects.get().reread == IndexedQueue.REREAD_ALL
    index.read_anew(DEAD, index.wished_anew(DEAD))
    assert IndexedQueue.objects.get().reread == 0


def test_an_odd_letter_is_kept_bounded() -> None:
    index = store()
    told = letter(b"l" * 5_000, b"j" * 5_000, failed_at=NOW)
    index.letters(DEAD, [type(told)(told.job, told.at_ms, told.found, told.origin, unmapped=["part\x00" * 30] * 30)])
    row = Letter.objects.get()
    assert len(row.unmapped) <= 200
    assert "\x00" not in row.unmapped
    assert len(row.job) <= 1_000
    index.letters_gone(DEAD, [b"l" * 5_000])
    assert not Letter.objects.exists()


def test_a_failure_that_only_a_letter_tells_of_keeps_the_payload_out_of_it_as_a_sample() -> None:
    index = store()
    told = letter(b"x", 1, failed_at=NOW)
    index.letters(DEAD, [replace(told, payload=b'{"orderId": 7, "password": "QXZQXZ"}', payload_size=36)])
    sample = FailureSample.objects.get()
    assert (sample.queue.slug, sample.job, sample.sizes["payload"]) == ("shop", "1", 36)
    assert '"orderId": 7' in sample.payload
    assert "QXZQXZ" not in sample.payload


def test_a_letter_of_a_failure_that_is_known_keeps_no_sample() -> None:
    index = store()
    index.add(SHOP, [failed(1)])
    index.letters(DEAD, [replace(letter(b"x", 1, failed_at=NOW), payload=b"{}", payload_size=2)])
    assert not FailureSample.objects.exists()
