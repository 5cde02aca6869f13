"""The page of a job: which actions it offers, what is asked before one, and what comes of it."""

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
from tests.dashboard.asking import act, form_of, said
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person, signed_in
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.django_db

JOB = "/queues/main/mail/jobs/{}/"
ASK = "/queues/main/mail/jobs/{}/ask/{}/"
STATES = ("waiting", "prioritized", "active", "delayed", "waiting-children", "completed", "failed")
SECRET = '{ "to" : "ana",\r\n  "password":"hunter2", "rate": 1.50e3,"card":{"number":4111111111111111} }'


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    """One job in each state: 1 waiting, 2 prioritized, 3 active, 4 delayed, 5 with children, 6 completed, 7 failed."""
    return seed_queue(
        valkey, "mail", waiting=1, prioritized=1, active=1, delayed=1, waiting_children=1, completed=1, failed=1
    )


@pytest.fixture
def operator(mail: QueueRef) -> Client:
    return as_role("operator")


def offered(client: Client, job: str) -> list[str]:
    page = Page(client.get(JOB.format(job)))
    return [node.attrs["data-action"] for node in page.all("data-action") if "aria-disabled" not in node.attrs]


def data_of(valkey: redis.Redis, job: str) -> bytes:
    found = valkey.hget(f"bull:mail:{job}", "data")
    assert isinstance(found, bytes)
    return found


@pytest.mark.parametrize(
    ("job", "actions"),
    [
        ("1", ["priority", "edit", "remove", "duplicate", "log"]),
        ("2", ["priority", "edit", "remove", "duplicate", "log"]),
        ("3", ["requeue", "fail", "duplicate", "log"]),
        ("4", ["promote", "delay", "priority", "edit", "duplicate", "log", "remove"]),
        ("5", ["remove-children", "edit", "duplicate", "log", "remove"]),
        ("6", ["retry", "duplicate", "edit", "log", "remove"]),
        ("7", ["retry", "duplicate", "remove", "edit", "log"]),
    ],
)
def test_a_job_offers_what_fits_its_state_the_likely_first(operator: Client, job: str, actions: list[str]) -> None:
    assert offered(operator, job) == actions


def test_a_job_that_a_worker_holds_offers_nothing_and_says_for_how_long(operator: Client, valkey: redis.Redis) -> None:
    valkey.set("bull:mail:3:lock", "token", px=600_000)
    page = Page(operator.get(JOB.format(3)))
    assert not page.all("data-action")
    assert "A worker holds it. Its lock lasts 9 min" in page.text
    for action in ("remove", "requeue", "fail", "edit"):
        answer = operator.get(ASK.format(3, action))
        assert answer.status_code == 409
        assert "A worker holds it" in said(answer)


def test_buttons_of_a_viewer_are_off_and_say_which_role_they_need(mail: QueueRef) -> None:
    viewer = as_role("viewer")
    page = Page(viewer.get(JOB.format(7)))
    buttons = page.all("data-action")
    assert buttons
    assert all(node.attrs["aria-disabled"] == "true" and node.tag == "button" for node in buttons)
    assert "It needs the operator role, and you are viewer." in page.text


def test_a_source_that_is_read_only_offers_nothing_and_refuses_the_form(
    operator: Client, source: SourceConfig, settings: LazySettings, valkey: redis.Redis
) -> None:
    fields = form_of(operator.get(ASK.format(7, "retry")))
    settings.MIRANTE_SOURCES = (replace(source, read_only=True),)
    registry.forget()
    assert offered(operator, "7") == []
    assert "is read-only here" in Page(operator.get(JOB.format(7))).text
    answer = operator.post("/queues/main/mail/jobs/7/act/retry/", fields)
    assert answer.status_code == 403
    assert said(answer).count("is read-only here") == 1
    assert valkey.zscore("bull:mail:failed", "7")


