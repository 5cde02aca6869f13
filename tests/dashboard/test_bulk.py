"""Jobs picked from a list: the boxes, the question with fresh numbers, and what is done to which of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.conf import LazySettings
from django.test import Client

from queues import operations
from queues.errors import Unsure
from queues.models import AuditEntry, Bulk
from queues.names import encode_part
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import QueueRef, State
from tests.dashboard.pages import Node, Page
from tests.dashboard.people import as_role
from tests.seed import seed_queue, seed_state
from tests.valkey import Server

pytestmark = pytest.mark.django_db

ASK, ACT = "/queues/main/mail/bulk/ask/{}/", "/queues/main/mail/bulk/act/{}/"


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    return seed_queue(
        valkey, "mail", waiting=3, prioritized=2, active=2, delayed=3, waiting_children=1, completed=4, failed=6
    )


@pytest.fixture
def operator(mail: QueueRef) -> Client:
    return as_role("operator")


def picks(client: Client, state: str, query: str = "") -> dict[str, Any]:
    """What the form around a list would send if its first two rows were ticked."""
    page = Page(client.get(f"/queues/main/mail/?state={state}{query}"))
    (form,) = page.all("id", "bulk", tag="form")
    fields = {node.attrs["name"]: node.attrs["value"] for node in form.children if node.attrs.get("type") == "hidden"}
    boxes = [node.attrs["value"] for node in form.children if node.attrs.get("name") == "job"]
    return fields | {"job": boxes[:2]}


def buttons(client: Client, state: str) -> list[Node]:
    page = Page(client.get(f"/queues/main/mail/?state={state}"))
    (bar,) = page.all("data-bulk")
    return [node for node in bar.children if node.tag == "button" and "data-script" not in node.attrs]


@pytest.mark.parametrize(
    ("state", "verbs"),
    [
        ("failed", ["retry", "remove", "plan"]),
        ("completed", ["retry", "remove", "plan"]),
        ("delayed", ["promote", "delay", "priority", "remove"]),
        ("waiting", ["priority", "remove"]),
        ("prioritized", ["priority", "remove"]),
        ("active", ["requeue", "fail"]),
        ("waiting-children", ["remove"]),
        ("finished", ["remove"]),
    ],
)
def test_a_list_offers_what_can_be_done_to_jobs_of_its_state(operator: Client, state: str, verbs: list[str]) -> None:
    offered = buttons(operator, state)
    assert [node.attrs["data-verb"] for node in offered] == verbs
    wanted = ["/replays/plan/" if verb == "plan" else ASK.format(verb) for verb in verbs]
    assert [node.attrs["formaction"] for node in offered] == wanted


def test_letters_can_be_brought_back_from_their_list(source: SourceConfig, valkey: redis.Redis) -> None:
    seed_queue(valkey, "mail-dlq", waiting=2)
    page = Page(as_role("operator").get("/queues/main/mail-dlq/?state=waiting"))
    assert [node.attrs["formaction"] for node in page.all("data-verb", "plan")] == ["/replays/plan/"]


@pytest.mark.parametrize("state", [state.value for state in State])
def test_every_box_says_which_job_and_which_stay_of_it_was_seen(
    operator: Client, valkey: redis.Redis, state: str
) -> None:
    sent = picks(operator, state)
    for value in sent["job"]:
        job, seen = value.split(" ")
        score = None if state in ("waiting", "active") else valkey.zscore(f"bull:mail:{state}", job)
        stored: Any = valkey.hget(f"bull:mail:{job}", "timestamp")
        assert seen == (stored.decode() if score is None else str(int(float(str(score)))))
    assert sent["state"] == state


def test_a_viewer_sees_why_every_verb_is_off(mail: QueueRef) -> None:
    offered = buttons(as_role("viewer"), "failed")
    assert all(node.attrs.get("aria-disabled") == "true" and "formaction" not in node.attrs for node in offered)
    page = Page(as_role("viewer").get("/queues/main/mail/?state=failed"))
    assert "It needs the operator role" in page.text


def test_verbs_are_off_with_the_reason_where_a_source_is_read_only(
    operator: Client, settings: LazySettings, valkey_server: Server
) -> None:
    settings.MIRANTE_SOURCES = [valkey_server.config(read_only=True)]  # type: ignore[arg-type]
    offered = buttons(operator, "failed")
    assert all(node.attrs.get("aria-disabled") == "true" for node in offered)
    assert "read-only" in Page(operator.get("/queues/main/mail/?state=failed")).text


def test_the_question_tells_fresh_numbers_the_queue_and_the_source(operator: Client, valkey: redis.Redis) -> None:
    sent = picks(operator, "failed")
    seed_state(valkey, "mail", State.FAILED, 5)
    page = Page(operator.post(ASK.format("retry"), sent))
    for words in (
        "Retry 2 of 11 failed jobs of mail on main?",
        "Retry 2 jobs",
        "In this state now",
        "When you looked",
        "6",
    ):
        assert words in page.text
    (form,) = page.all("action", ACT.format("retry"), tag="form")
    assert [node.attrs["value"] for node in form.children if node.attrs.get("name") == "job"] == sent["job"]


def test_what_keeps_jobs_from_running_is_told_before_they_are_retried(operator: Client, valkey: redis.Redis) -> None:
    page = Page(operator.post(ASK.format("retry"), picks(operator, "failed")))
    assert "No worker is connected to this queue: they will wait until one is." in page.text
    assert "paused" not in page.text
    valkey.hset("bull:mail:meta", "paused", "1")
    assert (
        "The queue is paused: they will wait"
        in Page(operator.post(ASK.format("retry"), picks(operator, "failed"))).text
    )
    assert "they will wait" not in Page(operator.post(ASK.format("remove"), picks(operator, "failed"))).text


def test_asking_changes_nothing(operator: Client, valkey: redis.Redis) -> None:
    before = _content(valkey)
    for state, verb in (("failed", "retry"), ("failed", "remove"), ("delayed", "promote"), ("active", "fail")):
        assert operator.post(ASK.format(verb), picks(operator, state)).status_code == 200
    assert _content(valkey) == before
    assert not AuditEntry.objects.exists()


def test_all_that_match_are_asked_for_with_the_moment_at_which_they_are_frozen(operator: Client) -> None:
    page = Page(operator.post(ASK.format("retry"), picks(operator, "failed") | {"all": "1"}))
    assert "Retry all 6 failed jobs of mail on main?" in page.text
    assert "Only jobs that were in this state at" in page.text
    assert "runs in the background" in page.text


def test_the_question_is_a_fragment_for_the_dialog_and_a_page_without_scripts(operator: Client) -> None:
    sent = picks(operator, "failed")
    whole = operator.post(ASK.format("retry"), sent).content
    part = operator.post(ASK.format("retry"), sent, headers={"HX-Request": "true", "HX-Target": "ask-dialog"}).content
    assert whole.lstrip().startswith(b"<!DOCTYPE")
    assert b"<!DOCTYPE" not in part
    assert b"<form" in part


def test_nothing_selected_is_said_and_nothing_can_be_sent(operator: Client) -> None:
    sent = picks(operator, "failed") | {"job": []}
    for address in (ASK, ACT):
        answer = operator.post(address.format("retry"), sent)
        assert answer.status_code == 422
        assert "Nothing is selected" in Page(answer).text
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    "broken",
    [
        {"job": ["~!!"]},
        {"job": ["1 ~~~"]},
        {"state": "nonsense"},
        {"until": "soon"},
        {"until": "9" * 40},
        {"expected": "-1"},
        {"state": "waiting"},  # nothing there can be retried
        {"state": "finished", "all": "1"},
    ],
)
def test_what_no_list_sends_is_refused(operator: Client, valkey: redis.Redis, broken: dict[str, Any]) -> None:
    sent, before = picks(operator, "failed") | broken, _content(valkey)
    for address in (ASK, ACT):
        assert operator.post(address.format("retry"), sent).status_code == 422
    assert _content(valkey) == before


def test_there_is_no_bulk_action_of_another_name(operator: Client) -> None:
    for verb in ("nonsense", "pause", "obliterate"):
        assert operator.post(ACT.format(verb), picks(operator, "failed")).status_code in (403, 404, 422)


@pytest.mark.parametrize("address", [ASK, ACT])
def test_a_get_is_not_allowed(operator: Client, address: str) -> None:
    assert operator.get(address.format("retry")).status_code == 405


@pytest.mark.parametrize("address", [ASK, ACT])
def test_a_viewer_is_refused_and_nothing_changes(mail: QueueRef, valkey: redis.Redis, address: str) -> None:
    sent, before = picks(as_role("operator"), "failed"), _content(valkey)
    assert as_role("viewer").post(address.format("retry"), sent).status_code == 403
    assert _content(valkey) == before


def test_what_was_picked_is_retried_once_and_the_list_comes_back_with_what_came_of_it(
    operator: Client, valkey: redis.Redis
) -> None:
    sent = picks(operator, "failed") | {"key": "k1", "attempts": "keep", "reason": "gateway is back"}
    answer = operator.post(ACT.format("retry"), sent)
    entry = AuditEntry.objects.get()
    assert answer.status_code == 302
    assert answer["Location"].startswith("/queues/main/mail/?state=failed")
    assert answer["Location"].endswith(f"done={entry.pk}")
    assert (entry.action, entry.reason, entry.outcomes) == ("retry", "gateway is back", {"done": 2})
    assert _length(valkey, "failed") == 4
    assert operator.post(ACT.format("retry"), sent)["Location"] == answer["Location"]
    assert AuditEntry.objects.count() == 1


def test_a_job_that_came_back_to_its_state_since_the_list_was_read_is_left(
    operator: Client, valkey: redis.Redis
) -> None:
    sent = picks(operator, "failed") | {"key": "k1", "attempts": "keep"}
    job = sent["job"][0].split(" ")[0]
    valkey.zincrby("bull:mail:failed", 1_000, job)
    operator.post(ACT.format("retry"), sent)
    entry = AuditEntry.objects.get()
    assert entry.outcomes == {"done": 1, "wrong-state": 1}
    assert valkey.zscore("bull:mail:failed", job)


def test_the_list_says_after_it_what_came_of_it(operator: Client) -> None:
    sent = picks(operator, "failed") | {"key": "k1", "attempts": "keep"}
    page = Page(operator.get(operator.post(ACT.format("retry"), sent)["Location"]))
    assert "2" in page.text
    assert f"/audit/{AuditEntry.objects.get().pk}/" in page.source


def test_completed_and_failed_jobs_of_one_list_are_removed_together(operator: Client, valkey: redis.Redis) -> None:
    sent = picks(operator, "finished") | {"key": "k1"}
    operator.post(ACT.format("remove"), sent)
    assert AuditEntry.objects.get().outcomes["done"] == 2
    assert not [job for job in sent["job"] if valkey.exists(f"bull:mail:{job.split(' ')[0]}")]


@pytest.mark.parametrize(
    ("state", "verb", "given"),
    [
        ("delayed", "promote", {}),
        ("delayed", "delay", {"how": "in", "amount": "2", "unit": "h"}),
        ("delayed", "priority", {"priority": "7"}),
        ("waiting", "priority", {"priority": "7"}),
        ("prioritized", "priority", {"priority": "0"}),
        ("waiting", "remove", {}),
        ("completed", "retry", {"attempts": "reset"}),
        ("active", "requeue", {}),
        ("active", "fail", {"failure": "its worker is gone"}),
    ],
)
def test_every_verb_reaches_the_jobs_that_were_picked(
    operator: Client, valkey: redis.Redis, state: str, verb: str, given: dict[str, str]
) -> None:
    valkey.delete("bull:mail:11:lock", "bull:mail:12:lock")
    answer = operator.post(ACT.format(verb), picks(operator, state) | {"key": "k"} | given)
    assert answer.status_code == 302
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.status, entry.outcomes.get("done")) == (verb, "done", 2)


@pytest.mark.parametrize(
    ("state", "verb", "given"),
    [("delayed", "delay", {"how": "at"}), ("waiting", "priority", {"priority": "-4"}), ("active", "fail", {})],
)
def test_a_form_that_is_not_filled_in_asks_again_with_the_selection_kept(
    operator: Client, valkey: redis.Redis, state: str, verb: str, given: dict[str, str]
) -> None:
    sent, before = picks(operator, state), _content(valkey)
    answer = operator.post(ACT.format(verb), sent | {"key": "k"} | given)
    assert answer.status_code == 422
    boxes = [node.attrs["value"] for node in Page(answer).all("name", "job", tag="input")]
    assert boxes == sent["job"]
    assert _content(valkey) == before


def test_more_than_can_be_done_at_once_runs_in_the_background_on_a_page_of_its_own(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "INLINE", 1)
    answer = operator.post(ACT.format("retry"), picks(operator, "failed") | {"key": "k", "attempts": "reset"})
    bulk = Bulk.objects.select_related("entry").get()
    assert answer["Location"] == f"/audit/{bulk.entry.pk}/"
    assert (bulk.entry.status, bulk.state, bulk.collected) == ("running", "failed", 2)
    assert operator.get(answer["Location"]).status_code == 200


def test_all_that_match_run_in_the_background_frozen_at_the_moment_of_the_list(operator: Client) -> None:
    sent = picks(operator, "failed", "&name=en") | {"all": "1", "key": "k", "attempts": "keep"}
    operator.post(ACT.format("retry"), sent)
    bulk = Bulk.objects.get()
    assert (bulk.state, bulk.name, bulk.until_ms) == ("failed", "en", int(sent["until"]))


def test_no_form_reaches_jobs_that_come_after_it_was_sent(operator: Client) -> None:
    sent = picks(operator, "failed") | {"all": "1", "key": "k", "attempts": "keep", "until": "9" * 15}
    operator.post(ACT.format("retry"), sent)
    assert Bulk.objects.get().until_ms <= now_ms() + 60_000


def test_removing_more_than_a_thousand_asks_for_the_name_of_the_queue(operator: Client, valkey: redis.Redis) -> None:
    seed_state(valkey, "mail", State.FAILED, 1_100)
    sent = picks(operator, "failed") | {"all": "1", "key": "k"}
    assert 'name="sure"' in operator.post(ASK.format("remove"), sent).content.decode()
    for typed in ("", "Mail", "shop"):
        assert operator.post(ACT.format("remove"), sent | {"sure": typed}).status_code == 422
    assert not AuditEntry.objects.exists()
    assert operator.post(ACT.format("remove"), sent | {"sure": "mail"}).status_code == 302
    assert AuditEntry.objects.get().action == "remove"


def test_a_cap_on_bulk_actions_is_said_before_anything_is_sent(operator: Client, settings: LazySettings) -> None:
    settings.MIRANTE_BULK_MAX = 3
    page = Page(operator.post(ASK.format("retry"), picks(operator, "failed") | {"all": "1"}))
    assert "MIRANTE_BULK_MAX" in page.text
    assert not [node for node in page.all("name", "key") if node.tag == "input"]


def test_a_question_during_an_outage_is_one_too(mail: QueueRef, settings: LazySettings) -> None:
    operator = as_role("operator")
    sent = picks(operator, "failed")
    settings.MIRANTE_SOURCES = [SourceConfig("main", "redis://127.0.0.1:1/0")]
    for address in (ASK, ACT):
        more = {"next": "/queues/main/mail/?state=failed", "attempts": "keep", "key": "k"}
        answer = operator.post(address.format("retry"), sent | more)
        assert answer.status_code == 503
        page = Page(answer)
        assert "Nothing was done" in page.text
        assert "main does not answer: what you asked for was not begun." in page.text
        assert [node.attrs["value"] for node in page.all("name", "next", tag="input")] == [
            "/queues/main/mail/?state=failed"
        ], "what is tried again is the list: the address of the action answers no GET"
    assert not AuditEntry.objects.filter(outcomes__has_key="done").exists()
    assert AuditEntry.objects.get(action="retry").status == "failed", "what was asked for stands in the log"


def test_an_answer_that_was_lost_is_not_called_undone(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_asked: object, **_more: object) -> AuditEntry:
        raise Unsure("host went away. It may or may not have been done.", source="main")

    monkeypatch.setattr(operations, "retry", lost)
    answer = operator.post(ACT.format("retry"), picks(operator, "failed") | {"attempts": "keep", "key": "k"})
    page = Page(answer)
    assert answer.status_code == 503
    assert "It is not known whether that was done" in page.text
    assert "Nothing was done" not in page.text
    assert "/audit/" in [node.attrs["href"] for node in page.all("href", tag="a")]


def test_nothing_leads_away_from_here(operator: Client) -> None:
    sent = picks(operator, "failed") | {"key": "k", "attempts": "keep", "next": "https://example.org/"}
    assert operator.post(ACT.format("retry"), sent)["Location"].startswith("/queues/main/mail/")


def test_names_that_turn_the_text_around_stay_within_their_place(source: SourceConfig, valkey: redis.Redis) -> None:
    name = "mail\u202e<b>x</b>"
    ref = seed_queue(valkey, name, failed=2)
    client, base = as_role("operator"), f"/queues/main/{ref.slug}/"
    page = Page(client.get(f"{base}?state=failed&name=en"))
    (form,) = page.all("id", "bulk", tag="form")
    box = next(node.attrs["value"] for node in form.children if node.attrs.get("name") == "job")
    answer = client.post(f"{base}bulk/ask/retry/", {"state": "failed", "until": "1", "job": [box]})
    text = answer.content.decode()
    assert "\u202e" not in text
    assert "<b>x</b>" not in text
    assert "<bdi>mail" in text
    assert encode_part(name.encode()) in text


def _content(valkey: redis.Redis) -> dict[bytes, object]:
    """All that belongs to the queue, as it stands."""
    return {key: valkey.dump(key) for key in valkey.scan_iter(b"bull:mail:*")}


def _length(valkey: redis.Redis, name: str) -> int:
    count: Callable[[str], Any] = valkey.zcard
    return int(count(f"bull:mail:{name}"))
