"""The live page of a queue with the real library behind it: what is pushed is text, stays put, and is honest."""

from __future__ import annotations

import re

import pytest
import redis
from playwright.sync_api import Page, expect

from dashboard.live.parts import job_key
from queues.models import Notable
from queues.quantities import now_ms
from queues.types import JobRef, QueueRef
from tests.browser.live_page import Script, never_reloaded, opened
from tests.chromium import SignIn, axe_findings
from tests.hostile import MARKUP
from tests.queues.test_notables import keep
from tests.valkey import eventually

pytestmark = [pytest.mark.browser, pytest.mark.node]

SHOP = QueueRef("main", b"bull", b"shop")
# Moments are written by the reader's choice; all else must be as the server wrote it.
WRITTEN = """node => node.outerHTML.replace(/ title="[^"]*"/g, "").replace(/>[^<]*<.time>/g, "></time>")"""


@pytest.fixture
def script(script: Script) -> Script:
    """The same, once there is something of the queue to be read."""
    script("await queue(6, 'shop').waitUntilReady()")
    return script


# JD-02
def test_markup_in_reasons_and_names_is_text_when_pushed_and_the_same_when_read(
    page: Page, sign_in: SignIn, script: Script
) -> None:
    sign_in("viewer")
    opened(page, "/queues/main/shop/?state=failed")
    script(
        """
        await queue(6, "shop").add(args.text, {}, { jobId: "a" });
        worker(6, "shop", async (job) => { await job.updateProgress({ msg: args.text }); throw new Error(args.text); });
        await until(async () => (await redis.zcard("bull:shop:failed")) === 1);
        """,
        text=MARKUP,
    )
    entry = page.locator("#feed li[data-kind=failed]")
    expect(entry).to_contain_text("<script>window.__x=1</script>")
    expect(page.locator("#pill")).to_contain_text("1 new")
    tab = page.locator("#tab-failed")
    expect(tab).to_have_text("1")
    pushed = [entry.evaluate(WRITTEN).replace(' class="new"', ""), tab.evaluate(WRITTEN)]
    never_reloaded(page)
    eventually(lambda: Notable.objects.filter(kind="failed").exists())  # kept every two seconds
    page.reload()
    assert [entry.evaluate(WRITTEN), tab.evaluate(WRITTEN)] == pushed
    expect(page.locator("tr[data-job=a] .sig")).to_contain_text("<script>window.__x=1</script>")
    assert page.evaluate("window.__x") is None


# JD-11
def test_progress_of_every_shape_moves_in_its_row_and_the_last_value_stays(
    page: Page, sign_in: SignIn, script: Script
) -> None:
    script(
        """
        await queue(6, "shop").add("pay", {}, { jobId: "a" });
        keep.values = [];
        worker(6, "shop", async (job) => {
          for (;;) {
            if (keep.end) return;
            if (keep.values.length) await job.updateProgress(keep.values.shift()); else await sleep(20);
          }
        });
        await until(async () => (await redis.llen("bull:shop:active")) === 1);
        """
    )
    sign_in("viewer")
    opened(page, "/queues/main/shop/?state=active")
    told = page.locator(f"#p-{job_key(JobRef(SHOP, b'a'))}")
    for value, shown in (
        (250, "250"),
        ({"done": 3, "total": 9}, '{"done":3,"total":9}'),
        (None, "null"),
        (True, "true"),
    ):
        script("keep.values.push(args.value)", value=value)
        expect(told).to_contain_text(shown)
    expect(told.locator("progress")).to_have_count(0)
    script("keep.values.push(...Array.from({ length: 400 }, (_, n) => n / 5), '<b>x</b>', 70)")
    expect(told.locator("progress")).to_have_attribute("value", "70.0")
    assert "NaN" not in page.content()
    script("keep.end = true")
    expect(page.locator(f"#s-{job_key(JobRef(SHOP, b'a'))}")).to_contain_text("Completed")
    expect(page.locator("tr[data-job=a]")).to_have_count(1)
    never_reloaded(page)


