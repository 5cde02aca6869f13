"""What the audit log tells of replays."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from queues import audit
from queues.audit import Asked, Status
from queues.errors import WrongState
from queues.models import AuditEntry, Replay
from queues.replay import steering
from queues.replay.steering.drafts import chosen
from queues.replay.terms import Patch, PatchKind, Terms
from queues.replay.types import Phase
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.queues.replay_acts import ANNA, planned

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


@pytest.fixture(autouse=True)
def no_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.tasks.wake_replay", lambda replay, epoch: True)


def entry_of(plan: Replay, **values: object) -> AuditEntry:
    """That of a start."""
    entry = audit.record(ANNA, "replay", source="main", parameters={"replay": plan.pk, "canary": 25})
    AuditEntry.objects.filter(pk=entry.pk).update(**values)
    return entry


def row(client: Client) -> str:
    return Page(client.get("/audit/")).all("data-entry", tag="tr")[0].text


def test_an_act_on_a_replay_has_words_and_leads_to_it(viewer: Client) -> None:
    plan = planned(Phase.RUNNING)
    steering.pause(Asked(ANNA, reason="too hot"), plan)
    told = row(viewer)
    for words in ("Pause a replay", "Paused", f"R-{plan.pk}", "too hot", "shop"):
        assert words in told
    assert f'href="/replays/{plan.pk}/"' in viewer.get("/audit/").text
    page = viewer.get(f"/audit/{AuditEntry.objects.get().pk}/")
    assert f'href="/replays/{plan.pk}/"' in page.text


def test_all_that_was_done_to_a_plan_is_found_from_its_page_and_from_each_entry(viewer: Client) -> None:
    plan, other = planned(Phase.RUNNING), planned(Phase.RUNNING)
    steering.pause(Asked(ANNA), other)
    asked = Asked(ANNA, reason="as was agreed")
    entry_of(plan)
    steering.pause(asked, plan)
    steering.change_pace(asked, plan, 3.0, 6.0, 60)
    with pytest.raises(WrongState):
        steering.take_back(asked, plan)
    steering.cancel(asked, plan)
    Replay.objects.filter(pk=plan.pk).update(phase=Phase.CANCELLED, ended_at=timezone.now(), started_at=timezone.now())
    assert viewer.get(f"/replays/{plan.pk}/jobs.csv").status_code == 200
    done = ["export-replay", "replay-cancel", "replay-take-back", "replay-pace", "replay-pause", "replay"]
    where = f"/audit/?replay={plan.pk}"
    for typed in (str(plan.pk), f"R-{plan.pk}", f" r-{plan.pk}"):
        assert [AuditEntry.objects.get(pk=pk).action for pk in entries(viewer, typed)] == done
    for pk in entries(viewer, str(plan)):
        page = Page(viewer.get(f"/audit/{pk}/"))
        assert page.all("href", f"/replays/{plan.pk}/")
        assert page.all("href", where)
    assert Page(viewer.get(f"/replays/{plan.pk}/")).all("href", where)
    draft = planned(Phase.DRAFT)
    assert Page(viewer.get(f"/replays/{draft.pk}/")).all("href", f"/audit/?replay={draft.pk}")
    assert len(entries(viewer, "nonsense")) == AuditEntry.objects.count()


def entries(client: Client, typed: str) -> list[int]:
    """The keys of the entries about a plan, newest first."""
    return [
        int(node.attrs["data-entry"] or "")
        for node in Page(client.get("/audit/", {"replay": typed})).all("data-entry", tag="tr")
    ]


def test_a_start_says_what_was_chosen_about_order_data_and_permanent_ones(viewer: Client) -> None:
    terms = Terms(canary=0, key="customer.id", patch=Patch(PatchKind.PATHS, 'cpf = "hunter2"'), without_permanent=True)
    entry = audit.record(ANNA, "replay", source="main", parameters=chosen(terms))
    page = Page(viewer.get(f"/audit/{entry.pk}/"))
    for said in ("In order within customer.id", "Data edited by setting paths", "Permanent ones left out yes"):
        assert said in page.text
    assert "hunter2" not in page.source


def test_a_plan_that_is_gone_is_named_and_leads_nowhere(viewer: Client) -> None:
    plan = planned(Phase.DRAFT)
    pk = plan.pk
    steering.discard(Asked(ANNA), plan)
    assert "Discard a plan of a replay" in row(viewer)
    for page in ("/audit/", f"/audit/{AuditEntry.objects.get().pk}/"):
        text = viewer.get(page).text
        assert f"R-{pk}" in text
        assert f"/replays/{pk}/" not in text


def test_a_replay_that_runs_is_steered_on_its_own_page() -> None:
    plan = planned(Phase.RUNNING)
    entry = entry_of(plan, status=Status.RUNNING, ended_at=None)
    page = as_role("operator").get(f"/audit/{entry.pk}/")
    assert f"To R-{plan.pk}, which can be paused or cancelled" in Page(page).text
    assert f"/audit/{entry.pk}/stop/" not in page.text


def test_what_a_replay_came_to_is_told_by_its_note_alone(viewer: Client) -> None:
    """`gone` is an outcome of other actions too, and means something else there."""
    note = "R-1: 3 jobs were sent; 2 completed."
    entry = entry_of(planned(Phase.DONE), outcomes={"completed": 2, "gone": 1}, note=note)
    text = Page(viewer.get(f"/audit/{entry.pk}/")).text
    assert note in text
    assert "nothing left" not in text
    assert "gone before" not in text


def test_the_log_costs_one_query_more_however_many_replays_it_tells_of(viewer: Client) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            viewer.get("/audit/")
        return len(queries)

    audit.record(ANNA, "scan", source="main")
    cost()
    without = cost()
    for _another in range(10):
        entry_of(planned(Phase.DONE))
    assert cost() == without + 1
