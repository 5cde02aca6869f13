"""The overview: every queue with its numbers, the urgent ones first, and an outage shown as one."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
import redis
from django.conf import LazySettings
from django.test import Client

from queues import discovery, readings, registry
from queues.events import EventKind
from queues.history import MINUTE_MS, History, dump
from queues.models import Following, Queue, Stream
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import State
from tests.dashboard.pages import Node, Page, link
from tests.dashboard.people import as_role
from tests.seed import seed_many, seed_queue, seed_state
from tests.valkey import RedisCommands, StartRedis

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


def follow(slug: str, tallies: dict[int, dict[EventKind, int]], *, known_minutes: int = 120) -> None:
    """Write down what a follower has seen of a queue, by how many minutes ago; it is up to date."""
    queue = Queue.objects.get(slug=slug)
    Following.objects.update_or_create(source=queue.source, defaults={"covered_ms": now_ms()})
    now = now_ms() // MINUTE_MS
    history = History(now - known_minutes)
    history.add({now - ago: tally for ago, tally in tallies.items()})
    Stream.objects.create(queue=queue, last_id="1-0", history=dump(history))


def part(page: Page, name: str) -> Node:
    """The live part of the only queue on the page."""
    (row,) = page.all("data-row")
    (found,) = page.all("id", f"{row.attrs['data-row']}-{name}")
    return found


def test_a_row_carries_the_exact_number_of_every_state(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    amounts = {state: number for number, state in enumerate(State, start=1)}
    for state, number in amounts.items():
        seed_state(valkey, "mail", state, number)
    discovery.scan("main")
    page = Page(viewer.get("/"))
    (row,) = page.all("data-queue", "main/mail", tag="tr")
    counts = [node.attrs["data-count"] for node in row.children if "data-count" in node.attrs]
    cells = [node.attrs["data-state"] for node in row.children if "data-state" in node.attrs]
    assert dict(zip(cells, counts, strict=True)) == {state.value: str(number) for state, number in amounts.items()}


def test_a_backlog_without_a_worker_stands_above_queues_that_are_well(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "a-well", completed=3)
    seed_queue(valkey, "z-stuck", waiting=3)
    discovery.scan("main")
    page = Page(viewer.get("/"))
    assert page.rows("data-queue") == ["main/z-stuck", "main/a-well"]
    assert "no worker for 3 waiting jobs" in page.text


def test_a_paused_queue_is_marked_and_not_warned_of(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_queue(valkey, "sms", waiting=4, paused=True)
    discovery.scan("main")
    page = Page(viewer.get("/"))
    (row,) = page.all("data-queue", "main/sms", tag="tr")
    assert row.attrs["data-level"] == "quiet"
    assert "paused, 4 jobs wait" in row.text


def test_scrolling_shows_every_queue_once(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_many(valkey, 230, waiting=1)
    discovery.scan("main")
    page = Page(viewer.get("/"))
    seen, more = page.rows("data-queue"), link(page, "next")
    assert len(seen) == 100
    while more:
        page = Page(viewer.get(f"/{more}", headers={"HX-Request": "true", "HX-Target": "rows-more"}))
        assert "<html" not in page.source
        seen += page.rows("data-queue")
        more = link(page, "next")
    assert sorted(seen) == [f"main/queue-{number:04d}" for number in range(230)]


def test_the_next_queues_can_be_had_without_a_script(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_many(valkey, 101, waiting=1)
    discovery.scan("main")
    page = Page(viewer.get(f"/{link(Page(viewer.get('/')), 'next')}"))
    assert "<html" in page.source
    assert len(page.rows("data-queue")) == 1


def test_queues_are_sorted_and_filtered_on_the_server(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    for name, failed in (("mail", 2), ("media", 9), ("sms", 5)):
        seed_queue(valkey, name, failed=failed)
    discovery.scan("main")
    assert Page(viewer.get("/?sort=-failed")).rows("data-queue") == ["main/media", "main/sms", "main/mail"]
    assert Page(viewer.get("/?sort=name")).rows("data-queue") == ["main/mail", "main/media", "main/sms"]
    assert Page(viewer.get("/?name=M&sort=-failed")).rows("data-queue") == ["main/media", "main/sms", "main/mail"]
    assert Page(viewer.get("/?name=me&sort=-failed")).rows("data-queue") == ["main/media"]


def test_a_filter_that_hides_all_says_so_and_offers_the_way_back(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", waiting=1)
    discovery.scan("main")
    assert "The one queue there is has no such name" in Page(viewer.get("/?name=zzz")).text


def test_queues_are_grouped_by_what_stands_before_the_first_separator(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    for name in ("media.resize", "media-thumbs", "mail"):
        seed_queue(valkey, name, completed=1)
    discovery.scan("main")
    page = Page(viewer.get("/?group=prefix"))
    headings = [node.text.split()[0] for node in page.nodes if node.attrs.get("scope") == "rowgroup"]
    assert sorted(headings) == ["media", "no"]


def test_a_large_group_goes_on_over_the_pages(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_many(valkey, 130, name="media.{:03d}", waiting=1)
    seed_many(valkey, 20, name="mail-{:03d}", waiting=1)
    discovery.scan("main")
    page = Page(viewer.get("/?group=prefix"))
    rows = page.rows("data-queue")
    assert len(rows) == 100
    rows += Page(viewer.get(f"/{link(page, 'next')}")).rows("data-queue")
    assert len(set(rows)) == 150


@pytest.mark.parametrize("query", ['?sort="><script>', "?group=x", "?source=none", "?after=", "?name=%00%ff"])
def test_a_parameter_that_means_nothing_is_as_good_as_none(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, query: str
) -> None:
    seed_queue(valkey, "mail", waiting=1)
    discovery.scan("main")
    response = viewer.get(f"/{query}")
    assert response.status_code == 200
    assert "<script>" not in response.content.decode().replace('<script src="', "")


def test_a_link_to_more_rows_of_another_list_is_refused_with_words(viewer: Client, source: SourceConfig) -> None:
    response = viewer.get("/?after=nonsense")
    assert response.status_code == 422
    assert "belongs to another list" in Page(response).text


def test_an_empty_server_is_told_from_one_that_was_never_looked_at(viewer: Client, source: SourceConfig) -> None:
    page = Page(viewer.get("/"))
    assert "Looking for queues in main" in page.text
    assert page.all("hx-trigger", "every 2s")
    discovery.scan("main")
    assert "No queue was found" in Page(viewer.get("/")).text


def test_an_outage_shows_the_last_reading_and_since_when(
    viewer: Client, start_redis: StartRedis, settings: LazySettings
) -> None:
    server = start_redis()
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    with server.client() as client:
        seed_queue(client, "mail", waiting=7)
    discovery.scan("main")
    readings.store("main")
    server.stop()
    page = Page(viewer.get("/"))
    assert re.search(r"main cannot be read since .*\d\d:\d\d:\d\d", page.text)
    (row,) = page.all("data-queue", "main/mail", tag="tr")
    assert "7" in [node.attrs.get("data-count") for node in row.children]
    assert "last reading" in page.text
    assert "No queue" not in page.text


def test_a_server_that_never_answered_is_unknown_and_not_empty(viewer: Client, settings: LazySettings) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://127.0.0.1:1/0"),)
    registry.forget()
    page = Page(viewer.get("/"))
    assert "Whether it holds queues is unknown" in page.text
    assert "No queue was found" not in page.text


def test_one_dead_source_leaves_the_other_usable(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, settings: LazySettings
) -> None:
    seed_queue(valkey, "mail", waiting=2)
    settings.MIRANTE_SOURCES = (source, SourceConfig("spare", "redis://127.0.0.1:1/0"))
    registry.forget()
    discovery.scan("main")
    page = Page(viewer.get("/"))
    assert page.rows("data-queue") == ["main/mail"]
    assert page.rows("data-source") == ["main", "spare"]
    assert "spare cannot be read" in page.text


def test_the_overview_of_many_queues_costs_few_commands(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_many(valkey, 300, waiting=1)
    discovery.scan("main")
    viewer.get("/")
    with redis_commands(max=7):  # two calls for every 125 queues, one for all workers
        viewer.get("/")


def test_a_row_tells_what_finished_and_failed_in_the_last_hour(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", completed=3)
    discovery.scan("main")
    follow("mail", {30: {EventKind.COMPLETED: 400}, 1: {EventKind.COMPLETED: 148, EventKind.FAILED: 52}})
    page = Page(viewer.get("/"))
    assert part(page, "rate").text == "148/min"
    assert part(page, "failing").text == "8.7 %"
    assert "548 finished in the last 60 minutes; at most 400 a minute; 52 failed" in part(page, "spark").text
    (total,) = page.all("id", "total-finished")
    assert total.attrs["data-count"] == "148"


def test_an_hour_that_nobody_followed_is_unknown_and_never_zero(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", completed=3)
    discovery.scan("main")
    page = Page(viewer.get("/"))
    assert [part(page, name).text for name in ("rate", "failing")] == ["–", "–"]
    assert part(page, "spark").text == "Finished in the last 60 minutes: unknown"
    assert [node.attrs["width"] for node in part(page, "spark").children if "fill" in node.attrs] == ["100.0%"]
    (total,) = page.all("id", "total-finished")
    assert (total.text, total.attrs["data-count"]) == ("–", "")


def test_minutes_before_somebody_followed_are_said_to_be_unknown(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", completed=3)
    discovery.scan("main")
    follow("mail", {2: {EventKind.COMPLETED: 5}}, known_minutes=20)
    page = Page(viewer.get("/"))
    assert re.search(r"5 finished .*; unknown before \d\d:\d\d UTC", part(page, "spark").text)
    assert part(page, "failing").attrs["title"] == "0 of 5 that finished in 20 known minutes"


def test_a_queue_that_fails_fast_needs_eyes(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_queue(valkey, "mail", completed=3)
    discovery.scan("main")
    follow("mail", {1: {EventKind.COMPLETED: 4, EventKind.FAILED: 6}})
    page = Page(viewer.get("/"))
    assert "Needs eyes" in page.text
    assert "mail: 6 of 10 failed in 5 min" in page.text
    assert part(page, "note").text == "6 of 10 failed in 5 min"
    assert "warn" in part(page, "failing").attrs["class"]


def test_the_age_of_a_job_that_ran_before_says_that_it_counts_from_its_creation(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    created = now_ms() - 3 * 24 * 3600 * 1000
    queue = seed_queue(valkey, "mail", waiting=1, until_ms=created)
    valkey.hset(f"bull:{queue.name.decode()}:1", mapping={"atm": 1, "ats": 1})
    seed_queue(valkey, "sms", waiting=1, until_ms=created)
    discovery.scan("main")
    page = Page(viewer.get("/"))
    ages = {row.attrs["data-queue"]: row for row in page.all("data-row")}
    rescued, waits = ages["main/mail"], ages["main/sms"]
    (moment,) = [node for node in rescued.children if node.attrs.get("data-time") == "age"]
    assert int(datetime.fromisoformat(moment.attrs["datetime"]).timestamp() * 1000) == created
    assert "since created" in rescued.text
    assert rescued.attrs["data-level"] == "warn"  # by its missing worker, not by its creation
    assert "since created" not in waits.text
    assert waits.attrs["data-level"] == "crit"


def test_queues_of_one_name_under_several_prefixes_have_parts_of_their_own(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    prefixes = ("tenant-a", "tenant-b", "app:prod", "{bull}")
    for number, prefix in enumerate(prefixes, start=1):
        seed_queue(valkey, "emails", prefix=prefix, waiting=number)
    discovery.scan("main")
    page = Page(viewer.get("/"))
    rows = page.all("data-row")
    counts = [node.attrs["data-count"] for row in rows for node in page.all("id", f"{row.attrs['data-row']}-waiting")]
    assert sorted(counts) == ["1", "2", "3", "4"]
    ids = [node.attrs["id"] for node in page.all("id")]
    assert len(ids) == len(set(ids))


def test_no_live_part_holds_anything_that_takes_the_focus(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", waiting=3)
    seed_queue(valkey, "sms", completed=3, paused=True)
    discovery.scan("main")
    page = Page(viewer.get("/"))
    parts = page.all("data-part")
    assert len(parts) > 2 * len(State)
    assert not [node.tag for each in parts for node in each.children if node.tag in ("a", "button", "input", "form")]
    assert all(each.attrs["id"] for each in parts)


def test_the_page_says_what_it_watches(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, settings: LazySettings
) -> None:
    settings.MIRANTE_SOURCES = (source, SourceConfig("spare", "redis://127.0.0.1:1/0"))
    registry.forget()
    before = now_ms()
    (live,) = Page(viewer.get("/")).all("id", "live")
    assert (live.attrs["data-page"], live.attrs["data-sources"]) == ("overview", "main spare")
    assert before <= int(live.attrs["data-read"]) <= now_ms()
    (live,) = Page(viewer.get("/?source=spare")).all("id", "live")
    assert live.attrs["data-sources"] == "spare"
