"""The log of actions in a real browser: its filter leaves room for the entries."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from queues import audit
from queues.registry import SourceConfig
from tests.chromium import SignIn, axe_findings

pytestmark = pytest.mark.browser


def test_the_filter_is_folded_on_a_phone_alone(page: Page, source: SourceConfig, sign_in: SignIn) -> None:
    sign_in("admin")
    audit.record(audit.Actor("ana", "admin"), "pin")
    summary, who = page.locator("summary", has_text="Filter"), page.locator("input[name=who]")
    page.set_viewport_size({"width": 1440, "height": 800})
    page.goto("/audit/")
    expect(who).to_be_visible()
    expect(summary).to_be_hidden()
    page.set_viewport_size({"width": 360, "height": 740})
    expect(who).to_be_hidden()
    row = page.locator("tr[data-entry]").first.bounding_box()
    assert row is not None
    assert row["y"] < 740 * 2 / 3
    summary.click()
    who.fill("nobody")
    who.press("Enter")
    expect(summary).to_have_text("Filter Who nobody")
    assert axe_findings(page) == []


def test_on_a_phone_no_cell_of_an_entry_runs_into_the_next(page: Page, source: SourceConfig, sign_in: SignIn) -> None:
    sign_in("admin")
    audit.record(audit.Actor("ana", "admin"), "export-replay")
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/audit/")
    cells = page.locator("tr[data-entry] > td")
    wide = "cells => cells.filter(each => each.scrollWidth > each.clientWidth).map(each => each.innerText)"
    expect(cells.first).to_be_visible()
    assert cells.evaluate_all(wide) == []
