"""The list of groups of failures as files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import cast

import pytest
from django.http import StreamingHttpResponse
from django.test import Client

from dashboard.failures import exported
from queues.failures.types import Kind
from queues.models import AuditEntry
from queues.quantities import DAY, now_ms
from queues.registry import SourceConfig
from tests.dashboard.people import as_role
from tests.failing import make_group

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(source: SourceConfig) -> Client:
    return as_role("viewer")


def sent(client: Client, ending: str, query: str = "") -> str:
    answer = cast("StreamingHttpResponse", client.get(f"/failures/export.{ending}{query}"))
    assert answer.status_code == 200
    assert 'filename="failures-' in answer.headers["Content-Disposition"]
    return b"".join(cast("Iterable[bytes]", answer.streaming_content)).decode()


def test_what_the_filter_finds_can_be_taken_as_csv_and_as_json_lines(viewer: Client) -> None:
    group = make_group(
        title="ETIMEDOUT", queues=["mail", "payments"], counts=[1, 2, 3, 4, 5], first_ms=now_ms() - DAY * 3
    )
    make_group(title="other", kind=Kind.PERMANENT)
    (row,) = list(csv.DictReader(io.StringIO(sent(viewer, "csv", "?class=transient"), newline="")))
    assert (row["group"], row["title"], row["h1"], row["d7"]) == (group.slug, "ETIMEDOUT", "1", "5")
    assert (row["state"], row["class"], row["source"]) == ("open", "transient", "main")
    (line,) = map(json.loads, sent(viewer, "jsonl", "?class=transient").splitlines())
    assert (line["queues"], line["queue_count"], line["usual_per_hour"]) == (["mail", "payments"], 2, None)
    assert set(line) == set(exported.COLUMNS) == set(row)


def test_no_cell_runs_in_a_spreadsheet(viewer: Client) -> None:
    make_group(title="=HYPERLINK(1)", owner="@x", names=["+1"])
    (row,) = list(csv.DictReader(io.StringIO(sent(viewer, "csv"), newline="")))
    assert (row["title"], row["owner"], row["job_name"]) == ("'=HYPERLINK(1)", "'@x", "'+1")


def test_a_file_that_is_cut_says_so(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported, "MOST_GROUPS", 2)
    for title in "abc":
        make_group(title=title)
    assert len(list(csv.reader(io.StringIO(sent(viewer, "csv"))))) == 4
    lines = [json.loads(line) for line in sent(viewer, "jsonl").splitlines()]
    assert lines[-1]["cut"] is True
    assert "at most 2 groups" in lines[-1]["note"]


def test_an_export_is_an_entry_of_the_log(viewer: Client) -> None:
    sent(viewer, "csv", "?text=secret&state=all")
    entry = AuditEntry.objects.get(action="export-failures")
    assert entry.parameters == {"text": "secret", "state": "all", "format": "csv"}
    assert entry.role == "viewer"
