"""Times that scripts count up: written as the server writes them, in the words that came with the page."""

from __future__ import annotations

import re

import pytest
import redis
from playwright.sync_api import Page, expect

from queues import discovery
from queues.quantities import duration
from queues.registry import SourceConfig
from tests.chromium import SignIn
from tests.seed import seed_queue

pytestmark = pytest.mark.browser

SAMPLES = [0, 999, 1000, 59_999, 60_000, 61_000, 3_599_999, 3_600_000, 7_440_000, 86_399_999, 86_400_000, 533_000_000,
           90_000_000_000]  # fmt: skip

WRITTEN = """async samples => {
    const loaded = performance.getEntriesByType("resource").map(entry => entry.name);
    const { duration } = await import(loaded.find(name => /\\/duration(\\.\\w+)?\\.js/.test(name)));
    return samples.map(duration);
}"""


@pytest.fixture
def job(source: SourceConfig, valkey: redis.Redis) -> str:
    """The page of a failed job."""
    seed_queue(valkey, "mail", failed=1)
    discovery.scan("main")
    return "/queues/main/mail/jobs/1/"


def test_scripts_write_durations_as_the_server_does(page: Page, sign_in: SignIn, job: str) -> None:
    sign_in("viewer")
    page.goto(job)
    assert page.evaluate(WRITTEN, SAMPLES) == [duration(ms, whole=True) for ms in SAMPLES]


def test_the_choices_of_a_reader_are_named_in_words(page: Page, sign_in: SignIn, job: str) -> None:
    sign_in("viewer")
    page.goto(job)
    theme = page.locator("[data-theme-label]").first
    for word in ("system", "light", "dark", "system"):
        expect(theme).to_have_text(word)
        page.get_by_role("button", name=re.compile("Theme")).first.click()
    moment = page.locator("header time[data-time=clock]").first
    page.get_by_role("button", name=re.compile("Moments")).first.click()
    expect(page.locator("[data-clock-label]").first).to_have_text("relative")
    expect(moment).to_have_text(re.compile(r"^\d+ s ago$"))
