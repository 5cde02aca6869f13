"""The page of a queue: its states, lists that can be paged through, facts, pins, and the three kinds of empty."""

from __future__ import annotations

import re
import time
from typing import Any, cast

import pytest
import redis
from django.conf import LazySettings
from django.test import Client

from queues import discovery, readings, registry
from queues.backends.bullmq.reader import BullMQ
from queues.models import Queue
from queues.registry import SourceConfig
from queues.types import State
from tests.dashboard.pages import Page, link
from tests.dashboard.people import as_role
from tests.seed import seed_job, seed_queue, seed_state
from tests.valkey import RedisCommands, StartRedis

pytestmark = pytest.mark.django_db

STATES = [state.value for state in State]


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


def test_the_tabs_hold_the_exact_numbers(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    amounts = {state: number for number, state in enumerate(STATES, start=2)}
    for state, number in amounts.items():
        seed_state(valkey, "mail", State(state), number)
    assert Page(viewer.get("/queues/main/mail/")).counts() == {state: str(n) for state, n in amounts.items()}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_paging_there_and_back_shows_every_job_once(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, state: str, order: str
) -> None:
    seed_state(valkey, "mail", State(state), 47)
    page = Page(viewer.get(f"/queues/main/mail/?state={state}&size=20&order={order}"))
    pages = [page.rows("data-job")]
    while forth := link(page, "next"):
        page = Page(viewer.get(f"/queues/main/mail/{forth}"))
        pages.append(page.rows("data-job"))
    assert [len(rows) for rows in pages] == [20, 20, 7]
    assert len({job for rows in pages for job in rows}) == 47
    page = Page(viewer.get(f"/queues/main/mail/{link(page, 'prev')}"))
    assert page.rows("data-job") == pages[1]


def test_completed_and_failed_together_stand_in_the_order_in_which_they_finished(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", completed=30, failed=30)
    page = Page(viewer.get("/queues/main/mail/?state=finished&size=20"))
    jobs = page.rows("data-job")
    while forth := link(page, "next"):
        page = Page(viewer.get(f"/queues/main/mail/{forth}"))
        jobs += page.rows("data-job")
    finished = [int(valkey.hget(f"bull:mail:{job}", "finishedOn") or 0) for job in jobs]
    assert len(set(jobs)) == 60
    assert finished == sorted(finished, reverse=True)


def test_the_list_opens_on_failures_when_there_are_some(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", waiting=2, failed=1)
    (current,) = [
        n for n in Page(viewer.get("/queues/main/mail/")).all("data-state", tag="a") if "aria-current" in n.attrs
    ]
    assert current.attrs["data-state"] == "failed"


def test_jobs_are_filtered_by_name_and_the_bound_is_said(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", failed=30, names=("send", "render", "charge"))
    page = Page(viewer.get("/queues/main/mail/?state=failed&name=charge"))
    assert len(page.rows("data-job")) == 10
    assert "Looked at 30 of 30 jobs for this name" in page.text
    assert (
        "None of 30 failed jobs has this in its name" in Page(viewer.get("/queues/main/mail/?state=failed&name=x")).text
    )


def test_an_id_whose_hash_is_gone_is_a_row_that_says_so(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    ref = seed_queue(valkey, "mail", failed=3)
    valkey.delete("bull:mail:2")
    page = Page(viewer.get(f"/queues/main/{ref.slug}/?state=failed"))
    (row,) = page.all("data-missing", tag="tr")
    assert row.attrs["data-job"] == "2"
    assert "its data is gone" in row.text
    assert len(page.rows("data-job")) == 3


def test_damaged_fields_cost_their_own_cells_and_not_the_other_rows(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    ref = seed_queue(valkey, "mail", failed=50)
    broken: list[dict[str, str | bytes]] = [
        {"data": "{not json", "opts": "[]"},
        {"data": "", "progress": ""},
        {"data": '{"n":NaN}', "timestamp": "soon"},
        {"returnvalue": "foo", "stacktrace": "not-a-list", "finishedOn": "9" * 400},
        {"failedReason": b"\xff\xfe\x80 \x1b[31m<script>alert(1)</script>", "name": b"\xff<b>x</b>"},
    ]
    for number, fields in enumerate(broken, start=1):
        seed_job(valkey, ref, str(number), **fields)
    valkey.hdel("bull:mail:2", "timestamp")
    page = Page(viewer.get("/queues/main/mail/?state=failed&size=100"))
    assert len(page.rows("data-job")) == 50
    assert "<script>alert" not in page.source
    assert "<b>x</b>" not in page.source
    for number in range(1, 6):
        assert viewer.get(f"/queues/main/mail/jobs/{number}/").status_code == 200


def test_a_list_of_huge_jobs_is_small(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    ref = seed_queue(valkey, "mail", failed=20)
    for number in range(1, 21):
        seed_job(
            valkey, ref, str(number), data="x" * 2_000_000, failedReason="y" * 1_000_000, stacktrace="z" * 1_000_000
        )
    response = viewer.get("/queues/main/mail/?state=failed")
    assert len(response.content) < 300_000
    assert "1.9 MB" in Page(response).text


def test_secrets_in_names_and_errors_are_masked_in_the_list(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    ref = seed_queue(valkey, "mail", failed=1)
    seed_job(valkey, ref, "1", failedReason="login failed: password=hunter2", finishedOn=1)
    assert "hunter2" not in viewer.get("/queues/main/mail/?state=failed").content.decode()


def test_limits_and_the_oldest_waiting_job_are_among_the_facts(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", waiting=2, paused=True, until_ms=int(time.time() * 1000) - 3 * 3_600_000)
    valkey.hset("bull:mail:meta", mapping={"concurrency": 7, "max": 1500, "duration": 60000})
    text = Page(viewer.get("/queues/main/mail/")).text
    assert "Paused yes" in text
    assert re.search(r"Oldest waiting 3 h", text)
    assert "Concurrency, global 7" in text
    assert re.search(r"Rate limit, global 1,500 in 1 min", text)


def test_an_empty_state_says_that_the_server_answered(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", waiting=1)
    text = Page(viewer.get("/queues/main/mail/?state=active")).text
    assert "No active jobs in mail" in text
    assert "Redis answered" in text


def test_a_list_that_is_none_costs_the_list_and_not_the_page(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", waiting=3)
    valkey.set("bull:mail:failed", "not a sorted set")
    response = viewer.get("/queues/main/mail/?state=failed")
    page = Page(response)
    assert response.status_code == 200
    assert "This list cannot be read" in page.text
    assert page.counts() | {"failed": "", "waiting": "3"} == page.counts()
    assert len(Page(viewer.get("/queues/main/mail/?state=waiting")).rows("data-job")) == 3


def test_workers_that_nobody_may_list_are_unknown_and_not_none(
    viewer: Client, start_redis: StartRedis, settings: LazySettings
) -> None:
    server = start_redis()
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-client|list")
        seed_queue(client, "mail", waiting=1)
    url = server.url.replace("redis://", "redis://reader:pw@")
    settings.MIRANTE_SOURCES = (SourceConfig("main", url),)
    registry.forget()
    discovery.scan("main")
    page = Page(viewer.get("/queues/main/mail/"))
    assert "not permitted (CLIENT LIST)" in page.text
    assert [node.attrs["data-workers"] for node in page.all("data-workers")] == [""]
    overview = Page(viewer.get("/"))
    assert overview.all("data-workers", "")
    assert "workers unknown in main: not permitted (CLIENT LIST)" in overview.text


def test_an_outage_keeps_the_page_and_the_last_numbers_marked_as_old(
    viewer: Client, start_redis: StartRedis, settings: LazySettings
) -> None:
    server = start_redis()
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    with server.client() as client:
        seed_queue(client, "mail", failed=7)
    discovery.scan("main")
    readings.store("main")
    server.stop()
    response = viewer.get("/queues/main/mail/?state=failed")
    page = Page(response)
    assert response.status_code == 503
    assert "cannot be read now" in page.text
    (figure,) = [node for node in page.all("data-stale") if node.attrs["data-state"] == "failed"]
    assert figure.attrs["data-count"] == "7"
    assert not page.rows("data-job")
    assert viewer.get("/users/").status_code == 403
    assert viewer.get("/system/").status_code == 200


def test_a_queue_that_lost_its_keys_is_called_gone(viewer: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    seed_queue(valkey, "mail", waiting=1)
    discovery.scan("main")
    valkey.flushall()
    response = viewer.get("/queues/main/mail/")
    assert response.status_code == 404
    assert "mail is gone" in Page(response).text


@pytest.mark.parametrize(
    "path",
    [
        "/queues/main/nosuch/",
        "/queues/none/mail/",
        "/queues/main/~Ij48aDE-eA/",
        "/queues/main/~bWFpbA/",  # a plain name in the form for odd ones
        "/queues/main/%22%3E%3Ch1%3Ex/",
    ],
)
def test_an_unknown_queue_is_not_found_and_its_name_is_text(viewer: Client, source: SourceConfig, path: str) -> None:
    response = viewer.get(path)
    assert response.status_code == 404
    assert "<h1>x" not in response.content.decode()


def test_a_cursor_that_is_not_ours_is_refused_with_words(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", failed=1)
    assert viewer.get("/queues/main/mail/?state=failed&cursor=x").status_code == 422


def test_the_same_name_under_four_prefixes_is_four_queues(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    refs = [
        seed_queue(valkey, "emails", prefix=prefix, waiting=number)
        for number, prefix in enumerate(("tenant-a", "tenant-b", "app:prod", "{bull}"), start=1)
    ]
    discovery.scan("main")
    assert len(Page(viewer.get("/")).rows("data-queue")) == 4
    for number, ref in enumerate(refs, start=1):
        assert Page(viewer.get(f"/queues/main/{ref.slug}/")).counts()["waiting"] == str(number)


def test_an_operator_pins_and_unpins_a_queue(source: SourceConfig, valkey: redis.Redis) -> None:
    seed_queue(valkey, "mail", waiting=1)
    discovery.scan("main")
    operator = as_role("operator")
    assert operator.post("/queues/main/mail/pin/").status_code == 302
    assert Queue.objects.get(slug="mail").pinned
    assert operator.post("/queues/main/mail/unpin/").status_code == 302
    assert not Queue.objects.get(slug="mail").pinned


@pytest.mark.parametrize("verb", ["pin", "unpin"])
def test_pinning_is_for_operators_and_by_post_only(source: SourceConfig, valkey: redis.Redis, verb: str) -> None:
    seed_queue(valkey, "mail", waiting=1)
    discovery.scan("main")
    assert as_role("viewer").post(f"/queues/main/mail/{verb}/").status_code == 403
    assert as_role("operator").get(f"/queues/main/mail/{verb}/").status_code == 405
    assert not Queue.objects.get(slug="mail").pinned


def test_a_queue_page_costs_few_commands(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_queue(valkey, "mail", failed=500)
    viewer.get("/queues/main/mail/?state=failed&size=200")
    with redis_commands(max=30):
        viewer.get("/queues/main/mail/?state=failed&size=200")


def _live(page: Page) -> dict[str, str]:
    (element,) = page.all("data-page", "queue")
    return element.attrs


def test_the_page_says_what_it_watches_and_from_which_event_on(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", failed=1)
    last = cast(bytes, valkey.xadd("bull:mail:events", {"event": "drained"}))
    before = int(time.time() * 1000)
    live = _live(Page(viewer.get("/queues/main/mail/")))
    assert (live["data-sources"], live["data-queue"], live["data-state"]) == ("main", "mail", "failed")
    assert live["data-after"] == last.decode()
    assert before <= int(live["data-read"]) <= time.time() * 1000


def test_a_job_that_comes_while_the_page_is_read_is_told_later_or_is_in_the_list(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = seed_queue(valkey, "mail", failed=1)
    valkey.xadd("bull:mail:events", {"event": "failed", "jobId": "1"})
    read = BullMQ.jobs

    def while_it_is_read(self: BullMQ, *args: object, **options: object) -> object:
        seed_job(valkey, ref, "late")
        valkey.zadd("bull:mail:failed", {"late": time.time() * 1000})
        valkey.xadd("bull:mail:events", {"event": "failed", "jobId": "late"})
        return read(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(BullMQ, "jobs", while_it_is_read)
    page = Page(viewer.get("/queues/main/mail/?state=failed"))
    newer: Any = valkey.xrange("bull:mail:events", f"({_live(page)['data-after']}")
    assert "late" in page.rows("data-job")
    assert [fields[b"jobId"] for _id, fields in newer] == [b"late"]


def test_what_comes_into_an_empty_stream_is_told_from_its_beginning(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", failed=1)
    assert _live(Page(viewer.get("/queues/main/mail/")))["data-after"] == "0-0"


def test_the_pill_leads_to_the_first_page_of_the_list_as_it_is_filtered(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", failed=60, names=("send",))
    page = Page(viewer.get("/queues/main/mail/?size=20&name=send"))
    page = Page(viewer.get(f"/queues/main/mail/{link(page, 'next')}"))
    (pill,) = page.all("id", "pill")
    assert "hidden" in pill.attrs
    assert pill.attrs["href"] == "?size=20&name=send&state=failed"
