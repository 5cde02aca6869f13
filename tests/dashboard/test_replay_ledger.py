"""The ledger of a replay: a row for each job, how those stand now that have not ended, and its files."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest
import redis
from django.conf import LazySettings
from django.test import Client

from dashboard.replays import exported
from queues import registry
from queues.models import AuditEntry, Replay
from queues.registry import SourceConfig
from queues.replay.forgetting import FORGOTTEN
from queues.replay.types import Acts, Choice, Phase, Place
from queues.sendings import Conflict, Fate
from queues.types import QueueRef
from tests.dashboard.pages import Page, link
from tests.dashboard.people import as_role
from tests.dashboard.replayed import PAYMENTS, TERMS, row, started
from tests.failing import make_group
from tests.queues.replaying import a_queue

pytestmark = pytest.mark.django_db

FORMULA = '=HYPERLINK("http://x")'


@pytest.fixture(autouse=True)
def nowhere(settings: LazySettings) -> None:
    """A source that does not answer."""
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://127.0.0.1:1/0"),)
    registry.forget()


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


def read(client: Client, plan: Replay, query: str = "") -> Page:
    answer = client.get(f"/replays/{plan.pk}/jobs/{query}")
    assert answer.status_code == 200
    return Page(answer)


def rows(page: Page) -> list[str]:
    return [" ".join(node.text.split()) for node in page.all("data-job", tag="tr")]


def jobs(page: Page) -> list[str]:
    """The ids that are shown, in order."""
    return [text.split()[0] for text in rows(page)]


def test_a_row_says_what_a_job_is_and_what_became_of_it(viewer: Client) -> None:
    plan = started()
    before, other = make_group(title="ETIMEDOUT"), make_group(title="Captured")
    row(plan, b"ok", Fate.COMPLETED, rank=1, group=before)
    row(plan, b"same", Fate.FAILED, rank=2, group=before, again=before)
    row(plan, b"new", Fate.FAILED, rank=3, group=before, again=other, canary=True)
    row(plan, b"out", rank=4, place=Place.LEFT_OUT, conflict=Conflict.TWIN, note="job-9", sent_ms=None)
    row(plan, b"unread", Fate.FAILED, rank=6, group=before)
    row(plan, b"unsent", rank=5, place=Place.READY, sent_ms=None)
    page = read(viewer, plan)
    told = dict(zip(jobs(page), rows(page), strict=True))
    assert "charge payments" in told["ok"]
    assert "itself completed" in told["ok"]
    assert "ETIMEDOUT had failed with it before" in told["ok"]
    assert "ETIMEDOUT had failed with it before; the error now is not known" in told["unread"]
    assert "failed again" in told["same"]
    assert "ETIMEDOUT the same error as before" in told["same"]
    assert "Captured another error than before" in told["new"]
    assert "canary" in told["new"]
    assert "left out A newer job holds its deduplication id: job-9" in told["out"]
    assert "to be sent" in told["unsent"]
    hrefs = {node.attrs["href"] for node in page.all("href", tag="a")}
    assert {"/queues/main/payments/jobs/ok/", f"/failures/{other.slug}/"} <= hrefs


def test_jobs_that_were_left_out_by_choice_say_so_on_the_page_in_files_and_in_the_report(viewer: Client) -> None:
    choices = {Conflict.PARENT_GONE: Choice.SKIP, Conflict.TWIN: Choice.SKIP}  # the latter by default, as forms send it
    plan = started(Phase.DONE, terms=replace(TERMS, without_permanent=True, choices=choices), left_out=4)
    out: dict[str, Any] = {"place": Place.LEFT_OUT, "sent_ms": None}
    row(plan, b"ok", Fate.COMPLETED, rank=0)
    row(plan, b"class", rank=1, permanent=True, **out)
    row(plan, b"parent", rank=2, conflict=Conflict.PARENT_GONE, note="p-1", **out)
    row(plan, b"both", rank=3, permanent=True, conflict=Conflict.PARENT_GONE, note="p-1", **out)
    row(plan, b"gone", rank=4, conflict=Conflict.GONE, **out)
    row(plan, b"twin", rank=5, conflict=Conflict.TWIN, **out)
    by_class, parent = "Its failure is permanent: left out by choice", "Parent is gone, or went on without it"
    expected = {
        "ok": "",
        "class": by_class,
        "parent": f"{parent}: left out by choice",
        "both": f"{by_class}; {parent}: left out by choice",
        "gone": "The job is gone",
        "twin": "A newer job holds its deduplication id",
    }
    lines = [json.loads(line) for line in taken(viewer, plan, "jsonl").splitlines()]
    assert {line["job"]: line["reason"] or "" for line in lines} == expected
    told = {text.split()[0]: text for text in rows(read(viewer, plan))}
    assert all(reason in told[job] for job, reason in expected.items())
    assert f"{parent}: left out by choice: p-1" in told["parent"]
    page = Page(viewer.get(f"/replays/{plan.pk}/"))
    for said in (f"{by_class} 1", f"{parent}: left out by choice 2", "The job is gone 1"):
        assert said in " ".join(page.text.split())
    assert jobs(read(viewer, plan, "?place=left-out&conflict=none")) == ["class"]  # where the report leads to
    assert f"/replays/{plan.pk}/jobs/?place=left-out&amp;conflict=none" in page.source


def test_a_copy_leads_to_the_job_that_was_made(viewer: Client) -> None:
    plan = started()
    mail = a_queue(QueueRef("main", b"bull", b"mail"))
    row(plan, b"letter", Fate.COMPLETED, acts=Acts.COPY, made="4711", target=mail)
    page = read(viewer, plan)
    assert "4711 mail" in rows(page)[0]
    assert page.all("href", "/queues/main/mail/jobs/4711/")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?place=left-out", ["out"]),
        ("?fate=failed", ["again"]),
        ("?fate=under-way", ["way"]),
        ("?conflict=gone", ["out"]),
        ("?canary=1", ["again"]),
        ("?text=aga", ["again"]),
        ("?queue=mail", ["way"]),
        ("?place=nonsense&fate=nonsense", ["again", "out", "way"]),
    ],
)
def test_it_is_filtered(viewer: Client, query: str, found: list[str]) -> None:
    plan = started()
    row(plan, b"again", Fate.FAILED, rank=1, canary=True)
    row(plan, b"out", rank=2, place=Place.LEFT_OUT, conflict=Conflict.GONE, sent_ms=None)
    row(plan, b"way", rank=3, ref=QueueRef("main", b"bull", b"mail"))
    assert sorted(jobs(read(viewer, plan, query))) == found


def test_it_is_filtered_by_group(viewer: Client) -> None:
    plan, group = started(), make_group()
    row(plan, b"a", Fate.FAILED, again=group)
    row(plan, b"b", Fate.FAILED)
    assert jobs(read(viewer, plan, f"?group={group.slug}")) == ["a"]


def test_it_has_pages_in_the_order_of_sending(viewer: Client) -> None:
    plan = started()
    for number in range(60):
        row(plan, b"j%02d" % number, Fate.COMPLETED, rank=100 - number)
    page = read(viewer, plan)
    assert jobs(page) == [f"j{number:02}" for number in range(59, 9, -1)]
    later = read(viewer, plan, link(page, "next"))
    assert jobs(later) == [f"j{number:02}" for number in range(9, -1, -1)]
    assert jobs(read(viewer, plan, link(later, "prev"))) == jobs(page)


@pytest.mark.parametrize(
    ("query", "fate", "said"),
    [
        ("", Fate.COMPLETED, "j00 2,118 jobs, in the order of the plan; a|Sent earlier|Sent later"),
        ("?fate=completed", Fate.COMPLETED, "j59 the last that ended comes first|Ended later|Ended earlier"),
        ("?fate=under-way", Fate.NONE, "j00 those that were sent first come first|Sent earlier|Sent later"),
    ],
)
def test_it_says_in_which_order_its_rows_are_and_how_many_are_shown(
    viewer: Client, query: str, fate: Fate, said: str
) -> None:
    plan = started()
    for number in range(60):
        ended: dict[str, Any] = {"ended_ms": 5_000 + number} if fate else {}
        row(plan, b"j%02d" % number, fate, rank=number, sent_ms=1_000 + number, **ended)
    page = read(viewer, plan, query)
    first, _blank, words = said.partition(" ")
    assert jobs(page)[0] == first
    text = " ".join(page.text.split())
    assert all(each in text for each in words.split("|"))
    assert ("Some of 2,118 jobs" in text) == bool(query)
    assert "1 of 2,118 jobs." in " ".join(read(viewer, plan, f"?text=j07&{query[1:]}").text.split())


@pytest.mark.parametrize("query", ["?later=x", "?earlier=1"])
def test_an_odd_cursor_is_refused(viewer: Client, query: str) -> None:
    assert viewer.get(f"/replays/{started().pk}/jobs/{query}").status_code == 422


def test_how_jobs_stand_now_is_asked_of_the_server(
    viewer: Client, settings: LazySettings, source: SourceConfig, valkey: redis.Redis
) -> None:
    settings.MIRANTE_SOURCES = (source,)
    registry.forget()
    plan = started()
    for number, job in enumerate(("waits", "runs", "ended", "gone")):
        row(plan, job.encode(), rank=number)
        if job != "gone":
            valkey.hset(f"bull:payments:{job}", mapping={"name": "charge", "data": "{}", "timestamp": "1"})
    valkey.rpush("bull:payments:wait", "waits")
    valkey.rpush("bull:payments:active", "runs")
    valkey.zadd("bull:payments:failed", {"ended": 5})
    row(plan, b"known", Fate.COMPLETED, rank=9)
    told = rows(read(viewer, plan))
    for text, said in zip(told, ("waiting", "running", "failed again", "not heard of yet", "completed"), strict=True):
        assert said in text


def test_while_the_server_cannot_be_asked_they_stand_as_they_were_last_seen(viewer: Client) -> None:
    plan = started()
    row(plan, b"way", Fate.RETRYING, ended_ms=None)
    page = read(viewer, plan)
    assert "retrying" in rows(page)[0]
    assert "How jobs that have not ended stand now cannot be read." in page.text


def test_where_all_have_ended_the_server_is_not_asked(viewer: Client) -> None:
    plan = started()
    row(plan, b"ok", Fate.COMPLETED)
    assert "cannot be read" not in read(viewer, plan).text


def test_it_says_why_it_is_empty(viewer: Client) -> None:
    assert "No job of this plan is so" in read(viewer, started(), "?fate=failed").text
    assert "The ledger was deleted by age" in read(viewer, started(Phase.DONE, step=FORGOTTEN)).text


def test_hostile_ids_and_names_are_text(viewer: Client) -> None:
    plan = started()
    row(plan, b'"><script>window.__x=1</script>\xff', name="<img src=x>\u202e", note="<b>", conflict=Conflict.REFUSED)
    row(plan, b"x" * 3_000, Fate.COMPLETED)
    page = read(viewer, plan)
    assert "<script>window" not in page.source
    assert "<img" not in page.source
    assert len(rows(page)) == 2
    assert "Its id is too long to be kept." in page.source
    assert '"job": "~.' in taken(viewer, plan, "jsonl")


def test_there_is_no_such_plan(viewer: Client) -> None:
    assert viewer.get("/replays/4711/jobs/").status_code == 404
    assert viewer.get("/replays/4711/jobs.csv").status_code == 404


def taken(client: Client, plan: Replay, ending: str, query: str = "") -> str:
    answer = client.get(f"/replays/{plan.pk}/jobs.{ending}{query}")
    assert answer.status_code == 200
    assert f'filename="replay-{plan.pk}-' in answer.headers["Content-Disposition"]
    return b"".join(answer).decode()


def test_its_files_hold_every_row(viewer: Client) -> None:
    plan, group = started(), make_group()
    row(plan, b"a", Fate.FAILED, rank=1, group=group, again=group, tries=3, canary=True)
    row(plan, b"b", rank=2, place=Place.LEFT_OUT, conflict=Conflict.GONE, note="why", sent_ms=None)
    lines = [json.loads(line) for line in taken(viewer, plan, "jsonl").splitlines()]
    assert [line["job"] for line in lines] == ["a", "b"]
    assert (
        lines[0]
        | {
            "replay": f"R-{plan.pk}",
            "outcome": "failed",
            "attempts_failed": 3,
            "canary": True,
            "failed_again": group.slug,
            "sent_as": "a",
        }
        == lines[0]
    )
    assert (lines[1]["place"], lines[1]["conflict"], lines[1]["note"]) == ("left-out", "gone", "why")
    table = list(csv.DictReader(io.StringIO(taken(viewer, plan, "csv"))))
    assert [line["job"] for line in table] == ["a", "b"]
    assert tuple(table[0]) == exported.COLUMNS
    assert AuditEntry.objects.filter(action="export-replay").count() == 2


def test_its_files_hold_what_the_filter_finds(viewer: Client) -> None:
    plan = started()
    row(plan, b"a", Fate.FAILED)
    row(plan, b"b", Fate.COMPLETED)
    assert [json.loads(line)["job"] for line in taken(viewer, plan, "jsonl", "?fate=failed").splitlines()] == ["a"]
    entry = AuditEntry.objects.get(action="export-replay")
    assert entry.parameters == {"replay": plan.pk, "fate": "failed", "format": "jsonl"}


def test_no_cell_of_a_file_can_run(viewer: Client) -> None:
    plan = started()
    row(plan, b"a", name=FORMULA, note=FORMULA, conflict=Conflict.REFUSED, place=Place.REFUSED, sent_ms=None)
    row(plan, b"-1+1", Fate.COMPLETED)
    row(plan, b"@x", Fate.COMPLETED, name="\t=1")
    cells = [cell for line in csv.reader(io.StringIO(taken(viewer, plan, "csv"))) for cell in line]
    assert any(cell.startswith("'=") for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_a_file_that_would_be_too_long_says_where_it_was_cut(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported, "MOST", 2)
    plan = started()
    for number in range(3):
        row(plan, b"%d" % number, Fate.COMPLETED)
    last = json.loads(taken(viewer, plan, "jsonl").splitlines()[-1])
    assert last["cut"] is True


def test_a_page_takes_few_queries(viewer: Client, django_assert_max_num_queries: Any) -> None:
    plan, group = started(), make_group()
    for number in range(50):
        row(plan, b"%d" % number, Fate.FAILED, group=group, again=group, ref=PAYMENTS)
    with django_assert_max_num_queries(20):
        read(viewer, plan)


def test_jobs_whose_order_is_kept_within_one_value_share_a_mark_that_leads_to_them(viewer: Client) -> None:
    plan = started()
    first = row(plan, b"a1", Fate.COMPLETED, rank=1, key=7)
    row(plan, b"b1", Fate.COMPLETED, rank=2, key=8)
    row(plan, b"a2", Fate.COMPLETED, rank=3, key=7)
    row(plan, b"none", Fate.COMPLETED, rank=4)
    marks = {text.split()[0]: found[1] for text in rows(read(viewer, plan)) if (found := re.search(r"key (\w+)", text))}
    assert marks.keys() == {"a1", "b1", "a2"}
    assert marks["a1"] == marks["a2"] != marks["b1"]
    assert sorted(jobs(read(viewer, plan, f"?like={first.pk}"))) == ["a1", "a2"]
    assert jobs(read(viewer, plan, f"?like={first.pk}&text=a2")) == ["a2"]
    assert len(jobs(read(viewer, plan, "?like=x"))) == 4
    assert jobs(read(viewer, plan, "?like=999999")) == []
