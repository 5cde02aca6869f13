"""Editing one job and sending it again: the form, before and after, the plan that comes of it, and who is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import redis
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from dashboard.replays import edit
from queues import discovery, registry
from queues.failures import letters
from queues.failures.letters import Said
from queues.models import AuditEntry, Replay, ReplayLimits
from queues.registry import SourceConfig
from queues.replay.terms import Originals, Patch, PatchKind, Terms
from queues.replay.types import Acts, Phase
from queues.types import QueueRef
from tests.dashboard.pages import Page, Response
from tests.dashboard.people import as_role, person, signed_in
from tests.dashboard.planning import frozen, sent_form
from tests.dashboard.replayed import row
from tests.node import Node
from tests.queues.replaying import a_plan, a_queue
from tests.queues.runs import until
from tests.seed import seed_job, seed_queue
from tests.valkey import Server

pytestmark = pytest.mark.django_db

EDIT = "/queues/main/payments/jobs/{}/edit-replay/"
EDIT_SEND = f"{EDIT}send/"
MARKUP = "<img src=x onerror=alert(1)>"
DATA = '{"id":12345678901234567890123,"amount":1.50,"password":"hunter2","note":"caf\\u00e9 <b>"}'


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker takes anything up by itself, and nobody indexes what fails again."""
    monkeypatch.setattr("queues.tasks.wake_replay", lambda replay, epoch: True)
    monkeypatch.setattr("queues.replay.run.ending.EXPLAINED_S", -1.0)


