"""The page of deduplication ids in a real browser: released from the dialog, without scripts, narrow, and axe."""

from __future__ import annotations

import pytest
import redis
from playwright.sync_api import Page, expect

from queues.registry import SourceConfig
from tests.chromium import SignIn, axe_findings
from tests.seed import seed_queue

pytestmark = pytest.mark.browser

HELD = "/queues/main/mail/deduplication/"


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> None:
    """A queue with ids that are stale, held and released by themselves."""
    seed_queue(valkey, "mail", waiting=1, failed=1)
    valkey.mset({"bull:mail:de:held": "1", "bull:mail:de:ended": "2", "bull:mail:de:" + "long" * 60: "x" * 300})
    valkey.set("bull:mail:de:timed", "2", px=600_000)


def test_a_stale_id_is_released_from_the_dialog_and_the_page_comes_back(
    page: Page, sign_in: SignIn, mail: None, valkey: redis.Redis
) -> None:
    sign_in("operator")
    page.goto("/queues/main/mail/")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Deduplication ids that are held").click()
    page.get_by_role("link", name="Release ended…").click()
    dialog = page.locator("#ask-dialog")
    expect(dialog.locator("[name=dedup]")).to_have_value("ended")
    dialog.get_by_role("button", name="Release the id").click()
    expect(page.locator("[data-outcome]")).to_contain_text("The deduplication id is free again")
    expect(page.locator("[data-held-id]")).to_have_count(3)
    assert not valkey.exists("bull:mail:de:ended")


def test_without_scripts_it_is_released_by_the_same_link(
    page: Page, sign_in: SignIn, mail: None, valkey: redis.Redis
) -> None:
    sign_in("operator")
    page.route("**/*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.goto(HELD)
    page.get_by_role("link", name="Release ended…").click()
    page.get_by_role("button", name="Release the id").click()
    expect(page.locator("[data-outcome]")).to_contain_text("The deduplication id is free again")
    assert "/deduplication/" in page.url
    assert not valkey.exists("bull:mail:de:ended")


@pytest.mark.parametrize("width", [1440, 360])
def test_axe_finds_nothing_on_it_and_it_is_never_too_wide(page: Page, sign_in: SignIn, mail: None, width: int) -> None:
    sign_in("viewer" if width == 360 else "admin")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if width == 360 else "light")
    page.goto(HELD)
    expect(page.locator("[data-held-id]")).to_have_count(4)
    assert axe_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
