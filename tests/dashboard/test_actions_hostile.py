"""Acting on what means harm, through the pages: LS-08, JD-02, JD-04, JD-05, JD-09, AU-03."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import redis
from django.conf import LazySettings
from django.test import Client

from queues import registry
from queues.models import AuditEntry
from queues.names import encode_part
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.dashboard.asking import act, form_of, said
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.seed import seed_job, write_hash

pytestmark = pytest.mark.django_db

MARKUP = '"><img src=x onerror=window.__x=1><b>x</b>'
SECRET_URL = "redis://user:PW42%40x@127.0.0.1:1/0"
PREFIXES = (b"tenant-a", b"tenant-b", b"app:prod", b"{bull}")
FAILED_AT = 1_790_000_000_000


@pytest.fixture
def admin(source: SourceConfig) -> Client:
    return as_role("admin")


def failed_job(valkey: redis.Redis, queue: QueueRef, job: str | bytes, **fields: str | bytes) -> str:
    """Write a failed job; gives the address of its page."""
    start = b"%b:%b:" % (queue.prefix, queue.name)
    write_hash(valkey, start + b"meta", {"version": "bullmq:5.81.5", "opts.maxLenEvents": 10_000})
    seed_job(valkey, queue, job, **{"failedReason": "no", **fields})
    raw = job.encode() if isinstance(job, str) else job
    valkey.zadd(start + b"failed", {raw: FAILED_AT})
    return f"/queues/main/{queue.slug}/jobs/{encode_part(raw, colon=True)}/"


@pytest.mark.parametrize("mine", PREFIXES)
def test_ls_08_an_action_reaches_only_the_queue_under_its_own_prefix(
    mine: bytes, admin: Client, valkey: redis.Redis
) -> None:
    pages = {each: failed_job(valkey, QueueRef("main", each, b"emails"), "7") for each in PREFIXES}
    assert len(set(pages.values())) == len(PREFIXES)
    queue = pages[mine].removesuffix("jobs/7/")
    before = {each: valkey.hgetall(each + b":emails:7") for each in PREFIXES}
    assert act(admin, pages[mine] + "ask/retry/").status_code == 302
    assert act(admin, queue + "ask/pause/").status_code == 302
    assert act(admin, queue + "ask/add/", job_name="n", job_id="new").status_code == 302
    for each in PREFIXES:
        touched = each == mine
        assert (valkey.zscore(each + b":emails:failed", "7") is None) is touched
        assert bool(valkey.hexists(each + b":emails:meta", "paused")) is touched
        assert bool(valkey.exists(each + b":emails:new")) is touched
        assert touched or valkey.hgetall(each + b":emails:7") == before[each]
    assert {entry.queue for entry in AuditEntry.objects.all()} == {QueueRef("main", mine, b"emails").slug}


@pytest.mark.parametrize("action", ["retry", "remove", "edit", "duplicate", "log"])
def test_jd_04_markup_in_every_name_is_text_in_each_question_and_each_answer(
    action: str, admin: Client, valkey: redis.Redis
) -> None:
    queue = QueueRef("main", b"bull", MARKUP.encode())
    data = json.dumps({MARKUP: MARKUP})
    page = failed_job(valkey, queue, MARKUP.replace(":", ""), name=MARKUP, data=data, failedReason=MARKUP)
    fields = {"log": {"line": MARKUP}, "edit": {"payload": json.dumps([MARKUP])}}.get(action, {})
    asked = admin.get(f"{page}ask/{action}/")
    done = act(admin, f"{page}ask/{action}/", reason=MARKUP, **fields)
    assert done.status_code == 302
    entry = AuditEntry.objects.get()
    answers = [asked, admin.get(done["Location"]), admin.get(f"/audit/{entry.pk}/"), admin.get("/audit/")]
    for answer in [*answers, admin.get(f"/queues/main/{queue.slug}/"), admin.get("/removed/")]:
        assert answer.status_code == 200
        source = answer.content.decode()
        assert "<img src=x" not in source
        assert "<b>x</b>" not in source


def test_jd_04_the_schedule_that_keeps_a_job_is_named_as_text(admin: Client, valkey: redis.Redis) -> None:
    queue = QueueRef("main", b"bull", b"mail")
    failed_job(valkey, queue, "1")
    seed_job(valkey, queue, "repeat:<b>s</b>:9999999999999", rjk="<b>s</b>", delay=1)
    valkey.zadd("bull:mail:delayed", {"repeat:<b>s</b>:9999999999999": 9_999_999_999_999 * 4096})
    valkey.zadd("bull:mail:repeat", {"<b>s</b>": 9_999_999_999_999})
    write_hash(valkey, b"bull:mail:repeat:<b>s</b>", {"name": "x", "every": "1000", "ic": "1"})
    job = encode_part(b"repeat:<b>s</b>:9999999999999", colon=True)
    answer = admin.get(f"/queues/main/mail/jobs/{job}/ask/remove/")
    assert answer.status_code == 409
    assert "It is the next run of the schedule <b>s</b>" in said(answer)
    assert "<b>s</b>" not in answer.content.decode()


NESTED = {
    3_000: '{"a":' * 3_000 + "1" + "}" * 3_000,
    100_000: "[" * 100_000 + "]" * 100_000,
}


@pytest.mark.parametrize("levels", NESTED)
def test_jd_09_a_job_nested_deeply_is_asked_about_retried_copied_removed_and_restored(
    levels: int, admin: Client, valkey: redis.Redis
) -> None:
    page = failed_job(valkey, QueueRef("main", b"bull", b"mail"), "deep", data=NESTED[levels])
    for action in ("retry", "edit", "duplicate", "remove"):
        assert admin.get(f"{page}ask/{action}/").status_code in (200, 409)
    made = act(admin, f"{page}ask/duplicate/")
    assert made.status_code == 302
    assert act(admin, f"{page}ask/retry/").status_code == 302
    assert act(admin, f"{page}ask/remove/").status_code == 302
    (restore,) = [
        node.attrs["action"] for node in Page(admin.get("/removed/")).all("action") if "restore" in node.attrs["action"]
    ]
    answer = admin.post(restore, {"key": "k"})
    assert answer.status_code == 302
    waiting = valkey.lrange("bull:mail:wait", 0, -1)
    assert len(waiting) == 2
    for job in waiting:
        assert isinstance(job, bytes)
        assert valkey.hget(b"bull:mail:" + job, "data") == NESTED[levels].encode()


def test_jd_05_questions_about_a_large_job_are_small_and_acting_keeps_every_byte(
    admin: Client, valkey: redis.Redis
) -> None:
    data = json.dumps({"blob": "x" * 8 * 1024 * 1024})
    page = failed_job(
        valkey, QueueRef("main", b"bull", b"mail"), "big", data=data, stacktrace=json.dumps(["s" * 3_000_000])
    )
    for action in ("retry", "remove", "duplicate", "edit"):
        assert len(admin.get(f"{page}ask/{action}/").content) < 300_000
    assert act(admin, f"{page}ask/duplicate/").status_code == 302
    assert act(admin, f"{page}ask/retry/").status_code == 302
    for job in valkey.lrange("bull:mail:wait", 0, -1):
        assert isinstance(job, bytes)
        assert valkey.hget(b"bull:mail:" + job, "data") == data.encode()
    assert len(json.dumps(list(AuditEntry.objects.values_list("parameters", flat=True)))) < 20_000


def test_au_03_the_password_of_a_source_is_in_no_question_no_answer_and_no_log_of_an_action(
    admin: Client,
    source: SourceConfig,
    valkey: redis.Redis,
    settings: LazySettings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    page = failed_job(valkey, QueueRef("main", b"bull", b"mail"), "7")
    queue = page.removesuffix("jobs/7/")
    fields = form_of(admin.get(f"{page}ask/retry/"))
    settings.MIRANTE_SOURCES = (replace(source, url=SECRET_URL),)
    registry.forget()
    picked = {"job": "7", "state": "failed", "until": "1", "attempts": "keep", "key": "k"}
    answers = [
        admin.get(f"{page}ask/retry/"),
        admin.post(f"{page}act/retry/", fields),
        admin.post(f"{queue}act/pause/", {"key": "p"}),
        admin.post(f"{queue}bulk/act/retry/", picked),
        admin.get(f"{queue}deduplication/"),
    ]
    assert {answer.status_code for answer in answers} == {503}
    entry = AuditEntry.objects.filter(action="retry").latest("pk")
    assert "127.0.0.1:1/0" in entry.note
    answers += [admin.get("/audit/"), admin.get(f"/audit/{entry.pk}/")]
    told = [answer.content.decode() for answer in answers]
    for ending in ("csv", "jsonl"):
        export: Any = admin.get(f"/audit/export.{ending}")
        told.append(b"".join(export.streaming_content).decode() if export.streaming else export.content.decode())
    assert not any("PW42" in text for text in [*told, caplog.text])


def test_jd_02_a_log_line_that_somebody_adds_is_text_on_the_page(admin: Client, valkey: redis.Redis) -> None:
    page = failed_job(valkey, QueueRef("main", b"bull", b"mail"), "1")
    done = act(admin, f"{page}ask/log/", line="<script>window.__x=1</script> \x1b[31mred")
    assert done.status_code == 302
    assert "<script>window" not in admin.get(done["Location"]).content.decode()
    assert form_of(admin.get(f"{page}ask/log/"))["line"] == ""
