"""What people do to replays on their pages: each act, by whom, in which phase, and what stands in the log of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import pytest
import redis
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from queues import discovery, registry
from queues.actions import Target
from queues.failures import merging
from queues.failures.occurrences import Which
from queues.models import AuditEntry, FailureGroup, Replay, ReplayLimits
from queues.registry import SourceConfig
from queues.replay import making
from queues.replay.terms import Originals, Patch, PatchKind, Terms
from queues.replay.types import From, Phase
from queues.types import JobRef, QueueRef, State
from tests.dashboard.pages import Node, Page
from tests.dashboard.people import as_role, person, signed_in
from tests.dashboard.planning import PAYMENTS, drafted, failed, frozen, sent_form, standing
from tests.failing import make_group
from tests.queues.indexing import fail, indexer, settle
from tests.queues.replaying import OLGA, QUIET, a_queue
from tests.seed import seed_job

pytestmark = pytest.mark.django_db


class Verb(NamedTuple):
    """An act: a phase in which it can be done and what that leads to, one in which it cannot, its word in the log."""

    name: str
    phase: Phase
    then: Phase | None
    wrong: Phase
    word: str


VERBS = [
    Verb("start", Phase.DRAFT, Phase.ARMED, Phase.RUNNING, "replay"),
    Verb("approve", Phase.WAITING, Phase.ARMED, Phase.DRAFT, "replay-approve"),
    Verb("refuse", Phase.WAITING, Phase.DRAFT, Phase.RUNNING, "replay-refuse"),
    Verb("take-back", Phase.ARMED, Phase.DRAFT, Phase.RUNNING, "replay-take-back"),
    Verb("pause", Phase.RUNNING, Phase.PAUSED, Phase.DRAFT, "replay-pause"),
    Verb("go-on", Phase.PAUSED, Phase.ARMED, Phase.RUNNING, "replay-go-on"),
    Verb("pace", Phase.RUNNING, Phase.RUNNING, Phase.DRAFT, "replay-pace"),
    Verb("cancel", Phase.RUNNING, Phase.CANCELLING, Phase.DONE, "replay-cancel"),
    Verb("discard", Phase.DRAFT, None, Phase.RUNNING, "replay-discard"),
]
KEEP = [
    Verb("save", Phase.DRAFT, Phase.DRAFT, Phase.RUNNING, ""),
    Verb("look", Phase.DRAFT, Phase.FREEZING, Phase.RUNNING, ""),
]
ALL = [each.name for each in VERBS + KEEP]


@pytest.fixture
def payments(source: SourceConfig, valkey: redis.Redis) -> redis.Redis:
    failed(valkey)
    return valkey


@pytest.fixture
def operator() -> Client:
    return signed_in(person("operator", name="ana"))


def form(client: Client, plan: Replay, verb: str, **changes: Any) -> dict[str, Any]:
    """What the page would send for a verb."""
    if plan.phase == Phase.DRAFT and verb in ("start", "save", "look", "discard"):
        return sent_form(client.get(f"/replays/{plan.pk}/")) | {"reason": "now"} | changes
    pace = {"pace_from": "2", "pace_to": "4", "double_s": "10"} if verb == "pace" else {}
    return {"key": "k", "reason": "now", **pace, **changes}


def post(client: Client, plan: Replay, verb: str, fields: dict[str, Any]) -> HttpResponse:
    return cast(HttpResponse, client.post(f"/replays/{plan.pk}/{verb}/", fields))


# Each act.


@pytest.mark.parametrize("verb", VERBS + KEEP, ids=ALL)
def test_an_act_does_what_it_says_once_and_is_written_down(verb: Verb, operator: Client, payments: redis.Redis) -> None:
    plan = standing(drafted(terms=QUIET), verb.phase, started_by="bo")
    AuditEntry.objects.all().delete()
    fields = form(operator, plan, verb.name)
    assert post(operator, plan, verb.name, fields).status_code == 302
    if verb.word and verb.then:
        assert post(operator, plan, verb.name, fields).status_code == 302  # a second press is the same one
    if verb.then is None:
        assert not Replay.objects.filter(pk=plan.pk).exists()
    else:
        plan.refresh_from_db()
        assert plan.phase == verb.then
    entries = AuditEntry.objects.filter(who="ana").exclude(status="refused")
    assert [(entry.action, entry.reason) for entry in entries] == ([(verb.word, "now")] if verb.word else [])


@pytest.mark.parametrize("verb", VERBS + KEEP, ids=ALL)
def test_an_act_in_a_phase_that_is_none_for_it_says_where_the_plan_is_and_changes_nothing(
    verb: Verb, operator: Client, payments: redis.Redis
) -> None:
    plan = drafted(terms=QUIET)
    fields = form(operator, plan, verb.name)  # of a page that was read before somebody was faster
    ended_at = timezone.now() if verb.wrong is Phase.DONE else None
    standing(plan, verb.wrong, started_at=timezone.now(), ended_at=ended_at)
    answer = post(operator, plan, verb.name, fields)
    assert answer.status_code == 409
    assert f"R-{plan.pk} was left as it was" in Page(answer).text
    plan.refresh_from_db()
    assert plan.phase == verb.wrong


@pytest.mark.parametrize("verb", ALL)
def test_an_act_is_for_operators_by_a_form_of_ours_and_never_by_a_link(verb: str, payments: redis.Redis) -> None:
    plan = drafted(terms=QUIET)
    address = f"/replays/{plan.pk}/{verb}/"
    assert as_role("operator").get(address).status_code == 405
    assert as_role("viewer").post(address, {}).status_code == 403
    forged = signed_in(person("operator"), csrf=True)
    assert forged.post(address, {}).status_code == 403
    plan.refresh_from_db()
    assert plan.phase == Phase.DRAFT


@pytest.mark.parametrize("verb", ALL)
def test_an_act_on_a_plan_that_is_gone_is_not_found(verb: str, operator: Client) -> None:
    assert operator.post(f"/replays/4711/{verb}/", {"key": "k"}).status_code == 404


# Terms.


def test_a_draft_keeps_what_was_chosen(operator: Client, payments: redis.Redis) -> None:
    plan = drafted()
    chosen = {"canary": "3", "pace_from": "1.5", "order": "newest", "stop_failing": [], "how": "origin"}
    answer = operator.post(f"/replays/{plan.pk}/save/", form(operator, plan, "save") | chosen, follow=True)
    assert "Kept. Nothing is sent before somebody starts it." in Page(answer).text
    plan.refresh_from_db()
    terms = Terms.of(plan.terms)
    assert (terms.canary, terms.pace_from, terms.order, terms.stop_percent) == (3, 1.5, "newest", None)
    assert terms.acts_copy
    assert sent_form(answer)["pace_from"] == "1.5"


def test_what_is_typed_is_shown_at_once_and_not_kept(operator: Client, payments: redis.Redis) -> None:
    plan = drafted()
    fields = form(operator, plan, "save", live="1", pace_from="1", pace_to="3")
    text = post(operator, plan, "save", fields).content.decode()
    assert "Then send the rest at <b>1 a second</b>" in text
    assert 'id="plan-effect" hx-swap-oob="true"' in " ".join(text.split())
    assert "<html" not in text
    answer = post(operator, plan, "save", fields | {"pace_to": "", "how": "other", "target": "<b>"})
    assert answer.status_code == 200
    assert "Something is not right yet" in answer.content.decode()
    assert "Say how many a second." in answer.content.decode()
    plan.refresh_from_db()
    assert Terms.of(plan.terms).pace_from == 5.0


def test_an_edit_is_shown_before_and_after_with_what_is_hidden_hidden(
    operator: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    failed(valkey, 3, data='{"tier": 1.10, "password": "hunter2", "list": [1]}')
    plan = drafted()
    fields = form(operator, plan, "save", edit="merge", patch_text='{"tier": 2}', live="1")
    text = post(operator, plan, "save", fields).content.decode()
    assert '"tier": 1.10' in text.replace("&quot;", '"')
    assert '"tier": 2' in text.replace("&quot;", '"')
    assert "hunter2" not in text
    text = post(operator, plan, "save", fields | {"edit": "paths", "patch_text": "list.a = 1"}).content.decode()
    assert "s-warn" in text  # it fits none of them, and says why


def test_samples_of_an_edit_are_of_each_name_and_queue(
    operator: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    other = QueueRef("main", b"bull", b"refunds")
    for ref in (PAYMENTS, other):
        for name in ("charge", "<mail>"):
            jobs = [f"{name}-{number}" for number in range(40 if name == "charge" else 2)]
            fail(valkey, ref, *jobs, reason="card declined", name=name, data='{"tier": 1}')
        a_queue(ref)
    settle(indexer())
    plan = frozen(making.of_groups(OLGA, list(FailureGroup.objects.all()), Which()))
    fields = form(operator, plan, "save", edit="merge", patch_text='{"tier": 2}', live="1")
    page = Page(post(operator, plan, "save", fields))
    (whole,) = page.all("id", "plan-edited")
    said = [" ".join(node.text.split()) for node in page.nodes if node.attrs.get("class") == "mono"]
    kinds = {(name, queue) for name in ("charge", "<mail>") for queue in ("payments", "refunds")}
    assert len(said) == 4
    assert {kind for kind in kinds if any(kind[0] in each and f"in {kind[1]}" in each for each in said)} == kinds
    assert "Of 10 jobs of different names and queues as they are now: 10 are changed." in " ".join(whole.text.split())


def test_what_an_edit_overrules_is_not_shown_as_chosen(operator: Client, payments: redis.Redis) -> None:
    plan = drafted(terms=QUIET)
    fields = form(operator, plan, "save", edit="paths", patch_text="fixed = true")
    assert (fields["how"], fields["originals"]) == ("place", "when-sent")
    assert post(operator, plan, "save", fields).status_code == 302
    plan.refresh_from_db()
    saved = Terms.of(plan.terms)
    assert (saved.acts_copy, saved.originals) == (True, Originals.WHEN_DONE)
    frozen(plan)
    plan.refresh_from_db()
    fields = form(operator, plan, "start")
    assert (fields["how"], fields["originals"], fields["edit"]) == ("origin", "when-done", "paths")
    # Of a draft that was kept before, too; and it is not looked at anew for that.
    Replay.objects.filter(pk=plan.pk).update(terms=replace(QUIET, patch=saved.patch).kept())
    fields = form(operator, plan, "start")
    assert (fields["how"], fields["originals"], fields["edit"]) == ("origin", "when-done", "paths")
    assert post(operator, plan, "start", fields).status_code == 302
    plan.refresh_from_db()
    assert plan.phase == Phase.ARMED
    assert Terms.of(plan.terms) == saved


def test_how_many_keys_an_order_finds_is_told_by_a_sample_and_once_it_is_kept_of_all(
    operator: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    for number in range(70):
        data = "{}" if number % 7 == 0 else json.dumps({"customer": {"id": number % 4}})
        seed_job(valkey, PAYMENTS, str(number), name="charge", data=data, finishedOn=number)
        valkey.zadd("bull:payments:failed", {str(number): number})
    discovery.scan("main")
    plan = drafted()

    def typed(**changes: str) -> str:
        """What the sentence and the field say while it is typed."""
        page = Page(post(operator, plan, "save", fields | {"live": "1"} | changes))
        said = {" ".join(page.all("id", name)[0].text.split()) for name in ("plan-keys", "plan-sentence")}
        shorter, longer = sorted(said, key=len)
        assert shorter in longer
        return shorter

    fields = form(operator, plan, "save", key_path="customer.id")
    text = typed()
    assert "Of a sample of 50 jobs 43 have one there: 4 different. All are counted once it is saved." in text
    assert post(operator, plan, "save", fields).status_code == 302
    frozen(Replay.objects.get(pk=plan.pk))
    counted = "4 customer.id values in 60 jobs; 10 jobs have nothing there and are left out."
    page = Page(operator.get(f"/replays/{plan.pk}/"))
    assert counted in page.all("id", "plan-sentence")[0].text
    assert counted in page.all("id", "plan-keys")[0].text
    fields = form(operator, plan, "start") | {"choice-no-key": "send"}
    text = typed()
    assert "10 jobs have nothing there and go in no order." in text
    for phase in (Phase.ARMED, Phase.WAITING, Phase.RUNNING):
        standing(plan, phase)
        assert counted in Page(operator.get(f"/replays/{plan.pk}/")).text
    standing(plan, Phase.DRAFT)
    assert "Of a sample of 50 jobs 0 have one there" in typed(key_path="nowhere")


def test_terms_that_need_the_jobs_read_again_freeze_it_again(operator: Client, payments: redis.Redis) -> None:
    plan = drafted()
    answer = post(operator, plan, "start", form(operator, plan, "start", key_path="customerId"))
    assert answer.status_code == 409
    assert "the data of its jobs is read first" in Page(answer).text
    plan.refresh_from_db()
    assert (plan.phase, Terms.of(plan.terms).key) == (Phase.FREEZING, "customerId")
    frozen(plan)
    polled = Page(
        operator.get(f"/replays/{plan.pk}/?was=freezing", headers={"HX-Request": "true", "HX-Target": "plan-state"})
    )
    (banner,) = polled.all("id", "plan-error")
    assert (banner.attrs["hx-swap-oob"], banner.text.strip()) == ("true", "")  # once they are read it goes


# The start.


def test_a_large_start_needs_the_name(operator: Client, payments: redis.Redis) -> None:
    ReplayLimits.objects.create(pk=1, typed=10)
    plan = drafted()
    fields = form(operator, plan, "start", sure="payment")
    answer = post(operator, plan, "start", fields)
    assert answer.status_code == 422
    assert "This is not the name" in Page(answer).all("id", "id_sure_error")[0].text
    again = sent_form(answer)
    assert again["sure"] == "payment"
    assert again["key"] != fields["key"]
    assert post(operator, plan, "start", again | {"sure": " payments "}).status_code == 302
    plan.refresh_from_db()
    assert (plan.phase, plan.started_by) == (Phase.ARMED, "ana")


def test_a_start_that_needs_approval_is_approved_by_somebody_else_as_it_was_seen(
    operator: Client, payments: redis.Redis
) -> None:
    ReplayLimits.objects.create(pk=1, approval=10)
    plan = drafted()
    assert post(operator, plan, "start", form(operator, plan, "start")).status_code == 302
    plan.refresh_from_db()
    assert plan.phase == Phase.WAITING
    assert post(operator, plan, "approve", {"key": "a"}).status_code == 409
    other = signed_in(person("operator", name="bo"))
    assert post(other, plan, "approve", {"key": "b", "seen": "1" * 18}).status_code == 409
    (seen,) = Page(other.get(f"/replays/{plan.pk}/")).all("name", "seen")
    assert post(other, plan, "approve", {"key": "c", "seen": seen.attrs["value"]}).status_code == 302
    plan.refresh_from_db()
    assert (plan.phase, plan.approved_by) == (Phase.ARMED, "bo")


@pytest.mark.parametrize("verb", ["start", "approve"])
def test_while_the_source_is_away_nothing_is_started_and_what_is_known_is_shown(
    verb: str, operator: Client, payments: redis.Redis, settings: Settings
) -> None:
    plan = standing(drafted(), Phase.DRAFT if verb == "start" else Phase.WAITING, started_by="bo")
    fields = form(operator, plan, verb, pace_from="1.25") if verb == "start" else {"key": "k"}
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://127.0.0.1:1/0"),)
    registry.forget()
    answer = post(operator, plan, verb, fields)
    assert answer.status_code == 503
    page = Page(answer)
    assert "Replay 30 jobs of payments" in page.text
    if verb == "start":
        assert sent_form(answer)["pace_from"] == "1.25"
    now = Replay.objects.get(pk=plan.pk)
    assert now.phase == plan.phase


def test_a_read_only_source_refuses_the_start(operator: Client, payments: redis.Redis, settings: Settings) -> None:
    plan = drafted()
    fields = form(operator, plan, "start")
    config: SourceConfig = settings.MIRANTE_SOURCES[0]
    settings.MIRANTE_SOURCES = (SourceConfig("main", config.url, read_only=True),)
    registry.forget()
    answer = post(operator, plan, "start", fields)
    assert answer.status_code == 403
    assert "read-only" in Page(answer).text
    assert AuditEntry.objects.filter(action="replay", status="refused").exists()


def test_a_pace_that_is_none_is_told_on_the_page_of_what_runs(operator: Client, payments: redis.Redis) -> None:
    plan = standing(drafted(), Phase.RUNNING, started_at=timezone.now())
    answer = post(operator, plan, "pace", {"key": "k", "pace_from": "5", "pace_to": ""})
    assert answer.status_code == 422
    assert "Say how many a second." in answer.content.decode()
    ReplayLimits.objects.create(pk=1, fastest=10)
    answer = post(operator, plan, "pace", {"key": "k", "unthrottled": "on"})
    assert answer.status_code == 422
    assert post(operator, plan, "pace", {"key": "k", "pace_to": "3"}).status_code == 302
    plan.refresh_from_db()
    terms = Terms.of(plan.terms)
    assert (terms.pace_from, terms.pace_to, terms.double_s) == (3.0, 3.0, 30)


# Making one.


def made(client: Client, **fields: Any) -> Replay:
    answer = client.post("/replays/plan/", {"source": "main", "queue": "payments", "key": "k", **fields})
    assert answer.status_code == 302, answer.content.decode()[-2000:]
    return Replay.objects.get(pk=answer.headers["Location"].strip("/").split("/")[-1])


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"kind": "job", "state": "failed", "job": "3"}, From.JOB),
        ({"kind": "selection", "state": "failed", "job": ["3", "4"]}, From.SELECTION),
        ({"kind": "selection", "state": "failed", "jobs": ["3", "4", "3"]}, From.SELECTION),
        ({"kind": "selection", "state": "failed", "all": "1", "name": "ch", "until": "1"}, From.STATE),
        ({"kind": "state", "state": "failed", "name": "charge"}, From.STATE),
        ({"kind": "state", "state": "completed"}, From.STATE),
    ],
)
def test_a_plan_is_made_of_what_a_form_names_once_for_each_form(
    fields: dict[str, Any], kind: From, operator: Client, payments: redis.Redis
) -> None:
    plan = made(operator, **fields)
    assert (plan.made_by, plan.phase, plan.made_from["kind"]) == ("ana", Phase.FREEZING, kind)
    assert plan.made_from.get("name", "") == fields.get("name", "")
    assert made(operator, **fields) == plan
    assert AuditEntry.objects.get().action == "plan-replay"


def _plan_button(page: Page) -> Sequence[Node]:
    """The fields of the button that plans a replay."""
    (found,) = page.all("action", "/replays/plan/", tag="form")
    return [node for node in found.children if node.tag == "input" and node.attrs["name"] != "csrfmiddlewaretoken"]


def test_a_plan_is_made_of_a_group_and_of_dead_letters(
    operator: Client, payments: redis.Redis, valkey: redis.Redis
) -> None:
    make_group(slug="7c1e", failures=3)
    plan = made(operator, kind="group", group="7c1e", queue="", name="send")
    assert (plan.group, plan.made_from["kind"]) == (merging.current("7c1e"), From.GROUP)
    assert plan.made_from["which"] == {"name": "send"}
    shown = Page(operator.get("/failures/7c1e/jobs/?present=set&name=charge"))
    filters = {node.attrs["name"]: node.attrs["value"] for node in _plan_button(shown) if node.attrs.get("name")}
    plan = made(operator, **{"queue": "", **filters, "key": "f"})
    assert plan.made_from["which"] == {"name": "charge", "where": "set"}
    failed(valkey, 0, "payments-dlq", waiting=3)
    plan = made(operator, kind="letters", queue="payments-dlq", key="l")
    assert plan.made_from["kind"] == From.LETTERS


def test_a_plan_is_made_of_several_groups_of_one_source(operator: Client, payments: redis.Redis) -> None:
    first, second = make_group(slug="7c1e", failures=3), make_group(title="Error: other", slug="beef", failures=2)
    plan = made(operator, kind="group", group=["7c1e", "beef", "7c1e"], queue="")
    assert plan.group is None
    assert set(plan.groups.all()) == {first, second}
    assert plan.title == "2 groups of failures"
    assert len(plan.made_from["strands"]) == 2
    for slug in ("7c1e", "beef"):
        assert f"R-{plan.pk}" in operator.get(f"/failures/{slug}/").content.decode()


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 422),
        ({"kind": "everything"}, 422),
        ({"kind": "state", "state": "odd"}, 422),
        ({"kind": "state", "state": "waiting"}, 422),
        ({"kind": "selection", "state": "failed"}, 422),
        ({"kind": "selection", "state": "failed", "job": "~~~"}, 422),
        ({"kind": "selection", "state": "finished", "job": "1"}, 422),
        ({"kind": "letters"}, 422),
        ({"kind": "group"}, 422),
        ({"kind": "group", "group": ["7c1e", "beef"]}, 404),
        ({"kind": "group", "group": "beef"}, 404),
        ({"kind": "state", "state": "failed", "source": "other"}, 404),
        ({"kind": "state", "state": "failed", "queue": "~~"}, 404),
        ({"kind": "state", "state": "failed", "name": "a\x00b"}, 422),
    ],
)
def test_what_is_no_plan_says_so_and_makes_none(
    fields: dict[str, Any], status: int, operator: Client, payments: redis.Redis
) -> None:
    given = {"source": "main", "queue": "payments", "key": "k", "next": "/failures/", **fields}
    answer = operator.post("/replays/plan/", given)
    assert answer.status_code == status
    assert 'href="/failures/"' in answer.content.decode()
    assert not Replay.objects.exists()


def test_a_plan_is_made_by_operators_and_by_post(payments: redis.Redis, operator: Client) -> None:
    assert operator.get("/replays/plan/").status_code == 405
    assert as_role("viewer").post("/replays/plan/", {"kind": "state"}).status_code == 403
    assert signed_in(person("operator"), csrf=True).post("/replays/plan/", {"kind": "state"}).status_code == 403


def test_a_plan_of_one_edited_job_shows_the_edit_and_offers_no_other(
    operator: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    ref = failed(valkey, 1, data='{"tier": 1}')
    seen = b"%d" % int(valkey.zscore("bull:payments:failed", "1") or 0)
    plan = frozen(making.of_edited(OLGA, JobRef(ref, b"1"), State.FAILED, Target(b"1", seen), b'{"tier": 7}'))
    page = Page(operator.get(f"/replays/{plan.pk}/"))
    assert '"tier": 7' in page.text
    assert not page.all("value", "place", tag="input")
    fields = form(operator, plan, "save")
    assert fields["how"] == "origin"
    assert "edit" not in fields
    assert post(operator, plan, "save", fields | {"edit": "merge", "patch_text": "{}"}).status_code == 302
    plan.refresh_from_db()
    assert Terms.of(plan.terms).patch == Patch(PatchKind.WHOLE)


def test_the_state_of_a_plan_of_completed_jobs_leads_to_their_list(operator: Client, payments: redis.Redis) -> None:
    failed(payments, 0, "mails", completed=3)
    plan = drafted(PAYMENTS, State.COMPLETED)
    assert Page(operator.get(f"/replays/{plan.pk}/")).all("href", "/queues/main/payments/?state=completed")


def test_what_failed_again_in_a_replay_becomes_a_plan_once(operator: Client, payments: redis.Redis) -> None:
    before = standing(drafted(), Phase.DONE, sent=30, failed=2)
    jobs = list(before.jobs.order_by("pk").values_list("pk", flat=True)[:2])
    before.jobs.filter(pk__in=jobs).update(place="sent", fate="failed", sent_ms=1, ended_ms=2)
    sent = {"kind": From.AGAIN.value, "source": "main", "replay": str(before.pk), "key": "k1"}
    answers = [operator.post("/replays/plan/", sent) for _again in (1, 2)]
    plan = Replay.objects.latest("pk")
    assert [answer["Location"] for answer in answers] == [f"/replays/{plan.pk}/"] * 2
    assert set(frozen(plan).jobs.values_list("job", flat=True)) == set(
        before.jobs.filter(pk__in=jobs).values_list("job", flat=True)
    )
    assert AuditEntry.objects.get(action=making.PLAN, who="ana", asked=2).selection.startswith("2 jobs that failed")
    for odd in ("", "x", "9" * 30, "0"):
        assert operator.post("/replays/plan/", {**sent, "replay": odd, "key": "k2"}).status_code == 404
