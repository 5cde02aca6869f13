"""The rows of a plan: pages without an offset, filters, exports."""

from __future__ import annotations

from itertools import chain

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues.errors import BadInput
from queues.models import FailureGroup, Replay, ReplayJob
from queues.replay import ledger
from queues.replay.ledger import Filters, Row, each, page
from queues.replay.naming import job_text
from queues.replay.types import Acts, Place
from queues.sendings import Conflict, Fate
from queues.types import JobRef, QueueRef
from tests.queues.replaying import SHOP, a_plan, a_queue

pytestmark = pytest.mark.django_db

OTHER = QueueRef("main", b"bull", b"other")


def a_long_plan() -> Replay:
    """120 jobs: 100 sent, of which 60 completed, 20 failed and 20 are under way; 10 ready, 10 left out."""
    plan = a_plan(jobs=[b"j%03d" % number for number in range(120)])
    rows = list(plan.jobs.order_by("pk"))
    for number, row in enumerate(rows):
        row.rank = number * 10
        if number < 100:
            row.place, row.sent_ms = Place.SENT, 5_000 + number
            row.fate = Fate.COMPLETED if number < 60 else Fate.FAILED if number < 80 else Fate.NONE
            row.ended_ms = 9_000 + number // 2 if number < 80 else None
        elif number >= 110:
            row.place, row.conflict = Place.LEFT_OUT, Conflict.TWIN
    ReplayJob.objects.bulk_update(rows, ["rank", "place", "sent_ms", "fate", "ended_ms", "conflict"])
    return plan


def ids(rows: list[Row]) -> list[str]:
    return [row.job.slug for row in rows]


def flat(pages: list[list[str]]) -> list[str]:
    return list(chain.from_iterable(pages))


def through(plan: Replay, filters: Filters | None = None) -> list[list[str]]:
    """All pages, forth; and that going back shows the same ones."""
    pages = [page(plan, filters)]
    while pages[-1].later:
        pages.append(page(plan, filters, later=pages[-1].later))
    back = pages[-1]
    for before in pages[-2::-1]:
        back = page(plan, filters, earlier=back.earlier)
        assert back.rows == before.rows
    assert (back.earlier, pages[0].earlier) == ("", "")
    return [ids(list(each.rows)) for each in pages]


def test_pages_go_through_all_rows_in_the_order_of_sending_and_back() -> None:
    plan = a_long_plan()
    pages = through(plan)
    assert [len(each) for each in pages] == [50, 50, 20]
    assert flat(pages) == [f"j{number:03}" for number in range(120)]
    assert ids(list(each(plan))) == flat(pages)


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        (Filters(place=Place.LEFT_OUT), range(110, 120)),
        (Filters(place=Place.SENT), range(100)),
        (Filters(fate=Fate.COMPLETED), range(60)),
        (Filters(fate=Fate.NONE), range(80, 100)),
        (Filters(fate=Fate.WAITING), range(80, 100)),
        (Filters(fate=Fate.RUNNING), range(0)),
        (Filters(fate=Fate.FAILED, place=Place.READY), range(0)),
        (Filters(conflict=Conflict.TWIN), range(110, 120)),
        (Filters(queue="shop"), range(120)),
        (Filters(queue="elsewhere"), range(0)),
        (Filters(text="j01"), range(10, 20)),
        (Filters(text="nobody"), range(0)),
        (Filters(canary=True), range(0)),
    ],
)
def test_filters_leave_what_they_name(filters: Filters, numbers: range) -> None:
    plan = a_long_plan()
    found = sorted(flat(through(plan, filters)))
    assert found == [f"j{number:03}" for number in numbers]
    assert sorted(ids(list(each(plan, filters)))) == found


def test_those_that_ended_come_the_newest_first_and_those_under_way_the_longest_first() -> None:
    plan = a_long_plan()
    assert ids(list(page(plan, Filters(fate=Fate.FAILED)).rows))[:3] == ["j079", "j078", "j077"]
    assert ids(list(page(plan, Filters(fate=Fate.NONE)).rows))[:3] == ["j080", "j081", "j082"]


