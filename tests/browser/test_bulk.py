"""Picking rows in a real browser: the bar, the keyboard, the dialog, live news, 200 rows, and no scripts at all."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import redis
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from queues import discovery
from queues.models import AuditEntry, RemovedJob
from queues.registry import SourceConfig
from tests.browser.live_page import Script, never_reloaded, opened
from tests.chromium import SignIn, axe_findings
from tests.dashboard.people import as_role
from tests.seed import seed_queue
from tests.server import Server

pytestmark = pytest.mark.browser

LIST = "/queues/main/mail/?state=failed"


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis, sign_in: SignIn) -> None:
    seed_queue(valkey, "mail", waiting=2, active=1, delayed=2, completed=3, failed=230)
    discovery.scan("main")
    sign_in("operator")


def test_the_bar_comes_with_the_first_row_that_is_picked_and_goes_with_escape(page: Page, mail: None) -> None:
    page.goto(LIST)
    bar = page.locator("[data-bulk]")
    expect(bar).to_be_hidden()
    page.locator("input[name=job]").nth(0).check()
    page.locator("input[name=job]").nth(2).check()
    expect(bar).to_be_visible()
    expect(page.locator("[data-bulk-count]")).to_have_text("2 selected")
    expect(bar.get_by_role("button", name=re.compile("Retry 2"))).to_be_visible()
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    expect(page.locator("input[name=job]:checked")).to_have_count(0)


def test_shift_picks_a_range_the_head_the_page_and_a_box_all_that_match(page: Page, mail: None) -> None:
    page.goto(LIST)
    boxes, count = page.locator("input[name=job]"), page.locator("[data-bulk-count]")
    boxes.nth(1).click()
    boxes.nth(5).click(modifiers=["Shift"])
    expect(count).to_have_text("5 selected")
    page.locator("[data-bulk-head]").check()
    expect(count).to_have_text(f"{boxes.count()} selected")
    page.locator("#bulk input[name=all]").check()
    expect(count).to_have_text("230 selected")
    boxes.nth(0).uncheck()
    expect(page.locator("#bulk input[name=all]")).not_to_be_checked()


def test_the_keyboard_picks_rows_and_asks_for_a_retry_that_is_done(page: Page, mail: None, valkey: redis.Redis) -> None:
    page.goto(LIST)
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    expect(page.locator("[data-bulk-count]")).to_have_text("2 selected")
    page.keyboard.press("r")
    dialog = page.locator("#ask-dialog")
    expect(dialog).to_contain_text("Retry 2 of 230 failed jobs of mail on main?")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("input[name=job]:checked")).to_have_count(2)
    page.locator("main").focus()
    page.keyboard.press("r")
    dialog.get_by_role("button", name="Retry 2 jobs").click()
    expect(page.locator("main")).to_contain_text("Retried 2 jobs")
    assert valkey.zcard("bull:mail:failed") == 228
    assert AuditEntry.objects.get(action="retry").outcomes == {"done": 2}


def test_two_hundred_rows_are_picked_and_the_bar_covers_none_of_them(page: Page, mail: None) -> None:
    for width in (360, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{LIST}&size=200")
        page.locator("input[name=job]").nth(0).check()
        page.locator("[data-bulk-page]" if width == 360 else "[data-bulk-head]").click()
        expect(page.locator("[data-bulk-count]")).to_have_text("200 selected")
        last = page.locator("tr[data-job]").last
        last.scroll_into_view_if_needed()
        page.locator(".pager").last.scroll_into_view_if_needed()
        row, bar = last.bounding_box(), page.locator("[data-bulk]").bounding_box()
        assert row is not None
        assert bar is not None
        assert row["y"] + row["height"] <= bar["y"] + 1
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


@pytest.mark.node
def test_live_news_of_its_rows_leave_the_selection_as_it_is(page: Page, sign_in: SignIn, script: Script) -> None:
    script(
        """
        for (const id of ["a", "b", "c"]) await queue(6, "shop").add("pay", {}, { jobId: id });
        worker(6, "shop", async () => { throw new Error("declined"); });
        await until(async () => (await redis.zcard("bull:shop:failed")) === 3);
        """
    )
    sign_in("operator")
    opened(page, "/queues/main/shop/?state=failed")
    page.locator("tr[data-job=a] input[name=job]").check()
    script(
        "await queue(6, 'shop').add('pay', {}, { jobId: 'd' }); await (await queue(6, 'shop').getJob('a')).remove();"
    )
    expect(page.locator("tr[data-job=a] .since")).not_to_be_empty(timeout=30_000)
    expect(page.locator("tr[data-job=a] input[name=job]")).to_be_checked()
    expect(page.locator("[data-bulk-count]")).to_have_text("1 selected")
    never_reloaded(page)


def test_without_scripts_the_bar_is_always_there_and_the_form_works(
    chromium: Browser, live: Server, mail: None, valkey: redis.Redis
) -> None:
    context = chromium.new_context(base_url=live.url, java_script_enabled=False)
    cookie = as_role("operator").cookies[settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live.url}])
    page = context.new_page()
    page.goto(LIST)
    expect(page.locator("[data-bulk]")).to_be_visible()
    page.locator("input[name=job]").nth(0).check()
    page.locator("button[data-verb=retry]").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Retry 1 of 230 failed jobs of mail on main?")
    page.get_by_role("button", name="Retry 1 job").click()
    expect(page.locator("main")).to_contain_text("Retried")
    assert valkey.zcard("bull:mail:failed") == 229
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_a_selection_its_question_and_the_log(page: Page, mail: None, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(LIST)
    page.locator("input[name=job]").nth(0).check()
    found = axe_findings(page)
    page.locator("button[data-verb=remove]").click()
    expect(page.locator("#ask-dialog form")).to_be_visible()
    found += axe_findings(page)
    page.locator("#ask-dialog button.solid").click()
    page.wait_for_load_state()
    for path in ("/audit/", f"/audit/{AuditEntry.objects.get(action='remove').pk}/", "/removed/", "/audit/?who=x"):
        page.goto(path)
        found += axe_findings(page)
    assert found == []


def test_the_page_of_removed_jobs_fits_a_phone(page: Page, mail: None) -> None:
    uuid = "cd2167e8-2356-4553-b405-812fbee6d4c6"
    copy = {"source": "main", "queue": "mail", "job": uuid, "name": "ship", "stored": b"", "size": 0}
    times = {"removed_at": timezone.now(), "expires_at": timezone.now() + timedelta(hours=1)}
    RemovedJob.objects.create(**copy, **times, state="waiting-children", restored_as=uuid, restored_at=timezone.now())
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/removed/")
    expect(page.locator("[data-removed]")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_bar_of_the_most_verbs_is_one_row_on_a_wide_window(page: Page, mail: None, valkey: redis.Redis) -> None:
    valkey.zadd("bull:mail:delayed", {f"later-{number}": 2e15 + number for number in range(12_345)})
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/queues/main/mail/?state=delayed&size=200")
    page.locator("[data-bulk-head]").check()
    expect(page.locator("[data-bulk-count]")).to_have_text("200 selected")
    tops = page.locator("[data-bulk] :is(button, label, [data-bulk-count]):visible").evaluate_all(
        "found => found.map((one) => one.getBoundingClientRect()).map((box) => Math.round((box.top + box.bottom) / 2))"
    )
    assert len(tops) == 7
    assert max(tops) - min(tops) <= 4
