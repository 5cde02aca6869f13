"""How a live page stands, against a socket that the test plays: live, polling, not live, signed out, hidden."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from queues.registry import SourceConfig
from tests.browser.far_end import ABOUT, PARTS, PATH, Follower, Served, hide, word
from tests.chromium import axe_findings

pytestmark = pytest.mark.browser


def test_a_page_says_what_it_is_about_and_acknowledges_each_frame(opened: Page, far_end: Follower) -> None:
    [watch] = far_end.told("watch")
    assert watch == {"page": "queue", "sources": ["main"], "queue": "mail", "read": 1764540000000, "after": "7-0"}
    for text in ("one", "two"):
        number = far_end.part("t-a", text)
        expect(opened.locator("#t-a")).to_have_text(text)
        far_end.acknowledged(number)


def test_a_page_without_live_parts_watches_the_sources_of_its_shell(page: Page, far_end: Follower) -> None:
    page.goto("/password/")
    far_end.watched()
    assert far_end.told("watch") == [{"page": "source", "sources": ["main"]}]


def test_the_sign_in_page_opens_no_socket(page: Page, source: SourceConfig) -> None:
    far_end = Follower(page)
    page.goto("/login/")
    page.wait_for_load_state("networkidle")
    assert far_end.sockets == []


def test_a_cut_socket_becomes_polling_and_comes_back_by_itself(opened: Page, far_end: Follower, served: Served) -> None:
    served.markup = PARTS.replace(">old<", ">polled<").replace("1764540000000", "1764540009000")
    far_end.refuses = 2
    far_end.sockets[-1].close(code=1012)
    expect(word(opened)).to_have_text("Polling every 5 s")
    expect(opened.locator("#t-a")).to_have_text("polled")
    expect(opened.locator("[data-line=age]")).to_be_visible()
    far_end.watched(2)
    assert far_end.told("watch")[-1]["read"] == 1764540009000
    assert far_end.told("watch")[-1]["after"] == "7-0"
    expect(word(opened)).to_have_text("Polling every 5 s")
    far_end.part("t-a", "pushed")
    expect(word(opened)).to_have_text("Live")
    expect(opened.locator("#t-a")).to_have_text("pushed")
    polls = served.refreshed
    opened.clock.fast_forward(7000)
    far_end.frame()
    opened.wait_for_timeout(300)
    assert served.refreshed == polls


# LV-03
def test_readers_of_a_server_that_was_away_come_back_at_different_moments(opened: Page, far_end: Follower) -> None:
    opened.evaluate(
        """() => {
            window.waits = [];
            const { setTimeout } = window;
            window.setTimeout = (call, ms) => { waits.push(Math.round(ms)); return setTimeout(call, ms); };
        }"""
    )

    def waited(chance: float) -> list[int]:
        opened.evaluate("chance => { Math.random = () => chance; waits.length = 0; }", chance)
        far_end.sockets[-1].close(code=1012)
        sockets = len(far_end.sockets)
        far_end.until(lambda: len(far_end.sockets) > sockets, "a new socket")
        found: list[int] = opened.evaluate("waits")
        far_end.frame()
        expect(word(opened)).to_have_text("Live")
        return found

    assert (1000 in waited(0.0), 2000 in waited(1.0)) == (True, True)


def test_the_page_is_fetched_anew_once_before_a_new_socket_is_asked(
    opened: Page, far_end: Follower, served: Served
) -> None:
    served.markup = PARTS.replace(">old<", ">fetched<")
    hide(opened)
    opened.clock.fast_forward(11_000)
    opened.wait_for_timeout(200)
    assert served.refreshed == 0
    hide(opened, False)
    far_end.watched(2)
    expect(opened.locator("#t-a")).to_have_text("fetched")


def test_a_job_that_left_its_list_while_the_page_polled_is_marked_also_afterwards(
    page: Page, far_end: Follower, served: Served
) -> None:
    stays = '<tr data-job="1"><td><span id="p-1" data-part>1</span></td></tr>'
    leaves = stays.replace("1", "2")
    served.markup = f"{ABOUT}<table>{stays}{leaves}</table>"
    page.clock.install()
    page.goto(PATH)
    far_end.watched()
    far_end.frame()
    expect(word(page)).to_have_text("Live")
    served.markup = f"{ABOUT.replace('1764540000000', '1764540009000')}<table>{stays}</table>"
    far_end.refuses = 1
    far_end.sockets[-1].close(code=1012)
    expect(page.locator("tr[data-stale]")).to_have_attribute("data-job", "2")
    far_end.watched(2)
    assert far_end.told("watch")[-1]["read"] == 1764540009000
    far_end.frame()
    expect(word(page)).to_have_text("Live")
    expect(page.locator("tr[data-stale]")).to_have_attribute("data-job", "2")


def test_rows_that_polling_does_not_reach_are_marked_and_caught_up_by_the_socket(
    page: Page, far_end: Follower, served: Served
) -> None:
    first = '<tr data-row="q-1"><td><span id="q-1-a" data-part>1</span></td></tr>'
    later = first.replace("q-1", "q-2")
    served.markup = f"{ABOUT}<table>{first}{later}</table>"
    page.clock.install()
    page.goto(PATH)
    far_end.watched()
    far_end.frame()
    expect(word(page)).to_have_text("Live")
    served.markup = f"{ABOUT.replace('1764540000000', '1764540009000')}<table>{first.replace('>1<', '>2<')}</table>"
    far_end.refuses = 1
    far_end.sockets[-1].close(code=1012)
    expect(page.locator("#q-1-a")).to_have_text("2")
    expect(page.locator("tr[data-stale]")).to_have_attribute("data-row", "q-2")
    far_end.watched(2)
    assert far_end.told("watch")[-1]["read"] == 1764540000000
    far_end.frame()
    expect(page.locator("tr[data-stale]")).to_have_count(0)


def test_a_page_that_opens_in_the_background_stops_work_too(page: Page, far_end: Follower, served: Served) -> None:
    page.clock.install()
    page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })")
    page.goto(PATH)
    far_end.watched()
    closed: list[int | None] = []
    far_end.sockets[-1].on_close(lambda code, _reason: closed.append(code))
    page.clock.fast_forward(11_000)
    far_end.until(lambda: bool(closed), "closed")
    hide(page, False)
    far_end.watched(2)


def test_a_blind_server_is_said_with_its_reason_as_text_and_the_page_is_polled(
    opened: Page, far_end: Follower, served: Served
) -> None:
    why = "<b hx-get=/>Connection refused</b>"
    far_end.frame(pulse="blind", since=1764540000000, why=why, parts={"t-a": '<span id="t-a" data-part>last</span>'})
    expect(word(opened)).to_have_text(re.compile(r"^Not live since 2025-11-30 \d\d:\d\d:\d\d$"))
    expect(opened.locator("[data-line=why]")).to_have_text(why)
    expect(opened.locator("#t-a")).to_have_text("last")
    far_end.until(lambda: served.refreshed > 0, "polled")
    far_end.frame()
    expect(word(opened)).to_have_text("Live")
    expect(opened.locator("[data-line=why]")).to_be_hidden()


def test_catching_up_and_the_rate_are_said(opened: Page, far_end: Follower) -> None:
    far_end.frame(rate=412.4)
    expect(opened.locator("[data-line=rate]")).to_have_text("412 events a second")
    far_end.frame(pulse="catching-up", since=1764540000000)
    expect(word(opened)).to_have_text("Catching up")
    expect(opened.locator("[data-line=rate]")).to_be_hidden()


def test_the_line_of_the_first_render_is_honest_without_a_socket(page: Page, far_end: Follower) -> None:
    page.goto(PATH)
    expect(word(page)).to_have_text(re.compile(r"^As of\s+\d\d:\d\d:\d\d$"))


# LV-07
@pytest.mark.parametrize(
    ("code", "says"),
    [
        (4401, ("You are signed out. Sign in again to go on. Sign in", f"/login/?next={PATH.replace('/', '%2F')}")),
        (4403, ("You may no longer see this page. Reload it", PATH)),
    ],
)
def test_a_session_or_a_right_that_ended_is_said_and_nothing_is_asked_any_more(
    opened: Page, far_end: Follower, served: Served, code: int, says: tuple[str, str]
) -> None:
    text, leads = says
    far_end.sockets[-1].close(code=code)
    banner = opened.locator("#live-banner [role=alert]")
    expect(banner).to_have_text(text)
    expect(banner.get_by_role("link")).to_have_attribute("href", leads)
    expect(word(opened)).to_have_text("Signed out" if code == 4401 else re.compile("^Not live since"))
    sockets = len(far_end.sockets)
    opened.clock.fast_forward(60_000)
    hide(opened)
    opened.clock.fast_forward(20_000)
    hide(opened, False)
    opened.wait_for_timeout(300)
    assert (served.refreshed, len(far_end.sockets)) == (0, sockets)
    assert axe_findings(opened) == []


# LV-07
def test_polling_that_ends_at_the_sign_in_page_says_signed_out_and_shows_no_form(
    opened: Page, far_end: Follower
) -> None:
    opened.unroute(f"**{PATH}")
    opened.context.clear_cookies()
    far_end.sockets[-1].close(code=1012)
    expect(opened.locator("#live-banner [role=alert]")).to_contain_text("You are signed out.")
    assert opened.locator("input[name=password]").count() == 0
    expect(word(opened)).to_have_text("Signed out")


def test_a_hidden_tab_stops_work_and_catches_up_when_shown(opened: Page, far_end: Follower, served: Served) -> None:
    closed: list[int | None] = []
    far_end.sockets[-1].on_close(lambda code, _reason: closed.append(code))
    hide(opened)
    opened.clock.fast_forward(9_000)
    far_end.frame()
    opened.clock.fast_forward(2_000)
    far_end.until(lambda: bool(closed), "closed")
    opened.clock.fast_forward(120_000)
    opened.wait_for_timeout(200)
    assert (served.refreshed, len(far_end.sockets)) == (0, 1)
    served.markup = PARTS.replace(">old<", ">caught up<")
    hide(opened, False)
    expect(word(opened)).to_have_text("Catching up")
    expect(opened.locator("#t-a")).to_have_text("caught up")
    far_end.watched(2)
    far_end.frame()
    expect(word(opened)).to_have_text("Live")


def test_a_page_out_of_the_back_cache_catches_up(opened: Page, far_end: Follower, served: Served) -> None:
    served.markup = PARTS.replace(">old<", ">caught up<")
    opened.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    opened.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    far_end.watched(2)
    expect(opened.locator("#t-a")).to_have_text("caught up")


def test_a_screen_reader_hears_a_summary_at_most_each_twenty_seconds_and_no_tick(
    opened: Page, far_end: Follower
) -> None:
    assert opened.locator("[data-line=age]").evaluate("node => node.closest('[aria-live], [role=status]')") is None
    assert opened.locator("#feed").count() == 0
    told = opened.locator("#say")
    expect(told).to_have_text("")
    far_end.acknowledged(far_end.frame(say="3 jobs failed"))
    opened.clock.fast_forward(2_000)
    expect(told).to_have_text("3 jobs failed")
    for n in range(4, 10):
        far_end.acknowledged(far_end.frame(say=f"{n} jobs failed"))
        opened.clock.fast_forward(2_000)
        expect(told).to_have_text("3 jobs failed")
    for _ in range(3):
        far_end.acknowledged(far_end.frame())
        opened.clock.fast_forward(3_000)
    expect(told).to_have_text("9 jobs failed")
    opened.evaluate(
        "new MutationObserver(() => window.told = true).observe(document.getElementById('say'), {childList: true})"
    )
    for _ in range(8):
        far_end.acknowledged(far_end.frame(say="9 jobs failed"))
        opened.clock.fast_forward(3_000)
    assert opened.evaluate("window.told") is None


def test_the_dot_breathes_only_where_motion_is_welcome(opened: Page) -> None:
    motion = "() => getComputedStyle(document.querySelector('.live i')).animationName"
    assert opened.evaluate(motion) == "breathe"
    opened.emulate_media(reduced_motion="reduce")
    assert opened.evaluate(motion) == "none"


def test_a_frame_that_makes_no_sense_ends_in_polling_not_in_a_lie(opened: Page, far_end: Follower) -> None:
    far_end.sockets[-1].send("{")
    expect(word(opened)).to_have_text("Polling every 5 s")


@pytest.mark.parametrize("width", [360, 1440])
def test_every_state_fits_and_axe_finds_nothing(opened: Page, far_end: Follower, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    why = "Error 111 connecting to redis-prod.interno:6379. Connection refused, and the like."
    states: list[dict[str, Any]] = [
        {"pulse": "live", "rate": 20_412.0},
        {"pulse": "catching-up"},
        {"pulse": "blind", "since": 1764540000000, "why": why},
    ]
    for state in states:
        far_end.acknowledged(far_end.frame(**state))
        expect(opened.locator("#state-line")).to_have_attribute("data-state", state["pulse"])
        over = opened.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over == 0, json.dumps(state)
        expect(opened.locator("[data-line=age]")).to_be_visible()
        for theme in ("light", "dark"):
            opened.emulate_media(color_scheme=theme)
            assert axe_findings(opened) == [], state