def test_a_row_tells_where_a_job_came_from_what_was_sent_for_it_and_what_became_of_that() -> None:
    odd = b"\xff<b> :~"
    plan = a_plan(jobs=[b"a", odd], target=OTHER, acts=Acts.COPY)
    before, into = a_group("before"), a_group("into")
    again = a_group("again", merged_into=into)
    letters = a_queue(QueueRef("main", b"bull", b"shop-dead"))
    plan.jobs.filter(job="a").update(
        place=Place.SENT, made="17", sent_ms=5, fate=Fate.FAILED, ended_ms=9, tries=2, canary=True,
        group=before, again=again, letter_queue=letters, letter="l1", original="kept",
        conflict=Conflict.ID_KEPT, note="a",
    )  # fmt: skip
    first, second = page(plan).rows
    assert (first.job, first.made, first.target) == (JobRef(SHOP, b"a"), JobRef(OTHER, b"17"), OTHER)
    assert first.letter == JobRef(QueueRef("main", b"bull", b"shop-dead"), b"l1")
    assert (first.fate, first.tries, first.sent_ms, first.ended_ms, first.canary) == (Fate.FAILED, 2, 5, 9, True)
    assert (first.group, first.again) == (ledger.Group("before", "before"), ledger.Group("into", "into"))
    assert (first.original, first.conflict, first.note, first.acts) == ("kept", Conflict.ID_KEPT, "a", Acts.COPY)
    assert (second.job.id, second.made, second.letter, second.group) == (odd, None, None, None)
    assert [row.job.id for row in page(plan, Filters(group="into")).rows] == [b"a"]
    assert [row.job.id for row in page(plan, Filters(group="before")).rows] == [b"a"]
    assert [row.job.id for row in page(plan, Filters(text="17")).rows] == [b"a"]
    assert [row.job.id for row in page(plan, Filters(text=job_text(odd))).rows] == [odd]
    assert page(plan, Filters(text="<b>")).rows == []


def test_a_search_looks_at_so_many_rows_at_a_time_and_goes_on_behind_them(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = a_long_plan()
    monkeypatch.setattr(ledger, "LOOKED", 40)
    looks, later = [], ""
    for _time in range(10):
        found = page(plan, Filters(text="j09"), later=later)
        looks.append(len(found.rows))
        later = found.later
        if not later:
            break
    assert (sum(looks), looks[0]) == (10, 0)
    assert len(looks) < 10


def test_an_export_tells_every_row_as_pages_do_with_few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = a_long_plan()
    into, letters = a_group("into"), a_queue(QueueRef("main", b"bull", b"shop-dead"))
    plan.jobs.filter(rank__lt=300).update(group=a_group("before", merged_into=into), again=into, key=7, acts=Acts.COPY)
    plan.jobs.filter(rank__gt=200).update(letter_queue=letters, letter=job_text(b"\xff"), made=job_text(b"a b"))
    plan.jobs.filter(rank__gt=700).update(target=a_queue(OTHER))
    for filters in (None, Filters(fate=Fate.COMPLETED), Filters(fate=Fate.NONE), Filters(queue="shop", text="j0")):
        expected, later = list(page(plan, filters).rows), page(plan, filters).later
        while later:
            found = page(plan, filters, later=later)
            expected, later = [*expected, *found.rows], found.later
        with CaptureQueriesContext(connection) as queries:
            assert list(each(plan, filters)) == expected
        assert len(queries) <= 2 * len(Place) + 3  # of any number of rows up to a chunk
        with monkeypatch.context() as patched:
            patched.setattr(ledger, "CHUNK", 7)
            assert list(each(plan, filters)) == expected


def test_what_is_sent_while_it_is_exported_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "CHUNK", 7)
    plan = a_long_plan()
    plan.jobs.filter(rank__gte=300).update(place=Place.READY)
    found = []
    for number, row in enumerate(each(plan)):
        found.append(row.job.slug)
        plan.jobs.filter(place=Place.READY, rank__lte=(number + 3) * 10).update(place=Place.SENT)
    assert found == [f"j{number:03}" for number in range(120)]


@pytest.mark.parametrize("cursor", ["x", "1", "1.x", "1.2.3", "9" * 30 + ".1", "-.1"])
def test_an_odd_cursor_is_refused(cursor: str) -> None:
    plan = a_long_plan()
    with pytest.raises(BadInput):
        page(plan, later=cursor)
    with pytest.raises(BadInput):
        page(plan, earlier=cursor)


def test_a_page_costs_few_queries_and_an_index_has_its_order() -> None:
    plan = a_long_plan()
    for filters in (Filters(), Filters(place=Place.SENT), Filters(fate=Fate.FAILED), Filters(fate=Fate.NONE)):
        with CaptureQueriesContext(connection) as queries:
            page(plan, filters, later="5.5")
        assert len(queries) <= len(Place) + 2
        for query in queries.captured_queries:
            if connection.vendor == "sqlite":
                with connection.cursor() as cursor:
                    cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
                    steps = [str(row[3]) for row in cursor.fetchall()]
                assert not any("TEMP B-TREE" in step for step in steps), steps


def a_group(slug: str, *, merged_into: FailureGroup | None = None) -> FailureGroup:
    return FailureGroup.objects.create(
        source=a_queue().source, slug=slug, title=slug, first_ms=0, last_ms=0, merged_into=merged_into
    )
