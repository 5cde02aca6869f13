"""Finding groups of failures: sums over strands, filters, the order, growth, how far counts can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.asserts import assertNumQueries

from queues.failures import find
from queues.failures.find import Filters, GrowthWord, Sorting, SortKey, Windows
from queues.failures.find.rows import growth
from queues.failures.types import Kind, Life
from queues.models import FailureGroup, FailureStrand, IndexedQueue
from queues.quantities import DAY, HOUR, now_ms
from tests.failing import indexing, make_group, many

pytestmark = pytest.mark.django_db

MAIN = Filters(("main",))
ALL = Filters(("main",), lives=tuple(Life))


@pytest.fixture(autouse=True)
def index() -> None:
    indexing(queues=["payments"])


def titles(filters: Filters = MAIN, sort: str = "") -> list[str]:
    return [row.title for row in find.groups(filters, Sorting.parse(sort)).rows]


def filtered(**fields: Any) -> Filters:
    return Filters(("main",), **fields)


def test_a_row_sums_its_strands_and_names_the_queue_with_the_most() -> None:
    group = make_group(queues=["mail", "payments"], names=["a", "b"], counts=[7, 8, 9, 10, 11], failures=6, gone=5)
    FailureStrand.objects.filter(queue__slug="payments", name="b").update(total=1_000)
    (row,) = find.groups(MAIN).rows
    assert (row.slug, row.counts, row.present) == (group.slug, Windows(7, 8, 9, 10, 11), 6)
    assert ([ref.slug for ref in row.queues], row.queue_count) == (["payments", "mail"], 2)
    assert (row.name, row.name_count) == ("b", 2)


def test_of_many_queues_the_first_three_are_named_and_all_counted() -> None:
    make_group(queues=[f"q{number}" for number in range(9)])
    (row,) = find.groups(MAIN).rows
    assert (len(row.queues), row.queue_count) == (3, 9)


def test_with_a_queue_or_a_name_only_its_strands_are_counted() -> None:
    make_group(queues=["mail", "payments"], names=["a", "b"], counts=[8] * 5, hours={0: 8})
    for filters, h1 in ((filtered(queue="mail"), 4), (filtered(name="b"), 4), (filtered(queue="mail", name="b"), 2)):
        (row,) = find.groups(filters).rows
        assert (row.counts.h1, row.hours[-1]) == (h1, h1)
    assert not find.groups(filtered(queue="nosuch")).rows
    assert not find.groups(filtered(queue="mail", name="c")).rows


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (MAIN, {"one", "two"}),
        (filtered(kind=Kind.PERMANENT), {"two"}),
        (filtered(lives=(Life.RESOLVED,)), {"three"}),
        (filtered(lives=tuple(Life)), {"one", "two", "three"}),
        (filtered(text="TW"), {"two"}),
        (filtered(text="%"), set()),
        (filtered(since_ms=now_ms() - HOUR), {"one"}),
        (filtered(until_ms=now_ms() - HOUR), {"two"}),
        (Filters(("other",)), set()),
    ],
)
def test_filters_leave_what_they_name(filters: Filters, found: set[str]) -> None:
    make_group(title="one")
    make_group(title="two", kind=Kind.PERMANENT, last_ms=now_ms() - DAY)
    make_group(title="three", life=Life.RESOLVED)
    assert set(titles(filters)) == found


def test_a_group_is_found_by_its_short_name_and_by_the_code_of_its_signature() -> None:
    group = make_group(title="Request failed")
    group.signatures.update(parts={"code": "ECONNRESET", "message": "request to * failed"})
    for text in (group.slug, "econnreset", "request to"):
        assert titles(filtered(text=text)) == ["Request failed"]


def test_a_group_that_was_merged_stands_no_longer() -> None:
    kept, gone = make_group(title="kept"), make_group(title="gone")
    FailureGroup.objects.filter(pk=gone.pk).update(merged_into=kept)
    FailureStrand.objects.filter(group=gone).update(group=kept)
    (row,) = find.groups(MAIN).rows
    assert (row.title, row.counts.h1) == ("kept", 2)


def test_the_choices_are_counted_with_all_other_filters_as_they_are() -> None:
    make_group(title="a")
    make_group(title="b", kind=Kind.PERMANENT)
    make_group(title="c", kind=Kind.PERMANENT, life=Life.IGNORED)
    found = find.groups(MAIN)
    assert (found.lives, found.kinds) == ({"open": 2, "ignored": 1}, {"transient": 1, "permanent": 1})
    found = find.groups(filtered(kind=Kind.PERMANENT))
    assert (found.lives, found.kinds) == ({"open": 1, "ignored": 1}, {"transient": 1, "permanent": 1})


def test_the_class_is_that_of_most_failures_unless_it_was_set_by_hand() -> None:
    group = make_group(queues=["a", "b", "c"], counts=[3] * 5)
    FailureStrand.objects.filter(queue__slug="a").update(kind="permanent", total=5)
    (row,) = find.groups(MAIN).rows
    assert (row.kind, row.mixed, row.by_hand) == (Kind.PERMANENT, True, False)
    FailureGroup.objects.filter(pk=group.pk).update(kind_set="unknown")
    (row,) = find.groups(MAIN).rows
    assert (row.kind, row.mixed, row.by_hand) == (Kind.UNKNOWN, False, True)


def test_what_came_back_and_what_is_new_or_grows_stands_above_constant_noise() -> None:
    old = now_ms() - 20 * DAY
    make_group(title="noise", counts=[500] * 5, usual=480, first_ms=old)
    make_group(title="fast", counts=[50] * 5, usual=2, first_ms=old)
    make_group(title="new", counts=[40] * 5, first_ms=now_ms() - HOUR)
    make_group(title="back", counts=[1] * 5, life=Life.REGRESSED, first_ms=old)
    make_group(title="quiet", counts=[0, 0, 1, 1, 1], first_ms=old)
    make_group(title="ignored", counts=[900] * 5, life=Life.IGNORED)
    make_group(title="resolved", counts=[999] * 5, life=Life.RESOLVED)
    assert titles(ALL) == ["fast", "new", "back", "noise", "quiet", "ignored", "resolved"]


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("-h1", "b"), ("h1", "a"), ("-d7", "a"), ("-growth", "a"), ("growth", "b"), ("-last", "b"), ("last", "a"),
        ("-first", "b"), ("first", "a"),
    ],
)  # fmt: skip
def test_every_column_sorts_both_ways(sort: str, first: str) -> None:
    now = now_ms()
    make_group(title="a", counts=[1, 1, 1, 1, 9], usual=0.5, first_ms=now - 9 * DAY, last_ms=now - HOUR)
    make_group(title="b", counts=[2, 2, 2, 2, 2], usual=2, first_ms=now - 8 * DAY, last_ms=now)
    assert titles(MAIN, sort)[0] == first


@pytest.mark.parametrize("text", ["", "nonsense", "-worst", "-", "--h1", "h1 "])
def test_what_is_no_order_means_the_worst_first(text: str) -> None:
    assert Sorting.parse(text) == Sorting(SortKey.WORST, True)


@pytest.mark.parametrize("key", [key for key in SortKey if key is not SortKey.WORST])
def test_an_order_is_read_as_it_is_written(key: SortKey) -> None:
    for sorting in (Sorting(key), Sorting(key, False)):
        assert Sorting.parse(str(sorting)) == sorting


def test_pages_hold_each_group_once_and_one_beyond_the_last_is_the_last() -> None:
    many(120, 0)
    seen = [row.slug for page in (1, 2, 3) for row in find.groups(ALL, page=page).rows]
    assert len(seen) == len(set(seen)) == 120
    assert find.groups(ALL, page=99).page == 3
    assert find.groups(ALL, page=-1).page == 1
    assert [row.slug for row in find.each(ALL)] == seen


def test_totals_are_of_all_that_match_and_not_of_the_page() -> None:
    for number in range(60):
        make_group(title=f"t{number}", counts=[1, 2, 3, 4, 5])
    found = find.groups(MAIN)
    assert (found.matching, found.pages, found.totals) == (60, 2, Windows(60, 120, 180, 240, 300))
    assert (found.hit, found.top_h1, found.transient_h1) == (60, 1, 60)


def test_the_last_hour_is_told_by_class_also_where_it_was_set_by_hand() -> None:
    make_group(title="a", counts=[3] * 5)
    make_group(title="b", counts=[4] * 5, kind=Kind.PERMANENT)
    make_group(title="c", counts=[5] * 5, kind=Kind.PERMANENT, kind_set="transient")
    found = find.groups(MAIN)
    assert (found.totals.h1, found.transient_h1, found.permanent_h1) == (12, 8, 4)


NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    ("life", "age", "h1", "usual", "said"),
    [
        (Life.OPEN, 9 * DAY, 1_912, 137.0, (None, pytest.approx(13.96, abs=0.01), True)),
        (Life.OPEN, 9 * DAY, 131, 119.0, (None, pytest.approx(1.1, abs=0.01), False)),
        (Life.OPEN, 9 * DAY, 1, 0.14, (None, pytest.approx(7.1, abs=0.1), False)),  # one is no trend
        (Life.OPEN, 9 * DAY, 4, 0.14, (None, pytest.approx(28.6, abs=0.1), True)),
        (Life.OPEN, 9 * DAY, 5, 0.0, (GrowthWord.RARE, None, True)),
        (Life.OPEN, 9 * DAY, 0, 5.0, (None, None, False)),
        (Life.OPEN, 9 * DAY, 5, None, (None, None, False)),
        (Life.OPEN, HOUR, 5, None, (GrowthWord.NEW, None, False)),
        (Life.REGRESSED, 9 * DAY, 5, 1.0, (GrowthWord.BACK, None, True)),
        (Life.REGRESSED, HOUR, 0, None, (GrowthWord.BACK, None, False)),
    ],
)
def test_growth(
    life: Life, age: int, h1: int, usual: float | None, said: tuple[GrowthWord | None, object, bool]
) -> None:
    found = growth(life, NOW - age, h1, usual, NOW)
    assert (found.word, found.times, found.fast) == said


def test_a_stray_new_failure_stands_below_steady_noise_and_a_handful_above_it() -> None:
    make_group(title="noise", counts=[100] * 5, usual=100.0)
    make_group(title="stray", counts=[4] * 5, first_ms=now_ms() - HOUR)
    make_group(title="handful", counts=[5] * 5, first_ms=now_ms() - HOUR)
    make_group(title="not known", counts=[50] * 5)
    make_group(title="back", counts=[1] * 5, life=Life.REGRESSED)
    assert titles(MAIN) == ["not known", "handful", "back", "noise", "stray"]


def test_the_usual_of_a_group_is_the_sum_of_what_is_known_of_its_strands() -> None:
    make_group(queues=["a", "b"], counts=[8] * 5, usual=4)
    FailureStrand.objects.filter(queue__slug="b").update(usual=None)
    assert find.groups(MAIN).rows[0].usual == 2
    FailureStrand.objects.update(usual=None)
    assert find.groups(MAIN).rows[0].usual is None


def test_cells_lead_to_where_their_windows_begin() -> None:
    upto = now_ms() // 60_000 * 60_000 - 120_000
    indexing(windows_ms=upto)
    make_group()
    since = find.groups(MAIN).rows[0].since
    assert (since["h1"], since["h3"], since["h24"]) == (upto - HOUR, upto - 3 * HOUR, upto - DAY)
    # Minutes are not kept for so long: the longer windows begin with a whole hour.
    assert (since["d3"], since["d7"]) == ((upto - 3 * DAY) // HOUR * HOUR, (upto - 7 * DAY) // HOUR * HOUR)


def hours(**fields: Any) -> Sequence[int | None]:
    make_group(**fields)
    return find.groups(MAIN).rows[0].hours


def test_the_last_48_hours_are_told_the_running_one_last() -> None:
    told = hours(queues=["a", "b"], hours={0: 5, 1: 3, 47: 2, 48: 99})
    assert len(told) == 48
    assert (told[-1], told[-2], told[-3], told[0]) == (5, 3, 0, 2)


def test_an_hour_of_which_nobody_knows_is_none_and_not_zero() -> None:
    indexing(since_days=0.5)
    told = hours(hours={0: 1, 20: 4})
    assert told[-1 - 30] is None  # before anything was indexed
    assert told[-1 - 20] == 4  # found in the set all the same
    assert told[-1 - 3] == 0


def test_an_hour_that_nobody_saw_is_none() -> None:
    indexing(queues=["payments"])
    now = now_ms()
    IndexedQueue.objects.update(gaps=[[now - 5 * HOUR, now - 4 * HOUR]])
    told = hours(hours={0: 1})
    assert told[-1 - 5] is None
    assert (told[-1 - 2], told[-1 - 8]) == (0, 0)


def test_windows_that_reach_further_than_what_is_known_count_at_least_so_many() -> None:
    assert list(find.known(["main"]).at_least) == []
    indexing(since_days=2)
    assert list(find.known(["main"]).at_least) == ["d3", "d7"]
    IndexedQueue.objects.update(gaps=[[now_ms() - 5 * HOUR, now_ms() - 4 * HOUR]])
    assert list(find.known(["main"]).at_least) == ["h24", "d3", "d7"]
    IndexedQueue.objects.update(scanning=True)
    assert len(find.known(["main"]).at_least) == 5
    assert len(find.known(["main", "other"]).at_least) == 5


def test_windows_that_are_not_counted_any_more_are_late() -> None:
    assert not find.known(["main"]).late
    indexing(windows_ms=now_ms() - 5 * 60_000)
    assert find.known(["main"]).late


def test_how_the_index_stands_is_told() -> None:
    indexing(why="Connection refused", beat_at=timezone.now())
    indexing("other", beat_at=timezone.now() - timedelta(minutes=5))
    found = find.known(["main", "other", "third"])
    assert (list(found.blind), list(found.silent), list(found.never)) == (["main"], ["other"], ["third"])


def test_open_groups_are_counted_and_unknown_where_nothing_was_indexed() -> None:
    make_group(title="a")
    make_group(title="b", life=Life.REGRESSED)
    make_group(title="c", life=Life.IGNORED)
    merged = make_group(title="d")
    FailureGroup.objects.filter(pk=merged.pk).update(merged_into=FailureGroup.objects.first())
    make_group("other", title="e")
    with assertNumQueries(1):
        assert find.open_groups(["main"]) == 2
    assert find.open_groups(["other"]) is None
    assert find.open_groups(["main", "other"]) == 2
    assert find.open_groups([]) is None
    FailureGroup.objects.all().delete()
    assert find.open_groups(["main"]) == 0


def test_queues_and_names_are_offered_once_each() -> None:
    make_group(title="a", queues=["mail", "payments"], names=["x", "y"])
    make_group(title="b", queues=["mail"], names=["y", ""])
    make_group("other", title="c", queues=["elsewhere"], names=["z"])
    assert [ref.slug for ref in find.queues_of(["main"])] == ["mail", "payments"]
    assert list(find.names_of(["main"])) == ["x", "y"]


def test_a_page_costs_as_many_queries_with_fifty_rows_as_with_one() -> None:
    make_group()
    with assertNumQueries(10):
        find.groups(MAIN)
    many(80, 100)
    with assertNumQueries(10):
        find.groups(MAIN)


def test_a_row_tells_the_rule_that_decided_most_failures_of_its_class() -> None:
    group = make_group(queues=["a", "b", "c"], counts=(3, 3, 3, 3, 3), rule="timeout")
    FailureStrand.objects.filter(group=group, queue__slug="a").update(total=10, rule="name lookup")
    FailureStrand.objects.filter(group=group, queue__slug="b").update(total=9, kind="permanent", rule="certificate")
    (row,) = find.groups(MAIN).rows
    assert (row.kind, row.rule) == (Kind.TRANSIENT, "name lookup")
    FailureGroup.objects.update(kind_set="unknown")
    (row,) = find.groups(MAIN).rows
    assert (row.kind, row.rule) == (Kind.UNKNOWN, "")
