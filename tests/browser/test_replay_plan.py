"""The page of a plan in a real browser: it follows what is typed, keeps it, starts, and can be taken back."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import redis
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from queues.models import Replay, ReplayLimits
from queues.registry import SourceConfig
from queues.replay import making
from queues.replay.terms import Terms
from queues.replay.types import Phase
from queues.types import State
from tests.chromium import SignIn, axe_findings
from tests.dashboard.people import PASSWORD, as_role, person
from tests.dashboard.planning import PAYMENTS, drafted, failed, frozen, standing
from tests.queues.replaying import OLGA
from tests.server import Server

pytestmark = pytest.mark.browser

TERMS = Terms(double_s=1)  # even a small plan gets to its pace


@pytest.fixture
def payments(source: SourceConfig, valkey: redis.Redis) -> redis.Redis:
    failed(valkey, 60)
    return valkey


@pytest.fixture
def plan(payments: redis.Redis, sign_in: SignIn) -> Replay:
    """A draft with a conflict, opened by an operator."""
    sign_in("operator")
    payments.hset("bull:payments:8", mapping={"deid": "d1"})
    payments.set("bull:payments:de:d1", "x99")
    payments.hset(
        "bull:payments:x99", mapping={"name": "send", "data": "{}", "opts": "{}", "timestamp": "1", "deid": "d1"}
    )
    payments.lpush("bull:payments:wait", "x99")
    return drafted(terms=TERMS)


def at(plan: Replay) -> str:
    return f"/replays/{plan.pk}/"


def kept(plan: Replay) -> Terms:
    return Terms.of(Replay.objects.get(pk=plan.pk).terms)


def test_the_sentence_the_chart_and_the_button_follow_what_is_typed_and_nothing_is_kept(
    page: Page, plan: Replay
) -> None:
    page.goto(at(plan))
    sentence = page.locator("#plan-sentence")
    expect(sentence).to_contain_text("Then climb from 5 to 20 a second")
    page.locator("[name=pace_from]").fill("10")
    expect(sentence).to_contain_text("10 to 20 a second")
    expect(page.locator("#plan-effect svg[role=img]")).to_have_attribute("aria-label", re.compile("10 jobs a second"))
    expect(page.locator("#plan-verb")).to_have_text("Start replay of 59")
    page.get_by_label("Sends them all the same: both jobs will run.").check()
    expect(page.locator("#plan-verb")).to_have_text("Start replay of 60")
    page.get_by_label("As fast as the server takes them").check()
    expect(sentence).to_contain_text("get the whole load at once")
    page.locator("[name=canary]").fill("")
    expect(sentence).to_contain_text("Send first: Say how many.")
    assert kept(plan) == TERMS


def test_enter_keeps_a_draft_and_never_starts_it(page: Page, plan: Replay) -> None:
    page.goto(at(plan))
    page.locator("[name=canary]").fill("7")
    page.locator("[name=canary]").press("Enter")
    expect(page.get_by_text("Kept. Nothing is sent before somebody starts it.")).to_be_visible()
    assert kept(plan).canary == 7
    assert Replay.objects.get(pk=plan.pk).phase == Phase.DRAFT


def test_what_is_typed_while_a_plan_is_put_together_is_there_when_it_is_a_draft_and_starts(
    page: Page, payments: redis.Redis, sign_in: SignIn
) -> None:
    sign_in("operator")
    plan = making.of_state(OLGA, PAYMENTS, State.FAILED)
    page.goto(at(plan))
    expect(page.locator("#plan-state progress")).to_be_visible()
    page.locator("[name=canary]").fill("9")
    expect(page.locator("#why-start")).to_have_text("It can be started once its set is frozen.")
    frozen(plan)
    start = page.get_by_role("button", name="Start replay of 60")
    expect(start).to_be_enabled(timeout=30_000)
    expect(page.locator("#plan-state progress")).to_have_count(0)
    expect(page.locator("[name=canary]")).to_have_value("9")
    expect(page.get_by_role("heading", level=1)).to_have_text("Replay 60 jobs of payments")
    ReplayLimits.objects.create(pk=1, undo_s=3_600)
    start.click()
    expect(page.locator("[data-countdown]")).to_have_text(re.compile(r"59 min|1 h"))
    assert kept(plan).canary == 9
    page.get_by_role("button", name="Take it back").click()
    expect(page.get_by_text("Taken back. Nothing was sent.")).to_be_visible()
    expect(page.locator("[name=canary]")).to_have_value("9")


def test_a_plan_that_starts_shows_itself_running_without_a_hand(page: Page, plan: Replay) -> None:
    standing(plan, Phase.ARMED, started_by="bo", starts_at=timezone.now() - timedelta(seconds=1))
    page.goto(at(plan))
    expect(page.locator(".plan-count")).to_have_text("Starts now")
    standing(plan, Phase.RUNNING, started_at=timezone.now())
    expect(page.locator(".plan-count")).to_have_count(0, timeout=30_000)
    expect(page.locator("#replay")).to_be_visible()


def test_what_was_typed_is_there_again_after_the_session_was_lost(page: Page, plan: Replay) -> None:
    user = person("operator")
    User.objects.filter(pk=user.pk).update(password=make_password(PASSWORD, hasher="pbkdf2_sha256"))
    page.context.clear_cookies()
    page.goto(at(plan))

    def sign_in() -> None:
        page.get_by_label("Name").fill(user.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()

    sign_in()
    page.locator("[name=jitter]").fill("33")
    page.get_by_label("Newest first").check()
    expect(page.locator("#plan-sentence")).to_contain_text("newest first")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.get_by_role("button", name="Save as draft").last.click()
    sign_in()
    expect(page.locator("[name=jitter]")).to_have_value("33")
    expect(page.get_by_label("Newest first")).to_be_checked()
    expect(page.locator("#plan-sentence")).to_contain_text("newest first")
    page.get_by_role("button", name="Save as draft").last.click()
    expect(page.get_by_text("Kept. Nothing is sent")).to_be_visible()
    assert kept(plan).jitter == 33
    page.goto(at(standing(plan, Phase.DRAFT, terms=Terms().kept())))
    expect(page.locator("[name=jitter]")).to_have_value("20")  # it was told to the server: nothing else is kept


def test_without_scripts_a_plan_is_kept_looked_at_again_and_started(
    chromium: Browser, live: Server, plan: Replay
) -> None:
    context = chromium.new_context(base_url=live.url, java_script_enabled=False)
    cookie = as_role("operator").cookies[settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live.url}])
    page = context.new_page()
    page.goto(at(plan))
    page.locator("[name=pace_to]").fill("7")
    page.get_by_role("button", name="Save as draft").last.click()
    expect(page.locator("#plan-sentence")).to_contain_text("5 to 7 a second")
    page.get_by_role("button", name="Look at it again").click()
    page.get_by_role("link", name="Read again how far it is").click()
    expect(page.locator("#plan-state progress")).to_be_visible()
    frozen(plan)
    page.reload()
    page.locator("[name=jitter]").fill("4")
    page.locator("[name=key_path]").fill("a..b[")
    page.get_by_role("button", name="Start replay of 59").click()
    expect(page.locator("#id_key_path_error")).to_be_visible()
    page.locator("[name=key_path]").fill("")
    page.get_by_role("button", name="Start replay of 59").click()
    expect(page.get_by_role("button", name="Take it back")).to_be_visible()
    assert (kept(plan).pace_to, kept(plan).jitter) == (7.0, 4)
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_page(page: Page, plan: Replay, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    ReplayLimits.objects.create(pk=1, typed=1, approval=2)
    found = []
    others = (Phase.FREEZING, Phase.WAITING, Phase.ARMED, Phase.FAILED) if theme == "light" else (Phase.ARMED,)
    for phase in (Phase.DRAFT, *others):
        starts_at = timezone.now() + timedelta(hours=1)
        people = dict.fromkeys(("made_by", "started_by", "approved_by"), "b" * 150)
        standing(plan, phase, title="q" * 200, starts_at=starts_at, note=f"It may not be {'read' * 70}.", **people)
        for width in (360, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto("about:blank")  # the page before may be about to read itself again
            page.goto(at(plan))
            for fold in page.locator("details:visible").all() if phase is Phase.DRAFT else ():
                fold.evaluate("fold => fold.open = true")
            assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        found += axe_findings(page)
    assert found == []
