"""Hidden values shown once: to admins, with an entry in the log of actions, and nowhere else."""

from __future__ import annotations

import json
import time

import pytest
import redis
from django.db import OperationalError
from django.test import Client

from queues import audit, masking
from queues.models import AuditEntry
from queues.redaction import MASK, NOTHING
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person, signed_in
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.django_db

PATH = "/queues/main/mail/jobs/7/reveal/"
SECRETS = ("s3cret-in-data", "s3cret-in-error", "s3cret-in-stack", "s3cret-in-log", "4111111111111111", "s3cret-field")


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    """A queue with one failed job that holds a secret wherever there is room for one."""
    queue = seed_queue(valkey, "mail")
    fields = {
        "name": "charge",
        "data": json.dumps({"password": "s3cret-in-data", "city": "Olinda"}),
        "returnvalue": "4111111111111111",
        "failedReason": "refused: token=s3cret-in-error",
        "stacktrace": json.dumps(["Error: token=s3cret-in-stack\n    at x (/app/x.js:1:2)"]),
        "apiKey": "s3cret-field",
    }
    seed_job(valkey, queue, "7", **fields)
    valkey.zadd("bull:mail:failed", {"7": time.time() * 1000})
    valkey.rpush("bull:mail:7:logs", "sent with password=s3cret-in-log")
    return queue


@pytest.fixture
def admin() -> Client:
    return signed_in(person("admin", name="ada"))


def test_an_admin_sees_everything_once_and_the_log_says_so(admin: Client, mail: QueueRef) -> None:
    before = admin.get("/queues/main/mail/jobs/7/").text
    assert not any(secret in before for secret in SECRETS)
    answer = admin.post(PATH)
    assert answer.status_code == 200
    for secret in SECRETS:
        assert secret in answer.text
    assert "no-store" in answer.headers["Cache-Control"]
    assert "Nothing is hidden on this page." in answer.text
    assert 'id="live"' not in answer.text  # nothing is pushed onto it
    after = admin.get("/queues/main/mail/jobs/7/").text
    assert not any(secret in after for secret in SECRETS)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.who, entry.source, entry.queue, entry.jobs) == ("reveal", "ada", "main", "mail", ["7"])
    assert entry.status == "done"
    hidden = {"data": 1, "returnvalue": 1, "failedReason": 1, "stacktrace": 1, "logs": 1, "apiKey": 1}
    assert entry.parameters["hidden"] == hidden
    told = json.dumps(entry.parameters) + admin.get("/audit/").text
    assert not any(secret in told for secret in SECRETS)


def test_the_way_there_stands_where_something_is_hidden(admin: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    assert len(Page(admin.get("/queues/main/mail/jobs/7/")).all("action", PATH)) >= 4
    valkey.delete("bull:mail:7", "bull:mail:7:logs")
    seed_job(valkey, mail, "7", data='{"city":"Olinda"}')
    assert not Page(admin.get("/queues/main/mail/jobs/7/")).all("action", PATH)


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_others_see_why_not(role: str, mail: QueueRef) -> None:
    client = as_role(role)
    page = Page(client.get("/queues/main/mail/jobs/7/"))
    assert not page.all("action", PATH)
    assert "Hidden values: admins only" in page.text
    assert "needs the admin role" in page.source
    answer = client.post(PATH)
    assert answer.status_code == 403
    assert not any(secret in answer.text for secret in SECRETS)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.status, entry.jobs) == ("reveal", "refused", ["7"])


def test_it_is_not_read(admin: Client, mail: QueueRef) -> None:
    for method in ("GET", "HEAD", "OPTIONS"):
        assert admin.generic(method, PATH).status_code == 405
    assert not AuditEntry.objects.exists()


def test_what_cannot_be_written_down_is_not_shown(
    admin: Client, mail: QueueRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(audit, "record", busy)
    admin.raise_request_exception = False
    answer = admin.post(PATH)
    assert answer.status_code == 503
    assert not any(secret in answer.text for secret in SECRETS)
    assert masking.in_force() is not NOTHING


def test_after_a_page_that_failed_secrets_are_hidden_again(
    admin: Client, mail: QueueRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dashboard.views import jobs

    admin.raise_request_exception = False
    with monkeypatch.context() as broken:
        broken.setattr(jobs, "_context", lambda _read: 1 / 0)
        assert admin.post(PATH).status_code == 500
    assert MASK in admin.get("/queues/main/mail/jobs/7/").text
    assert not any(secret in admin.get("/queues/main/mail/jobs/7/").text for secret in SECRETS)


def test_a_job_that_is_not_there_is_not_found_and_not_written_down(admin: Client, mail: QueueRef) -> None:
    assert admin.post("/queues/main/mail/jobs/8/reveal/").status_code == 404
    assert not AuditEntry.objects.exists()


def test_exact_bytes_are_written_down_too(admin: Client, mail: QueueRef) -> None:
    assert admin.get("/queues/main/mail/jobs/7/fields/data/").content.startswith(b'{"password": "s3cret')
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.jobs, entry.parameters["field"]) == ("download", ["7"], "data")
