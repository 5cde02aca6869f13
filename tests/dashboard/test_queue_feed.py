"""The feed of a queue as its page opens with it: what was kept, what was lost, and where nothing is told."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
import redis
from django.test import Client

from queues import discovery
from queues.backends.bullmq.reader import BullMQ
from queues.errors import Unreachable
from queues.history import History, dump
from queues.models import Queue, Stream
from queues.registry import SourceConfig
from queues.types import Capability
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.queues.test_notables import keep
from tests.seed import seed_queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


def test_the_feed_opens_with_what_was_kept_under_the_names_of_the_jobs(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", failed=1, names=("capture",))
    keep("failed", 60_000, job="1", text="ETIMEDOUT", size=9)
    keep("stalled", 30_000, job="gone")
    page = Page(viewer.get("/queues/main/mail/"))
    entries = [" ".join(node.text.split()) for node in page.all("data-event", tag="li")]
    assert [entry.split(maxsplit=1)[1] for entry in entries] == [
        "Stalled gone stalled, lock lost",
        "Failed 1 capture failed: ETIMEDOUT",
    ]
    assert page.all("href", "/queues/main/mail/jobs/1/", tag="a")


def test_the_feed_opens_with_the_newest_thirty(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_queue(valkey, "mail", failed=1)
    for number in range(40):
        keep("failed", 60_000 - number, job=str(number))
    entries = Page(viewer.get("/queues/main/mail/")).all("data-event", tag="li")
    assert len(entries) == 30
    assert "39" in entries[0].text


def test_an_empty_feed_says_since_when_nothing_was_kept_or_that_nobody_follows(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", failed=1)
    discovery.scan("main")
    assert "Its events are not followed yet." in Page(viewer.get("/queues/main/mail/")).text
    minute = int(time.time() // 60) - 5
    row = Queue.objects.get(slug="mail")
    Stream.objects.create(queue=row, last_id="0-0", history=dump(History(minute)))
    page = Page(viewer.get("/queues/main/mail/"))
    assert "No failure, stall or pause since" in page.text
    assert f'datetime="{datetime.fromtimestamp(minute * 60, UTC):%Y-%m-%dT%H:%M}' in page.source


def test_lost_events_are_a_notice_that_says_what_it_means(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", failed=1)
    (note,) = Page(viewer.get("/queues/main/mail/")).all("id", "gap-note")
    assert note.text == ""
    keep("gap", 60_000, until_ms=int(time.time() * 1000) - 50_000, count=9812)
    (note,) = Page(viewer.get("/queues/main/mail/")).all("id", "gap-note")
    assert "9,812 events were lost before they could be read, between" in note.text
    assert "The numbers of jobs are right" in note.text
    keep("gap", 40_000, until_ms=int(time.time() * 1000) - 30_000)
    (note,) = Page(viewer.get("/queues/main/mail/")).all("id", "gap-note")
    assert "At least 9,812 events were lost" in note.text
    assert "2 stretches" in note.text


def test_a_gap_of_unknown_size_gives_no_number(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_queue(valkey, "mail", failed=1)
    keep("gap", 60_000, until_ms=int(time.time() * 1000) - 50_000)
    (note,) = Page(viewer.get("/queues/main/mail/")).all("id", "gap-note")
    assert "nobody knows how many" in note.text


def test_a_backend_that_tells_no_events_has_no_feed(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_queue(valkey, "mail", failed=1)
    monkeypatch.setattr(BullMQ, "capabilities", frozenset(Capability) - {Capability.EVENTS})
    page = Page(viewer.get("/queues/main/mail/"))
    assert page.all("id", "feed") == []
    assert page.counts()["failed"] == "1"


def test_names_that_cannot_be_looked_up_cost_the_names_alone(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(self: BullMQ, jobs: object) -> object:
        raise Unreachable("refused", source="main")

    seed_queue(valkey, "mail", failed=1)
    keep("failed", 1_000, job="1")
    monkeypatch.setattr(BullMQ, "glances", silent)
    response = viewer.get("/queues/main/mail/")
    assert response.status_code == 200
    assert len(Page(response).all("data-event", tag="li")) == 1