@pytest.fixture
def payments(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    """Job 1 has completed, 2 waits, 3 has failed with `DATA`."""
    ref = seed_queue(valkey, "payments", waiting=1, completed=1, failed=1)
    discovery.scan("main")
    (job,) = valkey.zrange("bull:payments:failed", 0, -1)
    assert job == b"3"
    valkey.hset("bull:payments:3", "data", DATA)
    return ref


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are frozen at once, as by a worker that has nothing else to do."""
    monkeypatch.setattr(edit, "wait", frozen)


@pytest.fixture
def operator(payments: QueueRef) -> Client:
    return signed_in(person("operator", name="ana"))


def typed(client: Client, job: str = "3", **changes: str) -> dict[str, Any]:
    """The form of a job, with other data."""
    fields = sent_form(client.get(EDIT.format(job)))
    fields["payload"] = fields["payload"].replace("1.50", "99.90")
    return fields | changes


def looked(client: Client, fields: dict[str, Any], job: str = "3") -> dict[str, Any]:
    """The form after before and after were shown."""
    answer = client.post(EDIT_SEND.format(job), fields)
    assert answer.status_code == 200, Page(answer).text
    return sent_form(answer)


def changes(answer: Response) -> list[tuple[str, str]]:
    """The lines that differ."""
    nodes = [node for node in Page(answer).nodes if node.tag == "li" and node.attrs.get("class") in ("in", "out")]
    return [(node.attrs["class"], " ".join(node.text.split())) for node in nodes]


# --- what works ----------------------------------------------------------------------------------------


def test_the_data_stand_in_the_form_laid_out_exact_and_with_their_secrets_hidden(operator: Client) -> None:
    answer = operator.get(EDIT.format(3))
    page, text = Page(answer), sent_form(answer)["payload"]
    assert '"id": 12345678901234567890123,\n' in text
    assert '"note": "caf\\u00e9 <b>"' in text
    assert "hunter2" not in page.source
    assert (
        "A copy with this data is sent to payments. The original stays failed until the copy has completed."
        in page.text
    )
    assert "10 seconds after you press the button" in page.text
    assert "Options: 2 are kept" in page.text
    assert page.all("href", "/queues/main/payments/")


@pytest.mark.usefixtures("quick")
def test_an_edited_job_is_looked_at_planned_started_and_written_down(operator: Client, valkey: redis.Redis) -> None:
    shown = operator.post(EDIT_SEND.format(3), typed(operator))
    assert shown.status_code == 200
    assert changes(shown) == [("out", 'before: "amount": 1.50,'), ("in", 'after: "amount": 99.90,')]
    assert "hunter2" not in Page(shown).source
    assert not Replay.objects.exists()

    answer = operator.post(EDIT_SEND.format(3), sent_form(shown) | {"reason": "wrong amount"})
    plan = Replay.objects.get()
    assert (answer.status_code, answer.url) == (302, f"/replays/{plan.pk}/")  # type: ignore[attr-defined]
    assert bytes(plan.data or b"") == DATA.replace("1.50", "99.90").encode()
    terms = Terms.of(plan.terms)
    assert (plan.phase, plan.total, plan.to_send, plan.started_by) == (Phase.ARMED, 1, 1, "ana")
    assert terms.patch is not None
    assert (terms.patch.kind, terms.originals, terms.canary) == (PatchKind.WHOLE, Originals.WHEN_DONE, 0)
    assert plan.jobs.get().acts == Acts.COPY
    entries = AuditEntry.objects.order_by("pk")
    assert "hunter2" not in json.dumps([entry.parameters for entry in entries])
    told = [(entry.action, entry.who, entry.reason) for entry in entries]
    assert told == [("plan-replay", "ana", "wrong amount"), ("replay", "ana", "wrong amount")]
    assert b"hunter2" in (valkey.hget("bull:payments:3", "data") or b"")
    assert valkey.zscore("bull:payments:failed", "3")


@pytest.mark.usefixtures("quick")
def test_a_form_that_is_sent_twice_makes_one_plan(operator: Client, valkey: redis.Redis) -> None:
    fields = looked(operator, typed(operator))
    answers = [operator.post(EDIT_SEND.format(3), fields)]
    valkey.delete("bull:payments:3")
    answers.append(operator.post(EDIT_SEND.format(3), fields))
    assert Replay.objects.count() == 1
    assert len({answer.url for answer in answers}) == 1  # type: ignore[attr-defined]


@pytest.mark.usefixtures("quick")
def test_data_that_somebody_laid_out_keep_their_layout(operator: Client, valkey: redis.Redis) -> None:
    raw = '{ "a" :1.50,\r\n   "b": [1,  2] }'
    valkey.hset("bull:payments:3", "data", raw)
    fields = typed(operator)
    assert fields["payload"] == '{ "a" :99.90,\n   "b": [1,  2] }'
    operator.post(EDIT_SEND.format(3), looked(operator, fields))
    assert bytes(Replay.objects.get().data or b"") == raw.replace("1.50", "99.90").encode()


@pytest.mark.usefixtures("quick")
def test_a_completed_job_is_edited_and_sent_too(operator: Client, valkey: redis.Redis) -> None:
    fields = typed(operator, "2")
    fields["payload"] = fields["payload"].replace("1999", "2000")
    operator.post(EDIT_SEND.format(2), looked(operator, fields, "2"))
    assert (Replay.objects.get().phase, Replay.objects.get().total) == (Phase.ARMED, 1)
    page = Page(operator.get(EDIT.format(2)))
    assert "The original stays as it is until the copy has completed." in page.text


def test_what_is_changed_after_a_look_is_looked_at_again(operator: Client) -> None:
    fields = looked(operator, typed(operator))
    fields["payload"] = fields["payload"].replace("99.90", "0.01")
    again = operator.post(EDIT_SEND.format(3), fields)
    assert "You changed it again after you had looked." in Page(again).text
    assert ("in", 'after: "amount": 0.01,') in changes(again)
    assert not Replay.objects.exists()


def test_a_plan_that_nobody_takes_up_in_time_is_started_by_hand(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edit, "FROZEN_WITHIN_S", 0.01)
    answer = operator.post(EDIT_SEND.format(3), looked(operator, typed(operator)), follow=True)
    assert Replay.objects.get().phase == Phase.FREEZING
    assert "Start it once its job has been looked at." in Page(answer).text


@pytest.mark.usefixtures("quick")
def test_a_plan_that_may_not_start_by_itself_says_why_and_waits(operator: Client) -> None:
    ReplayLimits.objects.create(pk=1, typed=0)
    answer = operator.post(EDIT_SEND.format(3), looked(operator, typed(operator)), follow=True)
    assert Replay.objects.get().phase == Phase.DRAFT
    assert "was not started. Type payments to start." in Page(answer).text


@pytest.mark.node
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("major", [5, 6])
def test_a_worker_gets_the_edited_data_and_the_original_goes_when_it_is_done(
    major: int, node: Node, valkey: redis.Redis, valkey_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edit, "wait", lambda plan: until(plan, Phase.DRAFT))
    ReplayLimits.objects.create(pk=1, undo_s=0)
    node.run(_FAILS, url=valkey_server.url, major=major)
    discovery.scan("main")
    client = signed_in(person("operator", name="ana"))
    fields = sent_form(client.get(EDIT.format("order-7")))
    fields["payload"] = fields["payload"].replace('"bad"', '"good"')
    answer = client.post(EDIT_SEND.format("order-7"), looked(client, fields, "order-7"))
    assert answer.status_code == 302, Page(answer).text
    plan = until(Replay.objects.get(), Phase.DONE, Phase.STOPPED, most=2_000)
    assert (plan.phase, plan.completed, plan.why) == (Phase.DONE, 1, "")
    assert node.run("return keep.got", url=valkey_server.url) == [{"how": "bad"}, {"how": "good"}]
    assert not valkey.exists("bull:payments:order-7")
    row = plan.jobs.get()
    assert (row.fate, row.original) == ("completed", "removed")
    assert json.loads(valkey.hget(f"bull:payments:{row.made}", "opts") or b"")["attempts"] == 1


_FAILS = """
    keep.got = [];
    const payments = queue(args.major, "payments");
    worker(args.major, "payments", async (job) => {
      keep.got.push(job.data);
      if (job.data.how === "bad") throw new Error("no");
    });
    const job = await payments.add("charge", { how: "bad" }, { jobId: "order-7", attempts: 1 });
    await until(async () => await job.isFailed());
"""


# --- letters -------------------------------------------------------------------------------------------


@pytest.fixture
def dead(payments: QueueRef, valkey: redis.Redis) -> QueueRef:
    """A letter of `payments`, and one that tells nothing of use."""
    ref = seed_queue(valkey, "payments-failed")
    discovery.scan("main")
    told = (
        f'{{"error": {{"message": "boom"}}, "payload": {DATA}, "origin": {{"queue": "payments", "jobId": "order-9"}}}}'
    )
    for job, data in (("1", told), ("2", '{"error": "boom"}'), ("3", '{"error": "x", "payload": {}, "queue": "gone"}')):
        seed_job(valkey, ref, job, name="dead-letter", data=data)
        valkey.lpush("bull:payments-failed:wait", job)
    return ref


LETTER = "/queues/main/payments-failed/jobs/{}/edit-replay/"
LETTER_SEND = f"{LETTER}send/"


@pytest.mark.usefixtures("quick")
def test_of_a_letter_what_is_sent_is_edited_and_not_the_letter_around_it(operator: Client, dead: QueueRef) -> None:
    page = Page(operator.get("/queues/main/payments-failed/jobs/1/"))
    (way,) = page.all("href", LETTER.format(1))
    assert "pri" in way.attrs["class"].split()  # nothing is likelier to be done to a letter
    answer = operator.get(LETTER.format(1))
    fields = sent_form(answer)
    assert fields["payload"].startswith('{\n  "id": 12345678901234567890123,')
    assert (
        "A job with this data is sent to payments. The letter stays until that job has completed." in Page(answer).text
    )
    assert "order-9" in Page(answer).text
    fields["payload"] = fields["payload"].replace("1.50", "2.50")
    shown = operator.post(LETTER_SEND.format(1), fields)
    operator.post(LETTER_SEND.format(1), sent_form(shown))
    plan = Replay.objects.get()
    assert bytes(plan.data or b"") == DATA.replace("1.50", "2.50").encode()
    assert plan.phase == Phase.ARMED
    assert plan.jobs.get().target.slug == "payments"  # type: ignore[union-attr]


def test_a_letter_that_is_the_job_itself_goes_to_the_queue_of_its_name(
    operator: Client, dead: QueueRef, valkey: redis.Redis
) -> None:
    valkey.hset("bull:payments-failed:1", "data", '{"queue": "fast lane", "amount": 1}')
    answer = operator.get(LETTER.format(1))
    assert sent_form(answer)["payload"] == '{"queue": "fast lane", "amount": 1}'
    assert "A job with this data is sent to payments." in Page(answer).text


def test_a_letter_that_does_not_tell_leads_to_the_page_on_letters(operator: Client, dead: QueueRef) -> None:
    for job, why in (("2", "does not tell what its job was given"), ("3", "Nobody said to which queue")):
        answer = operator.get(LETTER.format(job))
        assert answer.status_code == 409
        assert why in Page(answer).text
        assert Page(answer).all("href", "/failures/letters/main/payments-failed/")


def test_waiting_jobs_of_queues_without_letters_are_not_offered(operator: Client, dead: QueueRef) -> None:
    assert not Page(operator.get("/queues/main/payments/jobs/1/")).all("data-way")
    letters.preload({dead: Said(is_one=False)})
    assert not Page(operator.get("/queues/main/payments-failed/jobs/1/")).all("data-way")
    assert operator.get(LETTER.format(1)).status_code == 409


# --- what is wrong with what was typed -----------------------------------------------------------------


def test_what_is_no_json_is_pointed_at_and_nothing_typed_is_lost(operator: Client) -> None:
    fields = typed(operator)
    fields["payload"] = fields["payload"].replace('"caf', "'caf")
    answer = operator.post(EDIT_SEND.format(3), fields)
    page = Page(answer)
    assert answer.status_code == 422
    assert "This is no JSON, from line 5, column 11 on." in page.text
    assert [node.text for node in page.nodes if node.tag == "mark"] == ["'"]
    (place,) = page.all("data-place")
    assert fields["payload"][int(place.attrs["data-place"])] == "'"
    assert sent_form(answer)["payload"] == fields["payload"]
    assert not Replay.objects.exists()


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("99.90", "1.50", "Nothing is changed yet."),
        ("99.90", "NaN", "NaN and Infinity are no JSON"),
        ('"•••••••• 1"', '"mine"', "A hidden value was altered"),
        ('"password"', '"passphrasE"', ""),
        ('"password"', '"open"', "A hidden value was moved to where it would be shown."),
    ],
)
def test_what_cannot_be_sent_says_why(operator: Client, before: str, after: str, why: str) -> None:
    fields = typed(operator)
    assert before in fields["payload"]
    fields["payload"] = fields["payload"].replace(before, after)
    answer = operator.post(EDIT_SEND.format(3), fields)
    assert answer.status_code == (422 if why else 200)
    assert why in Page(answer).text
    assert "hunter2" not in Page(answer).source


@pytest.mark.usefixtures("quick")
def test_who_may_reveal_hidden_values_may_replace_them(payments: QueueRef) -> None:
    admin = as_role("admin")
    fields = typed(admin)
    fields["payload"] = fields["payload"].replace('"•••••••• 1"', '"new one"')
    shown = admin.post(EDIT_SEND.format(3), fields)
    assert ("in", 'after: "password": •••••••• 7 characters,') in changes(shown)
    admin.post(EDIT_SEND.format(3), sent_form(shown))
    assert json.loads(bytes(Replay.objects.get().data or b""))["password"] == "new one"


# --- what became of the job meanwhile, and who is refused ----------------------------------------------


def test_a_job_in_another_state_is_refused_and_says_in_which(operator: Client, valkey: redis.Redis) -> None:
    fields = typed(operator)
    assert "Its state is Waiting" in Page(operator.get(EDIT.format(1))).text
    valkey.zrem("bull:payments:failed", "3")
    valkey.lpush("bull:payments:wait", "3")
    answer = operator.post(EDIT_SEND.format(3), fields)
    assert answer.status_code == 409
    assert "Its state is Waiting" in Page(answer).text
    assert AuditEntry.objects.get().status == "refused"
    valkey.delete("bull:payments:3")
    assert operator.get(EDIT.format(3)).status_code == 409
    assert operator.get(EDIT.format(77)).status_code == 404


def test_a_job_that_ran_meanwhile_and_failed_again_is_looked_at_anew(operator: Client, valkey: redis.Redis) -> None:
    fields = looked(operator, typed(operator))
    valkey.zadd("bull:payments:failed", {"3": 1_900_000_000_000})
    answer = operator.post(EDIT_SEND.format(3), fields)
    assert answer.status_code == 409
    assert "is here again: nothing was sent" in Page(answer).text
    again = operator.post(EDIT_SEND.format(3), sent_form(answer))
    assert again.status_code == 200
    assert changes(again)
    assert not Replay.objects.exists()


def test_data_that_somebody_else_changed_are_shown_and_nothing_is_sent(operator: Client, valkey: redis.Redis) -> None:
    fields = typed(operator)
    valkey.hset("bull:payments:3", "data", DATA.replace("1.50", "7.25"))
    answer = operator.post(EDIT_SEND.format(3), fields)
    assert answer.status_code == 409
    assert "7.25" in Page(answer).text
    assert sent_form(answer)["payload"] == fields["payload"]
    assert operator.post(EDIT_SEND.format(3), sent_form(answer)).status_code == 200


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'"' + b"x" * 300_000 + b'"', "It is larger than 256 KB, too large for a form."),
        (b'{"a": "\xff"}', "It is not UTF-8"),
        (b'{"a": 1,\r\n "b": 2\n}', "Its line ends are mixed"),
    ],
)
def test_data_that_no_form_would_keep_say_so(operator: Client, valkey: redis.Redis, data: bytes, why: str) -> None:
    valkey.hset("bull:payments:3", "data", data)
    answer = operator.get(EDIT.format(3))
    assert answer.status_code == 409
    assert why in Page(answer).text
    assert "there a patch can change it" in Page(answer).text


def test_viewers_are_refused_and_it_is_written_down(operator: Client) -> None:
    fields, viewer = typed(operator), as_role("viewer")
    assert viewer.get(EDIT.format(3)).status_code == 403
    assert viewer.post(EDIT_SEND.format(3), fields).status_code == 403
    assert AuditEntry.objects.get().action == "plan-replay"
    (way,) = Page(viewer.get("/queues/main/payments/jobs/3/")).all("data-way")
    assert way.attrs["aria-disabled"] == "true"
    assert not Replay.objects.exists()


def test_the_editor_is_only_read_and_its_form_only_sent(operator: Client) -> None:
    assert operator.post(EDIT.format(3)).status_code == 405
    assert operator.get(EDIT_SEND.format(3)).status_code == 405


def test_a_source_that_is_read_only_refuses(operator: Client, source: SourceConfig, settings: Settings) -> None:
    fields = looked(operator, typed(operator))
    settings.MIRANTE_SOURCES = (replace(source, read_only=True),)
    registry.forget()
    for answer in (operator.get(EDIT.format(3)), operator.post(EDIT_SEND.format(3), fields)):
        assert answer.status_code == 403
        assert "is read-only here" in Page(answer).text
    assert AuditEntry.objects.get().status == "refused"
    assert not Replay.objects.exists()


def test_an_outage_keeps_what_was_typed(operator: Client, source: SourceConfig, settings: Settings) -> None:
    fields = typed(operator)
    settings.MIRANTE_SOURCES = (replace(source, url="redis://127.0.0.1:1/0"),)
    registry.forget()
    assert operator.get(EDIT.format(3)).status_code == 503
    answer = operator.post(EDIT_SEND.format(3), fields)
    assert answer.status_code == 503
    assert "Nothing was sent: the source does not answer." in Page(answer).text
    assert sent_form(answer)["payload"] == fields["payload"]


def test_hostile_names_and_data_are_text(operator: Client, valkey: redis.Redis) -> None:
    valkey.hset("bull:payments:3", mapping={"name": MARKUP, "data": json.dumps({MARKUP: "</textarea>" + MARKUP})})
    fields = sent_form(operator.get(EDIT.format(3)))
    assert MARKUP in fields["payload"]
    fields["payload"] = fields["payload"].replace("</textarea>", "</textarea><b>")
    shown = operator.post(EDIT_SEND.format(3), fields)
    assert "<img" not in Page(shown).source
    assert MARKUP in changes(shown)[0][1]


# --- what is told of it afterwards ---------------------------------------------------------------------


def ended(server: redis.Redis) -> Replay:
    """The only plan once it has ended, and the server knows nothing of it any more."""
    server.flushall()
    plan = Replay.objects.get()
    Replay.objects.filter(pk=plan.pk).update(phase=Phase.DONE, ended_at=timezone.now())
    plan.jobs.update(place="sent", sent_ms=1, fate="completed", ended_ms=2, made="77")
    return plan


@pytest.mark.usefixtures("quick")
def test_the_report_tells_which_job_was_edited_and_how_when_the_server_has_forgotten_it(
    operator: Client, valkey: redis.Redis
) -> None:
    operator.post(EDIT_SEND.format(3), looked(operator, typed(operator)))
    plan = ended(valkey)
    answer = as_role("viewer").get(f"/replays/{plan.pk}/")
    page = Page(answer)
    assert changes(answer) == [("out", 'before: "amount": 1.50,'), ("in", 'after: "amount": 99.90,')]
    assert "hunter2" not in page.source
    assert "The data of job 3 of payments, by ana. It was sent as 77 of payments." in page.text
    for job in ("3", "77"):
        assert page.all("href", f"/queues/main/payments/jobs/{job}/")
    assert "Its data are as ana wrote them." in page.text
    entry = AuditEntry.objects.get(action="replay")
    log = Page(as_role("viewer").get(f"/audit/{entry.pk}/"))
    assert log.all("href", f"/replays/{plan.pk}/#edit")
    assert log.all("href", "/queues/main/payments/jobs/3/")
    assert "failed job 3 of payments" in log.text


@pytest.mark.usefixtures("quick", "payments")
def test_the_report_tells_only_who_may_reveal_that_a_hidden_value_was_edited(valkey: redis.Redis) -> None:
    admin = as_role("admin")
    fields = typed(admin)
    fields["payload"] = fields["payload"].replace('"•••••••• 1"', '"hunter3"').replace("99.90", "1.50")
    admin.post(EDIT_SEND.format(3), looked(admin, fields))
    address = f"/replays/{ended(valkey).pk}/"
    told, hidden = Page(admin.get(address)), Page(as_role("viewer").get(address))
    assert "before: " in told.text
    assert "before: " not in hidden.text
    assert "Nothing changes of what is shown here." in hidden.text
    for page in (told, hidden):
        assert "hunter" not in page.source


def test_the_report_of_an_edited_letter_names_the_letter_also_where_it_stands_beside_its_failed_job(
    payments: QueueRef,
) -> None:
    plan = a_plan(Phase.DONE, (), terms=Terms(patch=Patch(PatchKind.WHOLE)), made_by="ana", data=b"1", before=b"2")
    Replay.objects.filter(pk=plan.pk).update(made_from=plan.made_from | {"letters": True})
    row(plan, b"3", letter="155", letter_queue=a_queue(QueueRef("main", b"bull", b"dead")))
    page = Page(as_role("viewer").get(f"/replays/{plan.pk}/"))
    assert "What letter 155 of dead holds for its job, by ana." in page.text
    assert page.all("href", "/queues/main/dead/jobs/155/")


def test_the_report_tells_the_edit_of_all_jobs_and_not_to_everybody_where_it_is_about_what_is_hidden(
    payments: QueueRef,
) -> None:
    plain = a_plan(Phase.DONE, (b"1",), terms=Terms(patch=Patch(PatchKind.PATHS, 'customer.tier = "gold"\nage = 7')))
    sealed = a_plan(Phase.DONE, (b"1",), terms=Terms(patch=Patch(PatchKind.MERGE, '{"password": "swordfish"}')))
    viewer = as_role("viewer")
    page = Page(viewer.get(f"/replays/{plain.pk}/"))
    assert [node.text for node in page.nodes if node.tag == "code"][-2:] == ['customer.tier = "gold"', "age = 7"]
    answer = Page(viewer.get(f"/replays/{sealed.pk}/"))
    assert "only who may reveal it sees how" in answer.text
    assert "swordfish" not in answer.source
