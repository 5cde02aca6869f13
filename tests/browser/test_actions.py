"""Acting in a real browser: the dialog, the keyboard, closing it, pressing twice, hostile names, and axe."""

from __future__ import annotations

import pytest
import redis
from playwright.sync_api import Locator, Page, expect

from queues.models import AuditEntry
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.chromium import SignIn, axe_findings
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.browser

FAILED = "/queues/main/mail/jobs/{}/"


@pytest.fixture
def failed(source: SourceConfig, valkey: redis.Redis) -> str:
    """A failed job of the queue `mail`, which has some in other states too."""
    seed_queue(valkey, "mail", waiting=3, delayed=2, active=1, completed=2, failed=2)
    return first(valkey, "failed")


def first(valkey: redis.Redis, state: str) -> str:
    (found,) = valkey.zrange(f"bull:mail:{state}", 0, 0)
    assert isinstance(found, bytes)
    return found.decode()


def dialog(page: Page) -> Locator:
    return page.locator("#ask-dialog")


def test_a_button_opens_its_question_in_the_dialog_and_sending_it_tells_what_came_of_it(
    page: Page, sign_in: SignIn, failed: str, valkey: redis.Redis
) -> None:
    sign_in("operator")
    page.goto(FAILED.format(failed))
    page.get_by_role("link", name="Retry…").click()
    expect(dialog(page)).to_be_visible()
    expect(dialog(page).get_by_role("button", name="Retry the job")).to_be_focused()
    dialog(page).locator("[name=reason]").fill("gateway is back")
    page.keyboard.press("Enter")
    expect(page.locator("[data-outcome]")).to_contain_text(f"Retried job {failed}")
    assert valkey.lpos("bull:mail:wait", failed) is not None
    assert AuditEntry.objects.get().reason == "gateway is back"
    page.reload()
    expect(page.locator("[data-outcome]")).to_have_count(0)


