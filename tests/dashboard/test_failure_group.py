"""The page of a group of failures: what it tells, what people say about it, and that nothing in it can do harm."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from queues import masking
from queues.failures.types import Kind, Life
from queues.models import (
    AuditEntry,
    Deploy,
    FailureGroup,
    FailureNote,
    FailureSample,
    FailureSignature,
    IndexedQueue,
)
from queues.quantities import HOUR, MINUTE, now_ms
from queues.registry import SourceConfig
from queues.replay.steering.drafts import DISCARDED
from queues.replay.types import Phase, Stop
from queues.sendings import Fate
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person, signed_in
from tests.dashboard.replayed import row
from tests.failing import indexing, make_group
from tests.queues.replaying import a_plan

pytestmark = pytest.mark.django_db

MARKUP = "<b>x</b><script>alert(1)</script>"


@pytest.fixture
def operator() -> Client:
    return signed_in(person("operator", name="oona"))


@pytest.fixture
def group() -> FailureGroup:
    indexing(queues=("payments",))
    return make_group(counts=(60, 80, 100, 120, 140), failures=40, samples=4, usual=4.0, rule="ETIMEDOUT")


def _url(group: FailureGroup, rest: str = "") -> str:
    return f"/failures/{group.slug}/{rest}"


def _page(client: Client, group: FailureGroup, query: str = "") -> Page:
    answer = client.get(_url(group) + query)
    assert answer.status_code == 200
    return Page(answer)


def test_a_page_says_what_failed_since_when_how_fast_and_whether_a_retry_helps(
    operator: Client, group: FailureGroup
) -> None:
    page = _page(operator, group)
    assert group.title in page.text
    assert "transient, by the rule “ETIMEDOUT”" in page.text
    assert "payments" in page.text
    assert "15×" in page.text
    assert "40" in page.text
    assert "in this wave since" in page.text
    assert page.all("data-life", "open")


def test_a_group_without_jobs_says_that_its_counts_and_samples_are_kept(operator: Client) -> None:
    indexing(queues=("payments",))
    empty = make_group(counts=(0, 0, 0, 0, 5), gone=5, samples=2)
    page = _page(operator, empty)
    assert "None of its jobs is there any more" in page.text
    assert "Payload" in page.text


def test_a_group_that_is_none_is_not_found(operator: Client) -> None:
    assert operator.get("/failures/0123abcd/").status_code == 404


def test_a_group_of_a_source_that_was_never_indexed_is_shown_with_all_of_it_unknown(operator: Client) -> None:
    page = _page(operator, make_group())
    assert "Hatched" in page.text


def test_every_span_is_shown_and_an_odd_one_means_the_default(operator: Client, group: FailureGroup) -> None:
    for span in ("1h", "3h", "24h", "7d", "30d", "x", ""):
        assert "Failures in steps of" in _page(operator, group, f"?span={span}").source


def test_a_viewer_sees_the_page_and_no_form(group: FailureGroup) -> None:
    page = _page(as_role("viewer"), group)
    assert group.title in page.text
    assert not [node for node in page.all("action") if "/failures/" in node.attrs["action"]]


def test_gaps_of_the_index_are_hatched_and_not_drawn_as_zero(operator: Client, group: FailureGroup) -> None:
    assert "Hatched" not in _page(operator, group).text
    now = now_ms()
    IndexedQueue.objects.update(gaps=[[now - 2 * HOUR, now - HOUR]])
    assert "Hatched" in _page(operator, group).text


def test_deploys_stand_in_the_chart_and_beside_a_regression(operator: Client, group: FailureGroup) -> None:
    now = now_ms()
    Deploy.objects.create(at_ms=now - HOUR, version="v7<b>", source="main")
    Deploy.objects.create(at_ms=now - HOUR, version="elsewhere", source="other")
    FailureGroup.objects.update(life=Life.REGRESSED, resolved_ms=now - 2 * HOUR, regressed_ms=now - HOUR + MINUTE)
    page = _page(operator, group)
    assert "One deploy lies between: v7<b>" in page.text
    assert page.all("class", "dep")
    assert "elsewhere" not in page.text


def test_names_of_deploys_in_the_chart_do_not_cover_each_other(operator: Client, group: FailureGroup) -> None:
    now = now_ms()
    for ago, version in ((26, "2026.11.29-1"), (2, "2026.11.30-3"), (1, "2026.11.30-4")):
        Deploy.objects.create(at_ms=now - ago * HOUR, version=version, source="main")
    page = _page(operator, group, "?span=7d")
    assert len(page.all("class", "dep")) == 3
    assert [node.text for node in page.nodes if node.tag == "text" and "d" in node.attrs["class"].split()] == [
        "2026.11.29-1"
    ]
    assert "2026.11.30-4" in page.text


@pytest.mark.parametrize(("span", "looks"), [("24h", r"\d\d:\d\d"), ("7d", r"\d{4}-\d\d-\d\d")])
def test_all_moments_below_the_chart_are_written_alike(
    operator: Client, group: FailureGroup, span: str, looks: str
) -> None:
    axis = _page(operator, group, f"?span={span}").all("class", "axis")[0]
    told = [node.text for node in axis.children if node.tag == "time"]
    assert len(told) > 3
    assert all(re.fullmatch(looks, each) for each in told)


def test_a_title_cannot_turn_the_direction_of_what_is_read(operator: Client) -> None:
    make_group(title="another")
    page = _page(operator, make_group(title="ab\u202ecd\x1b[31m"))
    assert "ab\\u202ecd\\x1b[31m" in next(node for node in page.nodes if node.tag == "h1").text
    asked = operator.post("/failures/merge/", {"group": list(FailureGroup.objects.values_list("slug", flat=True))})
    assert "\u202e" not in asked.content.decode()


def test_who_owns_it_its_runbook_and_its_notes_are_said_at_the_head(operator: Client, group: FailureGroup) -> None:
    FailureGroup.objects.update(owner="payments team", runbook="https://wiki.example.com/gateway")
    FailureNote.objects.create(group=group, who="ana", text="Route B.")
    head = _page(operator, group).all("class", "group-head")[0]
    assert "Owner payments team · 1 note" in " ".join(head.text.split())
    assert "Runbook" in head.text


def test_until_when_it_is_ignored_is_a_sentence(operator: Client, group: FailureGroup) -> None:
    FailureGroup.objects.update(life=Life.IGNORED, life_by="ana", ignore_total=500, ignore_rate=9)
    said = "Ignored by ana · until 500 have failed in all · until 9 fail within an hour"
    assert said in " ".join(_page(operator, group).text.split())


def test_a_group_is_resolved_reopened_and_ignored_with_entries(operator: Client, group: FailureGroup) -> None:
    for rest, body, life in (
        ("resolve/", {}, Life.RESOLVED),
        ("reopen/", {}, Life.OPEN),
        ("ignore/", {"how": "until", "hours": "8"}, Life.IGNORED),
        ("reopen/", {}, Life.OPEN),
        ("ignore/", {"how": "count", "number": "100", "reason": f"mail team {MARKUP}"}, Life.IGNORED),
    ):
        assert operator.post(_url(group, rest), body).status_code == 302
        group.refresh_from_db()
        assert group.life == life
        entry = AuditEntry.objects.latest("pk")
        assert (entry.who, entry.group, entry.action) == ("oona", group, f"failure-{rest[:-1]}")
    assert group.ignore_total == group.total + 100
    page = _page(operator, group)
    assert "Ignored by oona" in page.text
    assert "mail team &lt;" in page.source
    assert "Resolve a group of failures" in page.text


def test_ignoring_needs_to_know_until_when(operator: Client, group: FailureGroup) -> None:
    for body in ({"how": "rate"}, {"how": "count", "number": "0"}, {"how": "x"}, {}):
        assert operator.post(_url(group, "ignore/"), body).status_code == 422
    answer = operator.post(_url(group, "ignore/"), {"how": "rate", "number": "1"})
    assert answer.status_code == 422  # it fails more often already
    group.refresh_from_db()
    assert group.life == Life.OPEN


def test_the_class_by_hand_is_for_admins_and_can_be_taken_back(operator: Client, group: FailureGroup) -> None:
    assert operator.post(_url(group, "class/"), {"kind": "permanent"}).status_code == 403
    admin = signed_in(person("admin", name="ada"))
    assert admin.post(_url(group, "class/"), {"kind": "permanent"}).status_code == 302
    page = _page(admin, group)
    assert "permanent, said by ada" in page.text
    assert "fails the same way" in page.text
    admin.post(_url(group, "class/"), {"kind": ""})
    group.refresh_from_db()
    assert group.kind_set == ""
    assert AuditEntry.objects.filter(action="failure-class", group=group).count() == 2


def test_notes_owner_and_runbook_are_kept_and_written_down(operator: Client, group: FailureGroup) -> None:
    operator.post(_url(group, "note/"), {"text": f"first\n{MARKUP}"})
    operator.post(_url(group, "owner/"), {"owner": "team payments"})
    operator.post(_url(group, "runbook/"), {"runbook": "https://wiki.example/pay?a=1"})
    page = _page(operator, group)
    assert MARKUP in page.text
    assert "team payments" in page.text
    link = next(node for node in page.all("href", "https://wiki.example/pay?a=1"))
    assert "noopener" in link.attrs["rel"]
    assert set(AuditEntry.objects.filter(group=group).values_list("action", flat=True)) == {
        *("failure-note", "failure-owner", "failure-runbook")
    }


@pytest.mark.parametrize(
    "runbook",
    [
        *("javascript:alert(1)", "data:text/html,x", "//evil.example", "https://", "ftp://x.example", "/local"),
        *("https://u:p@x.example/", "https://x.example/\u202e", 'https://x.example/"onx=', " javascript:alert(1)"),
    ],
)
def test_a_runbook_that_is_no_web_address_is_refused(operator: Client, group: FailureGroup, runbook: str) -> None:
    assert operator.post(_url(group, "runbook/"), {"runbook": runbook}).status_code == 422
    FailureGroup.objects.update(runbook=runbook)  # as somebody else might have written it
    assert not _page(operator, group).all("href", runbook)


def test_one_deletes_only_ones_own_notes(operator: Client, group: FailureGroup) -> None:
    note = FailureNote.objects.create(group=group, who="somebody", text="theirs")
    own = FailureNote.objects.create(group=group, who="oona", text="mine")
    for each in (note, own, own):
        assert operator.post(_url(group, f"note/{each.pk}/delete/")).status_code == 302
    assert list(FailureNote.objects.all()) == [note]


def test_groups_are_merged_after_a_question_and_the_old_address_leads_to_the_new(
    operator: Client, group: FailureGroup
) -> None:
    other = make_group(title="TypeError: y is not a function", counts=(1, 1, 1, 1, 9), failures=3)
    asked = operator.post("/failures/merge/", {"group": [group.slug, other.slug]})
    assert asked.status_code == 200
    assert FailureGroup.objects.filter(merged_into=None).count() == 2
    body = {"group": [group.slug, other.slug], "into": group.slug, "sure": "1"}
    done = operator.post("/failures/merge/", body)
    assert done.headers["Location"] == _url(group)
    assert operator.get(_url(other)).headers["Location"] == _url(group)
    page = _page(operator, group)
    assert "2 signatures" in page.text
    assert "Merge groups of failures" in page.text
    group.refresh_from_db()
    assert group.total == 149


def test_one_group_alone_or_none_is_not_merged(operator: Client, group: FailureGroup) -> None:
    for body in ({}, {"group": group.slug}, {"group": [group.slug, group.slug], "sure": "1", "into": group.slug}):
        assert operator.post("/failures/merge/", body).status_code == 422
    assert operator.post("/failures/merge/", {"group": "ffffff"}).status_code == 404


def test_a_signature_is_taken_out_and_split(operator: Client, group: FailureGroup) -> None:
    other = make_group(title="TypeError: y is not a function", queues=("mail", "sms"), counts=(0, 0, 0, 0, 9))
    operator.post("/failures/merge/", {"group": [group.slug, other.slug], "into": group.slug, "sure": "1"})
    signature = FailureSignature.objects.get(digest__startswith=other.slug)
    answer = operator.post(_url(group, "split/"), {"signature": signature.pk})
    assert answer.headers["Location"] == _url(other)  # its own address again
    operator.post(_url(other, "split/"), {"signature": signature.pk, "by": "queue"})
    assert FailureGroup.objects.count() == 3
    signature.refresh_from_db()
    assert signature.split_by == "queue"
    assert operator.post(_url(other, "split/"), {"signature": signature.pk, "by": "queue"}).status_code == 409
    assert operator.post(_url(other, "split/"), {"signature": "x"}).status_code == 422


def test_what_a_queue_says_is_text_and_nothing_else(operator: Client) -> None:
    indexing(queues=("payments",))
    evil = make_group(title=MARKUP, names=[MARKUP], counts=(3, 3, 3, 3, 3), failures=3, samples=3)
    FailureSample.objects.update(
        stack=f"Error: {MARKUP}\n    at {MARKUP} (/app/x.js:1:1)\n    at y (/app/node_modules/z/{MARKUP}.js:1:1)",
        payload=json.dumps({MARKUP: MARKUP, "password": "•••••••• 3 characters", "n": 9007199254740993127}),
        reason=MARKUP,
        name=MARKUP,
    )
    FailureSignature.objects.update(parts={"error_class": MARKUP, "message": f"‹n› {MARKUP}", "place": MARKUP})
    page = _page(operator, evil)
    assert MARKUP in page.text
    assert "9007199254740993127" in page.text
    assert not [node for node in page.nodes if node.tag == "script" and "src" not in node.attrs]
    assert not [node for node in page.nodes if node.tag == "b" and node.text == "x"]


def test_payloads_that_are_no_json_or_cut_are_shown_as_they_are(operator: Client, group: FailureGroup) -> None:
    for payload in (
        "",
        "no json",
        '{"a": [1, 2, {"b": "c',
        "\ufffd" * 50,
        '{"token": •••••••• 3 characters, "a": 1}',
        "[" * 500,
    ):
        FailureSample.objects.update(payload=payload, sizes={"payload": 5_000_000})
        assert "Payload" in _page(operator, group).text


def test_what_is_to_be_hidden_from_now_on_is_hidden_in_kept_samples_too(
    operator: Client, group: FailureGroup, source: SourceConfig
) -> None:
    mask = "\u2022" * 8 + " 7 characters"
    told = f'{{\n  "nick": "hans in luck",\n  "password": "{mask}",\n  "n": 1\n}}'
    FailureSample.objects.update(payload=told, sizes={"payload": 60}, stack="Error: nick=hans in luck")
    assert "hans in luck" in _page(operator, group).text
    masking.add("nick", by="ada")
    page = _page(operator, group).text
    assert "hans" not in page
    assert "12 characters" in page
    assert "7 characters" in page
    assert "2 fields hidden" in page


def test_what_is_to_be_hidden_from_now_on_is_hidden_in_titles_and_messages_too(
    operator: Client, source: SourceConfig
) -> None:
    indexing(queues=("payments",))
    group = make_group(title="no such user: nick=hans", failures=1)
    other = make_group(title="another")
    paths = [
        "/failures/",
        _url(group),
        _url(group, "jobs/"),
        _url(other),
        "/failures/export.csv",
        "/failures/export.jsonl",
    ]

    def told() -> list[bool]:
        answers: list[Any] = [operator.get(path) for path in paths]
        answers.append(operator.post("/failures/merge/", {"group": [group.slug, other.slug]}))
        return ["hans" in b"".join(answer).decode() for answer in answers]

    assert all(told())
    masking.add("nick", by="ada")
    assert not any(told())


def test_fields_that_differ_between_samples_are_marked(operator: Client, group: FailureGroup) -> None:
    page = _page(operator, group)
    marked = [node.text for node in page.all("class") if "dif" in node.attrs["class"].split()]
    assert "3" in marked or "0" in marked  # the customer
    assert "compared with 4 samples" in page.text


def test_paths_that_repeat_are_proposed(operator: Client, group: FailureGroup) -> None:
    page = _page(operator, group)
    assert [node for node in page.all("href") if "path=tenant" in node.attrs["href"]]


def test_a_path_that_is_none_is_told_and_the_page_stands(operator: Client, group: FailureGroup) -> None:
    page = _page(operator, group, "?path=..")
    assert group.title in page.text
    assert page.all("role", "alert")


def test_a_class_that_rules_do_not_agree_on_is_told(operator: Client, group: FailureGroup) -> None:
    make_group(title="other", kind=Kind.PERMANENT, rule="TypeError", counts=(0, 0, 0, 0, 1))
    other = FailureGroup.objects.exclude(pk=group.pk).get()
    operator.post("/failures/merge/", {"group": [group.slug, other.slug], "into": group.slug, "sure": "1"})
    assert "Rules tell its failures apart" in _page(operator, group).text


def test_a_page_costs_a_bounded_number_of_queries(operator: Client, group: FailureGroup) -> None:
    _page(operator, group)
    with CaptureQueriesContext(connection) as caught:
        _page(operator, group)
    assert len(caught) <= 40


def test_the_audit_log_names_the_group_of_each_act(operator: Client, group: FailureGroup) -> None:
    FailureGroup.objects.filter(pk=group.pk).update(title=f"boom {MARKUP}")
    operator.post(f"/failures/{group.slug}/resolve/")
    raw = operator.get("/audit/").content.decode()
    assert f'href="/failures/{group.slug}/"' in raw
    assert "boom &lt;b&gt;" in raw


def test_the_replays_of_a_group_stand_on_its_page_with_their_outcomes(operator: Client, group: FailureGroup) -> None:
    stopped = a_plan(Phase.STOPPED, group=group, total=25, sent=25, completed=3, failed=22, why=Stop.CANARY)
    well = a_plan(Phase.DONE, group=group, total=188, sent=188, completed=188)
    page = _page(operator, group)
    lines = {node.attrs["data-replay"]: node.text for node in page.all("data-replay")}
    assert list(lines) == [str(well.pk), str(stopped.pk)]
    assert " ".join(lines[str(stopped.pk)].split()).endswith("3 22 its canary stopped it")
    assert "all completed" in lines[str(well.pk)]


def test_a_replay_that_was_made_otherwise_stands_there_with_what_became_of_the_jobs_of_the_group(
    operator: Client, group: FailureGroup
) -> None:
    """Of letters, of a queue, of picked jobs: by the rows of its ledger, of merged groups too."""
    merged = make_group(title="the same under another name")
    FailureGroup.objects.filter(pk=merged.pk).update(merged_into=group)
    letters = a_plan(Phase.DONE, total=144, sent=135, completed=133, failed=2)
    fates = [Fate.COMPLETED, Fate.COMPLETED, Fate.FAILED, Fate.NONE]
    for number, fate in enumerate(fates):
        row(letters, b"%d" % number, fate, group=merged if number else group, place="sent" if fate else "left-out")
    row(letters, b"9", Fate.FAILED, group=make_group(title="another"))
    a_plan(Phase.CANCELLED, [b"x"], step=DISCARDED).jobs.update(group=group)
    page = _page(operator, group)
    lines = {node.attrs["data-replay"]: " ".join(node.text.split()) for node in page.all("data-replay")}
    assert list(lines) == [str(letters.pk)]
    assert lines[str(letters.pk)].endswith("of its 144 jobs, those of this group olga 3 of 4 2 1 2 of 4 completed")
    assert "Nothing besides the replays above." in page.text
    says = "Nothing of it is failed, or a letter, any more."
    assert says not in page.text
    group.strands.update(present=0)
    assert says in _page(operator, group).text


def test_a_replay_of_a_group_is_planned_from_its_page(
    operator: Client, group: FailureGroup, source: SourceConfig
) -> None:
    (form,) = _page(operator, group).all("action", "/replays/plan/", tag="form")
    fields = {node.attrs["name"]: node.attrs["value"] for node in form.children if node.attrs.get("type") == "hidden"}
    assert {"kind": "group", "group": group.slug, "source": "main"}.items() <= fields.items()
    assert "/replays/plan/" not in as_role("viewer").get(_url(group)).content.decode()
