"""The page of a queue: what can be done to it, what is asked before, and what comes of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import redis
from django.conf import LazySettings
from django.test import Client

from queues import registry
from queues.models import AuditEntry
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.dashboard.asking import act, form_of, question, said
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.django_db

QUEUE = "/queues/main/mail/"
ASK = "/queues/main/mail/ask/{}/"
ADMINS = ["concurrency", "rate-limit", "clean", "drain", "trim-events", "obliterate"]


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    return seed_queue(valkey, "mail", waiting=3, prioritized=2, delayed=4, completed=5, failed=6)


@pytest.fixture
def operator(mail: QueueRef) -> Client:
    return as_role("operator")


@pytest.fixture
def admin(mail: QueueRef) -> Client:
    return as_role("admin")


def offered(client: Client) -> list[str]:
    page = Page(client.get(QUEUE))
    return [node.attrs["data-action"] for node in page.all("data-action") if "aria-disabled" not in node.attrs]


def test_the_menu_says_once_for_all_that_are_off_why(mail: QueueRef) -> None:
    (menu,) = Page(as_role("viewer").get("/queues/main/mail/")).all("class", "more-acts")
    (apart,) = [node for node in menu.children if node.attrs.get("class") == "apart"]
    assert apart.text.count("It needs the admin role, and you are viewer.") == 1
    assert menu.text.count("It needs the admin role") == 2
    assert menu.text.count("It needs the operator role") <= 1
    for label in ("Limit concurrency…", "Limit rate…", "Release a deduplication id…"):
        assert label in menu.text
    for label in ("Clean…", "Drain…", "Trim events…", "Obliterate…"):
        assert label in apart.text


def test_a_queue_offers_what_a_role_may_do_and_says_why_the_rest_is_off(operator: Client, admin: Client) -> None:
    assert offered(operator) == ["pause", "add", "promote", "retry", "release-deduplication"]
    assert offered(admin) == ["pause", "add", "promote", "retry", *ADMINS[:2], "release-deduplication", *ADMINS[2:]]
    page = Page(operator.get(QUEUE))
    assert "Obliterate… It needs the admin role, and you are operator." in page.text


def test_pausing_names_the_queue_its_source_and_what_waits_then_can_be_resumed(
    operator: Client, valkey: redis.Redis
) -> None:
    asked = said(operator.get(ASK.format("pause")))
    assert "Pause mail on main?" in asked
    assert "5 jobs wait now." in asked
    answer = act(operator, ASK.format("pause"), reason="release")
    assert valkey.hexists("bull:mail:meta", "paused")
    page = Page(operator.get(answer.url))
    assert "Paused" in page.all("data-outcome")[0].text
    assert offered(operator)[0] == "resume"
    act(operator, ASK.format("resume"))
    assert not valkey.hexists("bull:mail:meta", "paused")
    assert sorted(AuditEntry.objects.values_list("action", flat=True)) == ["pause", "resume"]


def test_a_job_is_added_with_its_exact_data_and_its_options(operator: Client, valkey: redis.Redis) -> None:
    options = {"priority": "7", "attempts": "3", "backoff": "exponential", "backoff_amount": "2", "backoff_unit": "s"}
    kept = {"keep_completed": "count", "keep_completed_count": "9", "keep_failed": "now"}
    deduplication = {"dedup": "order-1", "dedup_ttl": "5", "dedup_unit": "min"}
    data = '{"id": 9007199254740993127, "rate": 1.50}'
    answer = act(
        operator,
        ASK.format("add"),
        job_name="send",
        payload=data,
        job_id="own-id",
        **options,
        **kept,
        **deduplication,
    )
    assert answer.status_code == 302
    found: dict[bytes, bytes] = valkey.hgetall("bull:mail:own-id")  # type: ignore[assignment]
    assert (found[b"name"], found[b"data"]) == (b"send", data.encode())
    opts = json.loads(found[b"opts"])
    assert opts["backoff"] == {"type": "exponential", "delay": 2000}
    assert (opts["attempts"], opts["removeOnComplete"], opts["removeOnFail"]) == (3, {"count": 9}, True)
    assert valkey.zscore("bull:mail:prioritized", "own-id")
    assert valkey.get("bull:mail:de:order-1") == b"own-id"
    links = [node.attrs.get("href") for node in Page(operator.get(answer.url)).all("data-outcome")[0].children]
    assert "/queues/main/mail/jobs/own-id/" in links


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("payload", '{"a":1', "This is no JSON, from line 1"),
        ("job_id", "12", "A number"),
        ("job_id", "a:b", "no id with a colon"),
        ("priority", "-1", "greater than or equal to 0"),
        ("keep_failed", "count", "Say how many."),
        ("backoff", "fixed", "Say how long."),
        ("dedup_ttl", "5", "Say which id."),
        ("job_name", "", "required"),
    ],
)
def test_what_is_wrong_with_a_new_job_is_said_at_the_field_and_nothing_typed_is_lost(
    operator: Client, field: str, value: str, why: str
) -> None:
    typed = {"job_name": "send", "payload": '{"kept": true}', "reason": "kept too"} | {field: value}
    answer = act(operator, ASK.format("add"), **typed)
    assert answer.status_code == 422
    assert why in said(answer)
    kept = form_of(answer)
    assert {name: kept[name] for name in typed} == typed
    assert not AuditEntry.objects.exists()


def test_limits_begin_with_what_is_set_and_are_set_and_cleared(admin: Client, valkey: redis.Redis) -> None:
    act(admin, ASK.format("concurrency"), most="12")
    act(admin, ASK.format("rate-limit"), most="30", span="2", unit="min")
    assert valkey.hmget("bull:mail:meta", "concurrency", "max", "duration") == [b"12", b"30", b"120000"]
    shown = form_of(admin.get(ASK.format("rate-limit")))
    assert (shown["most"], shown["span"], shown["unit"]) == ("30", "2", "min")
    act(admin, ASK.format("concurrency"), most="")
    act(admin, ASK.format("rate-limit"), most="")
    assert valkey.hmget("bull:mail:meta", "concurrency", "max") == [None, None]


def test_draining_says_what_goes_and_asks_for_the_name(admin: Client, valkey: redis.Redis) -> None:
    asked = said(admin.get(ASK.format("drain")))
    assert "Waiting 3 Prioritized 2 Delayed 4" in asked
    assert "This cannot be undone" in asked
    answer = act(admin, ASK.format("drain"), sure="malL", delayed="on")
    assert answer.status_code == 422
    assert "This is not the name: nothing was done." in said(answer)
    assert not AuditEntry.objects.exists()
    answer = act(admin, ASK.format("drain"), sure="mail")
    assert answer.url == f"/audit/{AuditEntry.objects.get().pk}/"


def test_obliterating_is_off_while_the_queue_is_open_and_leads_to_pausing_it(
    admin: Client, valkey: redis.Redis
) -> None:
    answer = admin.get(ASK.format("obliterate"))
    assert answer.status_code == 409
    asked = question(Page(answer))
    assert "The queue is not paused. Pause it first" in said(answer)
    assert not [node for node in asked.children if node.tag == "button"]
    assert ASK.format("pause") in [node.attrs.get("href") for node in asked.children]
    act(admin, ASK.format("pause"))
    answer = admin.get(ASK.format("obliterate"))
    assert answer.status_code == 200
    assert "This cannot be undone: no copies are kept." in said(answer)
    assert "Failed 6" in said(answer)
    assert "Type mail to go on" in said(answer)
    assert act(admin, ASK.format("obliterate")).status_code == 422
    assert valkey.zcard("bull:mail:failed") == 6


def test_what_is_seldom_needed_of_a_new_job_is_folded_until_something_in_it_is_wrong(operator: Client) -> None:
    folds = [node for node in question(Page(operator.get(ASK.format("add")))).children if node.tag == "details"]
    assert len(folds) == 1
    assert "open" not in folds[0].attrs
    assert {"job_id", "attempts", "delay"} <= {node.attrs.get("name") for node in folds[0].children}
    assert not {"job_name", "payload", "reason"} & {node.attrs.get("name") for node in folds[0].children}
    right = act(operator, ASK.format("add"), job_name="", delay_unit="s")
    assert "open" not in next(node for node in question(Page(right)).children if node.tag == "details").attrs
    wrong = act(operator, ASK.format("add"), job_name="send", job_id="7")
    assert "open" in next(node for node in question(Page(wrong)).children if node.tag == "details").attrs


def test_where_nothing_is_old_enough_nothing_can_be_removed(admin: Client) -> None:
    shown = act(admin, ASK.format("clean"), state="failed", amount="9", unit="d", clock="finished")
    assert "None of 6 jobs (failed) is older than 9 d since finished." in said(shown)
    asked = question(Page(shown))
    assert [node.text.strip() for node in asked.children if node.tag == "button"] == ["Show what would go"]
    assert "previewed" not in [node.attrs.get("name") for node in asked.children]


def test_cleaning_shows_first_how_many_go_by_which_clock_and_removes_nothing(
    admin: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    now = int(valkey.time()[0]) * 1000
    day = 24 * 3600 * 1000
    due_next_week, overdue = "next-week", "overdue"
    for job, created, due in ((due_next_week, now - 9 * day, now + 7 * day), (overdue, now, now - 2 * day)):
        seed_job(valkey, mail, job, timestamp=created, delay=1)
        valkey.zadd("bull:mail:delayed", {job: due * 4096})
    fields = {"state": "delayed", "amount": "1", "unit": "d", "clock": "due"}
    shown = act(admin, ASK.format("clean"), **fields)
    assert shown.status_code == 200
    assert "1 of 6 jobs (delayed) is older than 1 d since due" in said(shown)
    assert "overdue" in said(shown)
    assert "Remove 1 job" in question(Page(shown)).text
    assert not AuditEntry.objects.exists()
    by_creation = act(admin, ASK.format("clean"), **fields | {"clock": "created"})
    assert "next-week" in said(by_creation)
    assert "overdue" not in said(by_creation)
    answer = admin.post("/queues/main/mail/act/clean/", form_of(shown) | {"amount": "0"})
    assert answer.status_code == 200, "what was not shown is shown, not removed"
    answer = admin.post("/queues/main/mail/act/clean/", form_of(shown))
    assert answer["Location"] == f"/audit/{AuditEntry.objects.get().pk}/"


def test_cleaning_keeps_and_counts_the_next_runs_of_schedules(
    admin: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    seed_job(valkey, mail, "repeat:nightly:1000", rjk="nightly", timestamp=1, delay=1)
    valkey.zadd("bull:mail:delayed", {"repeat:nightly:1000": 1000 * 4096})
    valkey.zadd("bull:mail:repeat", {"nightly": 1000})
    valkey.hset("bull:mail:repeat:nightly", mapping={"name": "x", "every": "1000"})
    shown = said(act(admin, ASK.format("clean"), state="delayed", amount="1", unit="d", clock="due"))
    assert "0 of 5 jobs (delayed) are older than 1 d since due" in shown
    assert "1 next run of a schedule is among them and stays." in shown


def test_a_clock_that_a_state_does_not_have_is_refused(admin: Client) -> None:
    answer = act(admin, ASK.format("clean"), state="waiting", clock="finished")
    assert answer.status_code == 422
    assert "What they have: since created." in said(answer)


def test_a_deduplication_id_is_released_only_where_its_job_has_ended(operator: Client, valkey: redis.Redis) -> None:
    valkey.set("bull:mail:de:order-1", "gone")
    act(operator, ASK.format("release-deduplication"), dedup="order-1")
    assert not valkey.exists("bull:mail:de:order-1")
    waiting = valkey.lindex("bull:mail:wait", 0)
    valkey.set("bull:mail:de:order-2", waiting)  # type: ignore[arg-type]
    answer = act(operator, ASK.format("release-deduplication"), dedup="order-2")
    assert answer.status_code == 409
    assert valkey.exists("bull:mail:de:order-2")


def test_a_question_is_a_page_or_the_part_that_the_dialog_asks_for(operator: Client) -> None:
    page = operator.get(ASK.format("pause")).content.decode()
    part = operator.get(ASK.format("pause"), headers={"HX-Request": "true", "HX-Target": "ask-dialog"}).content.decode()
    assert "<html" in page
    assert "<html" not in part
    assert 'id="ask-title"' in part
    assert 'method="post"' in part


def test_every_form_needs_its_token_and_every_act_a_post(mail: QueueRef, valkey: redis.Redis) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person("admin"))
    assert client.post("/queues/main/mail/act/pause/").status_code == 403
    assert client.get("/queues/main/mail/act/pause/").status_code == 405
    assert client.get(ASK.format("retry")).status_code == 404
    assert not valkey.hexists("bull:mail:meta", "paused")


@pytest.mark.parametrize("action", [*ADMINS, "release-limit"])
def test_what_admins_do_is_refused_to_operators(operator: Client, action: str) -> None:
    assert operator.get(ASK.format(action)).status_code == 403
    assert operator.post(f"/queues/main/mail/act/{action}/", {"sure": "mail", "most": "1"}).status_code == 403
    assert AuditEntry.objects.get().status == "refused"


def test_an_outage_keeps_the_new_job_that_was_typed(
    operator: Client, source: SourceConfig, settings: LazySettings
) -> None:
    fields = form_of(operator.get(ASK.format("add"))) | {"job_name": "send", "payload": '{"long":"text"}'}
    settings.MIRANTE_SOURCES = (replace(source, url="redis://127.0.0.1:1/0"),)
    registry.forget()
    answer = operator.post("/queues/main/mail/act/add/", fields)
    assert answer.status_code == 503
    kept = form_of(answer)
    assert (kept["job_name"], kept["payload"]) == ("send", '{"long":"text"}')
    assert kept["key"] != fields["key"], "sent once more it is meant once more"
    # The address of a form answers nobody who fetches it: the page looks elsewhere how things stand.
    assert 'data-refresh="/users/me/"' in answer.content.decode()
    assert b"data-refresh" not in operator.get("/users/me/").content
