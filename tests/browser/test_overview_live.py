"""The live overview with the real library behind it: rows move where they stand, and the table fits its window."""

from __future__ import annotations

import pytest
import redis
from playwright.sync_api import Locator, Page, expect

from dashboard.live.parts import row_key
from queues import discovery
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.browser.live_page import Script, never_reloaded, opened
from tests.chromium import SignIn, axe_findings
from tests.queues.following import know
from tests.seed import VERSION, seed_queue, write_hash

pytestmark = [pytest.mark.browser, pytest.mark.node]

SHOP = QueueRef("main", b"bull", b"shop")
LONG = b"<b>x</b>" * 40


@pytest.fixture
def script(script: Script) -> Script:
    """The same, once there is something of the queue to be read."""
    script("await queue(6, 'shop').waitUntilReady()")
    return script


def part(page: Page, name: str) -> Locator:
    return page.locator(f"#{row_key(SHOP)}-{name}")


def test_counts_failures_and_what_needs_eyes_move_without_a_reload(
    page: Page, sign_in: SignIn, script: Script, valkey: redis.Redis
) -> None:
    sign_in("viewer")
    opened(page, "/")
    again = page.get_by_role("link", name="Read again")
    expect(again).to_be_hidden()
    script(
        """
        const q = queue(6, "shop");
        for (let i = 0; i < 12; i += 1) await q.add("pay", {});
        worker(6, "shop", async () => { throw new Error("no"); });
        await until(async () => (await q.getJobCounts("failed")).failed === 12);
        """
    )
    expect(part(page, "failed")).to_have_text("12", timeout=60_000)
    expect(part(page, "note")).to_have_text("12 of 12 failed in 5 min", timeout=60_000)
    expect(page.locator("#total-failed")).to_have_text("12")
    expect(page.get_by_text("What needs eyes has changed: 1 new.")).to_be_visible()
    expect(again).to_be_visible()
    never_reloaded(page)
    assert axe_findings(page) == []
    again.click()
    expect(page.get_by_role("link", name="shop").first).to_be_visible()
    expect(page.locator(".eyes")).to_contain_text("shop: 12 of 12 failed in 5 min")
    expect(page.get_by_role("link", name="Read again")).to_be_hidden()


def test_the_order_of_rows_and_the_focus_stay_when_a_row_becomes_urgent(
    page: Page, sign_in: SignIn, script: Script, valkey: redis.Redis
) -> None:
    for name in (b"alpha", b"beta"):
        know(name)
        seed_queue(valkey, name, completed=3)
    sign_in("viewer")
    opened(page, "/")
    names = "[...document.querySelectorAll('tr[data-row]')].map((row) => row.dataset.queue)"
    before = page.evaluate(names)
    link = page.get_by_role("link", name="shop")
    link.focus()
    script('await queue(6, "shop").add("pay", {});')
    expect(part(page, "note")).to_have_text("no worker for 1 waiting job", timeout=60_000)
    expect(part(page, "waiting")).to_have_text("1")
    expect(link).to_be_focused()
    assert page.evaluate(names) == before


@pytest.mark.parametrize("width", [360, 700, 1089, 1280, 1440, 1800, 2560])
def test_the_table_fits_its_window_also_with_long_names_and_large_numbers(
    page: Page, sign_in: SignIn, source: SourceConfig, valkey: redis.Redis, width: int
) -> None:
    write_hash(valkey, b"bull:%b:meta" % LONG, {"version": VERSION})
    valkey.lpush(b"bull:%b:wait" % LONG, *range(12_000))
    seed_queue(valkey, "w" * 90, failed=12_000, delayed=12_000, completed=12_000, active=1200)
    discovery.scan("main")
    sign_in("viewer")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    assert page.evaluate("window.__x") is None
