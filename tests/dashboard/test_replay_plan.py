"""The page of a plan before anything of it is sent: what it says, what it asks, who may do what on it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest
import redis
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from dashboard.replays.plan_rows import target_row
from dashboard.replays.terms_form import Shape, TermsForm, initial
from queues import registry
from queues.failures.standing import Index
from queues.models import Replay, ReplayLimits
from queues.registry import SourceConfig
from queues.replay import making
from queues.replay.freezing import counting
from queues.replay.making import Behind
from queues.replay.preview import Effect, Target
from queues.replay.terms import Terms
from queues.replay.types import CHOICES, Choice, Phase
from queues.sendings import Conflict
from queues.types import State
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person, signed_in
from tests.dashboard.planning import FULL, PAYMENTS, drafted, failed, frozen, sent_form, standing
from tests.failing import make_group
from tests.hostile import MARKUP
from tests.queues.replaying import OLGA, a_plan
from tests.seed import seed_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def payments(source: SourceConfig, valkey: redis.Redis) -> redis.Redis:
    failed(valkey)
    return valkey


@pytest.fixture
def operator() -> Client:
    return signed_in(person("operator", name="ana"))


def page_of(client: Client, plan: Replay) -> Page:
    answer = client.get(f"/replays/{plan.pk}/")
    assert answer.status_code == 200
    return Page(answer)


# The form, by itself.


@pytest.mark.parametrize("terms", [Terms(), FULL, Terms.suggested(3), replace(Terms(), pace_from=None, pace_to=None)])
def test_the_form_gives_back_the_terms_that_it_shows(terms: Terms) -> None:
    shown = {name: value for name, value in initial(terms, "main").items() if value is not None and value is not False}
    form = TermsForm(shown, terms=Terms(), shape=Shape("main", list(CHOICES)))
    assert form.is_valid(), form.errors
    assert form.terms == terms
    before = replace(terms, choices={Conflict.TWIN: Choice.SEND, Conflict.ID_KEPT: Choice.SEND})
    form = TermsForm(shown, terms=before, shape=Shape("main", list(CHOICES)))
    assert form.is_valid()
    assert [form.terms.choice(each) for each in CHOICES] == [terms.choice(each) for each in CHOICES]


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"canary": ""}, "canary", "Say how many"),
        ({"canary": "-1"}, "canary", "greater than or equal to 0"),
        ({"canary_wait": "nan"}, "canary_wait", "Enter a number"),
        ({"pace_to": ""}, "pace_to", "Say how many a second"),
        ({"jitter": "101"}, "jitter", "less than or equal to 100"),
        ({"how": "other", "target": "nowhere"}, "target", "No queue of this name"),
        ({"how": "other", "target": ""}, "target", "Say which"),
        ({"how": "elsewhere"}, "how", "Select a valid choice"),
        ({"hold_depth": "on", "depth_max": ""}, "depth_max", "Say how many"),
        ({"stop_failing": "on", "stop_percent": ""}, "stop_percent", "Say how many"),
        ({"hours_on": "on", "days": []}, "days", "Choose a day"),
        ({"hours_on": "on", "begin": "25:00"}, "begin", "valid time"),
        ({"hours_on": "on", "zone": "Mars/Base"}, "hours_on", "no such time zone"),
        ({"edit": "merge", "patch_text": ""}, "patch_text", "Say what is changed"),
        ({"edit": "merge", "patch_text": "{,}"}, "patch_text", "no JSON"),
        ({"key_path": "a..b["}, "key_path", "path"),
        ({"key_path": "a\x00b"}, "key_path", "Null characters"),
        ({"choice-twin": "both"}, "choice-twin", "Select a valid choice"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_nothing_that_was_typed_is_lost(
    operator: Client, payments: redis.Redis, changes: dict[str, object], field: str, says: str
) -> None:
    seed_job(payments, PAYMENTS, "31", deid="d")
    plan = drafted()
    fields = sent_form(operator.get(f"/replays/{plan.pk}/")) | {"choice-twin": "skip", "reason": "kept <b>"} | changes
    answer = operator.post(f"/replays/{plan.pk}/start/", fields)
    assert answer.status_code == 422
    page = Page(answer)
    if not field.startswith("choice"):
        assert says in page.all("id", f"id_{field}_error")[0].text
    assert "Nothing was done" in page.text
    again = sent_form(answer)
    for name in ("reason", "jitter", "double_s", "patch_text", "key_path", "canary_wait"):
        assert again.get(name, "") == str(fields.get(name, ""))
    plan.refresh_from_db()
    assert (plan.phase, Terms.of(plan.terms)) == (Phase.DRAFT, Terms.of(plan.terms))


# Whole pages.


def test_a_draft_says_what_was_frozen_what_is_in_the_way_where_it_goes_and_who_goes_first(
    operator: Client, payments: redis.Redis
) -> None:
    payments.delete("bull:payments:7")
    payments.hset("bull:payments:8", mapping={"deid": "d1"})
    payments.set("bull:payments:de:d1", "99")
    seed_job(payments, PAYMENTS, "99", deid="d1")
    payments.lpush("bull:payments:wait", "99")
    page = page_of(operator, drafted())
    assert "Replay 28 of 30 jobs of payments" in page.text
    assert "Nothing has been sent yet. This set was frozen at" in page.text
    assert "Planned by olga" in page.text
    rows = {node.attrs["data-conflict"]: " ".join(node.text.split()) for node in page.all("data-conflict")}
    assert set(rows) == {"gone", "twin"}
    assert "Skips them: nothing is left to send." in rows["gone"]
    assert "Sends them all the same: both jobs will run." in rows["twin"]
    assert "28, 2 are left out" in " ".join(page.all("id", "plan-sent")[0].text.split())
    assert page.all("href", "/queues/main/payments/jobs/1/")
    (start,) = page.all("id", "plan-verb")
    assert " ".join(start.text.split()) == "Start replay of 28"


def test_a_small_plan_folds_what_it_seldom_needs(operator: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    failed(valkey, 4)
    plan = making.of_state(OLGA, PAYMENTS, State.FAILED)
    assert page_of(operator, plan).all("class", "fold plan-more"), "from the first on, so that the page never jumps"
    page = page_of(operator, frozen(plan))
    (fold,) = page.all("class", "fold plan-more")
    said = "No canary goes first, and jobs that fail again do not stop it: so few are sent without."
    assert said in " ".join(page.all("id", "plan-unguarded")[0].text.split())
    assert "open" not in fold.attrs
    fields = sent_form(operator.get(f"/replays/{plan.pk}/"))
    typed = operator.post(f"/replays/{plan.pk}/save/", fields | {"live": "1", "canary": "2"})
    assert said not in " ".join(typed.content.decode().split())
    answer = operator.post(f"/replays/{plan.pk}/save/", fields | {"jitter": "x"})
    assert "open" in Page(answer).all("class", "fold plan-more")[0].attrs


def test_a_plan_above_the_limits_asks_for_the_name_and_for_a_second_person(
    operator: Client, payments: redis.Redis
) -> None:
    ReplayLimits.objects.create(pk=1, typed=10, approval=20)
    page = page_of(operator, drafted())
    assert "Type payments to start" in page.text
    assert "More than 20 jobs need a second person" in page.text
    ReplayLimits.objects.update(approval=1)
    assert "More than 1 job needs a second person" in page_of(operator, drafted()).text
    assert " ".join(page.all("id", "plan-verb")[0].text.split()) == "Ask for approval of 30"


def test_a_viewer_sees_the_plan_and_nothing_to_press(payments: redis.Redis) -> None:
    plan = drafted()
    viewer = as_role("viewer")
    for phase in (Phase.DRAFT, Phase.WAITING, Phase.ARMED, Phase.FREEZING, Phase.FAILED):
        page = page_of(viewer, standing(plan, phase, started_by="ana", starts_at=timezone.now()))
        assert not [node for node in page.all("action") if f"/replays/{plan.pk}/" in node.attrs["action"]]
        assert not page.all("formaction")
        assert not page.all("name", "canary")
        assert "Off: it needs the operator role." in page.text
    assert "Canary" in page.text


def test_a_plan_on_a_read_only_source_says_why_it_cannot_be_started(
    operator: Client, payments: redis.Redis, settings: Settings
) -> None:
    plan = drafted()
    config: SourceConfig = settings.MIRANTE_SOURCES[0]
    settings.MIRANTE_SOURCES = (replace(config, read_only=True),)
    registry.forget()
    page = page_of(operator, plan)
    assert "is read-only here (MIRANTE_READ_ONLY)" in page.all("id", "why-start")[0].text
    assert not page.all("formaction", f"/replays/{plan.pk}/start/")


def test_a_plan_of_a_source_that_is_away_still_shows_what_is_known(
    operator: Client, payments: redis.Redis, settings: Settings
) -> None:
    plan = drafted()
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://127.0.0.1:1/0"),)
    registry.forget()
    page = page_of(operator, plan)
    assert "Replay 30 jobs of payments" in page.text
    assert "does not answer" in page.text or "refuses connections" in page.text
    assert not page.all("formaction", f"/replays/{plan.pk}/start/")
    assert page.all("name", "canary")  # and can be changed


def test_a_plan_whose_source_is_no_longer_configured_is_shown_all_the_same(
    operator: Client, payments: redis.Redis, settings: Settings
) -> None:
    plan = drafted()
    settings.MIRANTE_SOURCES = ()
    registry.forget()
    assert "No source is called" in page_of(operator, plan).text


def test_a_plan_of_nothing_says_so_and_cannot_be_started(operator: Client, payments: redis.Redis) -> None:
    payments.delete("bull:payments:failed")
    page = page_of(operator, drafted())
    assert "Nothing was found: no such job was there" in page.text
    assert not [node for node in page.all("formaction") if node.attrs["formaction"].endswith("/start/")]


def test_what_a_queue_holds_is_text_on_the_page(operator: Client, source: SourceConfig, valkey: redis.Redis) -> None:
    ref = failed(valkey, 3, MARKUP[:60], names=[MARKUP])
    plan = drafted(ref)
    plan.note = MARKUP
    plan.save()
    for phase in (Phase.DRAFT, Phase.FREEZING, Phase.WAITING, Phase.ARMED, Phase.FAILED):
        standing(
            plan, phase, started_by=MARKUP, approved_by=MARKUP, starts_at=timezone.now(), words=MARKUP, title=MARKUP
        )
        source_text = page_of(operator, plan).source
        assert "<script>window" not in source_text
        assert "<img src=x" not in source_text


# While it is put together.


def test_a_plan_that_is_put_together_shows_how_far_it_is_and_its_terms(operator: Client, payments: redis.Redis) -> None:
    plan = a_plan(Phase.FREEZING, ref=PAYMENTS, terms=Terms(), step="collecting", frozen={"expected": 2000})
    Replay.objects.filter(pk=plan.pk).update(total=500)
    page = page_of(operator, plan)
    assert "Writing down which jobs are meant" in page.text
    assert "500 of 2,000 jobs" in page.text
    assert "finish in" not in page.text  # nobody knows yet
    assert "Start replay of 0" not in page.text
    assert page.all("name", "canary")
    assert "It can be started once its set is frozen." in page.text
    assert "Its set is being frozen as of" in page.text
    assert "This set was frozen" not in page.text
    Replay.objects.filter(pk=plan.pk).update(step="reading", looked_at=timezone.now())
    assert "Replay jobs of payments" in page_of(operator, plan).all("id", "plan-title")[0].text
    (state,) = page.all("id", "plan-state")
    assert state.attrs["hx-get"] == f"/replays/{plan.pk}/?was=freezing"


def test_a_set_that_is_looked_at_anew_stays_frozen(operator: Client, payments: redis.Redis) -> None:
    page = page_of(operator, standing(drafted(), Phase.FREEZING))
    assert "This set was frozen at" in page.text
    assert "being written down" not in page.text
    assert "It can be started once its jobs have been looked at anew." in page.text
    assert "Being looked at anew" in page.text


def test_a_page_tells_where_the_order_of_a_key_holds_for_what_is_sent_alone(
    operator: Client, payments: redis.Redis
) -> None:
    plan = drafted(terms=Terms(key="customer.id"))
    first, second = plan.jobs.order_by("created_ms", "pk")[:2]
    plan.jobs.filter(pk__in=[first.pk, second.pk]).update(key=7, conflict="")
    plan.jobs.filter(pk=first.pk).update(conflict="gone")
    plan.jobs.filter(pk=second.pk).update(permanent=True)
    plan.frozen = counting.counted(plan.pk, {}, "customer.id")
    plan.save()
    said = "Of 1 customer.id value an earlier job is left out; its later jobs are sent all the same."
    page = page_of(operator, plan)
    for part in ("plan-sentence", "plan-overtaken"):
        assert said in " ".join(page.all("id", part)[0].text.split())
    assert " is permanent. Sent as" in page.text
    Replay.objects.filter(pk=plan.pk).update(started_by="olga", phase=Phase.WAITING)
    assert said in page_of(operator, plan).text, "who approves it reads it, too"


def test_a_page_says_when_no_worker_has_been_heard_of(operator: Client, payments: redis.Redis) -> None:
    said = "No worker has been heard of since"
    plan, long_ago = drafted(), timezone.now() - timedelta(minutes=5)
    assert said in page_of(operator, standing(plan, Phase.FREEZING, made_at=long_ago, beat_at=None)).text
    assert said in page_of(operator, standing(plan, Phase.ARMED, starts_at=long_ago, beat_at=long_ago)).text
    assert said not in page_of(operator, standing(plan, Phase.FREEZING, beat_at=timezone.now())).text
    assert said not in page_of(operator, standing(plan, Phase.DRAFT, beat_at=long_ago)).text


def polled(client: Client, plan: Replay, was: str) -> HttpResponse:
    headers = {"HX-Request": "true", "HX-Target": "plan-state"}
    return cast(HttpResponse, client.get(f"/replays/{plan.pk}/?was={was}", headers=headers))


def test_asked_again_it_tells_how_far_it_is_and_once_frozen_all_that_came_of_it(
    operator: Client, payments: redis.Redis
) -> None:
    plan = drafted()
    standing(plan, Phase.FREEZING)
    answer = polled(operator, plan, "freezing")
    assert 'id="plan-state"' in answer.content.decode()
    assert "plan-side" not in answer.content.decode()
    standing(plan, Phase.DRAFT)
    text = polled(operator, plan, "freezing").content.decode()
    for part in (
        "plan-head",
        "plan-sentence",
        "plan-what",
        "plan-kept",
        "plan-anew",
        "plan-found",
        "plan-side",
        "plan-enter",
    ):
        assert f'id="{part}"' in text
    assert "<html" not in text
    assert 'name="canary"' not in text  # what was typed meanwhile stays


@pytest.mark.parametrize(
    ("was", "phase", "anew"),
    [
        ("armed", Phase.ARMED, False),
        ("armed", Phase.CANARY, True),
        ("armed", Phase.DRAFT, True),
        ("waiting", Phase.WAITING, False),
        ("waiting", Phase.ARMED, True),
        ("freezing", Phase.FAILED, True),
    ],
)
def test_asked_again_a_page_is_left_alone_until_it_is_about_something_else(
    operator: Client, payments: redis.Redis, was: str, phase: Phase, anew: bool
) -> None:
    plan = standing(drafted(), phase, starts_at=timezone.now())
    answer = polled(operator, plan, was)
    assert answer.status_code == 204
    assert ("HX-Refresh" in answer.headers) is anew


def test_a_plan_about_to_start_counts_down_and_can_be_taken_back(operator: Client, payments: redis.Redis) -> None:
    plan = standing(drafted(), Phase.ARMED, started_by="bo", starts_at=timezone.now() + timedelta(seconds=90))
    page = page_of(operator, plan)
    assert "Starts in 1 min" in page.text
    assert page.all("action", f"/replays/{plan.pk}/take-back/")
    assert "Started by bo." in page.text
    late = standing(plan, Phase.ARMED, starts_at=timezone.now() - timedelta(seconds=3))
    assert "Starts now" in page_of(operator, late).text


def test_a_plan_that_waits_is_approved_by_somebody_else(operator: Client, payments: redis.Redis) -> None:
    plan = standing(drafted(), Phase.WAITING, started_by="ana")
    mine = page_of(operator, plan)
    assert "somebody else has to approve it" in mine.text
    assert not [node for node in mine.all("formaction") if "refuse" in node.attrs["formaction"]]
    theirs = page_of(as_role("operator"), plan)
    assert "ana asks to send 30 jobs." in theirs.text
    assert theirs.all("formaction", f"/replays/{plan.pk}/refuse/")
    for page, can in ((mine, True), (theirs, False)):
        assert bool(page.all("formaction", f"/replays/{plan.pk}/take-back/")) is can


def test_a_plan_that_could_not_be_put_together_says_why_and_what_to_do(operator: Client, payments: redis.Redis) -> None:
    plan = a_plan(Phase.FAILED, ref=PAYMENTS, note="The user may not read it.")
    page = page_of(operator, plan)
    assert "This plan could not be put together. The user may not read it." in page.text
    assert page.all("action", f"/replays/{plan.pk}/discard/")
    assert "Nothing is left to send" not in page.text


def test_there_is_no_page_of_a_plan_that_is_none(operator: Client) -> None:
    assert operator.get("/replays/4711/").status_code == 404


# What the index had not read


@pytest.mark.parametrize(
    ("behind", "says"),
    [
        (Behind(Index.BEHIND, 1_700_000_000_000), "The failure index had read to * failures after that are not in"),
        (Behind(Index.READING, None, 8_667, 10_000), "had read 8,667 of about 10,000 failed jobs, the newest first"),
        (Behind(Index.BLIND, 1_700_000_000_000), "The failures of main could not be read when this set was frozen."),
        (Behind(Index.SILENT, 1_700_000_000_000), "Nobody read the failures of main when this set was frozen."),
        (Behind(Index.NEVER), "How far the failure index had read is not known"),
    ],
)
@pytest.mark.parametrize("phase", [Phase.DRAFT, Phase.ARMED, Phase.RUNNING, Phase.DONE])
def test_a_plan_that_lacks_what_the_index_had_not_read_says_so_before_and_after_its_start(
    operator: Client, source: SourceConfig, phase: Phase, behind: Behind, says: str
) -> None:
    group = make_group(title="card declined")
    plan = a_plan(phase, group=group, frozen={"index": behind.kept()})
    (notice,) = page_of(operator, plan).all("data-index")
    assert notice.attrs["data-index"] == behind.index
    for part in says.split("*"):
        assert part.strip() in " ".join(notice.text.split())
    again = "Make another plan of them" if phase in (Phase.RUNNING, Phase.DONE) else "Make the plan again"
    (link,) = (node for node in notice.children if node.tag == "a")
    assert again in link.text
    assert link.attrs["href"] == f"/failures/{group.slug}/"
    assert not page_of(operator, a_plan(phase, group=group)).all("data-index")


@pytest.mark.parametrize(
    ("rate", "over", "says"),
    [
        (148.4, 5, "Live traffic ends 148 jobs a minute."),
        (148.4, 2, "Live traffic ends 148 jobs a minute (mean of the last 2 whole minutes)."),
        (None, 0, "How many jobs live traffic ends a minute is not known yet: no whole minute of it was seen."),
    ],
)
def test_what_live_traffic_ends_says_over_which_minutes_and_when_it_is_not_known(
    rate: float | None, over: int, says: str
) -> None:
    target = Target(PAYMENTS, 20, effect=Effect(rate), over_min=over)
    assert target_row(target, Terms()).effect == says


@pytest.mark.parametrize(("number", "moments"), [(1, 2), (3, 4)])
def test_of_one_job_it_says_a_moment_and_no_range(
    operator: Client, source: SourceConfig, valkey: redis.Redis, number: int, moments: int
) -> None:
    """When they failed, and when they were added."""
    failed(valkey, number)
    page = page_of(operator, drafted())
    what = page.source.partition('id="plan-what"')[2].partition("</dl>")[0]
    assert what.count("<time ") == moments
