"""The page of hidden values, and that what an admin adds there holds in every output."""

from __future__ import annotations

import json
import time
from typing import cast

import pytest
import redis
from django.test import Client

from dashboard.live.job import JobPage
from dashboard.live.queue import QueuePage
from queues import masking
from queues.events import Event, EventKind
from queues.live import JobNews, Pulse, QueueNews, Seen, Standing
from queues.models import AuditEntry, Masking
from queues.quantities import now_ms
from queues.redaction import MASK
from queues.registry import SourceConfig
from queues.types import JobRef, Progress, QueueRef, Text
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person, signed_in
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.django_db

SECRET = "QXZQXZ"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_book", masking._Book())


@pytest.fixture
def admin() -> Client:
    return signed_in(person("admin", name="ada"))


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    """A queue known to us with a failed job that holds a nickname wherever it can."""
    queue = seed_queue(valkey, "mail")
    _known(queue)
    _job(valkey, queue)
    return queue


def _known(queue: QueueRef) -> None:
    from queues import discovery

    discovery.pin(queue.source, queue.slug)


def _job(valkey: redis.Redis, queue: QueueRef) -> None:
    text = f"nickname: {SECRET}"
    fields = {
        "name": text,
        "failedReason": text,
        "progress": json.dumps({"nickname": SECRET}),
        "data": json.dumps({"Nick-Name": SECRET, "city": "Olinda"}),
        "returnvalue": json.dumps([{"nickname": SECRET}]),
        "stacktrace": json.dumps([f"Error: {text}\n    at x (/app/x.js:1:2)"]),
        "nickname": SECRET,
        "opts": json.dumps({"nickname": SECRET, "attempts": 1}),
        "rjk": text,
        "processedBy": text,
        "defa": text,
    }
    seed_job(valkey, queue, "7", **fields)
    valkey.zadd(f"bull:{queue.label}:failed", {"7": time.time() * 1000})
    valkey.rpush(f"bull:{queue.label}:7:logs", text)


PAGES = (
    *("/queues/main/mail/jobs/7/", "/queues/main/mail/jobs/7/logs/", "/queues/main/mail/?state=failed"),
    *("/find/?q=7", "/audit/", "/"),
)


def test_an_added_pattern_holds_on_every_page_and_nowhere_else(
    admin: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    other = seed_queue(valkey, "other")
    _job(valkey, other)
    assert SECRET in admin.get(PAGES[0]).text
    answer = admin.post("/masking/add/", {"pattern": "*NickName*", "source": "main", "queue": "mail"})
    assert answer.status_code == 302
    for path in PAGES:
        assert SECRET not in admin.get(path, follow=True).text, path
    assert SECRET in admin.get("/queues/main/other/jobs/7/").text
    entry = AuditEntry.objects.get(action="masking-add")
    assert (entry.who, entry.source, entry.queue, entry.parameters) == (
        "ada",
        "main",
        "mail",
        {"pattern": "*nickname*"},
    )
    row = Masking.objects.get()
    assert (row.pattern, row.source, row.queue, row.added_by) == ("*nickname*", "main", "mail", "ada")


def test_a_deleted_pattern_holds_no_longer(admin: Client, mail: QueueRef) -> None:
    admin.post("/masking/add/", {"pattern": "*nickname*"})
    assert SECRET not in admin.get(PAGES[0]).text
    path = f"/masking/{Masking.objects.get().pk}/delete/"
    assert admin.post(path).status_code == 302
    assert admin.post(path).status_code == 302  # pressed twice
    assert SECRET in admin.get(PAGES[0]).text
    assert AuditEntry.objects.filter(action="masking-delete").count() == 1


def test_a_preview_names_what_it_would_hide_and_hides_nothing(admin: Client, mail: QueueRef) -> None:
    data = {"pattern": "*nickname*", "source": "main", "queue": "mail", "preview": "1"}
    answer = admin.post("/masking/add/", data)
    page = Page(answer)
    assert answer.status_code == 200
    assert {node.attrs["data-found"] for node in page.all("data-found")} == {"Nick-Name", "nickname"}
    assert "nickname" in {node.attrs["data-hidden"] for node in page.all("data-hidden")}
    assert SECRET not in page.source
    assert 'value="*nickname*"' in page.source
    assert not Masking.objects.exists()
    assert not AuditEntry.objects.exists()


def test_a_preview_of_whole_words_names_what_it_leaves(admin: Client) -> None:
    page = Page(admin.post("/masking/add/", {"pattern": "tax id", "preview": "1"}))
    assert "tax_id" in {node.attrs["data-hidden"] for node in page.all("data-hidden")}
    assert "taxid" in {node.attrs["data-kept"] for node in page.all("data-kept")}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"pattern": ""}, "required"),
        ({"pattern": "*"}, "A pattern is letters"),
        ({"pattern": "<b>"}, "A pattern is letters"),
        ({"pattern": "x" * 101}, "at most 100"),
        ({"pattern": "*password*"}, "hidden everywhere already"),
        ({"pattern": "iban", "source": "nowhere"}, "not one of the available choices"),
        ({"pattern": "iban", "queue": "mail"}, "choose that too"),
        ({"pattern": "iban", "source": "main", "queue": "<i>"}, "No queue of this name"),
    ],
)
@pytest.mark.parametrize("preview", [{}, {"preview": "1"}])
def test_wrong_input_is_told_and_kept_in_the_form(
    admin: Client, source: SourceConfig, data: dict[str, str], says: str, preview: dict[str, str]
) -> None:
    answer = admin.post("/masking/add/", data | preview)
    if preview and "password" in data["pattern"]:
        assert answer.status_code == 200
        return
    assert answer.status_code == 422
    assert says in answer.text
    assert "<b>" not in answer.text.split("<main")[1].split("data-preview")[0].replace("<b data-", "")
    assert not Masking.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_it_is_for_admins(role: str) -> None:
    client = as_role(role)
    assert client.get("/masking/").status_code == 403
    assert client.post("/masking/add/", {"pattern": "iban"}).status_code == 403
    assert "/masking/" not in client.get("/").text
    assert not Masking.objects.exists()


