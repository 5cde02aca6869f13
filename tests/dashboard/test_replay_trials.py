"""Trials from reports on other dashboards, on the pages of replays: hostile jobs through a whole replay, sessions that
end in an open tab, a server that is full.

That each act needs a role, a token and a POST is in `test_replay_acts` (AU-02, AC-04); that what was typed outlives a
lost session in `tests.browser.test_replay_plan`; that sockets close in `tests.browser.test_live_signed_out` (LV-07).
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.test import Client

from queues import discovery, registry
from queues.models import AuditEntry, Replay, ReplayLimits
from queues.registry import SourceConfig
from queues.replay import making, steering
from queues.replay.run import troubles
from queues.replay.types import Phase
from queues.types import State
from tests.dashboard.pages import Page
from tests.dashboard.people import person, signed_in
from tests.dashboard.planning import PAYMENTS, drafted, failed, frozen, sent_form
from tests.hostile import write_corpus
from tests.queues.replaying import OLGA, QUIET
from tests.queues.runs import until, work
from tests.valkey import StartRedis

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_tasks", "no_index")]

RUNS = ("<script>window", "<img src=x", "<b>x</b>")


@pytest.fixture
def no_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker takes anything up: tests run the slices themselves."""
    monkeypatch.setattr("queues.tasks.wake_replay", lambda replay, epoch: True)


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody indexes failures: plans do not wait to be told what their jobs failed of again."""
    monkeypatch.setattr("queues.replay.run.ending.EXPLAINED_S", -1.0)


@pytest.fixture
def admin(source: SourceConfig) -> Client:
    ReplayLimits.objects.create(pk=1, undo_s=0)
    return signed_in(person("admin", name="ada"))


def told(client: Client, path: str) -> str:
    """A sound answer."""
    answer = client.get(path)
    assert answer.status_code == 200, path
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
    return body.decode()


def runs_nowhere(client: Client, plan: Replay) -> None:
    """All pages about a plan say what they say as text, and its files can be read."""
    at = f"/replays/{plan.pk}/"
    for path in ("/replays/", at, f"{at}jobs/", f"{at}jobs/?q=%3Cscript%3E&place=%3Cb%3E&sort=%22", "/audit/"):
        text = told(client, path)
        assert not any(each in text for each in RUNS), path
        assert len(text) < 600_000, path
    for row in csv.reader(io.StringIO(told(client, f"{at}jobs.csv").lstrip("\ufeff"))):
        assert not any(cell[:1] in tuple("=@+\t\r") for cell in row), row
    for line in told(client, f"{at}jobs.jsonl").splitlines():
        json.loads(line, parse_constant=pytest.fail)


def test_a_whole_corpus_of_hostile_jobs_is_planned_sent_and_told_of_as_text(admin: Client, valkey: redis.Redis) -> None:
    """JD-02, JD-04, JD-05, JD-07, JD-08, JD-09: names, ids, data, reasons, queues; in every phase and every file."""
    corpus = write_corpus(valkey)
    for ref in (corpus.queue, *corpus.queues):
        discovery.pin("main", ref.slug)
    answer = admin.post(
        "/replays/plan/",
        {"key": "k1", "kind": "state", "source": "main", "queue": corpus.queue.slug, "state": "failed"},
    )
    plan = frozen(Replay.objects.get())
    assert answer.headers["Location"] == f"/replays/{plan.pk}/"
    assert plan.phase == Phase.DRAFT
    runs_nowhere(admin, plan)
    fields = sent_form(admin.get(f"/replays/{plan.pk}/")) | {"key_path": "a.b", "canary": "3", "canary_failed": "2"}
    assert admin.post(f"/replays/{plan.pk}/save/", fields).status_code == 302
    frozen(plan)
    runs_nowhere(admin, plan)
    steering.save(OLGA, plan, QUIET)
    steering.start(OLGA, frozen(plan), QUIET)
    until(plan, Phase.ENDING)
    assert plan.sent > 5
    assert plan.sent + plan.refused + plan.left_out == plan.total
    runs_nowhere(admin, plan)
    steering.cancel(OLGA, plan)
    runs_nowhere(admin, until(plan, Phase.CANCELLED))


def test_a_queue_of_any_name_is_planned_for_by_its_page_and_an_unknown_one_is_not(
    admin: Client, valkey: redis.Redis
) -> None:
    """JD-04: what is literal in the address of the queue is literal in the plan."""
    corpus = write_corpus(valkey)
    for number, ref in enumerate(corpus.queues):
        discovery.pin("main", ref.slug)
        fields = {"key": f"k{number}", "kind": "state", "source": "main", "queue": ref.slug, "state": "failed"}
        answer = admin.post("/replays/plan/", fields)
        assert answer.status_code == 302, ref
        text = told(admin, answer.headers["Location"])
        assert not any(each in text for each in RUNS), ref
    odd = {"key": "k", "kind": "state", "source": "main", "queue": "<script>window.__x</script>", "state": "failed"}
    answer = admin.post("/replays/plan/", odd)
    assert answer.status_code in (404, 422)
    assert not any(each in answer.content.decode() for each in RUNS)


# A session that ends while a plan is open.


def _signs_out(client: Client, user: User) -> None:
    Session.objects.all().delete()


def _deactivated(client: Client, user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def _no_role(client: Client, user: User) -> None:
    user.groups.clear()


def _viewer(client: Client, user: User) -> None:
    user.groups.set([Group.objects.get(name="viewer")])


@pytest.mark.parametrize("fragment", [False, True])
@pytest.mark.parametrize("ends", [_signs_out, _deactivated, _no_role, _viewer])
def test_what_was_open_when_a_session_ended_does_nothing_and_shows_no_sign_in_in_its_place(
    ends: Callable[[Client, User], None], fragment: bool, source: SourceConfig, valkey: redis.Redis
) -> None:
    """LV-07: also where scripts send it, as they would put a login page into a part of the page."""
    user = person("operator")
    client = signed_in(user)
    failed(valkey, 3)
    plan = drafted(terms=QUIET)
    at = f"/replays/{plan.pk}/"
    fields = sent_form(client.get(at))
    ends(client, user)
    headers = (
        {"HX-Request": "true", "HX-Target": "main", "HX-Current-URL": f"http://testserver{at}"} if fragment else {}
    )
    for verb in ("start", "save", "discard"):
        answer = client.post(f"{at}{verb}/", fields, headers=headers)
        assert answer.status_code in (302, 401, 403), verb
        assert 'type="password"' not in answer.content.decode()
        assert f"{verb}/" not in answer.headers.get("Location", ""), "whoever signs in comes back to the page"
    plan.refresh_from_db()
    assert (plan.phase, plan.terms, valkey.zcard("bull:payments:failed")) == (Phase.DRAFT, QUIET.kept(), 3)
    assert not AuditEntry.objects.filter(action="replay").exclude(status="refused").exists()


# A server that is full.


def test_while_a_server_is_full_plans_are_made_and_looked_at_and_their_pages_say_why_nothing_is_sent(
    admin: Client, start_redis: StartRedis, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DP-06: reads work, and no page fails."""
    server = start_redis()
    settings.MIRANTE_SOURCES = (SourceConfig("main", server.url),)
    registry.forget()
    monkeypatch.setattr(troubles, "UNWELL_AFTER", troubles.UNWELL_AFTER * 0)
    with server.client() as client:
        failed(client, 20)
        client.config_set("maxmemory", "1")
        plan = frozen(making.of_state(OLGA, PAYMENTS, State.FAILED))
        at = f"/replays/{plan.pk}/"
        assert "Start replay of 20" in told(admin, at)
        admin.post(f"{at}start/", sent_form(admin.get(at)))
        plan.refresh_from_db()
        until(plan, Phase.STOPPED)
        text = Page(admin.get(at)).text
        assert "Stopped by itself" in text
        assert "memory" in text
        client.config_set("maxmemory", "0")
        assert admin.post(f"{at}go-on/", {"key": "g1"}).status_code == 302
        until(plan, Phase.DONE, between=lambda: work(client, "payments"))
        assert "20 of 20 sent" in Page(admin.get(at)).text
    registry.forget()
