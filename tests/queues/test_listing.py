"""The list of all queues: whole, in order, and in pages that fit together."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues.errors import BadInput, LimitExceeded
from queues.listing import Row, Sorting, SortKey, group_key, groups, matching, page, rows, sort, totals
from queues.readings import QueueReading, SourceReading
from queues.types import Counts, Oldest, QueueRef, State
from tests.queues.fakes import counts, ref

NOW = 1_800_000_000_000
AT = datetime(2027, 1, 15, tzinfo=UTC)

few = st.integers(0, 3)  # few values, so that many rows are equal
some_counts = st.builds(
    lambda waiting, failed, paused, age: counts(
        waiting=waiting, failed=failed, paused=paused, oldest=Oldest(NOW - age * 600_000, False) if waiting else None
    ),
    few,
    few,
    st.booleans(),
    few,
)
some_odd = st.just(Counts({State.FAILED: 1}, paused=False))
some_names = st.one_of(st.sampled_from([b"a", b"A", b"b-failed", b"b", b"\xff"]), st.binary(min_size=1, max_size=3))
some_queues = st.builds(
    QueueReading,
    st.builds(QueueRef, st.sampled_from(["main", "other"]), st.sampled_from([b"bull", b"x"]), some_names),
    st.none() | some_counts | some_odd,
    st.none() | few,
)
some_rows = st.lists(some_queues, max_size=40, unique_by=lambda queue: queue.ref).map(
    lambda queues: rows([SourceReading("main", tuple(queues), True, AT)], NOW)
)
some_sorting = st.builds(Sorting, st.sampled_from(SortKey), st.booleans())


def walk(ordered: list[Row], sorting: Sorting, size: int) -> list[Row]:
    seen: list[Row] = []
    after = ""
    while True:
        part = page(ordered, sorting, after=after, size=size)
        seen += part.rows
        assert part.left == len(ordered) - len(seen)
        after = part.after
        if not after:
            return seen


@given(some_rows, some_sorting, st.integers(1, 7))
def test_paging_through_a_sorted_list_gives_every_row_once_and_in_order(
    listed: list[Row], sorting: Sorting, size: int
) -> None:
    ordered = sort(listed, sorting)
    assert walk(ordered, sorting, size) == ordered
    assert {row.ref for row in ordered} == {row.ref for row in listed}


@given(some_rows, some_sorting, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_in_which_rows_came(
    listed: list[Row], sorting: Sorting, random: st.DataObject
) -> None:
    shuffled = list(listed)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sort(shuffled, sorting) == sort(listed, sorting)


@given(some_rows.filter(lambda listed: len(listed) > 4), some_sorting, st.data())
def test_a_queue_that_leaves_or_joins_between_two_pages_moves_no_other_row(
    listed: list[Row], sorting: Sorting, data: st.DataObject
) -> None:
    ordered = sort(listed, sorting)
    first = page(ordered, sorting, size=3)
    changed = data.draw(st.sampled_from(ordered))
    fewer = [row for row in ordered if row is not changed]
    assert list(page(fewer, sorting, after=first.after, size=500).rows) == [r for r in ordered[3:] if r is not changed]
    before = page(fewer, sorting, size=2)
    joined = list(page(ordered, sorting, after=before.after, size=500).rows)
    assert [row for row in joined if row is not changed] == fewer[2:]


@given(some_rows, st.sampled_from([SortKey.WAITING, SortKey.WORKERS, SortKey.OLDEST]), st.booleans())
def test_what_is_not_known_comes_last_in_both_directions(listed: list[Row], key: SortKey, descending: bool) -> None:
    def known(row: Row) -> bool:
        found = row.queue.counts
        if key is SortKey.WORKERS:
            return row.queue.workers is not None
        if found is None:
            return False
        return found[State.WAITING] is not None if key is SortKey.WAITING else found.oldest is not None

    told = [known(row) for row in sort(listed, Sorting(key, descending))]
    assert told == sorted(told, reverse=True)


def row(name: str, found: Counts | None = None, workers: int | None = None) -> QueueReading:
    return QueueReading(ref(name), found, workers)


def listed(*queues: QueueReading, live: bool = True) -> list[Row]:
    return rows([SourceReading("main", queues, live, AT)], NOW)


def test_sorting_by_age_descending_puts_the_oldest_first() -> None:
    two = listed(
        row("young", counts(waiting=1, oldest=Oldest(NOW - 5, False))),
        row("old", counts(waiting=1, oldest=Oldest(NOW - 500, False))),
        row("idle", counts()),
    )
    ordered = sort(two, Sorting.parse("-oldest"))
    assert [each.ref.label for each in ordered] == ["old", "young", "idle"]


@pytest.mark.parametrize("key", list(SortKey))
def test_a_sorting_is_written_and_read_back(key: SortKey) -> None:
    for descending in (False, True):
        assert Sorting.parse(str(Sorting(key, descending))) == Sorting(key, descending)


@pytest.mark.parametrize("text", ["", "-", "nonsense", "--failed", "<script>"])
def test_an_unknown_sorting_is_by_urgency(text: str) -> None:
    assert Sorting.parse(text) == Sorting(SortKey.URGENCY)


@pytest.mark.parametrize(
    "cursor",
    ["x", "~", "é", "\ud800", "W10", "bnVsbA", "WyJmYWlsZWQiLGZhbHNlLFsxXSwibWFpbiIsImEiXQ"],
)
def test_a_cursor_that_is_not_of_this_list_is_refused(cursor: str) -> None:
    with pytest.raises(BadInput):
        page(listed(row("a")), Sorting(), after=cursor)


@given(st.text(max_size=60))
def test_no_cursor_at_all_raises_anything_else(cursor: str) -> None:
    try:
        page(listed(row("a")), Sorting(), after=cursor)
    except BadInput:
        pass


def test_a_page_of_more_than_500_rows_is_refused() -> None:
    for size in (0, 501):
        with pytest.raises(LimitExceeded):
            page([], Sorting(), size=size)


def test_queues_are_grouped_by_the_start_of_their_names_and_never_alone() -> None:
    names = ["media.resize", "media.thumbs", "media", "sms", "pay-in", "orders:eu", "orders-us"]
    named = groups([ref(name) for name in names if ":" not in name] + [QueueRef("main", b"orders", b"eu")])
    told = {queue.label: group for queue, group in named.items()}
    assert told == {
        "media.resize": "media", "media.thumbs": "media", "media": "media", "sms": "", "pay-in": "",
        "orders:eu": "orders", "orders-us": "orders",
    }  # fmt: skip
    assert [group_key(name) for name in ("a.b-c", "plain", "-x", "é:b")] == ["a", "", "", "é"]


def test_a_filter_finds_parts_of_names_in_any_case() -> None:
    three = listed(row("Email-Out"), row("sms"), row("<b>x</b>"))
    assert [each.ref.label for each in matching(three, " EMAIL ")] == ["Email-Out"]
    assert [each.ref.label for each in matching(three, "<B>")] == ["<b>x</b>"]
    assert len(matching(three, "")) == 3


def test_totals_say_what_could_not_be_counted_and_leave_out_what_is_gone() -> None:
    queues = (
        row("a", counts(waiting=2, prioritized=1, paused=True), 3),
        row("b"),
        QueueReading(ref("c"), counts(waiting=50), 1, gone_since=AT),
    )
    summed = totals(listed(*queues))
    assert (summed.queues, summed.paused, summed[State.WAITING].number) == (2, 1, 2)
    assert (summed[State.WAITING].known, summed[State.WAITING].total, summed[State.WAITING].complete) == (1, 2, False)
    assert (summed.workers.number, summed.workers.known) == (3, 1)


def test_a_state_that_cannot_be_read_is_left_out_of_its_sum_alone() -> None:
    odd = Counts({State.WAITING: 4}, paused=False)
    summed = totals(listed(row("a", counts(waiting=1, failed=2)), row("b", odd)))
    assert (summed[State.WAITING].number, summed[State.WAITING].complete) == (5, True)
    assert (summed[State.FAILED].number, summed[State.FAILED].known) == (2, 1)


def test_a_last_reading_is_judged_at_the_time_of_that_reading() -> None:
    created = int(AT.timestamp() * 1000) - 60_000
    queue = row("a", counts(waiting=1, oldest=Oldest(created, False)), 1)
    later = int(AT.timestamp() * 1000) + 3_600_000
    reading = SourceReading("main", (queue,), False, AT)
    assert rows([reading], later)[0].verdict.facts == ()
