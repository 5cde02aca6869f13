"""The log of actions: one row each, filtered, paged and exported; nothing in it runs, and nothing can be changed."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import astuple
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.conf import settings as settings_of_all
from django.db import OperationalError
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from dashboard import access, trail
from dashboard.access import Right
from queues import audit
from queues.actions import Action
from queues.models import AuditEntry, Bulk
from queues.operations.background import STOP
from queues.registry import SourceConfig
from tests.dashboard.pages import Page, link
from tests.dashboard.people import as_role, person, signed_in
from tests.dashboard.test_access import EACH, Route, allowed_methods

pytestmark = pytest.mark.django_db

HOSTILE = "\"><script>window.__x=1</script>\u202e{{ 7|add:'1' }}"


@pytest.fixture
def admin(source: SourceConfig) -> Client:
    return as_role("admin")


@pytest.fixture
def viewer(source: SourceConfig) -> Client:
    return as_role("viewer")


def wrote(**facts: Any) -> AuditEntry:
    values: dict[str, Any] = {"who": "ana", "role": "operator", "address": "10.1.2.3", "action": "retry"}
    values |= {"source": "main", "queue": "mail", "jobs": ["1"], "asked": 1, "status": "done"}
    values |= {"outcomes": {"done": 1}, "duration_ms": 12, "ended_at": timezone.now()}
    return AuditEntry.objects.create(**(values | facts))


def test_every_entry_is_a_row_with_who_what_and_where_the_newest_first(viewer: Client) -> None:
    first, second = wrote(), wrote(who="bia", action="remove", status="refused", outcomes={}, note="no right")
    page = Page(viewer.get("/audit/"))
    assert page.rows("data-entry") == [str(second.pk), str(first.pk)]
    for words in ("ana", "bia", "Retry", "Remove", "refused", "mail"):
        assert words in page.text


def test_signing_in_and_out_came_to_something(viewer: Client) -> None:
    AuditEntry.objects.all().delete()
    for action in ("sign-in", "sign-out"):
        wrote(action=action, source="", queue="", jobs=[], asked=None, outcomes={})
    found = [node.text.strip() for node in Page(viewer.get("/audit/")).all("class", "full said")]
    assert found == ["Signed out", "Signed in"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("who=ana", {"a", "c"}),
        ("action=pause", {"c"}),
        ("queue=mail", {"a"}),
        ("queue=e~mail+x", set()),
        ("status=failed", {"b"}),
        ("who=ana&action=retry", {"a"}),
        ("since=2020-01-01T00:00&until=2021-01-01T00:00", {"c"}),
        ("until=2020-05-05T00:00", set()),
        ("status=nonsense", {"a", "b", "c"}),
    ],
)
def test_filters_stand_in_the_query_string(viewer: Client, query: str, found: set[str]) -> None:
    entries = {
        "a": wrote(),
        "b": wrote(who="bia", queue="shop", status="failed"),
        "c": wrote(action="pause", queue="other"),
    }
    AuditEntry.objects.filter(pk=entries["c"].pk).update(at="2020-05-05T12:00Z")
    page = Page(viewer.get(f"/audit/?{query}"))
    assert set(page.rows("data-entry")) == {str(entries[name].pk) for name in found}


def test_the_folded_filter_says_what_it_filters_by(viewer: Client) -> None:
    def said(query: str) -> str:
        (summary,) = [
            node
            for node in Page(viewer.get(f"/audit/{query}")).nodes
            if node.tag == "summary" and "Filter" in node.text
        ]
        return " ".join(summary.text.split())

    assert said("") == "Filter"
    asked = "?who=ana&action=retry&status=unsure&queue=mail&since=2020-01-01T00:00"
    assert said(asked) == "Filter Who ana Action Retry Status not sure Queue mail From, UTC 2020-01-01T00:00"


def test_whatever_is_written_down_has_a_word_and_can_be_filtered_by(viewer: Client) -> None:
    views = "".join(path.read_text() for path in (settings_of_all.BASE_DIR / "dashboard" / "views").glob("*.py"))
    done = {*re.findall(r'record\(request, "([^"]+)"', views), STOP, Right.EXPORT_AUDIT}
    refused = {access.word_of(route.name) for route in EACH if "action" not in route.kwargs and takes_post(route)}
    assert {"sign-in", "masking-add", "user-role", "download"} <= done
    assert {"sign-in", "stop", "pin", "restore"} <= refused
    offered = set(re.findall(r'<option\s+value="([^"]+)"', viewer.get("/audit/").content.decode()))
    assert done | refused | set(Action) <= offered
    assert set(trail.ACTION_WORDS) <= offered


def takes_post(route: Route) -> bool:
    return route.name != "live" and "POST" in allowed_methods(route)


@pytest.mark.parametrize(
    "moment", ["since=yesterday", "since=0001-01-01T00:00%2B23:59", "until=9999-12-31T23:59-23:59"]
)
def test_a_moment_that_is_none_is_refused_with_what_was_expected(viewer: Client, moment: str) -> None:
    answer = viewer.get(f"/audit/?{moment}")
    assert answer.status_code == 422
    assert "2026-11-30T14:02" in Page(answer).text


@pytest.mark.parametrize("asked", ["who=a%00", "action=%00", "queue=%00", "status=%00", "source=%00"])
def test_what_no_database_holds_finds_nothing(viewer: Client, asked: str) -> None:
    """PostgreSQL takes no NUL in a text, not even to look for it."""
    assert viewer.get(f"/audit/?{asked}").status_code == 200
    assert "\x00" not in "".join(map(str, astuple(trail.AuditQuery(QueryDict(asked), ()).filters)))


def test_an_export_that_cannot_begin_is_a_page_that_says_so(
    source: SourceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the first line is sent, nothing but silence could tell."""

    def busy(filters: audit.Filters) -> Iterator[AuditEntry]:
        raise OperationalError("database is locked")
        yield

    monkeypatch.setattr(audit, "each", busy)
    admin = as_role("admin")
    admin.raise_request_exception = False
    for ending in ("csv", "jsonl"):
        assert admin.get(f"/audit/export.{ending}").status_code == 503


