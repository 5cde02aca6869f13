"""The live pages of failures with the real library, server and follower behind them: numbers move, rows stay."""

from __future__ import annotations

import signal

import pytest
from playwright.sync_api import Page, expect

from queues.models import FailureGroup
from tests.browser.live_page import Script, never_reloaded, opened
from tests.chromium import SignIn, axe_findings
from tests.valkey import Server as Valkey
from tests.valkey import eventually

pytestmark = [pytest.mark.browser, pytest.mark.node]

PATIENCE_MS = 60_000
FAIL = """
    const q = queue(6, "shop");
    const before = (await q.getJobCounts("failed")).failed;
    for (let i = 0; i < args.times; i += 1) await q.add("pay", { i });
    const w = worker(6, "shop", async () => { throw new Error(args.message); });
    await until(async () => (await q.getJobCounts("failed")).failed === before + args.times);
    await w.close();
"""
DECLINED = "the card was declined"


def slug_of(title: str) -> str:
    """The group of this title, as soon as the index has it."""
    eventually(lambda: FailureGroup.objects.filter(title__contains=title).exists())
    return FailureGroup.objects.get(title__contains=title).slug


@pytest.fixture
def failing(script: Script) -> Script:
    script("await queue(6, 'shop').waitUntilReady()")
    script(FAIL, times=2, message=DECLINED)
    return script


def test_counts_move_where_they_stand_and_new_groups_wait_behind_a_pill(
    page: Page, sign_in: SignIn, failing: Script
) -> None:
    slug = slug_of(DECLINED)
    sign_in("viewer")
    opened(page, "/failures/")
    rows = page.locator("tr[data-group]")
    pill = page.locator(".fresh .pill")
    expect(rows).to_have_count(1)
    expect(pill).to_be_hidden()
    failing(FAIL, times=3, message=DECLINED)
    expect(page.locator(f"#fg-{slug}-h1")).to_have_text("5", timeout=PATIENCE_MS)
    expect(page.locator("tfoot [data-total=h1]")).to_have_text("5")
    failing(FAIL, times=40, message="<b>socket hang up</b>")
    expect(pill).to_contain_text("1 new group", timeout=PATIENCE_MS)
    expect(page.locator("#open-groups-rail")).to_have_text("2 open")
    expect(page.locator("tfoot [data-total=h1]")).to_have_text("45", timeout=PATIENCE_MS)
    expect(rows).to_have_count(1)
    never_reloaded(page)
    assert axe_findings(page) == []
    pill.click()
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("<b>socket hang up")
    expect(page.locator(".fresh .pill")).to_be_hidden()


def test_the_page_of_a_group_counts_on(page: Page, sign_in: SignIn, failing: Script) -> None:
    slug = slug_of(DECLINED)
    sign_in("viewer")
    opened(page, f"/failures/{slug}/")
    expect(page.locator(f"#fp-{slug}-total")).to_have_text("2")
    failing(FAIL, times=4, message=DECLINED)
    expect(page.locator(f"#fp-{slug}-total")).to_have_text("6", timeout=PATIENCE_MS)
    expect(page.locator(f"#fp-{slug}-present")).to_have_text("6")
    expect(page.locator(f"#fp-{slug}-h1")).to_have_text("6")
    never_reloaded(page)
    assert axe_findings(page) == []


def test_a_list_of_one_queue_reads_itself_anew(page: Page, sign_in: SignIn, failing: Script) -> None:
    slug = slug_of(DECLINED)
    sign_in("viewer")
    opened(page, "/failures/?queue=shop")
    expect(page.locator(f"#fx-{slug}-h1")).to_have_text("2")
    failing(FAIL, times=4, message=DECLINED)
    expect(page.locator(f"#fx-{slug}-h1")).to_have_text("6", timeout=PATIENCE_MS)
    never_reloaded(page)


def test_that_the_server_is_down_is_said_on_the_page(
    page: Page, sign_in: SignIn, failing: Script, valkey_server: Valkey
) -> None:
    slug = slug_of(DECLINED)
    sign_in("viewer")
    opened(page, "/failures/")
    assert valkey_server.process
    valkey_server.process.send_signal(signal.SIGSTOP)
    try:
        expect(page.locator("#state-line")).to_have_attribute("data-state", "blind", timeout=PATIENCE_MS)
        expect(page.locator("[data-index=blind]")).to_contain_text("cannot be read now", timeout=PATIENCE_MS)
        expect(page.locator(".lede").first).to_contain_text("As of")
        expect(page.locator(f"#fg-{slug}-h1")).to_have_text("2")
        never_reloaded(page)
    finally:
        valkey_server.process.send_signal(signal.SIGCONT)
    expect(page.locator("[data-index=blind]")).to_have_count(0, timeout=PATIENCE_MS)
