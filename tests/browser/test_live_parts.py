"""Parts, feed, log and pill of a live page, against a socket that the test plays: nothing of the reader's is lost."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from tests.browser.far_end import FEED, PARTS, PATH, Follower, Served, entry, events, word

pytestmark = pytest.mark.browser


def test_markup_in_a_part_stays_text_and_moments_are_the_readers(opened: Page, far_end: Follower) -> None:
    hostile = "&lt;img src=x onerror=&quot;window.__x=1&quot;&gt; &lt;b hx-get=&quot;/&quot;&gt;"
    moment = '<time datetime="2020-05-04T10:20:30.000Z" data-time="clock">10:20:30</time>'
    far_end.part("t-a", f"{hostile} {moment}")
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
    opened: Page, far_end: Follower, complaints: list[str], markup: str
) -> None:
    far_end.acknowledged(far_end.part("t-a", markup))
    expect(opened.locator("#t-a")).to_have_text("old")
    assert opened.evaluate("window.__x") is None
    assert all("Content Security Policy" in complaint for complaint in complaints)
    complaints.clear()


def test_only_live_parts_of_the_same_id_are_replaced(opened: Page, far_end: Follower) -> None:
    parts = {
        "t-plain": '<span id="t-plain" data-part>new</span>',
        "t-field": '<span id="t-field" data-part>new</span>',
        "t-a": '<span id="t-plain" data-part>new</span>',
        "t-nowhere": '<span id="t-nowhere" data-part>new</span>',
        "main": "<main id='main'></main>",
    }
    far_end.acknowledged(far_end.frame(parts=parts))
    far_end.acknowledged(far_end.frame(parts={"t-a": '<span id="t-a">no part</span>'}))
    far_end.acknowledged(far_end.frame(parts={"t-a": '<i id="t-a" data-part>1</i><i id="t-b" data-part>2</i>'}))
    expect(opened.locator("#t-plain")).to_have_text("plain")
    expect(opened.locator("#t-a")).to_have_text("old")
    expect(opened.locator("#typed")).to_be_attached()
    assert opened.locator("#t-nowhere").count() == 0


def test_a_part_that_says_the_same_is_left_alone(opened: Page, far_end: Follower) -> None:
    moment = '<time datetime="2020-05-04T10:20:30.000Z" data-time="age">1 s</time>'
    far_end.acknowledged(far_end.part("t-a", f"<b>{moment}</b>"))
    opened.evaluate("window.kept = document.querySelector('#t-a b'); window.changes = 0")
    opened.evaluate(
        "new MutationObserver(all => changes += all.length).observe(document.getElementById('t-a'), {attributes: true})"
    )
    far_end.acknowledged(far_end.part("t-a", f"<b>{moment}</b>"))
    assert opened.evaluate("kept.isConnected && changes === 0")


def test_what_is_typed_and_selected_stays_and_the_news_come_when_the_reader_has_left(
    opened: Page, far_end: Follower
) -> None:
    opened.locator("#typed").fill("half a wo")
    opened.evaluate("getSelection().selectAllChildren(document.getElementById('t-a'))")
    far_end.acknowledged(far_end.part("t-a", "new"))
    assert opened.evaluate("String(getSelection())") == "old"
    expect(opened.locator("#t-a")).to_have_text("old")
    opened.evaluate("getSelection().removeAllRanges()")
    expect(opened.locator("#t-a")).to_have_text("new")
    expect(opened.locator("#typed")).to_have_value("half a wo")
    opened.evaluate("document.getElementById('t-a').tabIndex = 0")
    opened.locator("#t-a").focus()
    far_end.acknowledged(far_end.part("t-a", "newer"))
    expect(opened.locator("#t-a")).to_be_focused()
    expect(opened.locator("#t-a")).to_have_text("new")
    opened.locator("#typed").focus()
    expect(opened.locator("#t-a")).to_have_text("newer")


def test_neither_focus_nor_scroll_moves_while_parts_change(opened: Page, far_end: Follower) -> None:
    opened.set_viewport_size({"width": 1000, "height": 200})
    opened.locator("#typed").focus()
    opened.evaluate("scrollTo(0, 60)")
    at = opened.evaluate("scrollY")
    assert at
    for text in ("1", "2", "3"):
        far_end.acknowledged(far_end.part("t-a", text))
    expect(opened.locator("#typed")).to_be_focused()
    assert opened.evaluate("scrollY") == at


def test_a_bar_of_the_same_shape_keeps_its_element_so_that_it_slides(opened: Page, far_end: Follower) -> None:
    far_end.acknowledged(far_end.part("t-a", '<progress value="1" max="9">1</progress>'))
    opened.evaluate("window.kept = document.querySelector('#t-a progress')")
    far_end.acknowledged(far_end.part("t-a", '<progress value="7" max="9">7</progress>'))
    assert opened.evaluate("kept.isConnected && kept.value") == 7


def test_ages_grow_by_themselves_and_are_right_where_the_readers_clock_is_not(
    page: Page, far_end: Follower, served: Served
) -> None:
    page.add_init_script("const real = Date.now; Date.now = () => real() + 3_600_000;")
    page.add_init_script(
        "Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + 3_600_000 });"
    )
    page.goto(PATH)
    far_end.watched()
    far_end.frame()
    expect(page.locator("[data-line=age]")).to_have_text(re.compile(r"^\s*data\s+\d s\s+old\s*$"))
    expect(page.locator("[data-line=age]")).to_have_text(re.compile(r"^\s*data\s+[2-9] s\s+old\s*$"))


def test_rows_that_were_loaded_later_are_told(opened: Page, far_end: Follower) -> None:
    assert far_end.told("rows") == [[]]
    opened.evaluate(
        """() => {
            const table = document.createElement("table");
            for (const name of ["q-1", "q-2"]) table.insertRow().dataset.row = name;
            document.querySelector("main").append(table);
            document.body.dispatchEvent(new CustomEvent("htmx:afterSettle", { bubbles: true }));
        }"""
    )
    far_end.until(lambda: far_end.told("rows")[-1] == ["q-1", "q-2"], "rows told")


def test_a_selected_age_stands_still(opened: Page, far_end: Follower) -> None:
    far_end.part("t-a", 'for <time datetime="2020-05-04T10:20:30.000Z" data-time="age">1 s</time>')
    expect(opened.locator("#t-a")).to_have_text(re.compile(r"^for [\d,]+ d"))
    opened.evaluate("getSelection().selectAllChildren(document.querySelector('[data-line=age]'))")
    selected = opened.evaluate("String(getSelection())")
    assert selected.strip().endswith("old")
    for _ in range(3):
        opened.clock.fast_forward(2_000)
        far_end.acknowledged(far_end.frame())
    assert opened.evaluate("String(getSelection())") == selected


def test_moments_shown_as_ago_grow_older(opened: Page, far_end: Follower) -> None:
    opened.get_by_role("button", name=re.compile("Moments")).first.click()
    far_end.part("t-a", f'<time datetime="{datetime.now(UTC).isoformat()}" data-time="clock">x</time>')
    expect(opened.locator("#t-a")).to_have_text(re.compile(r"^\d s ago$"))
    for _ in range(13):
        opened.clock.run_for(5_000)
        far_end.acknowledged(far_end.frame())
    expect(opened.locator("#t-a")).to_have_text(re.compile(r"^1 min"))


# LV-04
def test_a_silent_socket_is_given_up_for_polling(opened: Page, far_end: Follower, served: Served) -> None:
    opened.clock.fast_forward(8_500)
    expect(word(opened)).to_have_text("Polling every 5 s")
    far_end.until(lambda: served.refreshed > 0, "polled")
    far_end.watched(2)
    far_end.frame()
    expect(word(opened)).to_have_text("Live")


# LV-04
def test_polling_that_fails_says_since_when_and_recovers(opened: Page, far_end: Follower, served: Served) -> None:
    served.status = 502
    far_end.refuses = 1_000
    far_end.sockets[-1].close(code=1012)
    expect(word(opened)).to_have_text(re.compile(r"^Not live since \d\d:\d\d:\d\d$"))
    expect(opened.locator("[data-line=age]")).to_be_visible()
    expect(opened.locator("#t-a")).to_have_text("old")
    served.status = 200
    opened.clock.fast_forward(6000)
    expect(word(opened)).to_have_text("Polling every 5 s")


def test_the_pill_counts_what_entered_the_shown_state_and_hides_at_none(opened: Page, far_end: Follower) -> None:
    pill = opened.locator("#pill")
    expect(pill).to_be_hidden()
    far_end.frame(entered={"completed": 12})
    far_end.acknowledged(far_end.frame(entered={"failed": 1037, "completed": 12}))
    expect(pill).to_have_text(re.compile(r"^1,037 new since 2025-11-30 \d\d:\d\d:\d\d$"))
    pill.focus()
    far_end.frame(entered={"failed": 1038})
    expect(pill).to_contain_text("1,038 new")
    expect(pill).to_be_focused()
    far_end.frame(entered={"failed": 0})
    expect(pill).to_be_hidden()


def test_the_feed_grows_on_top_keeps_two_hundred_and_adds_nothing_twice(
    page: Page, far_end: Follower, served: Served
) -> None:
    served.markup = PARTS + FEED.replace("></ol>", f">{entry(1)}</ol>")
    page.goto(PATH)
    far_end.watched()
    far_end.frame(feed=entry(3) + entry(2) + entry(1))
    expect(page.locator("#feed li")).to_have_count(3)
    assert events(page) == ["3-0", "2-0", "1-0"]
    far_end.frame(feed=entry(4) + '<li data-kind="failed"><a href="https://elsewhere.example/">x</a></li>')
    far_end.frame(feed="<li data-kind='failed'><script>window.__x = 1</script></li><div>no entry</div>")
    expect(page.locator("#feed li").first).to_have_text("job 4")
    expect(page.locator("#feed li")).to_have_count(4)
    for start in (100, 200, 300):
        far_end.acknowledged(far_end.frame(feed="".join(entry(start + n) for n in range(99, -1, -1))))
    assert len(events(page)) == 200
    assert events(page)[0] == "399-0"


def test_the_feed_is_filtered_by_kind_and_paused_without_losing_anything(
    page: Page, far_end: Follower, served: Served
) -> None:
    served.markup = PARTS + FEED
    page.goto(PATH)
    far_end.watched()
    far_end.frame(feed=entry(2, "failed") + entry(1))
    expect(page.locator("#feed li")).to_have_count(2)
    page.locator("[data-feed-kinds]").select_option(label="Failed")
    far_end.acknowledged(far_end.frame(feed=entry(4, "stalled") + entry(3)))
    assert events(page) == ["4-0", "2-0"]
    pause = page.get_by_role("button", name="Pause")
    pause.focus()
    page.keyboard.press("Space")
    expect(pause).to_have_attribute("aria-pressed", "true")
    far_end.frame(feed=entry(6, "failed") + entry(5))
    far_end.frame(feed="".join(entry(n, "failed") for n in range(16, 6, -1)))
    expect(page.locator("[data-feed-held]")).to_have_text("12 held back")
    assert events(page) == ["4-0", "2-0"]
    page.keyboard.press("Space")
    expect(page.locator("[data-feed-held]")).to_be_hidden()
    assert events(page)[:2] == ["16-0", "15-0"]
    page.locator("[data-feed-kinds]").select_option(label="All")
    assert [int(event.split("-")[0]) for event in events(page)] == list(range(16, 0, -1))


def test_the_feed_stands_still_while_the_focus_or_the_mouse_is_in_it(
    page: Page, far_end: Follower, served: Served
) -> None:
    served.markup = PARTS + FEED.replace("></ol>", f">{entry(1)}</ol>")
    page.goto(PATH)
    far_end.watched()
    link = page.locator("#feed a").first
    link.focus()
    far_end.acknowledged(far_end.frame(feed=entry(2)))
    expect(link).to_be_focused()
    assert events(page) == ["1-0"]
    page.locator("#typed").focus()
    expect(page.locator("#feed li")).to_have_count(2)
    page.locator("#feed li").first.hover()
    far_end.acknowledged(far_end.frame(feed=entry(3)))
    assert events(page) == ["2-0", "1-0"]
    page.mouse.move(0, 0)
    expect(page.locator("#feed li")).to_have_count(3)


def test_log_lines_come_at_the_end_and_a_reader_further_up_stays(page: Page, far_end: Follower, served: Served) -> None:
    def lines(first: int, last: int) -> str:
        return "".join(f'<li value="{n}">line {n}</li>' for n in range(first, last + 1))

    served.markup = f'{PARTS}<ol id="log-lines">{lines(1, 300)}</ol>'
    page.goto(PATH)
    far_end.watched()
    page.evaluate(
        """() => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync("#log-lines { height: 100px; overflow-y: auto; }");
            document.adoptedStyleSheets = [sheet];
            document.getElementById("log-lines").scrollTop = 500;
        }"""
    )
    far_end.acknowledged(far_end.frame(log=lines(299, 310)))
    expect(page.locator("#log-lines li")).to_have_count(310)
    expect(page.locator("#log-lines li").last).to_have_text("line 310")
    assert page.evaluate("document.getElementById('log-lines').scrollTop") == 500
    page.evaluate("document.getElementById('log-lines').scrollTop = 1e6")
    far_end.acknowledged(far_end.frame(log=lines(311, 1200)))
    expect(page.locator("#log-lines li")).to_have_count(1000)
    end = "(log => log.scrollHeight - log.scrollTop - log.clientHeight)(document.getElementById('log-lines'))"
    assert page.evaluate(end) < 2
