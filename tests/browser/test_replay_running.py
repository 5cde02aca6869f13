"""The pages of replays in a real browser: axe, widths, numbers that move, buttons that follow, no scripts at all."""

from __future__ import annotations

import re
import subprocess
from typing import Any, Literal

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, Route, expect

from queues.models import Replay
from queues.registry import SourceConfig
from queues.replay.types import Phase, Place, Stop, Told
from queues.sendings import Conflict, Fate
from queues.types import QueueRef
from tests.browser.live_page import never_reloaded, opened
from tests.chromium import SignIn, axe_findings
from tests.dashboard.replayed import row, spans, started, story, target, tell
from tests.failing import make_group
from tests.queues.replaying import a_plan
from tests.server import Server

pytestmark = pytest.mark.browser

HOSTILE = '"><script>window.__x=1</script>\u202e\x1b[31m' + "wide" * 300
WIDTHS = [360, 800, 1100, 1440, 2560]
PATIENCE_MS = 60_000
Theme = Literal["light", "dark"]


def whole(phase: Phase = Phase.RUNNING, title: str = "payments", **values: Any) -> Replay:
    """A plan with all that its page can show."""
    group = make_group(title=f"ETIMEDOUT {phase} {title}")
    plan = started(phase, group=group, title=title[:200], words=title, **values)
    story(plan)
    spans(plan, [10, 10, 0, 0, 25, 25, 50, 51, 98, 99, 60], [0, 0, 0, 0, 0, 1, 0, 2])
    target(plan, QueueRef("main", b"bull", title[:400].encode()), paused=True)
    row(plan, b"a", Fate.FAILED, group=group, again=group, canary=True)
    row(plan, title.encode(), Fate.FAILED, name=title[:200])
    row(plan, b"b", place=Place.LEFT_OUT, conflict=Conflict.TWIN, note=title, sent_ms=None)
    return plan


@pytest.fixture
def paths(source: SourceConfig) -> list[str]:
    """Pages of plans in several phases, one with names that nobody would choose."""
    people = {"started_by": HOSTILE[:150], "made_by": HOSTILE[:150], "approved_by": HOSTILE[:150]}
    stopped = whole(Phase.STOPPED, HOSTILE, why=Stop.UNWELL, note=HOSTILE, **people)
    for kind in Told:  # more than its box shows
        tell(stopped, kind, 1, HOSTILE[:150], why=Stop.UNWELL, note=HOSTILE, reason=HOSTILE)
    plans = [whole(holding=Stop.DEPTH), stopped, whole(Phase.DONE, HOSTILE, to_send=0)]
    a_plan(Phase.WAITING)
    pages = [f"/replays/{plan.pk}/" for plan in plans]
    group = stopped.group.slug if stopped.group else ""
    return ["/replays/", *pages, f"/replays/{stopped.pk}/jobs/", f"/failures/{group}/"]


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (360, "dark")])
def test_axe_finds_nothing(page: Page, sign_in: SignIn, paths: list[str], width: int, theme: Theme) -> None:
    sign_in("operator")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    found = []
    for path in paths:
        page.goto(path)
        for summary in page.locator("summary.btn").all():
            summary.click()
        found += [f"{path}: {finding}" for finding in axe_findings(page)]
    assert found == []


def test_axe_finds_nothing_where_there_is_nothing(page: Page, source: SourceConfig, sign_in: SignIn) -> None:
    sign_in("viewer")
    page.goto("/replays/")
    assert axe_findings(page) == []


def test_they_are_never_wider_than_the_window(page: Page, sign_in: SignIn, paths: list[str]) -> None:
    sign_in("operator")
    found = []
    for path in paths:
        page.goto(path)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for summary in [None, *page.locator("summary.btn").all()]:
                if summary:
                    summary.click()
                wide = page.evaluate("document.documentElement.scrollWidth")
                if wide > width:
                    found.append(f"{path}: {wide} in {width}")
    assert found == []


def test_numbers_move_and_buttons_follow_without_a_reload(
    page: Page, sign_in: SignIn, source: SourceConfig, follower: subprocess.Popen[bytes]
) -> None:
    plan = whole()
    key = f"rp-{plan.pk}"
    sign_in("operator")
    opened(page, f"/replays/{plan.pk}/")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    change(plan, sent=1_300, completed=1_250, to_send=795)
    expect(page.locator(f"#{key}-sent")).to_have_text("1,300", timeout=PATIENCE_MS)
    expect(page.locator(f"#{key}-left")).to_have_text("795")
    expect(page.locator("#replays-running-rail")).to_have_text("1 running")
    tell(plan, Told.PAUSED, 0, "olga")
    change(plan, phase=Phase.PAUSED)
    expect(page.locator(f"#{key}-state")).to_have_text("Paused", timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    expect(page.locator("#replays-running-rail")).to_have_text("1 waiting")
    row(plan, b"z", Fate.FAILED, again=make_group(title="Something new"))
    change(plan, failed=10)
    expect(page.locator("#replay-again")).to_contain_text("Something new", timeout=PATIENCE_MS)
    never_reloaded(page)
    assert axe_findings(page) == []
    change(plan, phase=Phase.DONE, ended_at=timezone.now(), to_send=0)
    expect(page.locator("[data-outcome]")).to_contain_text("1,300 of 2,118 sent", timeout=PATIENCE_MS)
    never_reloaded(page)


def test_what_an_extension_styled_is_put_in_again_without_breaking_the_policy(
    page: Page, sign_in: SignIn, source: SourceConfig
) -> None:
    plan = whole()
    sign_in("operator")
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"/replays/{plan.pk}/")
    # A password manager, or what takes pictures of a page, leaves an attribute behind in what has been styled.
    styled = page.evaluate(
        """() => {
            const all = [...document.querySelectorAll("#replay [id]")];
            for (const each of all) { each.dataset.old = ""; each.style.color = "red"; each.style.color = ""; }
            return all.filter((each) => each.hasAttribute("style")).length;
        }"""
    )
    assert styled > 0
    page.evaluate("htmx.trigger('#replay', 'moved')")
    expect(page.locator("#replay [data-old]")).to_have_count(0, timeout=PATIENCE_MS)
    page.wait_for_function("!document.querySelector('.htmx-settling, .htmx-swapping')")
    assert [text for text in said if "style" in text] == []