def test_a_pattern_of_a_queue_with_an_odd_name_is_text(admin: Client) -> None:
    Masking.objects.create(pattern="iban", source="main", queue=QueueRef("main", b"bull", b"<i>\x80").slug)
    Masking.objects.create(pattern="iban", source="main", queue="~~~")
    text = admin.get("/masking/").text
    assert text.count('data-pattern="iban"') == 2
    assert "<i>" not in text


def test_what_is_pushed_to_open_pages_is_hidden_by_the_rules_of_the_queue(mail: QueueRef, valkey: redis.Redis) -> None:
    masking.add("*nickname*", source="main", queue="mail", by="ada")
    text = Text(f"nickname={SECRET}", 20)
    other = seed_queue(valkey, "other")
    _job(valkey, other)
    for queue, hidden in ((mail, True), (other, False)):
        event = Event(queue, f"{now_ms()}-1", EventKind.FAILED, job=b"7", text=text)
        said = Event(queue, f"{now_ms()}-2", EventKind.PROGRESS, job=b"7", progress=Progress(None, text))
        live = Standing(Pulse.LIVE, 0)
        page = JobPage(JobRef(queue, b"7")).update(JobNews(JobRef(queue, b"7"), live, [event]))
        list_ = QueuePage(queue).update(QueueNews(queue, live, events=[Seen(event)], total=1, progress=[said]))
        pushed = [*page.parts.values(), page.feed, page.log, *list_.parts.values(), list_.feed]
        assert any(SECRET in html for html in pushed) is not hidden
        assert any(MASK in html for html in pushed) is hidden


@pytest.mark.parametrize("action", ["retry", "duplicate"])
def test_acting_on_a_masked_job_sends_the_true_bytes(
    action: str, admin: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    masking.add("*nickname*", by="ada")
    before = valkey.hget("bull:mail:7", "data")
    page = Page(admin.get(f"/queues/main/mail/jobs/7/ask/{action}/"))
    assert SECRET not in page.source
    form = {node.attrs["name"]: node.attrs.get("value", "") for node in page.all("name", tag="input")}
    form |= {node.attrs["name"]: node.text.removeprefix("\n") for node in page.all("name", tag="textarea")}
    answer = admin.post(f"/queues/main/mail/jobs/7/act/{action}/", form)
    assert answer.status_code == 302, answer.text
    waiting = cast("list[bytes]", valkey.lrange("bull:mail:wait", 0, -1))
    assert len(waiting) == 1
    assert valkey.hget(f"bull:mail:{waiting[0].decode()}", "data") == before
    assert SECRET.encode() in (before or b"")
    told = str(list(AuditEntry.objects.values()))
    assert SECRET not in told
