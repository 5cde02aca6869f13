"""Every page in a real browser: axe in both themes, hostile text that stays text, the keyboard, narrow and wide."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import quote

import pytest
import redis
from django.conf import settings
from playwright.sync_api import Browser, Page, expect

from queues import discovery
from queues.registry import SourceConfig
from queues.types import State
from tests.chromium import SignIn, axe_findings
from tests.dashboard.people import as_role
from tests.hostile import write_corpus
from tests.seed import seed_many, seed_queue
from tests.server import StartServer

pytestmark = pytest.mark.browser

PATHS = [
    "/",
    "/?group=prefix",
    "/?name=nothing",
    "/find/",
    "/find/?q=1",
    "/system/",
    "/users/",
    "/password/",
    "/queues/main/mail/",
    "/queues/main/mail/?state=finished",
    "/queues/main/mail/?state=active",
    "/queues/main/mail/?state=delayed",
    "/queues/main/mail/?state=waiting&name=nothing",
    "/queues/main/mail/jobs/{failed}/",
    "/queues/main/mail/jobs/{failed}/logs/",
    "/queues/main/nosuch/",
    "/queues/main/mail/?state=failed&cursor=x",
    "/nowhere/",
]
WIDTHS = [360, 800, 1100, 1440, 2560]
Theme = Literal["light", "dark"]
THEMES: list[Theme] = ["light", "dark"]


@pytest.fixture
def failed(source: SourceConfig, valkey: redis.Redis) -> str:
    """A queue `mail` with jobs in every state, and the id of a failed one with logs."""
    seed_queue(valkey, "mail", waiting=3, prioritized=2, active=2, delayed=3, waiting_children=1, completed=9, failed=9)
    seed_queue(valkey, "media.resize", waiting=2, paused=True)
    seed_queue(valkey, "media.thumbs", completed=2)
    discovery.scan("main")
    job = "29"  # the last one: ids count up in the order of the states
    assert valkey.zscore("bull:mail:failed", job)
    valkey.rpush(f"bull:mail:{job}:logs", "started", "failed")
    return job


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (1440, "dark"), (360, "light")])
def test_axe_finds_nothing(page: Page, sign_in: SignIn, failed: str, width: int, theme: Theme) -> None:
    sign_in("admin")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    found = []
    for path in PATHS:
        page.goto(path.format(failed=failed))
        found += [f"{path}: {finding}" for finding in axe_findings(page)]
    assert found == []


def test_no_page_is_wider_than_its_window(page: Page, sign_in: SignIn, failed: str) -> None:
    sign_in("admin")
    found = []
    for path in PATHS:
        page.goto(path.format(failed=failed))
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            found += [f"{path} at {width}: {over} px too wide"] if over else []
    assert found == []


def test_no_hostile_text_runs_and_no_page_breaks(
    page: Page, sign_in: SignIn, source: SourceConfig, valkey: redis.Redis
) -> None:
    corpus = write_corpus(valkey)
    discovery.scan("main")
    sign_in("admin")
    queues = _links(page, "/", "tr[data-queue] th a")
    assert len(queues) >= len(corpus.queues) + 2
    opened = 0
    for queue in queues:
        for job in _links(page, f"{queue}?state=failed&size=200", "tr[data-job] th a"):
            response = page.goto(job)
            assert response is not None
            no_job = job.endswith(("/a-string/", "/a-list/"))  # ids under which another program keeps something else
            assert response.status == (404 if no_job else 200), job
            assert page.evaluate("window.__x") is None, job
            opened += 1
    assert opened >= len(corpus.everything) + len(corpus.queues)


def test_no_hostile_text_runs_in_any_list_log_or_search(
    page: Page, sign_in: SignIn, source: SourceConfig, valkey: redis.Redis
) -> None:
    corpus = write_corpus(valkey, large=False)
    discovery.scan("main")
    sign_in("admin")
    base = f"/queues/main/{corpus.queue.slug}/"
    paths = [f"{base}?state={state}" for state in (*State, "finished")]
    paths += [f"/queues/main/{corpus.wrong_types.slug}/?state={state}" for state in State]
    paths += [f"{base}jobs/{corpus.jobs['markup'].slug}/logs/", "/?group=prefix", "/?sort=name", "/system/"]
    paths += [f"/find/?q={quote(ref.id)}" for ref in corpus.ids]
    for path in paths:
        response = page.goto(path)
        assert response is not None
        assert response.status == 200, path
        assert page.evaluate("window.__x") is None, path


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_while_a_server_is_down_or_rights_are_missing(
    chromium: Browser, start_server: StartServer, theme: Theme
) -> None:
    server = start_server({"REDIS_URL": "redis://127.0.0.1:1/0", "APP_REDIS_URL": "redis://127.0.0.1:1/1"})
    found = []
    for role in ("admin", None):
        context = chromium.new_context(base_url=server.url, color_scheme=theme)
        cookie = as_role(role).cookies[settings.SESSION_COOKIE_NAME].value
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": server.url}])
        page = context.new_page()
        for path in ("/", "/queues/main/mail/", "/queues/main/mail/jobs/1/", "/find/?q=1", "/system/"):
            page.goto(path)
            found += [f"{path}: {finding}" for finding in axe_findings(page)]
        context.close()
    assert found == []


def test_no_hostile_parameter_runs(page: Page, sign_in: SignIn, failed: str) -> None:
    sign_in("viewer")
    needle = "%22%3E%3Cscript%3Ewindow.__x%3D1%3C%2Fscript%3E"
    for path in ("/?name={}", "/find/?q={}", "/queues/main/mail/?name={}", "/queues/main/mail/?state={}", "/{}/"):
        page.goto(path.format(needle))
        assert page.evaluate("window.__x") is None, path


def test_the_keyboard_reaches_everything(page: Page, sign_in: SignIn, failed: str) -> None:
    sign_in("viewer")
    page.goto("/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name=re.compile("Find a job"))).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("main").focus()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/queues/main/**")
    page.keyboard.press("g")
    page.keyboard.press("y")
    page.wait_for_url("**/system/")
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.wait_for_url(re.compile(r":\d+/$"))


def test_more_queues_appear_while_one_scrolls(
    page: Page, sign_in: SignIn, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_many(valkey, 250, waiting=1)
    discovery.scan("main")
    sign_in("viewer")
    page.goto("/")
    rows = page.locator("tr[data-queue]")
    expect(rows).to_have_count(100)
    for shown in (200, 250):
        page.mouse.wheel(0, 100_000)
        expect(rows).to_have_count(shown, timeout=30_000)


def test_the_reader_chooses_theme_zone_and_style_of_moments(page: Page, sign_in: SignIn, failed: str) -> None:
    sign_in("viewer")
    page.goto(f"/queues/main/mail/jobs/{failed}/")
    page.get_by_role("button", name=re.compile("Theme")).first.click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    moment = page.locator("main time[data-time]").first
    title = moment.get_attribute("title") or ""
    assert "UTC" in title
    page.get_by_role("button", name=re.compile("Times in")).first.click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


# IZ-01
def test_moments_are_the_readers_own_on_the_day_the_clocks_change(
    context_in_new_york: Page, failed: str, valkey: redis.Redis
) -> None:
    page = context_in_new_york
    for instant, clock in ((1793511000000, "01:30:00"), (1793514600000, "01:30:00")):  # before and after the change
        valkey.hset("bull:mail:1", "timestamp", instant)
        page.goto("/queues/main/mail/jobs/1/")
        moment = page.locator("dt:text-is('Created') + dd time")
        expect(moment).to_contain_text(clock)
        title = moment.get_attribute("title") or ""
        assert ("UTC-04:00" in title) is (instant == 1793511000000)
        assert "UTC" in title


@pytest.fixture
def context_in_new_york(page: Page, sign_in: SignIn) -> Page:
    sign_in("viewer")
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTimezoneOverride", {"timezoneId": "America/New_York"})
    return page


def _links(page: Page, path: str, selector: str) -> list[str]:
    page.goto(path)
    assert page.evaluate("window.__x") is None, path
    return [str(link.get_attribute("href")) for link in page.locator(selector).all()]
