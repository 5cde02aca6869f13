"""Editing a job in a real browser: the way to it, the place of a mistake, before and after, and the plan."""

from __future__ import annotations

import re
from typing import Literal

import pytest
import redis
from playwright.sync_api import Page, expect

from queues.models import Replay
from queues.registry import SourceConfig
from tests.chromium import SignIn, axe_findings
from tests.seed import seed_queue

pytestmark = pytest.mark.browser

DATA = '{"id":12345678901234567890123,"currency":"BRL","password":"hunter2","items":[{"sku":"A 1","note":"😀"}]}'


@pytest.fixture
def failed(source: SourceConfig, valkey: redis.Redis) -> str:
    seed_queue(valkey, "payments", failed=1)
    valkey.hset("bull:payments:1", "data", DATA)
    return "/queues/main/payments/jobs/1/"


def test_a_job_is_edited_looked_at_and_planned(page: Page, sign_in: SignIn, failed: str) -> None:
    sign_in("operator")
    page.goto(failed)
    page.get_by_role("link", name="Edit and replay…").click()
    editor = page.get_by_label("Data")
    expect(editor).to_have_value(re.compile(r'"password": "•••••••• 1"'))
    assert axe_findings(page) == []

    text = editor.input_value()
    editor.fill(text.replace('"note": "😀"', '"note": "😀😀", oops'))
    page.get_by_role("button", name="Look at it first").click()
    expect(page.get_by_role("alert")).to_contain_text("This is no JSON, from line")
    expect(editor).to_be_focused()
    at = page.evaluate("(() => { const f = document.activeElement; return f.value.slice(f.selectionStart); })()")
    assert at.startswith("oops")
    assert axe_findings(page) == []

    editor.fill(text.replace("BRL", "EUR"))
    page.get_by_role("button", name="Look at it first").click()
    expect(page.locator(".diff .out")).to_contain_text('"currency": "BRL"')
    expect(page.locator(".diff .in")).to_contain_text('"currency": "EUR"')
    assert "hunter2" not in page.content()
    assert axe_findings(page) == []

    page.get_by_role("button", name="Replay the edited job").click()
    page.wait_for_url("**/replays/*/")
    plan = Replay.objects.get()
    assert bytes(plan.data or b"") == DATA.replace("BRL", "EUR").encode()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_editor_fits_a_phone(page: Page, sign_in: SignIn, failed: str, scheme: Literal["light", "dark"]) -> None:
    sign_in("operator")
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(f"{failed}edit-replay/")
    editor = page.get_by_label("Data")
    editor.fill(editor.input_value().replace("BRL", "E" * 400))
    page.get_by_role("button", name="Look at it first").click()
    expect(page.locator(".diff .in")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert axe_findings(page) == []