def test_rows_stay_where_they_are_while_their_ages_grow_jobs_come_and_one_ends(
    page: Page, sign_in: SignIn, script: Script
) -> None:
    script(
        """
        await queue(6, "shop").add("pay", {}, { jobId: "a" });
        worker(6, "shop", async (job) => { while (!(keep.ended ?? []).includes(job.id)) await sleep(20); },
          { concurrency: 2 });
        await until(async () => (await redis.llen("bull:shop:active")) === 1);
        """
    )
    sign_in("viewer")
    page.set_viewport_size({"width": 1440, "height": 900})
    opened(page, "/queues/main/shop/?state=active")
    row = page.locator("tr[data-job=a]")
    age, progress = row.locator("time[data-time=age]"), row.locator("td.pg")
    expect(age).to_have_text(re.compile(r"^[2-9] s$"))
    stood = progress.bounding_box()
    script("await queue(6, 'shop').add('pay', {}, { jobId: 'b' })")
    expect(page.locator("#pill")).to_contain_text("1 new")
    assert progress.bounding_box() == stood
    script("keep.ended = ['a']")
    expect(row.locator(".since")).to_contain_text("Completed")
    assert progress.bounding_box() == stood
    expect(age).to_be_hidden()
    script("keep.ended = ['a', 'b']")


def test_a_delayed_job_is_counted_down_and_then_overdue(page: Page, sign_in: SignIn, script: Script) -> None:
    script("await queue(6, 'shop').add('pay', {}, { jobId: 'a', delay: 6000 })")
    sign_in("viewer")
    opened(page, "/queues/main/shop/?state=delayed")
    left = page.locator("tr[data-job=a] time[data-time=until]")
    expect(left).to_have_text(re.compile(r"^[0-4] s$"))
    expect(left).to_have_text(re.compile(r"^overdue [1-9] s$"), timeout=15_000)


@pytest.mark.parametrize("width", [360, 1440])
def test_a_long_feed_does_not_make_the_page_longer_than_what_it_shows(
    page: Page, sign_in: SignIn, script: Script, width: int
) -> None:
    for number in range(60):
        keep("failed", 60_000 - number, SHOP, job=str(number), text="no answer " * 30)
    sign_in("viewer")
    page.set_viewport_size({"width": width, "height": 600})
    page.goto("/queues/main/shop/")
    assert page.locator("#feed li").count() >= 30
    assert page.evaluate("document.documentElement.scrollHeight - document.body.offsetHeight") <= 1


# LV-05
def test_a_job_that_fails_because_it_stalled_is_among_the_stalled_ones(
    page: Page, sign_in: SignIn, script: Script, valkey: redis.Redis
) -> None:
    sign_in("viewer")
    opened(page, "/queues/main/shop/")
    script(
        """
        await queue(6, "shop").add("pay", {}, { jobId: "a", attempts: 5 });
        await redis.lrem("bull:shop:wait", 0, "a");
        await redis.lpush("bull:shop:active", "a");
        worker(6, "shop", async () => {}, { maxStalledCount: 0, stalledInterval: 200 });
        await until(async () => (await redis.zcard("bull:shop:failed")) === 1);
        """
    )
    expect(page.locator("#feed")).to_contain_text("stalled too often")
    page.locator("[data-feed-kinds]").select_option(label="Stalled")
    entry = page.locator("#feed li[data-kind=by-stall]")
    expect(entry).to_be_visible()
    for other in page.locator("#feed li:visible").all():
        assert other.get_attribute("data-kind") in ("stalled", "by-stall")
    page.locator("[data-feed-kinds]").select_option(label="Completed")
    expect(entry).to_be_hidden()


def test_a_feed_that_is_held_still_says_how_many_wait_and_shows_them_afterwards(
    page: Page, sign_in: SignIn, script: Script
) -> None:
    sign_in("viewer")
    opened(page, "/queues/main/shop/")
    button = page.locator("[data-feed-pause]")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    script("await queue(6, 'shop').pause()")
    expect(page.locator("[data-feed-held]")).to_contain_text("1")
    expect(page.locator("#feed li")).to_have_count(0)
    expect(page.locator("#paused svg")).to_have_count(1)
    expect(page.locator("#paused-fact")).to_have_text("yes")
    expect(page.locator("#verdict")).to_contain_text("Paused")
    button.click()
    expect(page.locator("#feed li[data-kind=paused]")).to_have_count(1)


def test_lost_events_show_on_an_open_page_with_what_they_mean(
    page: Page, sign_in: SignIn, script: Script, valkey: redis.Redis
) -> None:
    sign_in("viewer")
    opened(page, "/queues/main/shop/")
    notice = page.locator(".gap-notice")
    expect(notice).to_be_hidden()
    keep("gap", 20_000, SHOP, until_ms=now_ms() - 10_000, count=9812)
    expect(notice).to_contain_text(re.compile("9,812 events were lost .* numbers of jobs are right", re.DOTALL))
    expect(page.locator("#feed li[data-kind=gap]")).to_contain_text("events lost: 9,812")
    page.locator("[data-feed-kinds]").select_option(label="Completed")
    expect(page.locator("#feed li[data-kind=gap]")).to_be_visible()
    assert axe_findings(page) == []
