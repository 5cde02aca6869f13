"""Finding a job by its exact id over all queues, and a queue by a part of its name."""

from __future__ import annotations

import pytest
import redis
from django.conf import LazySettings
from django.test import Client

from queues import discovery, outages, registry
from queues.errors import Unreachable
from queues.models import Source
from queues.registry import SourceConfig
from queues.types import State
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.seed import seed_job, seed_many, seed_queue, seed_state
from tests.valkey import RedisCommands, Server, StartRedis

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


@pytest.mark.parametrize("state", list(State))
def test_a_lone_hit_is_opened_whatever_its_state(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, state: State
) -> None:
    seed_state(valkey, "mail", state, 1)
    seed_many(valkey, 5)
    discovery.scan("main")
    response = viewer.get("/find/?q=1")
    assert response.status_code == 302
    assert response.headers["Location"] == "/queues/main/mail/jobs/1/"


def test_a_job_parked_in_a_paused_list_is_found(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_queue(valkey, "mail", parked=1)
    discovery.scan("main")
    assert viewer.get("/find/?q=1").headers["Location"] == "/queues/main/mail/jobs/1/"


def test_the_same_id_in_several_queues_is_a_list(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_queue(valkey, "mail", failed=1)
    seed_queue(valkey, "media", waiting=1)
    discovery.scan("main")
    page = Page(viewer.get("/find/?q=1"))
    assert len(page.rows("data-job")) == 2


def test_an_id_that_every_queue_knows_is_listed_in_part(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_many(valkey, 120, waiting=1)
    discovery.scan("main")
    page = Page(viewer.get("/find/?q=1"))
    assert len(page.rows("data-job")) == 100
    assert "120, the first 100 shown" in page.text


@pytest.mark.parametrize("needle", ["[*?]", "*", "a b", "日本", "<b>x</b>", "a/b", "%2F.."])
def test_special_characters_are_literal(viewer: Client, source: SourceConfig, valkey: redis.Redis, needle: str) -> None:
    ref = seed_queue(valkey, "mail", waiting=3)
    seed_job(valkey, ref, needle)
    valkey.lpush("bull:mail:wait", needle)
    discovery.scan("main")
    response = viewer.get("/find/", {"q": needle}, follow=True)
    assert response.redirect_chain
    assert response.status_code == 200
    assert "<b>x</b>" not in response.content.decode()


@pytest.mark.parametrize(("job", "typed"), [(b" ", " "), (b"\xff\xfe", "~__4"), (b"~x", "~x"), (b"a b", " a b ")])
def test_an_id_of_odd_bytes_is_found_as_typed_or_as_the_address_writes_it(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, job: bytes, typed: str
) -> None:
    ref = seed_queue(valkey, "mail")
    seed_job(valkey, ref, job)
    valkey.lpush("bull:mail:wait", job)
    discovery.scan("main")
    response = viewer.get("/find/", {"q": typed}, follow=True)
    assert response.redirect_chain
    assert response.status_code == 200


@pytest.mark.parametrize("typed", ["mail:2", "bull:mail:2", "app:prod:mail:1"])
def test_a_job_is_found_by_its_queue_and_id_as_pages_and_keys_write_them(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, typed: str
) -> None:
    seed_queue(valkey, "mail", waiting=2)
    seed_queue(valkey, "mail", prefix="app:prod", waiting=1)
    discovery.scan("main")
    response = viewer.get("/find/", {"q": typed})
    assert response.status_code == 302
    assert response.headers["Location"].endswith(f"/jobs/{typed[-1]}/")


def test_nothing_found_says_what_was_looked_at(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_many(valkey, 3, waiting=1)
    discovery.scan("main")
    text = Page(viewer.get("/find/?q=no-such-job")).text
    assert "No queue holds a job with this id" in text
    assert "all 3 queues" in text


def test_a_queue_is_found_by_a_part_of_its_name(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_queue(valkey, "email-notifications", waiting=1)
    discovery.scan("main")
    page = Page(viewer.get("/find/?q=NOTIF"))
    assert list(page.all("href", "/queues/main/email-notifications/", tag="a"))


@pytest.fixture
def spare(source: SourceConfig, start_redis: StartRedis, settings: LazySettings) -> Server:
    """A second source with one queue, all searched; `main` has none yet."""
    server = start_redis()
    settings.MIRANTE_SOURCES = (source, server.config("spare"))
    registry.forget()
    with server.client() as client:
        seed_queue(client, "parcels", waiting=2)
    discovery.scan("spare")
    return server


def test_an_outage_is_no_absence(viewer: Client, spare: Server, valkey: redis.Redis) -> None:
    seed_queue(valkey, "mail", waiting=1)
    discovery.scan("main")
    spare.stop()
    page = Page(viewer.get("/find/?q=1"))
    assert "spare could not be asked" in page.text
    assert "looked up in 1 queue, which is not everywhere" in page.text
    assert page.rows("data-job") == ["1"]
    absent = Page(viewer.get("/find/?q=nowhere")).text
    assert "None of the queues that were asked holds a job with this id" in absent
    assert "No queue holds" not in absent
    assert Source.objects.get(name="spare").down_since is not None
    assert Source.objects.get(name="main").down_since is None


def test_a_search_waits_once_for_a_source_that_swallows_packets(
    viewer: Client, spare: Server, valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    discovery.scan("main")
    outages.failed("spare", Unreachable("spare swallows packets.", source="spare"), took_s=30)
    with redis_commands(max=0):
        text = Page(viewer.get("/find/?q=1")).text
    assert "spare swallows packets." in text
    assert "No queue could be asked for this id" in text
    outages.forget("spare")


def test_a_source_that_was_never_searched_to_the_end_may_hold_more(
    viewer: Client, spare: Server, valkey: redis.Redis
) -> None:
    page = Page(viewer.get("/find/?q=1"))
    assert "Not all queues of main are known yet" in page.text
    assert page.rows("data-job") == ["1"]


def test_a_search_over_many_queues_is_one_pipeline(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_many(valkey, 300)
    discovery.scan("main")
    viewer.get("/find/?q=none")
    with redis_commands(max=310):
        viewer.get("/find/?q=none")
