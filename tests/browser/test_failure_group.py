"""The page of a group of failures and that of its jobs in a real browser: readable, usable by keys, harmless."""

from __future__ import annotations

import json
import re

import pytest
import redis
from playwright.sync_api import Page, expect

from queues import discovery
from queues.failures.types import Life
from queues.models import (
    AuditEntry,
    Deploy,
    Failure,
    FailureGroup,
    FailureNote,
    FailureSample,
    FailureSignature,
    FailureStrand,
)
from queues.quantities import now_ms
from queues.registry import SourceConfig
from tests.chromium import SignIn, axe_findings
from tests.failing import indexing, make_group
from tests.seed import seed_job, seed_queue
from tests.server import Server

pytestmark = pytest.mark.browser

MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
WIDE = "x" * 4_000
NARROW = {"width": 360, "height": 780}


@pytest.fixture
def group(live: Server, source: SourceConfig, valkey: redis.Redis, sign_in: SignIn) -> FailureGroup:
    """A group that regressed, with everything that a page of one can have."""
    queue = seed_queue(valkey, "payments")
    discovery.pin("main", "payments")
    indexing(queues=("payments",))
    now = now_ms()
    made = make_group(
        names=("capture", "refund"),
        counts=(60, 80, 100, 120, 140),
        failures=120,
        samples=4,
        usual=4.0,
        rule="ETIMEDOUT",
        life=Life.REGRESSED,
        resolved_ms=now - 7_200_000,
        regressed_ms=now - 3_600_000,
        runbook="https://runbooks.example/payments",
        owner="Payments",
    )
    FailureNote.objects.create(group=made, who="bo", text="wait for their all-clear")
    for row in Failure.objects.all():
        seed_job(valkey, queue, row.job, name="capture", failedReason="x", data=json.dumps({"tenant": "t-1"}))
        valkey.zadd("bull:payments:failed", {row.job: row.score_ms})
    sign_in("admin")
    return made


