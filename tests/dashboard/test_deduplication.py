"""The deduplication ids of a queue on a page: which are stale, for how long, and releasing them (AC-10)."""

from __future__ import annotations

import pytest
import redis
from django.test import Client

from queues.backends.bullmq import deduplication
from queues.models import AuditEntry
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.dashboard.asking import form_of, said
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.node import Node
from tests.seed import seed_queue
from tests.valkey import Server

pytestmark = pytest.mark.django_db

HELD = "/queues/main/mail/deduplication/"
RELEASE = "/queues/main/mail/ask/release-deduplication/"
AC_10 = """
const q = queue(args.major, "mail");
await q.add("a", {}, { jobId: "a", deduplication: { id: "order-1" } });
const w = worker(args.major, "mail", async () => { throw new Error("no"); });
await until(async () => (await q.getFailedCount()) === 1);
await w.close();
await q.add("b", {}, { jobId: "b", deduplication: { id: "order-1" } });
await redis.del("bull:mail:b");
await redis.lrem("bull:mail:wait", 0, "b");
"""
ADD = """
const q = queue(args.major, "mail");
await q.add("c", {}, { jobId: "c", deduplication: { id: "order-1" } });
return await q.getWaitingCount();
"""


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    found = seed_queue(valkey, "mail", waiting=1, failed=1)
    valkey.mset({"bull:mail:de:held": "1", "bull:mail:de:ended": "2", "bull:mail:de:stale": "gone"})
    valkey.set("bull:mail:de:timed", "2", px=600_000)
    return found


@pytest.fixture
def operator(mail: QueueRef) -> Client:
    return as_role("operator")


@pytest.mark.parametrize("major", [5, 6])
def test_ac_10_a_stale_id_is_found_on_a_page_and_released_there(
    source: SourceConfig, node: Node, valkey: redis.Redis, valkey_server: Server, major: int
) -> None:
    node.run(AC_10, url=valkey_server.url, major=major)
    operator = as_role("operator")
    page = Page(operator.get(HELD))
    (row,) = page.all("data-held-id", "order-1")
    assert "data-is-stale" in row.attrs
    assert "1 is stale" in page.text
    (button,) = page.all("data-action", "release-deduplication")
    asked = operator.get(button.attrs["href"])
    assert form_of(asked)["dedup"] == "order-1"
    answer = operator.post(RELEASE.replace("/ask/", "/act/"), form_of(asked))
    entry = AuditEntry.objects.get()
    assert answer["Location"] == f"{HELD}?done={entry.pk}"
    assert (entry.action, entry.status, entry.parameters) == ("release-deduplication", "done", {"id": "order-1"})
    after = Page(operator.get(answer["Location"]))
    assert "The deduplication id is free again" in after.all("data-outcome")[0].text
    assert not after.all("data-held-id")
    assert node.run(ADD, url=valkey_server.url, major=major) == 1


def test_the_stale_ones_come_first_and_only_what_is_over_can_be_released(operator: Client) -> None:
    page = Page(operator.get(HELD))
    rows = page.rows("data-held-id")
    assert set(rows[:2]) == {"ended", "stale"}
    assert rows[2:] == ["timed", "held"]
    released = {
        node.attrs["data-held-id"]
        for node in page.all("data-held-id")
        if any(child.attrs.get("data-action") == "release-deduplication" for child in node.children)
    }
    assert released == {"ended", "stale", "timed"}
    assert "by itself in 9 min" in page.all("data-held-id", "timed")[0].text
    assert "when its job ends" in page.all("data-held-id", "held")[0].text


def test_it_says_how_much_was_looked_at_and_goes_on(
    operator: Client, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deduplication, "MOST_KEYS", 1_000)
    valkey.mset({f"other:{number}": "x" for number in range(4_000)})
    page = Page(operator.get(HELD))
    assert "looked at 1,000 of about 4,0" in page.text
    (further,) = page.all("rel", "next")
    assert Page(operator.get(HELD + further.attrs["href"])).text.count("looked at 2,000 of about") == 1
    assert operator.get(HELD + "?after=nonsense").status_code == 422


def test_a_job_that_was_to_follow_is_told_of_before_and_after(operator: Client, valkey: redis.Redis) -> None:
    valkey.hset("bull:mail:dn:stale", mapping={"name": "n", "data": "{}", "opts": "{}"})
    rows = Page(operator.get(HELD)).all("data-held-id", tag="tr")
    following = [
        row.attrs["data-held-id"] for row in rows if any("data-follows" in each.attrs for each in row.children)
    ]
    assert following == ["stale"]
    asked = operator.get(RELEASE, {"id": "stale", "next": HELD})
    assert "Where a further job was to follow the holder" in said(asked)
    answer = operator.post(RELEASE.replace("/ask/", "/act/"), form_of(asked))
    told = Page(operator.get(answer["Location"])).all("data-outcome")[0].text
    assert "free again. The job that was to follow its holder is kept: it runs after the next job of this id" in told
    assert valkey.exists("bull:mail:dn:stale")


def test_a_viewer_sees_them_and_why_nothing_can_be_released(mail: QueueRef) -> None:
    page = Page(as_role("viewer").get(HELD))
    assert page.all("data-held-id")
    assert not page.all("data-action")
    assert "It needs the operator role, and you are viewer." in page.text


def test_the_queue_its_menu_and_the_question_lead_there(operator: Client) -> None:
    assert len(Page(operator.get("/queues/main/mail/")).all("href", HELD)) == 2
    assert len(Page(operator.get(RELEASE)).all("href", HELD)) == 1


def test_it_is_a_page_and_a_part(operator: Client) -> None:
    part = operator.get(HELD, headers={"HX-Request": "true", "HX-Target": "held"}).content.decode()
    assert "<html" not in part
    assert 'data-held-id="stale"' in part


def test_ids_of_any_bytes_are_text_and_released_to_the_byte(
    operator: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    odd, markup = b"bull:mail:de:\xff\xfe\x80", "bull:mail:de:<b>x</b>\u202egpj"
    valkey.set(odd, b"\xff")
    valkey.set(markup, "<i>")
    answer = operator.get(HELD)
    assert "<b>x</b>" not in answer.content.decode()
    for name in ("\ufffd\ufffd\ufffd", "<b>x</b>"):
        rows = [row for row in Page(answer).all("data-held-id") if name in row.attrs["data-held-id"]]
        (row,) = rows
        (button,) = [child for child in row.children if "data-action" in child.attrs]
        asked = operator.get(button.attrs["href"])
        assert operator.post(RELEASE.replace("/ask/", "/act/"), form_of(asked)).status_code == 302
    assert not valkey.exists(odd, markup)


def test_nothing_leads_away_from_here_after_a_release(operator: Client) -> None:
    asked = operator.get(RELEASE, {"id": "stale", "next": "//evil.example/"})
    assert "evil" not in said(asked)
    fields = form_of(asked) | {"next": "https://evil.example/"}
    answer = operator.post(RELEASE.replace("/ask/", "/act/"), fields)
    assert answer["Location"].startswith("/queues/main/mail/?done=")