def test_retrying_says_what_it_does_and_tells_what_came_of_it(operator: Client, valkey: redis.Redis) -> None:
    asked = said(operator.get(ASK.format(7, "retry")))
    assert "Retry job 7 of mail on main?" in asked
    assert "It goes back in line." in asked
    assert "No worker is connected to this queue" in asked
    answer = act(operator, ASK.format(7, "retry"), reason="gateway is back")
    entry = AuditEntry.objects.get()
    assert answer.url == f"/queues/main/mail/jobs/7/?done={entry.pk}"
    assert (entry.action, entry.reason, entry.jobs, entry.outcomes) == ("retry", "gateway is back", ["7"], {"done": 1})
    assert valkey.lpos("bull:mail:wait", "7") is not None
    page = Page(operator.get(answer.url))
    (notice,) = page.all("data-outcome")
    assert "Retried job 7" in notice.text
    assert any(node.attrs.get("href") == f"/audit/{entry.pk}/" for node in notice.children)


def test_retrying_keeps_the_attempts_unless_they_shall_be_forgotten(operator: Client, valkey: redis.Redis) -> None:
    valkey.hset("bull:mail:7", "atm", "1")
    act(operator, ASK.format(7, "retry"))
    assert valkey.hget("bull:mail:7", "atm") == b"1"
    valkey.hset("bull:mail:6", "atm", "1")
    act(operator, ASK.format(6, "retry"), attempts="reset")
    assert valkey.hget("bull:mail:6", "atm") is None


def test_the_same_form_sent_twice_acts_once(operator: Client, valkey: redis.Redis) -> None:
    fields = form_of(operator.get(ASK.format(1, "duplicate")))
    before = valkey.llen("bull:mail:wait")
    first, again = (operator.post("/queues/main/mail/jobs/1/act/duplicate/", fields) for _ in range(2))
    assert first.status_code == again.status_code == 302
    assert first["Location"] == again["Location"]
    assert valkey.llen("bull:mail:wait") == before + 1
    assert AuditEntry.objects.count() == 1


def test_a_removal_sent_twice_leads_to_the_same_outcome(operator: Client, valkey: redis.Redis) -> None:
    fields = form_of(operator.get(ASK.format(7, "remove")))
    first, again = (operator.post("/queues/main/mail/jobs/7/act/remove/", fields) for _ in range(2))
    assert (
        first["Location"] == again["Location"] == f"/queues/main/mail/?state=failed&done={AuditEntry.objects.get().pk}"
    )
    assert not valkey.exists("bull:mail:7")
    assert "Restore" in Page(operator.get(first["Location"])).text


def test_a_job_that_has_moved_on_is_left_alone_and_the_answer_says_where_it_is(
    operator: Client, valkey: redis.Redis
) -> None:
    fields = form_of(operator.get(ASK.format(7, "remove")))
    valkey.zrem("bull:mail:failed", "7")
    valkey.zadd("bull:mail:completed", {"7": 5})
    answer = operator.post("/queues/main/mail/jobs/7/act/remove/", fields)
    assert answer.status_code == 409
    assert valkey.exists("bull:mail:7")
    assert operator.get(ASK.format(7, "promote")).status_code == 409
    assert "Its state is Completed now" in said(operator.get(ASK.format(7, "promote")))


@pytest.mark.parametrize(("verb", "link"), [("retry", "Retry it as it is now…"), ("remove", "Remove it as it is now…")])
def test_a_job_that_has_failed_again_since_leads_to_a_fresh_question(
    operator: Client, valkey: redis.Redis, verb: str, link: str
) -> None:
    fields = form_of(operator.get(ASK.format(7, verb)))
    valkey.zincrby("bull:mail:failed", 60_000, "7")
    answer = operator.post(f"/queues/main/mail/jobs/7/act/{verb}/", fields)
    assert "Job 7 was run again since the page was read, and has failed again: nothing was done" in said(answer)
    assert not form_of(answer)  # which would be refused again
    (fresh,) = Page(answer).all("href", ASK.format(7, verb))
    assert fresh.text == link
    assert act(operator, fresh.attrs["href"]).status_code == 302
    assert valkey.zscore("bull:mail:failed", "7") is None