def change(plan: Replay, **values: object) -> None:
    """As a runner does."""
    Replay.objects.filter(pk=plan.pk).update(**values, changed_at=timezone.now())


def test_buttons_stay_under_the_hand_that_is_at_them(
    page: Page, sign_in: SignIn, source: SourceConfig, follower: subprocess.Popen[bytes]
) -> None:
    plan = whole()
    sign_in("operator")
    opened(page, f"/replays/{plan.pk}/")
    page.locator("summary", has_text="Change pace").click()
    page.locator("#pace-reason").fill("half typed")
    change(plan, phase=Phase.STOPPED, why=Stop.FAILING)
    expect(page.locator(f"#rp-{plan.pk}-state")).to_have_text("Stopped by itself", timeout=PATIENCE_MS)
    page.wait_for_timeout(1_500)  # in which it would have been read anew
    expect(page.locator("#pace-reason")).to_have_value("half typed")
    page.locator("summary", has_text="Change pace").click()
    page.locator("summary", has_text="Change pace").blur()
    expect(page.get_by_role("button", name="Go on")).to_be_visible(timeout=PATIENCE_MS)


def test_buttons_of_what_is_no_longer_so_rest_from_the_moment_of_the_news(
    page: Page, sign_in: SignIn, source: SourceConfig, follower: subprocess.Popen[bytes]
) -> None:
    plan = whole()
    sign_in("operator")
    opened(page, f"/replays/{plan.pk}/")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    asked: list[Route] = []

    def wait(route: Route) -> None:
        asked.append(route)

    page.route(f"**/replays/{plan.pk}/", wait)  # what is read anew does not come yet
    change(plan, phase=Phase.STOPPED, why=Stop.FAILING)
    expect(page.locator(f"#rp-{plan.pk}-state")).to_have_text("Stopped by itself", timeout=PATIENCE_MS)
    expect(page.locator(".acts[inert]", has_text="Pause")).to_be_visible()
    for route in asked:
        route.continue_()
    page.unroute(f"**/replays/{plan.pk}/")
    expect(page.get_by_role("button", name="Go on")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(".acts[inert]")).to_have_count(0)
    never_reloaded(page)


def test_a_list_left_open_follows_its_plans(
    page: Page, sign_in: SignIn, source: SourceConfig, follower: subprocess.Popen[bytes]
) -> None:
    plan = whole()
    sign_in("viewer")
    opened(page, "/replays/")
    expect(page.locator(".fresh .pill")).to_be_hidden()
    change(plan, phase=Phase.DONE, ended_at=timezone.now(), to_send=0, completed=1_205, failed=0)
    expect(page.locator(f"#rl-{plan.pk}-outcome")).to_contain_text("all others completed", timeout=PATIENCE_MS)
    a_plan()
    expect(page.locator(".fresh .pill")).to_contain_text("1 new plan", timeout=PATIENCE_MS)
    expect(page.locator("tr[data-group]")).to_have_count(1)
    never_reloaded(page)


def test_g_r_leads_to_the_replays(page: Page, sign_in: SignIn, source: SourceConfig) -> None:
    sign_in("viewer")
    page.goto("/failures/")
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page).to_have_url(re.compile("/replays/$"))


def test_without_scripts_everything_can_be_done(
    chromium: Browser, live: Server, page: Page, sign_in: SignIn, source: SourceConfig
) -> None:
    plan = whole()
    sign_in("operator")
    state = page.context.storage_state()
    bare = chromium.new_context(base_url=live.url, java_script_enabled=False, storage_state=state)
    try:
        plain = bare.new_page()
        plain.goto(f"/replays/{plan.pk}/")
        plain.get_by_role("button", name="Pause").click()
        expect(plain.get_by_role("button", name="Go on")).to_be_visible()
        plain.get_by_role("link", name="2,118 lines").click()
        expect(plain.get_by_role("heading", level=1)).to_contain_text(f"Ledger of {plan}")
        plain.go_back()
        plain.locator("summary", has_text="Cancel the other").click()
        plain.get_by_role("button", name="Cancel it for good").click()
        expect(plain.locator(f"#rp-{plan.pk}-state")).to_have_text("Being cancelled")
    finally:
        bare.close()
