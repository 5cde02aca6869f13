"""The list of groups of failures in a real browser: axe, widths, hostile titles, filters without a reload, keys."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from queues.failures.types import Kind, Life
from queues.models import FailureGroup, IndexedQueue
from queues.quantities import DAY, HOUR, instant, now_ms
from queues.registry import SourceConfig
from tests.chromium import SignIn, axe_findings
from tests.failing import indexing, make_group, many
from tests.server import Server

pytestmark = pytest.mark.browser

HOSTILE = '"><script>window.__x=1</script>\u202e\x1b[31m' + "wide" * 400
WIDTHS = [360, 800, 1100, 1440, 2560]
PATHS = ["/failures/", "/failures/?state=all&sort=-growth", "/failures/?text=nosuch&queue=payments&seen=24h"]
Theme = Literal["light", "dark"]


@pytest.fixture
def groups(source: SourceConfig) -> list[FailureGroup]:
    """One of each kind, an index that reads and knows little, and a name that nobody would choose."""
    indexing(queues=["payments"], since_days=1.2)
    IndexedQueue.objects.update(scanning=True, scanned=61_000, expected=200_000)
    old = now_ms() - 30 * DAY
    return [
        make_group(title="ETIMEDOUT to gateway", counts=[1_912, 2_012, 2_118, 2_140, 2_377], usual=137, first_ms=old),
        make_group(title="429 Too Many Requests", kind=Kind.UNKNOWN, first_ms=now_ms() - HOUR),
        make_group(title="Unexpected token", kind=Kind.PERMANENT, life=Life.REGRESSED, queues=["a", "b"]),
        make_group(title="Payment already captured", life=Life.IGNORED),
        make_group(title="Stalled", life=Life.RESOLVED, counts=[0, 0, 0, 3, 3]),
        make_group(title=HOSTILE, queues=["q" * 300], names=[HOSTILE], counts=[987_654_321] * 5),
    ]  # fmt: skip


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (1440, "dark"), (360, "light"), (360, "dark")])
def test_axe_finds_nothing(page: Page, sign_in: SignIn, groups: list[FailureGroup], width: int, theme: Theme) -> None:
    sign_in("operator")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    found = []
    for path in PATHS:
        page.goto(path)
        page.locator("#deploys > summary").click()
        found += [f"{path}: {finding}" for finding in axe_findings(page)]
    assert found == []


def test_axe_finds_nothing_where_there_is_nothing(page: Page, source: SourceConfig, sign_in: SignIn) -> None:
    sign_in("viewer")
    page.goto("/failures/")
    assert axe_findings(page) == []
    indexing(why="Connection refused", beat_at=timezone.now())
    page.goto("/failures/")
    assert axe_findings(page) == []
    indexing(beat_at=timezone.now() - timedelta(minutes=5))
    page.goto("/failures/")
    assert axe_findings(page) == []


def test_it_is_never_wider_than_its_window(page: Page, sign_in: SignIn, groups: list[FailureGroup]) -> None:
    sign_in("operator")
    found = []
    for path in PATHS:
        page.goto(path)
        page.locator("#deploys > summary").click()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                found.append(f"{path}: {wide} in {width}")
    assert found == []


def test_a_group_needs_few_lines_on_a_phone(page: Page, sign_in: SignIn, groups: list[FailureGroup]) -> None:
    sign_in("operator")
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto("/failures/")
    row = page.locator(f'tr[data-group="{groups[0].slug}"]')
    assert row.evaluate("each => each.getBoundingClientRect().height") < 150
    assert page.locator(".choices").evaluate("each => each.getBoundingClientRect().height") < 150
    for number in ("1,912", "2,118", "2,377"):
        expect(row.get_by_role("link", name=number)).to_be_visible()
    expect(row.get_by_role("link", name="2,012")).to_be_hidden()
    expect(page.locator(".fn.least")).to_contain_text("at least so many")


def test_hostile_titles_stay_text(page: Page, sign_in: SignIn, groups: list[FailureGroup]) -> None:
    sign_in("operator")
    page.goto("/failures/")
    row = page.locator(f'tr[data-group="{groups[-1].slug}"]')
    expect(row.locator("th a")).to_contain_text("<script>window.__x=1</script>\\u202e")
    assert page.evaluate("window.__x") is None


def test_choices_filter_and_sort_without_a_reload_and_can_be_gone_back_on(
    page: Page, sign_in: SignIn, groups: list[FailureGroup]
) -> None:
    sign_in("operator")
    page.goto("/failures/")
    page.evaluate("window.__same = true")
    rows = page.locator("tr[data-group]")
    expect(rows).to_have_count(4)
    page.get_by_role("link", name="ignored 1").click()
    expect(rows).to_have_count(1)
    expect(page).to_have_url("/failures/?state=ignored")
    expect(page.locator("#state-ignored")).to_be_focused()
    page.get_by_role("link", name="all 6").click()
    expect(rows).to_have_count(6)
    page.get_by_role("link", name="7 d").click()
    expect(page.locator('th[aria-sort="descending"]')).to_contain_text("7 d")
    page.get_by_label("Error contains").fill("etimedout")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(rows).to_have_count(1)
    expect(page).to_have_url("/failures/?state=all&sort=-d7&queue=&name=&text=etimedout&seen=")
    assert page.evaluate("window.__same")
    page.go_back()
    expect(rows).to_have_count(6)


def test_moments_of_a_list_that_was_swapped_are_in_the_readers_zone(
    page: Page, sign_in: SignIn, groups: list[FailureGroup]
) -> None:
    sign_in("operator")
    page.goto("/failures/")
    page.get_by_role("link", name="all 6").click()
    expect(page.locator("tr[data-group]")).to_have_count(6)
    first = page.locator(f'tr[data-group="{groups[0].slug}"] td[data-l="First"] time')
    expect(first).to_have_text(f"{instant(groups[0].first_ms):%Y-%m-%d}")


def test_without_scripts_filters_sorts_and_pages_work(
    chromium: Browser, live: Server, source: SourceConfig, sign_in: SignIn, page: Page
) -> None:
    many(60, 0)
    indexing()
    sign_in("viewer")
    bare = chromium.new_context(
        base_url=live.url, java_script_enabled=False, storage_state=page.context.storage_state()
    )
    try:
        plain = bare.new_page()
        plain.goto("/failures/?state=all")
        expect(plain.locator("tr[data-group]")).to_have_count(50)
        plain.get_by_role("link", name="Next").click()
        expect(plain.locator("tr[data-group]")).to_have_count(10)
        plain.get_by_label("Error contains").fill("upstream 7 ")
        plain.get_by_role("button", name="Filter", exact=True).click()
        expect(plain.locator("tr[data-group]")).to_have_count(1)
    finally:
        bare.close()


def test_keys_lead_here_move_and_select(page: Page, sign_in: SignIn, groups: list[FailureGroup]) -> None:
    sign_in("operator")
    page.goto("/system/")
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page).to_have_url("/failures/")
    rows = page.locator("tr[data-group]")
    page.keyboard.press("j")
    expect(rows.nth(0).locator("th a")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(rows.nth(1).locator("input[name=group]")).to_be_checked()
    page.keyboard.press("x")
    expect(rows.nth(1).locator("input[name=group]")).not_to_be_checked()


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("scripts", [True, False])
def test_what_can_be_done_with_picked_groups_is_in_sight_and_says_how_many(
    chromium: Browser, live: Server, sign_in: SignIn, page: Page, scripts: bool
) -> None:
    many(40, 0)
    indexing()
    sign_in("operator")
    state = page.context.storage_state()
    context = chromium.new_context(base_url=live.url, java_script_enabled=scripts, storage_state=state)
    try:
        reading = context.new_page()
        reading.set_viewport_size({"width": 1440, "height": 900})
        reading.goto("/failures/?state=all")
        plan = reading.get_by_role("button", name="Plan replay…")
        picked = reading.get_by_text("selected", exact=True)
        expect(picked).to_be_hidden()
        expect(plan).not_to_be_in_viewport()
        reading.locator("input[name=group]").nth(0).check()
        reading.locator("input[name=group]").nth(2).check()
        expect(plan).to_be_in_viewport(ratio=1)
        expect(picked).to_be_visible()
        reading.locator("input[name=group]").nth(0).uncheck()
        reading.locator("input[name=group]").nth(2).uncheck()
        expect(plan).not_to_be_in_viewport()
    finally:
        context.close()


def test_a_first_reading_tells_how_far_it_is_without_touching_what_was_selected(
    page: Page, sign_in: SignIn, groups: list[FailureGroup]
) -> None:
    sign_in("operator")
    page.goto("/failures/")
    box = page.locator("input[name=group]").first
    box.check()
    expect(page.locator("#reading")).to_contain_text("61,000 of 200,000")
    IndexedQueue.objects.update(scanned=150_000)
    expect(page.locator("#reading")).to_contain_text("150,000 of 200,000", timeout=60_000)
    expect(box).to_be_checked()
    IndexedQueue.objects.update(scanning=False)
    expect(page.locator("#reading")).to_have_count(0, timeout=60_000)
    expect(box).to_be_checked()


def test_a_deploy_is_told_on_the_page(page: Page, sign_in: SignIn, groups: list[FailureGroup]) -> None:
    sign_in("operator")
    page.goto("/failures/")
    page.locator("#deploys > summary").click()
    page.get_by_label("Version").fill("1.42.0")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#deploys > summary")).to_contain_text("1.42.0")