def test_ac_04_who_asks_after_another_is_told_who_was_quicker(operator: Client, valkey: redis.Redis) -> None:
    late = signed_in(person("operator", name="bert"))
    fields = form_of(late.get(ASK.format(7, "retry")))
    act(operator, ASK.format(7, "retry"))
    first = AuditEntry.objects.get()
    answer = late.post("/queues/main/mail/jobs/7/act/retry/", fields)
    assert answer.status_code == 302
    notice = Page(late.get(answer["Location"])).all("data-outcome")[0]
    assert f"Job 7 is already waiting (by {first.who} at " in notice.text
    asked = late.get(ASK.format(7, "retry"))
    assert asked.status_code == 409
    assert f"It is already waiting (by {first.who} at " in said(asked)
    assert valkey.lrange("bull:mail:wait", 0, -1).count(b"7") == 1


def test_a_time_in_the_past_is_refused_and_what_was_typed_stays(operator: Client, valkey: redis.Redis) -> None:
    score = valkey.zscore("bull:mail:delayed", "4")
    answer = act(operator, ASK.format(4, "delay"), how="at", at="2001-02-03T04:05", reason="typed")
    assert answer.status_code == 422
    assert "This moment has passed" in said(answer)
    fields = form_of(answer)
    assert (fields["at"], fields["how"], fields["reason"]) == ("2001-02-03T04:05", "at", "typed")
    assert valkey.zscore("bull:mail:delayed", "4") == score


@pytest.mark.parametrize("typed", [{"how": "at", "at": "2039-12-01T00:00"}, {"amount": "10000", "unit": "d"}])
def test_a_time_that_no_score_has_room_for_is_refused(
    typed: dict[str, str], operator: Client, valkey: redis.Redis
) -> None:
    score = valkey.zscore("bull:mail:delayed", "4")
    answer = act(operator, ASK.format(4, "delay"), **typed)
    assert answer.status_code == 422
    assert "A job cannot be delayed beyond the year 2039." in said(answer)
    assert valkey.zscore("bull:mail:delayed", "4") == score


def test_a_moment_is_read_as_utc_or_as_the_script_of_the_page_counted_it(operator: Client, valkey: redis.Redis) -> None:
    year = 1_000 * 60 * 60 * 24 * 365
    at_ms = int(valkey.time()[0]) * 1000 + year
    answer = act(operator, ASK.format(4, "delay"), how="at", at="2027-01-01T00:00", at_ms=str(at_ms))
    assert answer.status_code == 302
    score = valkey.zscore("bull:mail:delayed", "4")
    assert score is not None
    assert int(score / 4096) == at_ms


def test_a_priority_out_of_range_is_refused_at_its_field(operator: Client, valkey: redis.Redis) -> None:
    answer = act(operator, ASK.format(1, "priority"), priority="2097153")
    assert answer.status_code == 422
    assert form_of(answer)["priority"] == "2097153"
    assert act(operator, ASK.format(1, "priority"), priority="9").status_code == 302
    assert valkey.zscore("bull:mail:prioritized", "1")