def test_an_export_that_breaks_off_ends_with_a_line_that_says_so(
    admin: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    entry = wrote()

    def lost(filters: audit.Filters) -> Iterator[AuditEntry]:
        yield from [entry] * 300
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(audit, "each", lost)
    rows = list(csv.reader(io.StringIO(_text(admin.get("/audit/export.csv")), newline="")))
    assert len(rows) == 302
    assert rows[-1] == ["Cut here: the other entries could not be read. Export them again."]
    lines = [json.loads(line) for line in _text(admin.get("/audit/export.jsonl")).splitlines()]
    assert len(lines) == 301
    assert lines[-1] == {"cut": True, "note": rows[-1][0]}
    assert [record.message for record in caplog.records] == ["An export of the audit log broke off."] * 2


def test_a_thousand_entries_are_paged_there_and_back_and_each_is_shown_once(viewer: Client) -> None:
    AuditEntry.objects.bulk_create(
        AuditEntry(who="ana", action="pause", source="main", queue="mail", status="done") for _ in range(1_050)
    )
    seen: list[str] = []
    page = Page(viewer.get("/audit/"))
    while True:
        seen += page.rows("data-entry")
        if not (forth := link(page, "next")):
            break
        page = Page(viewer.get(f"/audit/{forth}"))
    assert len(seen) == len(set(seen)) == 1_050
    assert seen == sorted(seen, key=int, reverse=True)
    back = Page(viewer.get(f"/audit/{link(page, 'prev')}")).rows("data-entry")
    assert back == seen[-len(page.rows("data-entry")) - len(back) : -len(page.rows("data-entry"))]


def test_the_empties_say_which_they_are(viewer: Client) -> None:
    assert "Nothing has been done yet" in Page(viewer.get("/audit/")).text
    wrote()
    filtered = Page(viewer.get("/audit/?who=nobody")).text
    assert "No entry matches this filter" in filtered
    assert "365 days" in filtered


def test_how_long_entries_are_kept_is_said(viewer: Client, settings: LazySettings) -> None:
    settings.MIRANTE_AUDIT_DAYS = 30
    assert "deleted after 30 days" in Page(viewer.get("/audit/")).text
    settings.MIRANTE_AUDIT_DAYS = 0
    assert "kept for ever" in Page(viewer.get("/audit/")).text


def test_only_admins_see_from_where(viewer: Client, admin: Client) -> None:
    entry = wrote()
    for path in ("/audit/", f"/audit/{entry.pk}/"):
        assert "10.1.2.3" not in viewer.get(path).content.decode()
        assert "10.1.2.3" in admin.get(path).content.decode()


def test_hostile_text_of_an_entry_is_text_everywhere(admin: Client) -> None:
    entry = wrote(
        who=HOSTILE[:100],
        action=HOSTILE[:50],
        queue="~" + "PHNjcmlwdD4",
        reason=HOSTILE,
        note=HOSTILE,
        selection=HOSTILE,
        parameters={HOSTILE: HOSTILE, "deep": {"x": HOSTILE}, "run_at_ms": 10**18},
        status="failed",
        outcomes={"wrong-state": 1},
        exceptions=[{"job": "~PHNjcmlwdD4", "outcome": "wrong-state", "why": HOSTILE}],
    )
    for path in ("/audit/", f"/audit/{entry.pk}/", f"/audit/{entry.pk}/progress/"):
        answer = admin.get(path)
        assert answer.status_code == 200
        assert "<script>window" not in answer.content.decode()
        assert "<script>" not in answer.content.decode().split("<main", 1)[-1]


def test_an_entry_of_a_queue_that_is_no_slug_still_shows(admin: Client) -> None:
    entry = wrote(queue="not a slug")
    assert admin.get("/audit/").status_code == 200
    assert admin.get(f"/audit/{entry.pk}/").status_code == 200


def test_one_action_tells_its_outcomes_and_exceptions(viewer: Client) -> None:
    entry = wrote(
        asked=50,
        outcomes={"done": 41, "locked": 8, "gone": 1},
        exceptions=[
            {"job": "7", "outcome": "locked", "state": "active", "lock_ms": 12_000},
            {"job": "8", "outcome": "gone", "why": "It was removed before."},
        ],
        reason="the gateway is back",
    )
    page = Page(viewer.get(f"/audit/{entry.pk}/"))
    counts = {node.attrs["data-outcome"]: node.attrs["data-count"] for node in page.all("data-outcome")}
    assert counts == {"done": "41", "locked": "8", "gone": "1"}
    assert page.rows("data-job") == ["7", "8"]
    for words in ("held by a worker", "12 s left", "It was removed before.", "the gateway is back", "Active"):
        assert words in page.text


def test_one_outcome_of_all_is_said_by_the_words_alone(viewer: Client) -> None:
    whole, stopped = wrote(outcomes={"done": 63}, asked=63), wrote(outcomes={"done": 63}, asked=100, status="stopped")
    page = Page(viewer.get(f"/audit/{whole.pk}/"))
    assert "Retried 63 jobs" in page.text
    assert not page.all("data-outcome")
    assert [node.attrs["data-count"] for node in Page(viewer.get(f"/audit/{stopped.pk}/")).all("data-outcome")] == [
        "63"
    ]


def test_a_job_that_came_back_to_its_state_is_said_to_have(viewer: Client) -> None:
    told = {"job": "7", "outcome": "wrong-state", "state": "failed"}
    entry = wrote(outcomes={"wrong-state": 1}, exceptions=[told], parameters={"state": "failed"})
    assert "come back since it was looked at" in Page(viewer.get(f"/audit/{entry.pk}/")).text


def test_there_is_no_page_of_what_is_no_entry(viewer: Client) -> None:
    assert viewer.get("/audit/999999/").status_code == 404
    assert viewer.get(f"/audit/{10**40}/").status_code == 404


def running(**facts: Any) -> AuditEntry:
    entry = wrote(status="running", ended_at=None, duration_ms=None, outcomes={"done": 300}, asked=1_000)
    values: dict[str, Any] = {"state": "failed", "until_ms": 1, "phase": "acting", "collected": 1_000, "handled": 300}
    values |= {"beat_at": timezone.now(), "holder": "w:1", "rated_at": timezone.now() - timedelta(seconds=3)}
    Bulk.objects.create(entry=entry, **(values | facts))
    return entry


def test_a_running_action_says_how_far_it_is_and_asks_again_until_it_ends(viewer: Client) -> None:
    entry = running()
    fragment = viewer.get(f"/audit/{entry.pk}/progress/").content.decode()
    assert 'data-handled="300"' in fragment
    assert "of 1,000" in fragment
    assert "every 1s" in fragment
    assert "100<small>/s" in fragment.replace(" ", "").replace("\n", "")
    AuditEntry.objects.filter(pk=entry.pk).update(status="done", ended_at=timezone.now())
    ended = viewer.get(f"/audit/{entry.pk}/progress/").content.decode()
    assert "hx-trigger" not in ended
    assert 'id="stop-box" hx-swap-oob="true"' in ended


def test_a_worker_that_is_silent_is_said_to_be(viewer: Client) -> None:
    words = "The worker does not answer since"
    assert words not in Page(viewer.get(f"/audit/{running().pk}/")).text
    silent = running(beat_at=timezone.now() - timedelta(minutes=3))
    assert words in Page(viewer.get(f"/audit/{silent.pk}/")).text
    never = running(beat_at=None, holder="")
    AuditEntry.objects.filter(pk=never.pk).update(at=timezone.now() - timedelta(minutes=1))
    assert words in Page(viewer.get(f"/audit/{never.pk}/")).text


def test_a_viewer_cannot_stop_an_action_and_an_operator_can(viewer: Client) -> None:
    entry = running()
    assert viewer.post(f"/audit/{entry.pk}/stop/").status_code == 403
    assert not Bulk.objects.get(entry=entry).stop_asked_by
    operator = person("operator")
    assert signed_in(operator).get(f"/audit/{entry.pk}/stop/").status_code == 405
    answer = signed_in(operator).post(f"/audit/{entry.pk}/stop/")
    assert (answer.status_code, answer["Location"]) == (302, f"/audit/{entry.pk}/")
    assert Bulk.objects.get(entry=entry).stop_asked_by == operator.username
    assert operator.username in Page(viewer.get(f"/audit/{entry.pk}/")).text


def test_an_export_holds_what_the_filters_mean_as_csv_and_as_json_lines(admin: Client) -> None:
    wrote(), wrote(who="bia")
    rows = list(csv.DictReader(io.StringIO(_text(admin.get("/audit/export.csv?who=bia")))))
    assert [row["who"] for row in rows] == ["bia"]
    assert json.loads(rows[0]["outcomes"]) == {"done": 1}
    lines = [json.loads(line) for line in _text(admin.get("/audit/export.jsonl?who=bia")).splitlines()]
    assert [line["who"] for line in lines] == ["bia"]
    assert lines[0]["jobs"] == ["1"]


def test_an_entry_about_no_queue_names_none(viewer: Client) -> None:
    wrote(action="export-replay", queue="", jobs=[])
    (cell,) = [node for node in Page(viewer.get("/audit/")).nodes if node.attrs.get("class") == "queue"]
    assert cell.text.strip() == "none"  # and not the source, as if that were one


def test_an_export_is_an_entry_itself(admin: Client) -> None:
    _text(admin.get("/audit/export.csv?who=bia"))
    entry = AuditEntry.objects.get(action="export-audit")
    assert entry.parameters == {"who": "bia", "format": "csv"}


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_a_csv_can_run_as_a_formula(admin: Client, sign: str) -> None:
    wrote(who=f"{sign}cmd|' /C calc'!A0", reason=f"{sign}1+1", note=f"{sign}x", selection=f"{sign}y")
    rows = list(csv.reader(io.StringIO(_text(admin.get("/audit/export.csv")), newline="")))
    cells = [cell for row in rows for cell in row]
    assert any(cell.startswith(f"'{sign}") for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_an_export_that_is_cut_says_so(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail, "MOST_EXPORTED", 2)
    for _number in range(4):
        wrote()
    assert "Cut here" in _text(admin.get("/audit/export.csv")).splitlines()[-1]
    last = json.loads(_text(admin.get("/audit/export.jsonl")).splitlines()[-1])
    assert last["cut"] is True


@pytest.mark.parametrize("role", ["viewer", "operator"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_only_admins_export(source: SourceConfig, role: str, ending: str) -> None:
    wrote(who="ana")
    answer = as_role(role).get(f"/audit/export.{ending}")
    assert answer.status_code == 403
    assert b"ana" not in answer.content


def _text(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode()
