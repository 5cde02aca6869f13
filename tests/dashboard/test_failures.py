"""The list of groups of failures: what it says in words, its filters and links, its empties, exports, deploys."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from queues.failures.types import Kind, Life
from queues.models import FailureGroup, IndexedQueue
from queues.quantities import DAY, HOUR, now_ms
from queues.registry import SourceConfig
from tests.dashboard.pages import Node, Page, link
from tests.dashboard.people import as_role
from tests.failing import indexing, make_group, many

pytestmark = pytest.mark.django_db

HOSTILE = "\"><script>window.__x=1</script>\u202e\x1b[31m{{ 7|add:'1' }}"


@pytest.fixture
def viewer(source: SourceConfig) -> Client:
    indexing(queues=["payments"])
    return as_role("viewer")


@pytest.fixture
def operator(source: SourceConfig) -> Client:
    indexing(queues=["payments"])
    return as_role("operator")


def read(client: Client, query: str = "") -> Page:
    answer = client.get(f"/failures/{query}")
    assert answer.status_code == 200
    return Page(answer)


def lede(client: Client, query: str = "") -> str:
    (node,) = read(client, query).all("class", "lede")
    return " ".join(node.text.split())


def cells(page: Page, slug: str) -> dict[str, Node]:
    """The cells of a row by their labels."""
    (row,) = page.all("data-group", slug)
    return {node.attrs["data-l"]: node for node in row.children if "data-l" in node.attrs}


# What a row says


def test_a_row_says_what_failed_where_how_often_since_when_and_of_which_class(viewer: Client) -> None:
    old = now_ms() - 20 * DAY
    group = make_group(
        title="ETIMEDOUT connecting to gateway", queues=["payments", "mail", "sms"], usual=137, first_ms=old,
        counts=[1_912, 2_012, 2_118, 2_140, 2_377],
    )  # fmt: skip
    page = read(viewer)
    told = {label: " ".join(node.text.split()) for label, node in cells(page, group.slug).items()}
    assert {label: told[label] for label in ("1 h", "3 h", "24 h", "3 d", "7 d")} == {
        "1 h": "1,912", "3 h": "2,012", "24 h": "2,118", "3 d": "2,140", "7 d": "2,377",
    }  # fmt: skip
    assert (told["Class"], told["State"], told["Growth"]) == ("transient", "open", "14×")
    (row,) = page.all("data-group", group.slug)
    assert "ETIMEDOUT connecting to gateway" in row.text
    assert f"{group.slug} · payments and 2 more" in " ".join(row.text.split())
    assert "Failures an hour over 48 hours" in row.text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"life": Life.REGRESSED, "usual": 1}, "back"),
        ({"first_ms": now_ms() - HOUR}, "new"),
        ({"usual": 0}, "rare"),
        ({"usual": 2}, "0.5×"),
        ({"usual": None}, "–"),
        ({"usual": 5, "counts": [0, 1, 2, 3, 4]}, "–"),
    ],
)
def test_growth_is_a_word_a_factor_or_a_dash(viewer: Client, fields: dict[str, Any], said: str) -> None:
    group = make_group(**{"first_ms": now_ms() - 9 * DAY, **fields})
    assert cells(read(viewer), group.slug)["Growth"].text.strip() == said


def test_each_count_leads_to_the_jobs_that_it_counts(viewer: Client) -> None:
    upto = now_ms() // 60_000 * 60_000
    indexing(windows_ms=upto)
    group = make_group(queues=["payments", "mail"], names=["charge"])
    for query, within in (("", {}), ("?queue=mail&name=charge", {"queue": ["mail"], "name": ["charge"]})):
        links = {
            label: urlsplit(next(child.attrs["href"] for child in node.children if child.tag == "a"))
            for label, node in cells(read(viewer, query), group.slug).items()
            if label in ("1 h", "7 d")
        }
        assert {each.path for each in links.values()} == {f"/failures/{group.slug}/jobs/"}
        assert parse_qs(links["1 h"].query) == {**within, "since": [str(upto - HOUR)]}
        assert parse_qs(links["7 d"].query) == {**within, "since": [str((upto - 7 * DAY) // HOUR * HOUR)]}


def test_what_changes_can_be_replaced_by_its_id(viewer: Client) -> None:
    group = make_group()
    parts = {node.attrs["id"] for node in read(viewer).all("data-part")}
    assert {
        f"fg-{group.slug}-{part}" for part in ("h1", "h3", "h24", "d3", "d7", "growth", "last", "life", "kind")
    } <= parts


def test_the_class_says_what_to_do_and_where_it_is_not_of_all(viewer: Client) -> None:
    mixed = make_group(queues=["a", "b", "c"])
    mixed.strands.filter(queue__slug="a").update(kind="permanent")
    by_hand = make_group(title="other", kind_set="permanent")
    page = read(viewer)
    assert cells(page, mixed.slug)["Class"].text.strip() == "mostly transient"
    shown = next(child for child in cells(page, by_hand.slug)["Class"].children if child.tag == "span")
    assert shown.attrs["title"].startswith("Set by hand. A retry fails the same way.")


def test_hostile_titles_queues_and_names_are_text(operator: Client) -> None:
    group = make_group(title=HOSTILE, queues=["<img src=x>\u202e"], names=[HOSTILE], owner=HOSTILE)
    answer = operator.get("/failures/")
    assert "<script>window" not in answer.content.decode()
    assert "<img src=x>" not in answer.content.decode()
    (row,) = Page(answer).all("data-group", group.slug)
    assert "\\u202e\\x1b[31m{{ 7|add:'1' }}" in row.text
    assert "\u202e" not in row.text


def test_a_title_of_nothing_has_a_word(viewer: Client) -> None:
    group = make_group(title="")
    (row,) = read(viewer).all("data-group", group.slug)
    assert "no message" in row.text


def test_totals_are_of_all_pages(viewer: Client) -> None:
    for number in range(55):
        make_group(title=f"t{number}", counts=[10, 20, 30, 40, 50])
    page = read(viewer)
    assert {node.attrs["data-total"]: node.text.strip() for node in page.all("data-total")} == {
        "h1": "550", "h3": "1,100", "h24": "1,650", "d3": "2,200", "d7": "2,750",
    }  # fmt: skip
    assert "All 55 groups" in page.text
    assert "Page 1 of 2" in page.text
    assert len(page.rows("data-group")) == 50
    assert len(read(viewer, link(page, "next")).rows("data-group")) == 5


# In plain words


def test_the_page_says_what_leads_and_what_a_retry_can_help(viewer: Client) -> None:
    make_group(title="a", counts=[1_912] * 5)
    make_group(title="b", counts=[219] * 5)
    make_group(title="c", counts=[191] * 5, kind=Kind.PERMANENT)
    said = lede(viewer)
    assert "Grouped by cause. One group makes 82% of the last hour." in said
    assert (
        "A retry can help 2,131 of these 2,322 jobs, brought back since or not; 191 will fail the same way again."
        in said
    )


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([(5, "transient")], "5 jobs failed in the last hour, all in one group. All of it is transient"),
        ([(1, "permanent")], "1 job failed in the last hour. All of it is permanent: a retry fails the same way."),
        ([(3, "transient")] * 3, "9 jobs failed in the last hour, in three groups."),
        ([(5, "unknown"), (5, "permanent")], "None of it is known to be transient; 5 will fail the same way again."),
        ([(4, "unknown")], "Whether a retry helps is not known for any of it."),
        ([(0, "unknown")], "No open group failed in the last hour."),
        ([(1_000, "transient"), (1, "transient")], "One group makes 99% of the last hour."),
        (
            [(2, "transient"), (1, "permanent")],
            "help 2 of these 3 jobs, brought back since or not; 1 will fail the same",
        ),
    ],
)
def test_the_last_hour_in_a_sentence(viewer: Client, groups: Iterable[tuple[int, str]], said: str) -> None:
    for number, (count, kind) in enumerate(groups):
        make_group(title=f"t{number}", counts=[count, *[9_999] * 4], kind=kind)
    assert said in lede(viewer)


def test_new_groups_and_those_that_came_back_are_told(viewer: Client) -> None:
    make_group(title="a", life=Life.REGRESSED)
    for title in "bc":
        make_group(title=title, first_ms=now_ms() - HOUR)
    said = lede(viewer)
    assert "One group came back after it was resolved." in said
    assert "Two groups are new, the oldest first seen" in said


def test_a_list_of_all_may_say_that_nothing_failed_and_one_of_some_may_not(viewer: Client) -> None:
    make_group(counts=[0, 1, 2, 3, 4])
    assert "Nothing failed for good in the last hour." in lede(viewer, "?state=all")
    assert "None of these failed in the last hour." in lede(viewer, "?text=conn")


def test_the_order_is_explained_and_the_worst_stand_first(viewer: Client) -> None:
    old = now_ms() - 20 * DAY
    noise = make_group(title="noise", counts=[500] * 5, usual=480, first_ms=old)
    back = make_group(title="back", counts=[1] * 5, life=Life.REGRESSED, first_ms=old)
    page = read(viewer)
    assert page.rows("data-group") == [back.slug, noise.slug]
    assert "The worst first: open groups before ignored and resolved ones" in page.text
    page = read(viewer, "?sort=-h1")
    assert page.rows("data-group") == [noise.slug, back.slug]
    assert "The worst first: open groups" not in page.text


def test_heads_sort_and_say_how(viewer: Client) -> None:
    make_group()
    head = next(node for node in read(viewer, "?sort=-h1&text=conn").all("aria-sort"))
    assert head.attrs["aria-sort"] == "descending"
    assert parse_qs(head.children[0].attrs["href"][1:]) == {"sort": ["h1"], "text": ["conn"]}


# How far it can be trusted


def test_counts_that_may_miss_some_are_said_to_be_at_least_so_many(viewer: Client) -> None:
    make_group()
    assert "at least" not in read(viewer).text
    indexing(since_days=2)
    page = read(viewer)
    assert "Counts of 3 d, 7 d are at least so many" in page.text
    heads = [node for node in page.all("scope", "col") if "At least" in node.attrs.get("title", "")]
    assert [node.text.strip() for node in heads] == ["3 d", "7 d"]
    IndexedQueue.objects.update(scanning=True)
    indexing(queues=["payments"], since_days=0)
    assert "All counts are at least so many" in read(viewer).text


def test_a_filter_that_nothing_matches_offers_no_export_and_says_nothing_of_the_last_hour(viewer: Client) -> None:
    make_group()
    page = read(viewer, "?text=nosuch")
    assert "No group matches this filter" in page.text
    assert "None of these failed" not in page.text
    assert "Export CSV" not in page.text
    assert "Export CSV" in read(viewer).text


def test_a_first_reading_shows_how_far_it_is_and_what_was_found(viewer: Client) -> None:
    group = make_group()
    IndexedQueue.objects.update(scanning=True, scanned=61_000, expected=200_000)
    page = read(viewer)
    (notice,) = page.all("data-index", "reading")
    assert "61,000 of 200,000 so far" in " ".join(notice.text.split())
    assert page.rows("data-group") == [group.slug]


def test_what_cannot_be_read_says_why_since_when_and_shows_what_was(viewer: Client) -> None:
    group = make_group()
    indexing(why="Connection refused at redis.example", beat_at=timezone.now())
    page = read(viewer)
    (notice,) = page.all("data-index", "blind")
    assert "The failures of main cannot be read now." in notice.text
    assert "Connection refused at redis.example" in notice.text
    assert "was right at" in notice.text
    assert page.rows("data-group") == [group.slug]
    assert "As of" in lede(viewer)


def test_that_nobody_reads_is_said(viewer: Client) -> None:
    make_group()
    indexing(beat_at=timezone.now() - timedelta(minutes=7))
    (notice,) = read(viewer).all("data-index", "silent")
    assert "Nobody reads the failures of main now." in notice.text


def test_an_index_that_is_behind_says_so(viewer: Client) -> None:
    indexing(behind_ms=42_000)
    make_group()
    (notice,) = read(viewer).all("data-index", "behind")
    assert "42 s ago" in notice.text


def none(client: Client, query: str = "") -> str:
    page = read(client, query)
    (node,) = page.all("data-none")
    if node.attrs["data-none"] in ("unread", "never", "reading"):
        assert "failed in the last hour" not in page.text  # nobody knows
    return node.attrs["data-none"]


def test_each_empty_says_which_it_is(viewer: Client) -> None:
    assert none(viewer) == "nothing"
    assert none(viewer, "?text=x") == "nothing"
    IndexedQueue.objects.update(scanning=True)
    assert none(viewer) == "reading"
    indexing(why="Connection refused")
    assert none(viewer) == "unread"
    indexing(beat_at=timezone.now() - timedelta(minutes=5))
    assert none(viewer) == "unread"
    indexing(beat_at=None)
    assert none(viewer) == "never"


def test_an_empty_that_a_filter_makes_leads_out_of_it(viewer: Client) -> None:
    make_group()
    assert none(viewer, "?text=nosuch") == "filter"
    page = read(viewer, "?text=nosuch&queue=payments")
    assert "Queue payments, Error contains nosuch" in page.text
    assert [node.attrs["href"] for node in page.all("class", "btn pri", tag="a")] == ["/failures/"]
    FailureGroup.objects.update(life="resolved")
    assert none(viewer) == "calm"
    assert none(viewer, "?state=ignored") == "filter"


# Filters


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"a", "b"}),
        ("?state=open", {"a", "b"}),
        ("?state=ignored", {"c"}),
        ("?state=all", {"a", "b", "c"}),
        ("?class=permanent", {"b"}),
        ("?class=nonsense", {"a", "b"}),
        ("?source=nosuch", {"a", "b"}),
        ("?queue=mail", {"b"}),
        ("?queue=nosuch", set()),
        ("?name=send", {"b"}),
        ("?text=b", {"b"}),
        ("?seen=1h", {"a"}),
        ("?seen=7d", {"a", "b"}),
        ("?since=2020-01-01T00:00&until=2020-01-02T00:00", set()),
        ("?page=x", {"a", "b"}),
        ("?page=-3&sort=drop%20table", {"a", "b"}),
        pytest.param("?page=" + "9" * 5_000, {"a", "b"}, id="page of 5,000 digits"),
        ("?text=%00&queue=%F0", set()),
        ("?name=%ED%A0%80", set()),
    ],
)
def test_filters_stand_in_the_query_string(viewer: Client, query: str, found: set[str]) -> None:
    groups = {
        "a": make_group(title="aaa"),
        "b": make_group(title="bbb", kind=Kind.PERMANENT, queues=["mail"], names=["send"], last_ms=now_ms() - 3 * HOUR),
        "c": make_group(title="ccc", life=Life.IGNORED),
    }
    assert set(read(viewer, query).rows("data-group")) == {groups[name].slug for name in found}


def test_a_moment_that_is_none_is_refused_in_words(viewer: Client) -> None:
    answer = viewer.get("/failures/?since=yesterday")
    assert answer.status_code == 422
    assert "A moment is written like" in answer.text


def test_choices_carry_how_many_groups_they_would_show(viewer: Client) -> None:
    make_group(title="a")
    make_group(title="b", kind=Kind.PERMANENT)
    make_group(title="c", life=Life.IGNORED)
    page = read(viewer)
    said = {name: " ".join(page.all("id", name)[0].text.split()) for name in ("state-open", "state-all", "class-any")}
    assert said == {"state-open": "open and regressed 2", "state-all": "all 3", "class-any": "any"}
    (chosen,) = page.all("id", "state-open")
    assert chosen.attrs["aria-current"] == "true"


def test_the_form_keeps_what_is_chosen_above_it(viewer: Client) -> None:
    make_group(life=Life.IGNORED)
    hidden = {
        node.attrs["name"]: node.attrs["value"]
        for node in read(viewer, "?state=ignored&sort=-h3").all("type", "hidden")
    }
    assert {"state": "ignored", "sort": "-h3"}.items() <= hidden.items()


def test_a_queue_that_is_none_of_those_offered_stays_chosen(viewer: Client) -> None:
    make_group()
    offered = read(viewer, "?queue=nosuch&state=all").all("selected", tag="option")
    assert "nosuch" in {node.attrs["value"] for node in offered}


def test_groups_of_sources_that_left_the_configuration_are_not_shown(viewer: Client) -> None:
    make_group("elsewhere")
    assert none(viewer, "?state=all") == "nothing"


# Who may what


def test_viewers_select_nothing_and_are_told_why(viewer: Client) -> None:
    make_group()
    page = read(viewer)
    assert not page.all("name", "group", tag="input")
    assert "Off: it needs the operator role." in page.text
    operator = as_role("operator")
    (box,) = read(operator).all("name", "group", tag="input")
    assert box.attrs["type"] == "checkbox"


# The navigation


def test_the_navigation_says_how_many_groups_are_open(viewer: Client) -> None:
    assert "open" not in rail(viewer)
    for title in "abc":
        make_group(title=title)
    make_group(title="d", life=Life.RESOLVED)
    assert rail(viewer) == "Failures3 open"


def rail(client: Client) -> str:
    entry, *_ = Page(client.get("/system/")).all("href", "/failures/", tag="a")
    return " ".join(entry.text.split())


def test_what_was_never_indexed_is_not_said_to_be_nothing(source: SourceConfig) -> None:
    make_group()
    assert rail(as_role("viewer")) == "Failures"


def test_the_pages_of_failures_belong_to_their_entry_of_the_navigation(viewer: Client) -> None:
    group = make_group()
    for path in ("/failures/", f"/failures/{group.slug}/"):
        current = [node.attrs["href"] for node in Page(viewer.get(path)).all("aria-current", "page", tag="a")]
        assert set(current) == {"/failures/"}


# Size


def test_hundreds_of_groups_are_a_page_of_fifty(viewer: Client) -> None:
    many(300, 0)
    page = read(viewer, "?state=all")
    assert "All 300 groups" in page.text
    assert len(page.rows("data-group")) == 50
    assert len(page.source) < 350_000
