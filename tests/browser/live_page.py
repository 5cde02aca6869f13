"""A live page as a reader has it open: never loaded anew."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

Script = Callable[..., object]


def opened(page: Page, path: str) -> None:
    """A page that is live, with a mark that a reload would take away."""
    page.goto(path)
    expect(page.locator("#state-line")).to_have_attribute("data-state", "live", timeout=60_000)
    page.evaluate("window.kept = true")


def never_reloaded(page: Page) -> None:
    assert page.evaluate("window.kept") is True
