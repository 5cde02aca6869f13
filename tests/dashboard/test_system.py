"""The system page: each source's server, scans on request, pins by name, and trying again."""

from __future__ import annotations

import re
import time
from datetime import timedelta

import pytest
import redis
from django.conf import LazySettings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from queues import discovery, outages, readings, registry
from queues.errors import Unreachable
from queues.models import Following, Queue, Snapshot, Source
from queues.registry import SourceConfig
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.queues.following import add, follower, know, step
from tests.seed import seed_queue
from tests.valkey import StartRedis, free_port

pytestmark = pytest.mark.django_db

POSTS = ["/system/main/scan/", "/system/main/pin/"]


def test_each_source_is_described(source: SourceConfig, valkey: redis.Redis) -> None:
    text = Page(as_role("viewer").get("/system/")).text
    for word in ("Valkey", "standalone", "noeviction", "Clock against ours", "Clients", "Keys", "Last scan"):
        assert word in text


def test_how_following_goes_is_told(source: SourceConfig, valkey: redis.Redis) -> None:
    assert "Nobody follows its events yet." in Page(as_role("viewer").get("/system/")).text
    know(b"shop")
    add(valkey, "shop", "completed", "jobId", "1")
    step(follower())
    text = Page(as_role("viewer").get("/system/")).text
    assert "Events live" in text
    assert "1 stream" in text


def test_a_follower_that_catches_up_is_told_with_how_far_it_is_behind(
    source: SourceConfig, valkey: redis.Redis
) -> None:
    know(b"shop")
    step(follower())
    Following.objects.update(pulse="catching-up", since=timezone.now(), behind_ms=95_000)
    assert "1 min 35 s behind" in Page(as_role("viewer").get("/system/")).text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--save", ""), "Persistence none: jobs do not survive a restart"),
        (("--save", "60 1", "--appendonly", "yes"), "Persistence AOF, RDB"),
    ],
)
def test_persistence_is_told_and_its_absence_warned_of(
    start_redis: StartRedis, settings: LazySettings, asked: tuple[str, ...], said: str
) -> None:
    settings.MIRANTE_SOURCES = (start_redis(*asked).config(),)
    registry.forget()
    assert said in Page(as_role("viewer").get("/system/")).text


def test_what_our_user_may_not_ask_is_named_and_unknown(start_redis: StartRedis, settings: LazySettings) -> None:
    server = start_redis("--save", "")
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-info", "-config")
    settings.MIRANTE_SOURCES = (SourceConfig("main", server.url.replace("redis://", "redis://reader:pw@")),)
    registry.forget()
    text = Page(as_role("viewer").get("/system/")).text
    assert "Server –" in text
    assert "Persistence –" in text
    assert "INFO is not permitted here: some figures are missing." in text
    assert "CONFIG GET is not permitted here: whether RDB snapshots are made is not known." in text


