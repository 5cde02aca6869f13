"""The windows hold as many failures as there are rows in their time, whatever happened and however time went on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from queues.failures import windows
from queues.failures.store import Store
from queues.models import Failure, FailureHour, FailureStrand, IndexedQueue, Indexing
from tests.queues.storing import (
    DAY,
    DEAD,
    HOUR,
    MAIL,
    MINUTE,
    NOW,
    SHOP,
    Clock,
    check_counts,
    event,
    failed,
    letter,
    state,
    store,
)


def test_short_windows_begin_with_a_minute_and_long_ones_with_an_hour() -> None:
    upto = windows.until_now(NOW)
    begins = {name: windows.since(name, upto) for name in windows.WINDOWS}
    assert [upto - begins[name] for name in ("h1", "h3", "h24")] == [HOUR, 3 * HOUR, DAY]
    for name, days in (("d3", 3), ("d7", 7)):
        assert begins[name] % HOUR == 0
        assert 0 <= upto - days * DAY - begins[name] < HOUR


def test_a_part_of_an_hour_is_counted_by_its_minutes() -> None:
    minutes = [1] * 60
    assert windows.within(10, 60, minutes, 10 * HOUR + 15 * MINUTE, 11 * HOUR) == 45
    assert windows.within(10, 60, minutes, 0, 10 * HOUR + 15 * MINUTE) == 15
    assert windows.within(10, 60, minutes, 11 * HOUR, 12 * HOUR) == 0
    assert windows.within(10, 60, None, 0, 20 * HOUR) == 60
    assert windows.within(10, 60, None, 10 * HOUR + 30 * MINUTE, 11 * HOUR) == 30


def test_what_is_usual_is_the_mean_of_the_days_that_are_known() -> None:
    upto = 1_000 * DAY + 10 * HOUR
    counts = {(upto - day * DAY) // HOUR - 1: day * 10 for day in range(1, 8)}
    assert windows.usual(counts, upto, 0) == 40.0
    assert windows.usual(counts, upto, upto - 2 * DAY - HOUR) == 15.0
    assert windows.usual(counts, upto, upto - DAY - HOUR) == 10.0
    assert windows.usual(counts, upto, upto - DAY) is None
    assert windows.usual({}, upto, 0) == 0.0


def test_the_hour_that_ends_now_takes_of_two_hours_in_proportion() -> None:
    upto = 1_000 * DAY + 10 * HOUR + 15 * MINUTE
    hour = (upto - DAY) // HOUR
    assert windows.usual({hour - 1: 80, hour: 40}, upto, upto - DAY - HOUR) == 80 * 0.75 + 40 * 0.25


@pytest.mark.django_db
def test_time_takes_failures_out_of_their_windows() -> None:
    clock = Clock()
    index = store(1, clock)
    index.add(SHOP, [failed(1, NOW), failed(2, NOW - 30 * MINUTE)])
    seen = []
    for step in (MINUTE, 29 * MINUTE, 31 * MINUTE, 3 * HOUR, 25 * HOUR, 3 * DAY, 5 * DAY):
        clock.ms += step
        index.count_windows()
        strand = FailureStrand.objects.get()
        seen.append((strand.h1, strand.h3, strand.h24, strand.d3, strand.d7))
        check_counts()
    assert seen[0] == (2, 2, 2, 2, 2)
    assert seen[2] == (0, 2, 2, 2, 2)
    assert seen[-1] == (0, 0, 0, 0, 0)


@pytest.mark.django_db
def test_of_a_steady_stream_as_many_leave_each_window_as_are_too_old() -> None:
    clock = Clock()
    index = store(1, clock)
    index.add(SHOP, [failed(back, NOW - back * 13 * MINUTE) for back in range(8 * 24 * 4)])
    for minutes in (1, 1, 12, 61, 19, 11 * 60 + 7):
        clock.ms += minutes * MINUTE
        index.count_windows()
        check_counts()
    assert FailureStrand.objects.get().h24 > 0


@pytest.mark.django_db
def test_within_a_minute_nothing_is_counted_anew() -> None:
    clock = Clock()
    index = store(1, clock)
    index.add(SHOP, [failed(1)])
    clock.ms += MINUTE
    assert index.count_windows().groups == frozenset()  # nothing left any window
    upto = Indexing.objects.get().windows_ms
    clock.ms += 20_000
    index.count_windows()
    assert Indexing.objects.get().windows_ms == upto == windows.until_now(clock.ms)


@pytest.mark.django_db
def test_a_new_term_puts_windows_right_whatever_they_were() -> None:
    clock = Clock()
    index = store(1, clock)
    index.add(SHOP, [failed(job, NOW - job * 50 * MINUTE) for job in range(300)])
    right = state()
    FailureStrand.objects.update(h1=77, h24=0, d7=5)
    store(2, clock)
    assert state() == right
    clock.ms += 40 * DAY
    store(3, clock)
    assert FailureStrand.objects.get().d7 == 0


@pytest.mark.django_db
def test_what_is_usual_is_told_of_strands_that_fail_now() -> None:
    clock = Clock()
    index = store(1, clock)
    index.progress(SHOP, since_ms=NOW - 30 * DAY)
    failures = [failed(day * 100 + each, NOW - day * DAY - each) for day in range(9) for each in range(day + 1)]
    index.add(SHOP, failures)
    index.add(MAIL, [failed(1, NOW - MINUTE)])
    index.progress(MAIL, since_ms=NOW - HOUR)
    clock.ms += MINUTE
    index.count_windows()
    told = dict(FailureStrand.objects.values_list("queue__slug", "usual"))
    assert told[MAIL.slug] is None
    assert told[SHOP.slug] == 1.5  # two to eight failed in this hour, of which 18 minutes are asked about
    assert IndexedQueue.objects.count() == 2


JOBS = st.integers(1, 4)
AGES = st.one_of(st.integers(0, 90), st.integers(0, 60 * 24 * 9))  # minutes
ACTS = st.one_of(
    st.tuples(st.just("add"), JOBS, AGES, st.sampled_from("ab")),
    st.tuples(st.just("event"), JOBS, AGES, st.sampled_from("ab")),
    st.tuples(st.just("letter"), JOBS, AGES, st.sampled_from("xyz")),
    st.tuples(st.just("untimed"), JOBS, AGES, st.sampled_from("xyz")),
    st.tuples(st.just("gone"), JOBS),
    st.tuples(st.just("below"), AGES),
    st.tuples(st.just("letters_gone"), st.sampled_from("xyz")),
    st.tuples(st.just("time"), st.sampled_from([1, 7, 61, 60 * 25, 60 * 24 * 4])),
)


@pytest.mark.django_db
@settings(max_examples=60)
@given(st.lists(ACTS, min_size=1, max_size=25))
def test_every_count_is_that_of_its_rows_and_a_repeated_act_changes_nothing(acts: Sequence[tuple[object, ...]]) -> None:
    with transaction.atomic():
        _play(acts)
        transaction.set_rollback(True)


def _play(acts: Sequence[tuple[object, ...]]) -> None:
    clock = Clock()
    index = store(1, clock)
    for number, act in enumerate(acts):
        if act[0] == "time":
            clock.ms += int(str(act[1])) * MINUTE
            index.count_windows()
        else:
            _act(index, clock, act)
            once = state()
            _act(index, clock, act)
            assert state() == once, act
        if number % 5 == 4:
            check_counts()
    check_counts()
    names = Failure.objects.values_list("queue", "job", "score_ms")
    assert len(set(names)) == len(names)
    assert not FailureHour.objects.filter(count__lt=0).exists()


def _act(index: Store, clock: Clock, act: tuple[object, ...]) -> None:
    match act:
        case ("add", int(job), int(age), str(text)):
            index.add(SHOP, [failed(job, clock.ms - age * MINUTE, text=text)])
        case ("event", int(job), int(age), str(text)):
            index.add(SHOP, [event(job, clock.ms - age * MINUTE, text=text)])
        case ("letter", int(job), int(age), str(name)):
            at = clock.ms - age * MINUTE
            index.letters(DEAD, [letter(name.encode(), job, at + 500, failed_at=at)])
        case ("untimed", int(job), int(age), str(name)):
            index.letters(DEAD, [letter(name.encode(), job, clock.ms - age * MINUTE)])
        case ("gone", int(job)):
            index.gone(SHOP, [b"%d" % job])
        case ("below", int(age)):
            index.gone_before(SHOP, clock.ms - age * MINUTE)
        case ("letters_gone", str(name)):
            index.letters_gone(DEAD, [name.encode()])
