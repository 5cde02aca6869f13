"""The browser's side of live pages, against a socket that the test plays: nothing of the reader's is lost."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from queues.registry import SourceConfig
from tests.browser.follower import ABOUT, PATH, Follower, Served, hide
from tests.chromium import SignIn, axe_findings

pytestmark = pytest.mark.browser

PARTS = (
    f'{ABOUT}<p><span id="t-a" data-part>old</span></p><p id="t-plain">plain</p>'
    '<p id="t-field"><input id="typed" aria-label="typed"></p>'
    '<p><a id="pill" class="pill" hidden href="/system/"><span data-pill></span></a></p>'
)
FEED = (
    '<div data-feed-tools hidden><select data-feed-kinds aria-label="kinds"><option value="">All</option>'
    '<option value="failed stalled">Failed</option></select><button type="button" data-feed-pause aria-pressed="false">'
    'Pause</button><span data-feed-held hidden></span></div><ol id="feed" class="feed"></ol>'
)


@pytest.fixture
def follower(page: Page, source: SourceConfig, sign_in: SignIn) -> Follower:
    sign_in("viewer")
    return Follower(page)


@pytest.fixture
def served(page: Page, follower: Follower) -> Served:
    return Served(page, PARTS)


@pytest.fixture
def opened(page: Page, follower: Follower, served: Served) -> Page:
    """A page with live parts whose socket has been asked for news and says live."""
    page.clock.install()
    page.goto(PATH)
    follower.watched()
    follower.frame()
    expect(_word(page)).to_have_text("Live")
    return page


def _word(page: Page) -> Locator:
    return page.locator("[data-line=word]")


def _entry(event: int, kind: str = "completed") -> str:
    return f'<li data-kind="{kind}" data-event="{event}-0"><a href="/queues/main/mail/">job {event}</a></li>'


def _events(page: Page) -> list[str]:
    found: list[str] = page.locator("#feed li:not([hidden])").evaluate_all("all => all.map(one => one.dataset.event)")
    return found


def test_a_page_says_what_it_is_about_and_acknowledges_each_frame(opened: Page, follower: Follower) -> None:
    [watch] = follower.told("watch")
    assert watch == {"page": "queue", "sources": ["main"], "queue": "mail", "read": 1764540000000, "after": "7-0"}
    for text in ("one", "two"):
        number = follower.part("t-a", text)
        expect(opened.locator("#t-a")).to_have_text(text)
        follower.acknowledged(number)


def test_a_page_without_live_parts_watches_the_sources_of_its_shell(page: Page, follower: Follower) -> None:
    page.goto("/password/")
    follower.watched()
    assert follower.told("watch") == [{"page": "source", "sources": ["main"]}]


def test_the_sign_in_page_opens_no_socket(page: Page, source: SourceConfig) -> None:
    follower = Follower(page)
    page.goto("/login/")
    page.wait_for_load_state("networkidle")
    assert follower.sockets == []


def test_markup_in_a_part_stays_text_and_moments_are_the_readers(opened: Page, follower: Follower) -> None:
    hostile = "&lt;img src=x onerror=&quot;window.__x=1&quot;&gt; &lt;b hx-get=&quot;/&quot;&gt;"
    moment = '<time datetime="2020-05-04T10:20:30.000Z" data-time="clock">10:20:30</time>'
    follower.part("t-a", f"{hostile} {moment}")
    expect(opened.locator("#t-a")).to_contain_text('<img src=x onerror="window.__x=1"> <b hx-get="/">')
    expect(opened.locator("#t-a time")).to_have_text(re.compile(r"^2020-05-04 \d\d:\d\d:30$"))
    assert opened.locator("#t-a img, #t-a b").count() == 0
    assert opened.evaluate("window.__x") is None


@pytest.mark.parametrize(
    "markup",
    [
        "<script>window.__x = 1</script>",
        '<b hx-get="/system/" hx-trigger="load">x</b>',
        '<b data-hx-get="/system/">x</b>',
        '<img src="/x" onerror="window.__x = 1">',
        '<a href="/system/">x</a>',
        '<form action="/logout/" method="post"><button>x</button></form>',
        '<input name="password">',
        '<svg><use href="https://elsewhere.example/#x"></use></svg>',
        '<b style="position: fixed">x</b>',
        '<iframe src="/"></iframe>',
    ],
)
def test_a_part_that_could_act_is_not_put_in(
    opened: Page, follower: Follower, complaints: list[str], markup: str
) -> None:
    follower.acknowledged(follower.part("t-a", markup))
    expect(opened.locator("#t-a")).to_have_text("old")
    assert opened.evaluate("window.__x") is None
    assert all("Content Security Policy" in complaint for complaint in complaints)
    complaints.clear()


def test_only_live_parts_of_the_same_id_are_replaced(opened: Page, follower: Follower) -> None:
    parts = {
        "t-plain": '<span id="t-plain" data-part>new</span>',
        "t-field": '<span id="t-field" data-part>new</span>',
        "t-a": '<span id="t-plain" data-part>new</span>',
        "t-nowhere": '<span id="t-nowhere" data-part>new</span>',
        "main": "<main id='main'></main>",
    }
    follower.acknowledged(follower.frame(parts=parts))
    follower.acknowledged(follower.frame(parts={"t-a": '<span id="t-a">no part</span>'}))
    follower.acknowledged(follower.frame(parts={"t-a": '<i id="t-a" data-part>1</i><i id="t-b" data-part>2</i>'}))
    expect(opened.locator("#t-plain")).to_have_text("plain")
    expect(opened.locator("#t-a")).to_have_text("old")
    expect(opened.locator("#typed")).to_be_attached()
    assert opened.locator("#t-nowhere").count() == 0


def test_a_part_that_says_the_same_is_left_alone(opened: Page, follower: Follower) -> None:
    moment = '<time datetime="2020-05-04T10:20:30.000Z" data-time="age">1 s</time>'
    follower.acknowledged(follower.part("t-a", f"<b>{moment}</b>"))
    opened.evaluate("window.kept = document.querySelector('#t-a b'); window.changes = 0")
    opened.evaluate(
        "new MutationObserver(all => changes += all.length).observe(document.getElementById('t-a'), {attributes: true})"
    )
    follower.acknowledged(follower.part("t-a", f"<b>{moment}</b>"))
    assert opened.evaluate("kept.isConnected && changes === 0")


def test_what_is_typed_and_selected_stays_and_the_news_come_when_the_reader_has_left(
    opened: Page, follower: Follower
) -> None:
    opened.locator("#typed").fill("half a wo")
    opened.evaluate("getSelection().selectAllChildren(document.getElementById('t-a'))")
    follower.acknowledged(follower.part("t-a", "new"))
    assert opened.evaluate("String(getSelection())") == "old"
    expect(opened.locator("#t-a")).to_have_text("old")
    opened.evaluate("getSelection().removeAllRanges()")
    expect(opened.locator("#t-a")).to_have_text("new")
    expect(opened.locator("#typed")).to_have_value("half a wo")
    opened.evaluate("document.getElementById('t-a').tabIndex = 0")
    opened.locator("#t-a").focus()
    follower.acknowledged(follower.part("t-a", "newer"))
    expect(opened.locator("#t-a")).to_be_focused()
    expect(opened.locator("#t-a")).to_have_text("new")
    opened.locator("#typed").focus()
    expect(opened.locator("#t-a")).to_have_text("newer")


def test_neither_focus_nor_scroll_moves_while_parts_change(opened: Page, follower: Follower) -> None:
    opened.set_viewport_size({"width": 1000, "height": 200})
    opened.locator("#typed").focus()
    opened.evaluate("scrollTo(0, 60)")
    at = opened.evaluate("scrollY")
    assert at
    for text in ("1", "2", "3"):
        follower.acknowledged(follower.part("t-a", text))
    expect(opened.locator("#typed")).to_be_focused()
    assert opened.evaluate("scrollY") == at


def test_a_bar_of_the_same_shape_keeps_its_element_so_that_it_slides(opened: Page, follower: Follower) -> None:
    follower.acknowledged(follower.part("t-a", '<progress value="1" max="9">1</progress>'))
    opened.evaluate("window.kept = document.querySelector('#t-a progress')")
    follower.acknowledged(follower.part("t-a", '<progress value="7" max="9">7</progress>'))
    assert opened.evaluate("kept.isConnected && kept.value") == 7


def test_ages_grow_by_themselves_and_are_right_where_the_readers_clock_is_not(
    page: Page, follower: Follower, served: Served
) -> None:
    page.add_init_script("const real = Date.now; Date.now = () => real() + 3_600_000;")
    page.add_init_script(
        "Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + 3_600_000 });"
    )
    page.goto(PATH)
    follower.watched()
    follower.frame()
    expect(page.locator("[data-line=age]")).to_have_text(re.compile(r"^\s*data\s+\d s\s+old\s*$"))
    expect(page.locator("[data-line=age]")).to_have_text(re.compile(r"^\s*data\s+[2-9] s\s+old\s*$"))


def test_rows_that_were_loaded_later_are_told(opened: Page, follower: Follower) -> None:
    assert follower.told("rows") == [[]]
    opened.evaluate(
        """() => {
            const table = document.createElement("table");
            for (const name of ["q-1", "q-2"]) table.insertRow().dataset.row = name;
            document.querySelector("main").append(table);
            document.body.dispatchEvent(new CustomEvent("htmx:afterSettle", { bubbles: true }));
        }"""
    )
    follower.until(lambda: follower.told("rows")[-1] == ["q-1", "q-2"], "rows told")


def test_a_cut_socket_becomes_polling_and_comes_back_by_itself(
    opened: Page, follower: Follower, served: Served
) -> None:
    served.markup = PARTS.replace(">old<", ">polled<").replace("1764540000000", "1764540009000")
    follower.refuses = 2
    follower.sockets[-1].close(code=1012)
    expect(_word(opened)).to_have_text("Polling every 5 s")
    expect(opened.locator("#t-a")).to_have_text("polled")
    expect(opened.locator("[data-line=age]")).to_be_visible()
    follower.watched(2)
    assert follower.told("watch")[-1]["read"] == 1764540009000
    assert follower.told("watch")[-1]["after"] == "7-0"
    expect(_word(opened)).to_have_text("Polling every 5 s")
    follower.part("t-a", "pushed")
    expect(_word(opened)).to_have_text("Live")
    expect(opened.locator("#t-a")).to_have_text("pushed")
    polls = served.refreshed
    opened.clock.fast_forward(7000)
    follower.frame()
    opened.wait_for_timeout(300)
    assert served.refreshed == polls


# LV-03
def test_readers_of_a_server_that_was_away_come_back_at_different_moments(opened: Page, follower: Follower) -> None:
    opened.evaluate(
        """() => {
            window.waits = [];
            const { setTimeout } = window;
            window.setTimeout = (call, ms) => { waits.push(Math.round(ms)); return setTimeout(call, ms); };
        }"""
    )

    def waited(chance: float) -> list[int]:
        opened.evaluate("chance => { Math.random = () => chance; waits.length = 0; }", chance)
        follower.sockets[-1].close(code=1012)
        sockets = len(follower.sockets)
        follower.until(lambda: len(follower.sockets) > sockets, "a new socket")
        found: list[int] = opened.evaluate("waits")
        follower.frame()
        expect(_word(opened)).to_have_text("Live")
        return found

    assert (1000 in waited(0.0), 2000 in waited(1.0)) == (True, True)


def test_the_page_is_fetched_anew_once_before_a_new_socket_is_asked(
    opened: Page, follower: Follower, served: Served
) -> None:
    served.markup = PARTS.replace(">old<", ">fetched<")
    hide(opened)
    opened.clock.fast_forward(11_000)
    opened.wait_for_timeout(200)
    assert served.refreshed == 0
    hide(opened, False)
    follower.watched(2)
    expect(opened.locator("#t-a")).to_have_text("fetched")


def test_a_job_that_left_its_list_while_the_page_polled_is_marked_also_afterwards(
    page: Page, follower: Follower, served: Served
) -> None:
    stays = '<tr data-job="1"><td><span id="p-1" data-part>1</span></td></tr>'
    leaves = stays.replace("1", "2")
    served.markup = f"{ABOUT}<table>{stays}{leaves}</table>"
    page.clock.install()
    page.goto(PATH)
    follower.watched()
    follower.frame()
    expect(_word(page)).to_have_text("Live")
    served.markup = f"{ABOUT.replace('1764540000000', '1764540009000')}<table>{stays}</table>"
    follower.refuses = 1
    follower.sockets[-1].close(code=1012)
    expect(page.locator("tr[data-stale]")).to_have_attribute("data-job", "2")
    follower.watched(2)
    assert follower.told("watch")[-1]["read"] == 1764540009000
    follower.frame()
    expect(_word(page)).to_have_text("Live")
    expect(page.locator("tr[data-stale]")).to_have_attribute("data-job", "2")


def test_rows_that_polling_does_not_reach_are_marked_and_caught_up_by_the_socket(
    page: Page, follower: Follower, served: Served
) -> None:
    first = '<tr data-row="q-1"><td><span id="q-1-a" data-part>1</span></td></tr>'
    later = first.replace("q-1", "q-2")
    served.markup = f"{ABOUT}<table>{first}{later}</table>"
    page.clock.install()
    page.goto(PATH)
    follower.watched()
    follower.frame()
    expect(_word(page)).to_have_text("Live")
    served.markup = f"{ABOUT.replace('1764540000000', '1764540009000')}<table>{first.replace('>1<', '>2<')}</table>"
    follower.refuses = 1
    follower.sockets[-1].close(code=1012)
    expect(page.locator("#q-1-a")).to_have_text("2")
    expect(page.locator("tr[data-stale]")).to_have_attribute("data-row", "q-2")
    follower.watched(2)
    assert follower.told("watch")[-1]["read"] == 1764540000000
    follower.frame()
    expect(page.locator("tr[data-stale]")).to_have_count(0)


def test_a_page_that_opens_in_the_background_stops_work_too(page: Page, follower: Follower, served: Served) -> None:
    page.clock.install()
    page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })")
    page.goto(PATH)
    follower.watched()
    closed: list[int | None] = []
    follower.sockets[-1].on_close(lambda code, _reason: closed.append(code))
    page.clock.fast_forward(11_000)
    follower.until(lambda: bool(closed), "closed")
    hide(page, False)
    follower.watched(2)


def test_a_selected_age_stands_still(opened: Page, follower: Follower) -> None:
    follower.part("t-a", 'for <time datetime="2020-05-04T10:20:30.000Z" data-time="age">1 s</time>')
    expect(opened.locator("#t-a")).to_have_text(re.compile(r"^for [\d,]+ d"))
    opened.evaluate("getSelection().selectAllChildren(document.querySelector('[data-line=age]'))")
    selected = opened.evaluate("String(getSelection())")
    assert selected.strip().endswith("old")
    for _ in range(3):
        opened.clock.fast_forward(2_000)
        follower.acknowledged(follower.frame())
    assert opened.evaluate("String(getSelection())") == selected


def test_moments_shown_as_ago_grow_older(opened: Page, follower: Follower) -> None:
    opened.get_by_role("button", name=re.compile("Moments")).first.click()
    follower.part("t-a", f'<time datetime="{datetime.now(UTC).isoformat()}" data-time="clock">x</time>')
    expect(opened.locator("#t-a")).to_have_text(re.compile(r"^\d s ago$"))
    for _ in range(13):
        opened.clock.run_for(5_000)
        follower.acknowledged(follower.frame())
    expect(opened.locator("#t-a")).to_have_text(re.compile(r"^1 min"))


# LV-04
def test_a_silent_socket_is_given_up_for_polling(opened: Page, follower: Follower, served: Served) -> None:
    opened.clock.fast_forward(8_500)
    expect(_word(opened)).to_have_text("Polling every 5 s")
    follower.until(lambda: served.refreshed > 0, "polled")
    follower.watched(2)
    follower.frame()
    expect(_word(opened)).to_have_text("Live")


# LV-04
def test_polling_that_fails_says_since_when_and_recovers(opened: Page, follower: Follower, served: Served) -> None:
    served.status = 502
    follower.refuses = 1_000
    follower.sockets[-1].close(code=1012)
    expect(_word(opened)).to_have_text(re.compile(r"^Not live since \d\d:\d\d:\d\d$"))
    expect(opened.locator("[data-line=age]")).to_be_visible()
    expect(opened.locator("#t-a")).to_have_text("old")
    served.status = 200
    opened.clock.fast_forward(6000)
    expect(_word(opened)).to_have_text("Polling every 5 s")


def test_a_blind_server_is_said_with_its_reason_as_text_and_the_page_is_polled(
    opened: Page, follower: Follower, served: Served
) -> None:
    why = "<b hx-get=/>Connection refused</b>"
    follower.frame(pulse="blind", since=1764540000000, why=why, parts={"t-a": '<span id="t-a" data-part>last</span>'})
    expect(_word(opened)).to_have_text(re.compile(r"^Not live since 2025-11-30 \d\d:\d\d:\d\d$"))
    expect(opened.locator("[data-line=why]")).to_have_text(why)
    expect(opened.locator("#t-a")).to_have_text("last")
    follower.until(lambda: served.refreshed > 0, "polled")
    follower.frame()
    expect(_word(opened)).to_have_text("Live")
    expect(opened.locator("[data-line=why]")).to_be_hidden()


def test_catching_up_and_the_rate_are_said(opened: Page, follower: Follower) -> None:
    follower.frame(rate=412.4)
    expect(opened.locator("[data-line=rate]")).to_have_text("412 events a second")
    follower.frame(pulse="catching-up", since=1764540000000)
    expect(_word(opened)).to_have_text("Catching up")
    expect(opened.locator("[data-line=rate]")).to_be_hidden()


def test_the_line_of_the_first_render_is_honest_without_a_socket(page: Page, follower: Follower) -> None:
    page.goto(PATH)
    expect(_word(page)).to_have_text(re.compile(r"^As of\s+\d\d:\d\d:\d\d$"))


# LV-07
@pytest.mark.parametrize(
    ("code", "says"),
    [
        (4401, ("You are signed out. Sign in again to go on. Sign in", f"/login/?next={PATH.replace('/', '%2F')}")),
        (4403, ("You may no longer see this page. Reload it", PATH)),
    ],
)
def test_a_session_or_a_right_that_ended_is_said_and_nothing_is_asked_any_more(
    opened: Page, follower: Follower, served: Served, code: int, says: tuple[str, str]
) -> None:
    text, leads = says
    follower.sockets[-1].close(code=code)
    banner = opened.locator("#live-banner [role=alert]")
    expect(banner).to_have_text(text)
    expect(banner.get_by_role("link")).to_have_attribute("href", leads)
    expect(_word(opened)).to_have_text("Signed out" if code == 4401 else re.compile("^Not live since"))
    sockets = len(follower.sockets)
    opened.clock.fast_forward(60_000)
    hide(opened)
    opened.clock.fast_forward(20_000)
    hide(opened, False)
    opened.wait_for_timeout(300)
    assert (served.refreshed, len(follower.sockets)) == (0, sockets)
    assert axe_findings(opened) == []


# LV-07
def test_polling_that_ends_at_the_sign_in_page_says_signed_out_and_shows_no_form(
    opened: Page, follower: Follower
) -> None:
    opened.unroute(f"**{PATH}")
    opened.context.clear_cookies()
    follower.sockets[-1].close(code=1012)
    expect(opened.locator("#live-banner [role=alert]")).to_contain_text("You are signed out.")
    assert opened.locator("input[name=password]").count() == 0
    expect(_word(opened)).to_have_text("Signed out")


def test_a_hidden_tab_stops_work_and_catches_up_when_shown(opened: Page, follower: Follower, served: Served) -> None:
    closed: list[int | None] = []
    follower.sockets[-1].on_close(lambda code, _reason: closed.append(code))
    hide(opened)
    opened.clock.fast_forward(9_000)
    follower.frame()
    opened.clock.fast_forward(2_000)
    follower.until(lambda: bool(closed), "closed")
    opened.clock.fast_forward(120_000)
    opened.wait_for_timeout(200)
    assert (served.refreshed, len(follower.sockets)) == (0, 1)
    served.markup = PARTS.replace(">old<", ">caught up<")
    hide(opened, False)
    expect(_word(opened)).to_have_text("Catching up")
    expect(opened.locator("#t-a")).to_have_text("caught up")
    follower.watched(2)
    follower.frame()
    expect(_word(opened)).to_have_text("Live")


def test_a_page_out_of_the_back_cache_catches_up(opened: Page, follower: Follower, served: Served) -> None:
    served.markup = PARTS.replace(">old<", ">caught up<")
    opened.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    opened.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    follower.watched(2)
    expect(opened.locator("#t-a")).to_have_text("caught up")


def test_the_pill_counts_what_entered_the_shown_state_and_hides_at_none(opened: Page, follower: Follower) -> None:
    pill = opened.locator("#pill")
    expect(pill).to_be_hidden()
    follower.frame(entered={"completed": 12})
    follower.acknowledged(follower.frame(entered={"failed": 1037, "completed": 12}))
    expect(pill).to_have_text(re.compile(r"^1,037 new since 2025-11-30 \d\d:\d\d:\d\d$"))
    pill.focus()
    follower.frame(entered={"failed": 1038})
    expect(pill).to_contain_text("1,038 new")
    expect(pill).to_be_focused()
    follower.frame(entered={"failed": 0})
    expect(pill).to_be_hidden()


def test_the_feed_grows_on_top_keeps_two_hundred_and_adds_nothing_twice(
    page: Page, follower: Follower, served: Served
) -> None:
    served.markup = PARTS + FEED.replace("></ol>", f">{_entry(1)}</ol>")
    page.goto(PATH)
    follower.watched()
    follower.frame(feed=_entry(3) + _entry(2) + _entry(1))
    expect(page.locator("#feed li")).to_have_count(3)
    assert _events(page) == ["3-0", "2-0", "1-0"]
    follower.frame(feed=_entry(4) + '<li data-kind="failed"><a href="https://elsewhere.example/">x</a></li>')
    follower.frame(feed="<li data-kind='failed'><script>window.__x = 1</script></li><div>no entry</div>")
    expect(page.locator("#feed li").first).to_have_text("job 4")
    expect(page.locator("#feed li")).to_have_count(4)
    for start in (100, 200, 300):
        follower.acknowledged(follower.frame(feed="".join(_entry(start + n) for n in range(99, -1, -1))))
    assert len(_events(page)) == 200
    assert _events(page)[0] == "399-0"


def test_the_feed_is_filtered_by_kind_and_paused_without_losing_anything(
    page: Page, follower: Follower, served: Served
) -> None:
    served.markup = PARTS + FEED
    page.goto(PATH)
    follower.watched()
    follower.frame(feed=_entry(2, "failed") + _entry(1))
    expect(page.locator("#feed li")).to_have_count(2)
    page.locator("[data-feed-kinds]").select_option(label="Failed")
    follower.acknowledged(follower.frame(feed=_entry(4, "stalled") + _entry(3)))
    assert _events(page) == ["4-0", "2-0"]
    pause = page.get_by_role("button", name="Pause")
    pause.focus()
    page.keyboard.press("Space")
    expect(pause).to_have_attribute("aria-pressed", "true")
    follower.frame(feed=_entry(6, "failed") + _entry(5))
    follower.frame(feed="".join(_entry(n, "failed") for n in range(16, 6, -1)))
    expect(page.locator("[data-feed-held]")).to_have_text("12 held back")
    assert _events(page) == ["4-0", "2-0"]
    page.keyboard.press("Space")
    expect(page.locator("[data-feed-held]")).to_be_hidden()
    assert _events(page)[:2] == ["16-0", "15-0"]
    page.locator("[data-feed-kinds]").select_option(label="All")
    assert [int(event.split("-")[0]) for event in _events(page)] == list(range(16, 0, -1))


def test_the_feed_stands_still_while_the_focus_or_the_mouse_is_in_it(
    page: Page, follower: Follower, served: Served
) -> None:
    served.markup = PARTS + FEED.replace("></ol>", f">{_entry(1)}</ol>")
    page.goto(PATH)
    follower.watched()
    link = page.locator("#feed a").first
    link.focus()
    follower.acknowledged(follower.frame(feed=_entry(2)))
    expect(link).to_be_focused()
    assert _events(page) == ["1-0"]
    page.locator("#typed").focus()
    expect(page.locator("#feed li")).to_have_count(2)
    page.locator("#feed li").first.hover()
    follower.acknowledged(follower.frame(feed=_entry(3)))
    assert _events(page) == ["2-0", "1-0"]
    page.mouse.move(0, 0)
    expect(page.locator("#feed li")).to_have_count(3)


def test_log_lines_come_at_the_end_and_a_reader_further_up_stays(
    page: Page, follower: Follower, served: Served
) -> None:
    def lines(first: int, last: int) -> str:
        return "".join(f'<li value="{n}">line {n}</li>' for n in range(first, last + 1))

    served.markup = f'{PARTS}<ol id="log-lines">{lines(1, 300)}</ol>'
    page.goto(PATH)
    follower.watched()
    page.evaluate(
        """() => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync("#log-lines { height: 100px; overflow-y: auto; }");
            document.adoptedStyleSheets = [sheet];
            document.getElementById("log-lines").scrollTop = 500;
        }"""
    )
    follower.acknowledged(follower.frame(log=lines(299, 310)))
    expect(page.locator("#log-lines li")).to_have_count(310)
    expect(page.locator("#log-lines li").last).to_have_text("line 310")
    assert page.evaluate("document.getElementById('log-lines').scrollTop") == 500
    page.evaluate("document.getElementById('log-lines').scrollTop = 1e6")
    follower.acknowledged(follower.frame(log=lines(311, 1200)))
    expect(page.locator("#log-lines li")).to_have_count(1000)
    end = "(log => log.scrollHeight - log.scrollTop - log.clientHeight)(document.getElementById('log-lines'))"
    assert page.evaluate(end) < 2


def test_a_screen_reader_hears_a_summary_at_most_each_twenty_seconds_and_no_tick(
    opened: Page, follower: Follower
) -> None:
    assert opened.locator("[data-line=age]").evaluate("node => node.closest('[aria-live], [role=status]')") is None
    assert opened.locator("#feed").count() == 0
    told = opened.locator("#say")
    expect(told).to_have_text("")
    follower.acknowledged(follower.frame(say="3 jobs failed"))
    opened.clock.fast_forward(2_000)
    expect(told).to_have_text("3 jobs failed")
    for n in range(4, 10):
        follower.acknowledged(follower.frame(say=f"{n} jobs failed"))
        opened.clock.fast_forward(2_000)
        expect(told).to_have_text("3 jobs failed")
    for _ in range(3):
        follower.acknowledged(follower.frame())
        opened.clock.fast_forward(3_000)
    expect(told).to_have_text("9 jobs failed")
    opened.evaluate(
        "new MutationObserver(() => window.told = true).observe(document.getElementById('say'), {childList: true})"
    )
    for _ in range(8):
        follower.acknowledged(follower.frame(say="9 jobs failed"))
        opened.clock.fast_forward(3_000)
    assert opened.evaluate("window.told") is None


def test_the_dot_breathes_only_where_motion_is_welcome(opened: Page) -> None:
    motion = "() => getComputedStyle(document.querySelector('.live i')).animationName"
    assert opened.evaluate(motion) == "breathe"
    opened.emulate_media(reduced_motion="reduce")
    assert opened.evaluate(motion) == "none"


def test_a_frame_that_makes_no_sense_ends_in_polling_not_in_a_lie(opened: Page, follower: Follower) -> None:
    follower.sockets[-1].send("{")
    expect(_word(opened)).to_have_text("Polling every 5 s")


@pytest.mark.parametrize("width", [360, 1440])
def test_every_state_fits_and_axe_finds_nothing(opened: Page, follower: Follower, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    why = "Error 111 connecting to redis-prod.interno:6379. Connection refused, and the like."
    states: list[dict[str, Any]] = [
        {"pulse": "live", "rate": 20_412.0},
        {"pulse": "catching-up"},
        {"pulse": "blind", "since": 1764540000000, "why": why},
    ]
    for state in states:
        follower.acknowledged(follower.frame(**state))
        expect(opened.locator("#state-line")).to_have_attribute("data-state", state["pulse"])
        over = opened.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over == 0, json.dumps(state)
        expect(opened.locator("[data-line=age]")).to_be_visible()
        for theme in ("light", "dark"):
            opened.emulate_media(color_scheme=theme)
            assert axe_findings(opened) == [], state