def test_a_cluster_is_named_as_one(start_redis: StartRedis, settings: LazySettings) -> None:
    server = start_redis("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    assert "part of a Redis Cluster, which cannot be read yet" in Page(as_role("viewer").get("/system/")).text


def test_an_eviction_policy_that_may_lose_jobs_is_named(start_redis: StartRedis, settings: LazySettings) -> None:
    server = start_redis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    assert "may throw jobs away" in Page(as_role("viewer").get("/system/")).text


def test_no_password_of_a_source_is_shown(start_redis: StartRedis, settings: LazySettings) -> None:
    server = start_redis("--requirepass", "PW42@x")
    url = server.url.replace("redis://", "redis://:PW42%40x@")
    for address in (url, url.replace("PW42", "PW43"), "redis://user:PW42%40x@127.0.0.1:1/0"):
        settings.MIRANTE_SOURCES = (SourceConfig("main", address),)
        registry.forget()
        for path in ("/", "/system/", "/queues/main/mail/", "/find/?q=1", "/healthz"):
            source = as_role("admin").get(path).content.decode()
            assert "PW4" not in source, (address, path)


def test_a_server_that_is_down_shows_its_last_health_as_old(start_redis: StartRedis, settings: LazySettings) -> None:
    server = start_redis()
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    readings.store("main")
    server.stop()
    Snapshot.objects.update(health_at=timezone.now() - timedelta(minutes=5))
    page = Page(as_role("viewer").get("/system/"))
    text = page.text
    read_at = re.search(r'data-read="([\d.]+)"', page.source)
    assert read_at is not None
    assert 299 < time.time() - float(read_at[1]) < 330
    assert "Not read since" in text
    assert "What stands below was read at" in text
    assert "noeviction" in text


def test_what_is_told_of_a_server_is_of_parts_that_an_open_page_puts_in_when_it_reads_itself_anew(
    start_redis: StartRedis, settings: LazySettings
) -> None:
    server = start_redis()
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    with server.client() as client:
        seed_queue(client, "mail", failed=1)
    readings.store("main")
    pages = ["/system/", "/queues/main/mail/"]
    before = [_parts(path) for path in pages]
    server.stop()
    after = [_parts(path) for path in pages]
    assert {"rail-main", "top-main", "sys-main-reachable", "sys-main-events"} <= before[0] & after[0]
    assert {"rail-main", "top-main", "verdict"} <= before[1] & after[1]


def _parts(path: str) -> set[str]:
    """The ids of what news may replace."""
    return set(re.findall(r'<\w+\s+id="([^"]+)"\s+data-part', as_role("viewer").get(path).content.decode()))


def test_an_operator_asks_for_a_scan(source: SourceConfig, valkey: redis.Redis) -> None:
    response = as_role("operator").post("/system/main/scan/")
    assert response.status_code == 302
    assert Source.objects.get(name="main").scan_requested_at is not None


def test_a_queue_without_keys_can_be_pinned_by_name(source: SourceConfig, valkey: redis.Redis) -> None:
    operator = as_role("operator")
    response = operator.post("/system/main/pin/", {"name": "not yet", "prefix": "app:prod"})
    assert response.status_code == 302
    assert Queue.objects.get().pinned
    discovery.scan("main")
    assert "not yet" in Page(operator.get("/")).text


@pytest.mark.parametrize("name", ["", "a:b"])
def test_a_name_that_no_queue_can_have_is_refused_with_words(
    source: SourceConfig, valkey: redis.Redis, name: str
) -> None:
    response = as_role("operator").post("/system/main/pin/", {"name": name}, follow=True)
    assert "cannot be empty" in Page(response).text
    assert not Queue.objects.exists()


@pytest.mark.parametrize("path", POSTS)
def test_changes_are_for_operators_and_by_post_only(source: SourceConfig, path: str) -> None:
    assert as_role("viewer").post(path, {"name": "x"}).status_code == 403
    assert as_role("operator").get(path).status_code == 405


@pytest.mark.parametrize("path", ["/system/none/scan/", "/system/none/pin/", "/system/none/try/"])
def test_a_source_that_is_not_configured_is_not_found(source: SourceConfig, path: str) -> None:
    assert as_role("operator").post(path, {"name": "x"}).status_code == 404


def test_trying_again_asks_at_once_ends_the_outage_for_all_and_leads_back(
    source: SourceConfig, valkey: redis.Redis
) -> None:
    outages.failed("main", Unreachable("it swallows packets.", source="main"), took_s=30)
    viewer = as_role("viewer")
    assert "swallows packets" in Page(viewer.get("/?name=x")).text
    response = viewer.post("/system/main/try/", {"next": "/?name=x"})
    assert response.headers["Location"] == "/?name=x"
    assert Source.objects.get().down_since is None
    assert "main answers." in Page(viewer.get("/")).text
    assert viewer.post("/system/main/try/", {"next": "https://example.com/"}).headers["Location"] == "/system/"
    assert viewer.get("/system/main/try/").status_code == 405


def test_every_page_tells_the_same_beginning_of_an_outage(start_redis: StartRedis, settings: LazySettings) -> None:
    server = start_redis()
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    with server.client() as client:
        seed_queue(client, "mail", waiting=1)
    discovery.scan("main")
    server.stop()
    viewer = as_role("viewer")
    paths = ("/", "/system/", "/queues/main/mail/", "/queues/main/mail/jobs/1/", "/find/?q=1")
    pages = {path: Page(viewer.get(path)) for path in paths}
    since = Source.objects.get().down_since
    assert since is not None
    for path, page in pages.items():
        times = {node.attrs["datetime"] for node in page.all("datetime") if "Not read since" in page.text}
        assert any(told.startswith(since.strftime("%Y-%m-%dT%H:%M:%S")) for told in times), (path, times)
        if path != "/find/?q=1":
            [form] = page.all("action", "/system/main/try/")
            assert [node.attrs["value"] for node in form.children if node.attrs.get("name") == "next"] == [path]


def test_a_source_without_a_finished_scan_has_an_unknown_number_of_queues(
    source: SourceConfig, valkey: redis.Redis
) -> None:
    text = Page(as_role("viewer").get("/")).text
    assert "main has not been searched yet." in text
    assert "– queues" in text
    assert "0 queues" not in text
    discovery.scan("main")
    assert "0 queues in main." in Page(as_role("viewer").get("/")).text


def test_the_pages_cost_as_many_queries_for_many_sources_as_for_one(
    source: SourceConfig, valkey: redis.Redis, settings: LazySettings
) -> None:
    def queries() -> int:
        registry.forget()
        with CaptureQueriesContext(connection) as captured:
            viewer.get("/account/password/")
        return len(captured)

    viewer = as_role("viewer")
    one = queries()
    settings.MIRANTE_SOURCES = tuple(SourceConfig(f"s{number}", source.url) for number in range(5))
    assert queries() == one


def test_a_source_that_answers_and_refuses_to_be_read_is_told_so_on_every_page(
    start_redis: StartRedis, settings: LazySettings
) -> None:
    server = start_redis()
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-scan")
    settings.MIRANTE_SOURCES = (SourceConfig("main", server.url.replace("redis://", "redis://reader:pw@")),)
    registry.forget()
    readings.store("main")
    viewer = as_role("viewer")
    for path in ("/system/", "/"):
        text = Page(viewer.get(path)).text
        assert "does not permit SCAN to our user" in text
        assert "Not read since" not in text
    text = Page(viewer.get("/system/")).text
    assert "Reachable it answers, but cannot be read" in text
    assert "cannot be read" in Page(viewer.get("/")).text
