"""Forms of replays that say less, more, or other than the page they are from: of another hour, of other hands."""

from __future__ import annotations

from typing import Any, cast

import pytest
import redis
from django.http import HttpResponse
from django.test import Client

from queues.errors import NotFound
from queues.models import Replay, ReplayLimits
from queues.registry import SourceConfig
from queues.replay import freezing
from queues.replay.making.wish import Wish
from queues.replay.steering import starting
from queues.replay.terms import Terms
from queues.replay.types import Phase
from tests.dashboard.pages import Page
from tests.dashboard.people import person, signed_in
from tests.dashboard.planning import drafted, failed, frozen, sent_form
from tests.queues.replaying import QUIET

pytestmark = pytest.mark.django_db


@pytest.fixture
def payments(source: SourceConfig, valkey: redis.Redis) -> redis.Redis:
    failed(valkey)
    return valkey


@pytest.fixture
def ana() -> Client:
    return signed_in(person("operator", name="ana"))


@pytest.fixture
def bo() -> Client:
    return signed_in(person("operator", name="bo"))


def post(client: Client, plan: Replay, verb: str, **fields: Any) -> HttpResponse:
    return cast(HttpResponse, client.post(f"/replays/{plan.pk}/{verb}/", fields))


def start(client: Client, plan: Replay) -> HttpResponse:
    return post(client, plan, "start", **sent_form(client.get(f"/replays/{plan.pk}/")))


def phase(plan: Replay) -> str:
    plan.refresh_from_db()
    return plan.phase


def test_a_list_in_which_other_jobs_are_picked_makes_another_plan(ana: Client, payments: redis.Redis) -> None:
    """Its form keeps its key as long as its page is open."""
    picked = []
    for jobs in (["3", "4"], ["3", "5"], ["3", "4"]):
        fields = {
            "kind": "selection",
            "source": "main",
            "queue": "payments",
            "state": "failed",
            "key": "k",
            "job": jobs,
        }
        answer = ana.post("/replays/plan/", fields)
        plan = Replay.objects.get(pk=answer.headers["Location"].strip("/").split("/")[-1])
        picked.append((plan.pk, [target.id for target in Wish.of(plan.made_from).targets]))
    assert [ids for _pk, ids in picked] == [[b"3", b"4"], [b"3", b"5"], [b"3", b"4"]]
    assert picked[0] == picked[2] != picked[1]


@pytest.mark.parametrize("verb", ["save", "start", "look"])
def test_what_somebody_else_has_chosen_meanwhile_is_not_overwritten_unseen(
    verb: str, ana: Client, bo: Client, payments: redis.Redis
) -> None:
    plan = drafted(terms=QUIET)
    mine, theirs = (sent_form(client.get(f"/replays/{plan.pk}/")) for client in (ana, bo))
    assert post(bo, plan, "save", **theirs | {"hold_depth": "on", "depth_max": "9"}).status_code == 302
    chosen = {"jitter": "3", "canary": "4", "edit": "merge", "patch_text": '{"a": "<b>"}'}
    answer = post(ana, plan, verb, **mine | chosen)
    assert answer.status_code == 409
    page = Page(answer)
    assert "bo has changed the plan since you opened it: nothing was done." in page.text
    (said,) = page.all("data-chosen")
    for part in ("Jitter 3 %", "Canary 4, of which", 'Edit {"a": "<b>"}', "Holds never"):
        assert part in " ".join(said.text.split())
    (notice,) = page.all("data-at")
    assert notice.attrs["data-at"] == f"/replays/{plan.pk}/"  # read anew nothing is sent again
    assert (phase(plan), Terms.of(plan.terms).depth_max, Terms.of(plan.terms).jitter) == (Phase.DRAFT, 9, QUIET.jitter)
    again = sent_form(answer)
    assert (again["jitter"], again["depth_max"], again["edit"], again["canary"]) == (
        str(QUIET.jitter),
        "9",
        "none",
        "0",
    )
    again |= {"jitter": "3"}
    assert post(ana, plan, verb, **again).status_code == 302  # having been told
    assert not Page(ana.get(f"/replays/{plan.pk}/")).all("role", "alert")
    plan.refresh_from_db()
    assert (Terms.of(plan.terms).depth_max, Terms.of(plan.terms).jitter) == (9, 3)
    assert post(ana, plan, verb, **again).status_code in (302, 409)  # a second press does nothing


@pytest.mark.parametrize("verb", ["start", "pause"])
def test_who_acts_on_a_plan_that_is_discarded_in_the_same_moment_is_told_that_it_is_gone(
    verb: str, ana: Client, payments: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = drafted(terms=QUIET)
    fields = sent_form(ana.get(f"/replays/{plan.pk}/"))

    def gone(*_given: object, **_more: object) -> None:
        Replay.objects.filter(pk=plan.pk).delete()
        raise NotFound("It was discarded.")

    monkeypatch.setattr(f"queues.replay.steering.{verb}", gone)
    assert post(ana, plan, verb, **fields).status_code == 404


def test_a_page_that_was_read_before_the_same_was_chosen_is_as_good(
    ana: Client, bo: Client, payments: redis.Redis
) -> None:
    plan = drafted(terms=QUIET)
    fields = sent_form(ana.get(f"/replays/{plan.pk}/")) | {"jitter": "3"}
    for client in (bo, ana):
        assert post(client, plan, "save", **fields).status_code == 302
    assert post(ana, plan, "start", **fields).status_code == 302
    assert phase(plan) == Phase.ARMED


@pytest.mark.parametrize("seen", [{}, {"seen": ""}, {"seen": "x"}, {"seen": "1" * 18}])
def test_an_approval_says_of_which_start_it_is(seen: dict[str, str], ana: Client, bo: Client, payments: Any) -> None:
    ReplayLimits.objects.create(pk=1, approval=10)
    plan = drafted()
    start(ana, plan)
    answer = post(bo, plan, "approve", key="k", **seen)
    assert answer.status_code == 409
    assert "was changed since the page was read" in Page(answer).text
    assert phase(plan) == Phase.WAITING


def test_a_start_is_of_the_jobs_that_were_found_when_it_was_looked_at(
    ana: Client, payments: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has them looked at anew at the same moment, and there are others by then."""
    plan = drafted(terms=QUIET)

    def meanwhile(replay: Replay, *_more: object) -> None:
        payments.zrem("bull:payments:failed", "1")
        assert freezing.relook(Replay.objects.get(pk=plan.pk))
        frozen(Replay.objects.get(pk=plan.pk))

    monkeypatch.setattr(starting, "_ensure_startable", meanwhile)
    answer = start(ana, plan)
    assert answer.status_code == 409
    assert "Somebody has changed the plan meanwhile" in Page(answer).text
    assert phase(plan) == Phase.DRAFT


def test_a_plan_that_was_paused_before_it_began_waits_for_approval_where_it_needs_one_by_now(
    ana: Client, bo: Client, payments: redis.Redis
) -> None:
    plan = drafted(terms=QUIET)
    start(ana, plan)
    post(ana, plan, "pause", key="p")
    ReplayLimits.objects.create(pk=1, approval=10)
    assert post(ana, plan, "go-on", key="g").status_code == 302
    assert phase(plan) == Phase.WAITING
    assert post(ana, plan, "approve", key="a", seen=str(plan.entry_id)).status_code == 409
    assert post(bo, plan, "approve", key="b", seen=str(plan.entry_id)).status_code == 302
    assert phase(plan) == Phase.ARMED
    post(ana, plan, "pause", key="q")
    assert post(ana, plan, "go-on", key="h").status_code == 302  # it was approved
    assert phase(plan) == Phase.ARMED
