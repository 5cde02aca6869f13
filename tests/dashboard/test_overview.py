"""The overview: every queue with its numbers, the urgent ones first, and an outage shown as one."""

from __future__ import annotations

import re

import pytest
import redis
from django.conf import LazySettings
from django.test import Client

from queues import discovery, readings, registry
from queues.registry import SourceConfig
from queues.types import State
from tests.dashboard.pages import Page, link
from tests.dashboard.people import as_role
from tests.seed import seed_many, seed_queue, seed_state
from tests.valkey import RedisCommands, StartRedis

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


def test_a_row_carries_the_exact_number_of_every_state(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    amounts = {state: number for number, state in enumerate(State, start=1)}
    for state, number in amounts.items():
        seed_state(valkey, "mail", state, number)
    discovery.scan("main")
    page = Page(viewer.get("/"))
    (row,) = page.all("data-queue", "main/mail", tag="tr")
    cells = {node.attrs["data-state"]: node.attrs["data-count"] for node in row.children if "data-state" in node.attrs}
    assert cells == {state.value: str(number) for state, number in amounts.items()}


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
    assert page.all("data-count", "7", tag="td")
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