def test_enter_alone_removes_nothing(page: Page, sign_in: SignIn, failed: str, valkey: redis.Redis) -> None:
    sign_in("operator")
    page.goto(FAILED.format(failed))
    page.locator("[data-action=remove]").focus()
    page.keyboard.press("Enter")
    expect(dialog(page).get_by_role("link", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog(page)).to_be_hidden()
    assert valkey.exists(f"bull:mail:{failed}")
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("way", ["Escape", "Cancel"])
def test_closing_the_dialog_changes_nothing_and_gives_the_focus_back(
    page: Page, sign_in: SignIn, failed: str, valkey: redis.Redis, way: str
) -> None:
    sign_in("operator")
    page.goto(FAILED.format(failed))
    page.locator("[data-action=remove]").click()
    expect(dialog(page)).to_be_visible()
    if way == "Escape":
        page.keyboard.press("Escape")
    else:
        dialog(page).get_by_role("link", name="Cancel").click()
    expect(dialog(page)).to_be_hidden()
    expect(page.locator("[data-action=remove]")).to_be_focused()
    expect(page).to_have_url(FAILED.format(failed))
    assert valkey.exists(f"bull:mail:{failed}")
    assert not AuditEntry.objects.exists()


def test_a_double_click_acts_once(page: Page, sign_in: SignIn, failed: str, valkey: redis.Redis) -> None:
    sign_in("operator")
    page.goto(FAILED.format(failed))
    page.locator("[data-action=duplicate]").click()
    dialog(page).get_by_role("button", name="Add the copy").dblclick()
    expect(page.locator("[data-outcome]")).to_contain_text("as a copy of job")
    assert valkey.llen("bull:mail:wait") == 4
    assert AuditEntry.objects.count() == 1


def test_without_scripts_the_same_links_are_pages(
    page: Page, sign_in: SignIn, failed: str, valkey: redis.Redis
) -> None:
    sign_in("operator")
    page.route("**/*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.goto(FAILED.format(failed))
    page.get_by_role("link", name="Retry…").click()
    expect(page).to_have_url(f"{FAILED.format(failed)}ask/retry/")
    page.get_by_role("button", name="Retry the job").click()
    expect(page.locator("[data-outcome]")).to_contain_text(f"Retried job {failed}")
    assert valkey.zscore("bull:mail:failed", failed) is None


def test_a_moment_is_typed_in_the_readers_zone_and_said_in_utc_too(
    page: Page, sign_in: SignIn, failed: str, valkey: redis.Redis
) -> None:
    sign_in("operator")
    job = first(valkey, "delayed")
    page.goto(FAILED.format(job))
    page.locator("[data-action=delay]").click()
    field = dialog(page).locator("[name=at]")
    field.fill("2027-03-04T05:06")
    expect(dialog(page).locator("[name=how][value=at]")).to_be_checked()
    expect(dialog(page)).to_contain_text("in your time zone")
    expect(dialog(page)).to_contain_text("UTC")
    wanted = page.evaluate("new Date('2027-03-04T05:06').getTime()")
    dialog(page).get_by_role("button", name="Change the time").click()
    expect(page.locator("[data-outcome]")).to_be_visible()
    score = valkey.zscore("bull:mail:delayed", job)
    assert score is not None
    assert int(float(str(score)) / 4096) == wanted


def test_a_queue_is_drained_only_with_its_name_typed(page: Page, sign_in: SignIn, failed: str) -> None:
    sign_in("admin")
    page.goto("/queues/main/mail/")
    page.locator(".more-acts summary").click()
    page.locator("[data-action=drain]").click()
    button = dialog(page).get_by_role("button", name="Drain the queue")
    button.click()
    expect(dialog(page)).to_be_visible()
    assert not AuditEntry.objects.exists()
    dialog(page).locator("[name=sure]").fill("mail")
    button.click()
    expect(page).to_have_url(f"/audit/{AuditEntry.objects.get().pk}/")


def test_a_hostile_name_neither_runs_nor_turns_the_question_around(
    page: Page, sign_in: SignIn, source: SourceConfig, valkey: redis.Redis
) -> None:
    name = "<img src=x onerror=alert(1)>\u202eevomer"
    queue: QueueRef = seed_queue(valkey, name, failed=1)
    sign_in("operator")
    page.goto(f"/queues/main/{queue.slug}/")
    page.locator("[data-action=pause]").click()
    heading = dialog(page).locator("h1")
    expect(heading).to_contain_text(r"Pause <img src=x onerror=alert(1)>\u202eevomer on main?")
    assert dialog(page).locator("img").count() == 0
    assert heading.locator("bdi").count() == 2


@pytest.mark.parametrize("width", [1440, 360])
def test_axe_finds_nothing_in_bars_and_questions(
    page: Page, sign_in: SignIn, failed: str, valkey: redis.Redis, width: int
) -> None:
    sign_in("admin")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if width == 360 else "light")
    seed_job(valkey, QueueRef("main", b"bull", b"mail"), "orphan")
    valkey.lpush("bull:mail:active", "orphan")
    found = []
    for path, action in [
        (FAILED.format(failed), "retry"),
        (FAILED.format(failed), "remove"),
        (FAILED.format(failed), "duplicate"),
        (FAILED.format("orphan"), "fail"),
        ("/queues/main/mail/", "add"),
        ("/queues/main/mail/", "pause"),
    ]:
        page.goto(path)
        page.locator(f"[data-action={action}]").first.click()
        expect(dialog(page)).to_be_visible()
        found += [f"{path} {action}: {finding}" for finding in axe_findings(page)]
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        found += [f"{path} {action}: {over} px too wide"] if over else []
    for path in ("ask/clean/", "ask/drain/", "ask/obliterate/", "ask/rate-limit/", "ask/release-deduplication/"):
        page.goto(f"/queues/main/mail/{path}")
        found += [f"{path}: {finding}" for finding in axe_findings(page)]
    assert found == []


def test_the_bar_follows_the_state_that_the_page_shows(
    page: Page, sign_in: SignIn, failed: str, valkey: redis.Redis
) -> None:
    sign_in("operator")
    page.goto(FAILED.format(failed))
    valkey.zrem("bull:mail:failed", failed)
    valkey.zadd("bull:mail:completed", {failed: 5})
    page.evaluate("document.querySelector('#job-state .st').className = 'st s-completed'")
    expect(page.get_by_role("link", name="Run again…")).to_be_visible()
    page.get_by_role("link", name="Run again…").click()
    expect(dialog(page)).to_contain_text("It has completed")