def _fits(page: Page) -> bool:
    """Whether nothing of a page has to be moved sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", ["", "jobs/"])
def test_both_pages_can_be_read_by_everybody(page: Page, group: FailureGroup, theme: str, path: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto(f"/failures/{group.slug}/{path}")
    assert not axe_findings(page)
    if not path:
        page.get_by_text("Ignore…").click()
        page.get_by_text("Which rule made what").first.click()
        assert not axe_findings(page)


@pytest.mark.parametrize("path", ["", "?span=30d&path=tenant", "jobs/"])
def test_both_pages_fit_a_phone(page: Page, group: FailureGroup, path: str) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(f"/failures/{group.slug}/{path}")
    assert _fits(page)
    if not path:
        page.get_by_text("Ignore…").click()
        expect(page.get_by_role("button", name="Ignore", exact=True)).to_be_in_viewport()
        assert _fits(page)


def test_hostile_text_stays_text_and_moves_nothing(page: Page, group: FailureGroup) -> None:
    evil = MARKUP + "\u202e" + WIDE
    payload = json.dumps({MARKUP: evil, "n": [1] * 50})
    stack = f"Error: {evil}\n    at {MARKUP} (/app/{WIDE}.js:1:1)\n    at z (/app/node_modules/{MARKUP}.js:1:1)"
    FailureSample.objects.update(reason=evil, stack=stack, payload=payload, name=MARKUP, sizes={"payload": 1_048_576})
    FailureSignature.objects.update(parts={"error_class": MARKUP, "message": evil[:500], "place": MARKUP})
    FailureGroup.objects.update(title=evil[:200], owner=evil[:150], runbook="https://x.example/" + WIDE[:900])
    FailureNote.objects.update(text=evil)
    for at, strand in enumerate(FailureStrand.objects.order_by("pk")):
        FailureStrand.objects.filter(pk=strand.pk).update(name=f"{at}{evil[:400]}")
    Failure.objects.update(worker=evil[:200])
    for size in (NARROW, {"width": 1440, "height": 900}):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        for path in ("", "jobs/"):
            page.goto(f"/failures/{group.slug}/{path}")
            expect(page.locator("h1")).to_contain_text("onerror")
            assert _fits(page), (size, path)
            assert page.title() != "owned"
            assert page.locator("main img").count() == 0


def test_names_of_queues_and_titles_that_nobody_would_choose_fit_a_phone(page: Page, group: FailureGroup) -> None:
    wide = make_group(title=WIDE[:200], queues=["q" * 300, "mail"], names=["n" * 300])
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(f"/failures/{wide.slug}/")
    assert _fits(page)
    page.locator(".pop > summary").get_by_text("Merge…").click()
    page.locator(".pop[open] button").click()
    expect(page.get_by_role("heading", name="Merge 2 groups into one?")).to_be_visible()
    assert _fits(page)


@pytest.mark.parametrize("version", ["v2026.12.1", "v" * 200])
def test_a_day_of_deploys_fits_a_phone(page: Page, group: FailureGroup, version: str) -> None:
    for number in range(12):
        Deploy.objects.create(version=f"{number}{version}"[:200], at_ms=now_ms() - number * 60_000)
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    for path in (f"/failures/{group.slug}/", "/failures/"):
        page.goto(path)
        for each in page.locator("details").all():
            each.evaluate("each => { each.open = true }")
        assert _fits(page)


def test_a_group_is_ignored_and_reopened_from_its_page(page: Page, group: FailureGroup) -> None:
    page.goto(f"/failures/{group.slug}/")
    page.get_by_text("Ignore…").click()
    page.get_by_label("Until").select_option("count")
    page.get_by_label("Failures", exact=True).fill("500")
    page.get_by_role("button", name="Ignore", exact=True).click()
    expect(page.locator("[data-life=ignored]")).to_be_visible()
    page.get_by_role("button", name="Reopen").click()
    expect(page.locator("[data-life=open]")).to_be_visible()
    assert AuditEntry.objects.filter(group=group).count() == 2


def test_a_form_that_is_wrong_comes_back_open_with_what_is_wrong(page: Page, group: FailureGroup) -> None:
    page.goto(f"/failures/{group.slug}/")
    page.get_by_text("Ignore…").click()
    page.get_by_label("Until").select_option("rate")
    page.get_by_role("button", name="Ignore", exact=True).click()
    expect(page.locator("main")).to_contain_text("Say after how many failures")


def test_jobs_are_picked_and_retried_from_the_list(page: Page, group: FailureGroup, valkey: redis.Redis) -> None:
    page.goto(f"/failures/{group.slug}/jobs/")
    for at in (0, 2):
        page.locator("input[name=job]").nth(at).check()
    page.get_by_role("button", name=re.compile("Retry 2")).click()
    dialog = page.locator("#ask-dialog")
    expect(dialog).to_contain_text("Retry 2 of 120 failed jobs of payments on main?")
    dialog.get_by_role("button", name="Retry 2 jobs").click()
    expect(page.locator("main")).to_contain_text("Retried 2 jobs")
    assert valkey.zcard("bull:payments:failed") == 118
    assert AuditEntry.objects.get(action="retry").group == group


def test_all_of_a_group_are_asked_for_by_its_name(page: Page, group: FailureGroup) -> None:
    page.goto(f"/failures/{group.slug}/jobs/")
    page.locator("input[name=job]").first.check()
    page.locator("#bulk input[name=all]").check()
    page.get_by_role("button", name=re.compile("Retry")).click()
    expect(page.locator("#ask-dialog")).to_contain_text("all 120 jobs of payments on main that failed by")


def test_two_groups_are_merged_after_a_question(page: Page, group: FailureGroup) -> None:
    make_group(title="Connection pool exhausted", queues=("payments",))
    page.goto(f"/failures/{group.slug}/")
    page.get_by_text("Merge…").first.click()
    page.locator(".card").get_by_role("button", name="Merge…").click()
    expect(page.locator("h1")).to_have_text("Merge 2 groups into one?")
    assert not axe_findings(page)
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(page.locator("main")).to_contain_text("2 signatures")