def test_the_next_run_of_a_schedule_is_not_removed_and_the_answer_names_the_schedule(
    operator: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    seed_job(valkey, mail, "repeat:nightly:1999999999999", rjk="nightly", delay=1)
    valkey.zadd("bull:mail:delayed", {"repeat:nightly:1999999999999": 1999999999999 * 4096})
    valkey.zadd("bull:mail:repeat", {"nightly": 1999999999999})
    valkey.hset("bull:mail:repeat:nightly", mapping={"name": "x", "every": "1000"})
    answer = operator.get(ASK.format("repeat:nightly:1999999999999", "remove"))
    assert answer.status_code == 409
    assert "the next run of the schedule nightly" in said(answer)


def test_the_next_run_of_a_schedule_that_waits_already_cannot_be_removed_and_its_button_says_so(
    operator: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    now, before = "repeat:nightly:1700000000000", "repeat:nightly:1600000000000"
    for job in (now, before):
        seed_job(valkey, mail, job, rjk="nightly")
        valkey.lpush("bull:mail:wait", job)
    valkey.zadd("bull:mail:repeat", {"nightly": 1700000000000})
    valkey.hset("bull:mail:repeat:nightly", mapping={"name": "x", "every": "1000"})
    answer = operator.get(ASK.format(now, "remove"))
    assert answer.status_code == 409
    assert "the next run of the schedule nightly" in said(answer)
    assert "the next run of the schedule nightly" in Page(operator.get(f"/queues/main/mail/jobs/{now}/")).text
    assert operator.get(ASK.format(before, "remove")).status_code == 200
    assert "the next run of the schedule" not in Page(operator.get(f"/queues/main/mail/jobs/{before}/")).text


def test_before_the_removal_of_a_job_whose_data_is_no_json_it_is_said_that_it_cannot_be_restored(
    operator: Client, valkey: redis.Redis
) -> None:
    assert "it can be restored as a new job" in said(operator.get(ASK.format(1, "remove")))
    valkey.hset("bull:mail:1", "data", b'{"half": \xff')
    asked = said(operator.get(ASK.format(1, "remove")))
    assert "Its data is no JSON: a copy of its bytes is kept, but it cannot be restored as a job." in asked
    assert "it can be restored as a new job" not in asked


def test_hidden_values_are_not_in_the_form_and_the_true_bytes_come_back(operator: Client, valkey: redis.Redis) -> None:
    valkey.hset("bull:mail:1", "data", SECRET)
    answer = operator.get(ASK.format(1, "edit"))
    source = answer.content.decode()
    assert "hunter2" not in source
    assert "4111111111111111" not in source
    typed = form_of(answer)["payload"].replace("ana", "bia")
    assert act(operator, ASK.format(1, "edit"), payload=typed).status_code == 302
    assert data_of(valkey, "1") == SECRET.replace("ana", "bia").encode()
    assert "hunter2" not in json.dumps(list(AuditEntry.objects.values_list("parameters", flat=True)))


@pytest.mark.parametrize(
    ("was", "by"),
    [
        ("•••••••• 1", "••••••• 1"),
        ('"•••••••• 1"', '"known"'),
        ('"password"', '"note"'),
        ("•••••••• 1", "•••••••• 2"),
        ("•••••••• 1", "•••••••• 99"),
    ],
    ids=["altered", "replaced", "moved to where it shows", "doubled", "of no value"],
)
def test_hidden_values_can_be_neither_altered_nor_moved(
    operator: Client, valkey: redis.Redis, was: str, by: str
) -> None:
    valkey.hset("bull:mail:1", "data", SECRET)
    typed = form_of(operator.get(ASK.format(1, "edit")))["payload"].replace(was, by)
    answer = act(operator, ASK.format(1, "edit"), payload=typed)
    assert answer.status_code == 422
    assert "hunter2" not in answer.content.decode()
    assert form_of(answer)["payload"] == typed
    assert data_of(valkey, "1") == SECRET.encode()


def test_data_that_somebody_else_changed_is_not_overwritten_and_both_are_shown(
    operator: Client, valkey: redis.Redis
) -> None:
    fields = form_of(operator.get(ASK.format(1, "edit"))) | {"payload": '{"mine":1}'}
    valkey.hset("bull:mail:1", "data", '{"theirs":2,"token":"abc123"}')
    answer = operator.post("/queues/main/mail/jobs/1/act/edit/", fields)
    assert answer.status_code == 409
    assert '"theirs"' in said(answer)
    assert "abc123" not in answer.content.decode()
    assert form_of(answer)["payload"] == '{"mine":1}'
    assert b"theirs" in data_of(valkey, "1")


def test_an_edit_sent_twice_is_saved_once_and_no_conflict(operator: Client, valkey: redis.Redis) -> None:
    fields = form_of(operator.get(ASK.format(1, "edit"))) | {"payload": '{"mine":1}'}
    first, again = (operator.post("/queues/main/mail/jobs/1/act/edit/", fields) for _ in range(2))
    assert first.status_code == again.status_code == 302
    assert first["Location"] == again["Location"]
    assert data_of(valkey, "1") == b'{"mine":1}'


@pytest.mark.parametrize("data", [b"[" + b"1," * 200_000 + b"1]", b'{"a":1,\r\n"b":2\n}'], ids=["large", "line ends"])
def test_data_that_a_form_would_not_keep_is_not_edited_but_copied_as_it_is(
    operator: Client, valkey: redis.Redis, data: bytes
) -> None:
    valkey.hset("bull:mail:1", "data", data)
    answer = operator.get(ASK.format(1, "edit"))
    assert answer.status_code == 409
    assert "payload" not in form_of(answer)
    assert act(operator, ASK.format(1, "duplicate")).status_code == 302
    copy = next(node for node in Page(operator.get("/queues/main/mail/?state=waiting")).rows("data-job") if node != "1")
    assert data_of(valkey, copy) == data


def test_data_that_is_no_text_is_not_edited_and_says_why(operator: Client, valkey: redis.Redis) -> None:
    valkey.hset("bull:mail:1", "data", b"\xff\xfe{}")
    assert "It is not UTF-8" in said(operator.get(ASK.format(1, "edit")))


def test_what_is_no_json_is_refused_with_the_place(operator: Client) -> None:
    answer = act(operator, ASK.format(1, "edit"), payload='{\n  "a": 1,\n}')
    assert answer.status_code == 422
    assert "This is no JSON, from line" in said(answer)
    assert "NaN and Infinity" in said(act(operator, ASK.format(1, "edit"), payload="[NaN]"))


def test_a_log_line_is_added(operator: Client, valkey: redis.Redis) -> None:
    act(operator, ASK.format(7, "log"), line="looked at by hand")
    assert valkey.lrange("bull:mail:7:logs", 0, -1) == [b"looked at by hand"]


def test_an_orphan_is_failed_with_a_reason_or_put_back(operator: Client, valkey: redis.Redis) -> None:
    act(operator, ASK.format(3, "fail"), failure="host went down")
    assert valkey.hget("bull:mail:3", "failedReason") == b"host went down"
    assert valkey.zscore("bull:mail:failed", "3")


def test_hostile_names_stand_apart_and_stay_text(operator: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    job = "<img src=x>\u202egnp"
    seed_job(valkey, mail, job.encode())
    valkey.zadd("bull:mail:failed", {job: 5})
    link = next(
        node.attrs["href"]
        for node in Page(operator.get("/queues/main/mail/?state=failed")).all("href", tag="a")
        if "/jobs/~" in node.attrs["href"]
    )
    source = operator.get(f"{link}ask/retry/").content.decode()
    assert "<bdi>&lt;img src=x&gt;\\u202egnp</bdi>" in source
    assert "\u202e" not in source


def test_without_a_right_nothing_is_done_and_acting_takes_no_get(mail: QueueRef, valkey: redis.Redis) -> None:
    viewer, operator = as_role("viewer"), as_role("operator")
    fields = form_of(operator.get(ASK.format(7, "retry")))
    assert viewer.get(ASK.format(7, "retry")).status_code == 403
    assert viewer.post("/queues/main/mail/jobs/7/act/retry/", fields).status_code == 403
    assert valkey.zscore("bull:mail:failed", "7")
    assert operator.get("/queues/main/mail/jobs/7/act/retry/").status_code == 405
    assert operator.get(ASK.format(7, "pause")).status_code == 404
    assert operator.get(ASK.format(7, "nonsense")).status_code == 404


def test_an_outage_keeps_what_was_typed_and_says_that_nothing_was_done(
    operator: Client, source: SourceConfig, settings: LazySettings
) -> None:
    fields = form_of(operator.get(ASK.format(1, "edit"))) | {"payload": '{"long": "text"}'}
    settings.MIRANTE_SOURCES = (replace(source, url="redis://127.0.0.1:1/0"),)
    registry.forget()
    answer = operator.post("/queues/main/mail/jobs/1/act/edit/", fields)
    assert answer.status_code == 503
    assert "Nothing was done" in said(answer)
    assert form_of(answer)["payload"] == '{"long": "text"}'


def test_a_question_about_a_job_that_is_gone_is_not_found(operator: Client) -> None:
    assert operator.get(ASK.format("nobody", "retry")).status_code == 404
