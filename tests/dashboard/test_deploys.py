"""Versions that went live: told on the page of failures and on the command line, and found in their time."""

from __future__ import annotations

from typing import cast

import pytest
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client

from queues import deploys
from queues.errors import BadInput
from queues.models import AuditEntry, Deploy
from queues.quantities import DAY, now_ms
from queues.registry import SourceConfig
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role

pytestmark = pytest.mark.django_db

HOSTILE = "\"><script>window.__x=1</script>\u202e\x1b[31m{{ 7|add:'1' }}"


@pytest.fixture
def operator(source: SourceConfig) -> Client:
    return as_role("operator")


def told(client: Client, **fields: str) -> HttpResponse:
    return cast("HttpResponse", client.post("/deploys/add/", {"source": "", "at": "", **fields}))


def test_a_deploy_is_kept_shown_and_audited(operator: Client) -> None:
    answer = told(operator, version=" 1.42.0 ", source="main", next="/failures/?state=all")
    assert answer.headers["Location"] == "/failures/?state=all"
    made = Deploy.objects.get()
    assert (made.version, made.source) == ("1.42.0", "main")
    assert made.told_by.startswith("operator")
    assert abs(made.at_ms - now_ms()) < 60_000
    entry = AuditEntry.objects.get(action="deploy-add")
    assert (entry.source, entry.parameters) == ("main", {"version": "1.42.0", "at_ms": made.at_ms})
    assert "1.42.0" in Page(operator.get("/failures/")).text
    assert "1.42.0" in Page(operator.get("/audit/")).text


def test_a_deploy_may_have_been_earlier(operator: Client) -> None:
    told(operator, version="1", at="2026-01-02T03:04")
    assert Deploy.objects.get().at_ms == 1_767_323_040_000


@pytest.mark.parametrize(
    "fields", [{"version": ""}, {"version": "x" * 201}, {"version": "1", "source": "nosuch"},
               {"version": "1", "at": "2999-01-01T00:00"}, {"version": "1", "at": "soon"}],
)  # fmt: skip
def test_what_is_no_deploy_is_refused_in_words(operator: Client, fields: dict[str, str]) -> None:
    assert told(operator, **fields).status_code == 422
    assert not Deploy.objects.exists()


def test_viewers_tell_no_deploys(source: SourceConfig) -> None:
    viewer = as_role("viewer")
    assert told(viewer, version="1").status_code == 403
    assert not Page(viewer.get("/failures/")).all("action", "/deploys/add/")


def test_a_hostile_version_is_text(operator: Client) -> None:
    told(operator, version=HOSTILE)
    assert "<script>window" not in operator.get("/failures/").content.decode()
    assert "\u202e" not in Deploy.objects.get().version


def test_a_pipeline_tells_of_a_deploy_on_the_command_line(source: SourceConfig) -> None:
    call_command("deployed", "2.0", source="main", at="2026-01-02T03:04")
    assert [(each.version, each.source) for each in deploys.between(0, now_ms(), "main")] == [("2.0", "main")]
    assert AuditEntry.objects.get().note == "Told on the command line."
    with pytest.raises(CommandError, match="Say which version"):
        call_command("deployed", " ")
    with pytest.raises(CommandError, match="A moment is written like"):
        call_command("deployed", "2.1", at="soon")


def test_deploys_of_a_source_and_of_all_are_found_in_their_time() -> None:
    for version, at, name in (("a", 10, ""), ("b", 20, "main"), ("c", 20, "other"), ("d", 30, "main")):
        deploys.record(version, at, name)
    assert [each.version for each in deploys.between(10, 30, "main")] == ["a", "b"]
    assert [each.version for each in deploys.newest(["other"])] == ["c", "a"]


def test_telling_of_a_deploy_twice_keeps_it_once() -> None:
    assert deploys.record("a", 10).pk == deploys.record("a", 10).pk
    with pytest.raises(BadInput):
        deploys.record("a", now_ms() + DAY)
