"""What real workers do is on the screen without a reload: BullMQ 5 and 6, the follower, the web process, Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from queues.models import Notable
from queues.types import QueueRef
from tests.browser.live_page import Script, never_reloaded, opened
from tests.chromium import SignIn
from tests.valkey import eventually

pytestmark = pytest.mark.django_db(transaction=True)

MAJORS = pytest.mark.parametrize("major", [5, 6], ids=["bullmq5", "bullmq6"])


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """A loaded machine may need long; how quick it is, the bench tells."""
    expect.set_options(timeout=60_000)
    yield
    expect.set_options(timeout=5_000)


# Scripts write the text of moments, each tab at its own second.
PARTS = """[...document.querySelectorAll(".tabs [data-part], #feed li")]
  .map((part) => part.outerHTML.replace(/>[^<]*<.time>/g, "><"))"""
# A worker whose jobs go on when they are told to.
WORKER = """
    keep.told = {};
    keep.done = {};
    tools.worker(args.major, "shop", async (job) => {
      for (;;) {
        const step = keep.done[job.id] ?? 0;
        await until(() => keep.told[job.id] > step);
        keep.done[job.id] = step + 1;
        const act = keep.acts[job.id][step];
        if (act.progress !== undefined) await job.updateProgress(act.progress);
        if (act.log) await job.log(act.log);
        if (act.fail) throw new Error(act.fail);
        if (act.done) return act.done;
      }
    }, { concurrency: 4, lockDuration: 30000 });
"""


@MAJORS
def test_progress_counts_and_the_end_of_a_job_appear(
    page: Page, sign_in: SignIn, script: Script, shop: QueueRef, major: int
) -> None:
    script(
        WORKER
        + """
        keep.acts = { a: [{ progress: 10 }, { progress: 60 }, { done: "yes" }] };
        await tools.queue(args.major, "shop").add("pay", {}, { jobId: "a" });
        await until(async () => (await tools.redis.llen("bull:shop:active")) === 1);
        """,
        major=major,
    )
    sign_in("viewer")
    opened(page, "/queues/main/shop/?state=active")
    row = page.locator("tr[data-job=a]")
    for step, percent in ((1, "10"), (2, "60")):
        script("keep.told.a = args.step", step=step)
        expect(row.locator("progress")).to_have_attribute("value", re.compile(rf"^{percent}(\.0)?$"))
    script("keep.told.a = 3")
    expect(page.locator("[data-state=completed] [data-part]")).to_have_text("1")
    expect(page.locator("[data-state=active] [data-part]")).to_have_text("0")
    expect(page.locator("#feed li[data-kind=completed] a")).to_have_attribute("href", re.compile(r"/jobs/a/$"))
    never_reloaded(page)


@MAJORS
def test_attempts_logs_and_the_outcome_of_a_job_appear_on_its_page(
    page: Page, sign_in: SignIn, script: Script, shop: QueueRef, major: int
) -> None:
    script(
        WORKER
        + """
        keep.acts = { a: [
          { log: "first line" }, { fail: "no <b>luck</b>" }, { log: "<i>second</i> line" }, { done: 1 }
        ] };
        await tools.queue(args.major, "shop").add("pay", {}, { jobId: "a", attempts: 2, backoff: 200 });
        await until(async () => (await tools.redis.llen("bull:shop:active")) === 1);
        """,
        major=major,
    )
    sign_in("viewer")
    opened(page, "/queues/main/shop/jobs/a/")
    script("keep.told.a = 1")
    expect(page.locator("#log-lines")).to_contain_text("first line")
    script("keep.told.a = 2")
    expect(page.locator("#feed")).to_contain_text(re.compile("retr|delayed", re.IGNORECASE))
    script("keep.told.a = 3")
    expect(page.locator("#log-lines")).to_contain_text("<i>second</i> line")
    assert page.locator("#log-lines i").count() == 0
    script("keep.told.a = 4")
    expect(page.locator("#job-state")).to_contain_text("Completed", ignore_case=True)
    assert page.locator("#log-lines li").count() == 2
    never_reloaded(page)


@MAJORS
def test_a_worker_that_is_killed_shows_as_stalled_and_its_job_as_recovered(
    page: Page, sign_in: SignIn, script: Script, shop: QueueRef, major: int
) -> None:
    script(
        """
        const { spawn } = await import("node:child_process");
        const library = process.env.BULLMQ_NODE_MODULES + "/bullmq" + args.major;
        const text = `const { Worker } = require(${JSON.stringify(library)});
          new Worker("shop", () => new Promise(() => {}),
            { connection: ${JSON.stringify(tools.connection)}, lockDuration: 1500, skipStalledCheck: true });`;
        keep.child = spawn(process.execPath, ["-e", text], { stdio: "ignore" });
        await tools.queue(args.major, "shop").add("pay", {}, { jobId: "a" });
        await until(async () => (await tools.redis.llen("bull:shop:active")) === 1);
        """,
        major=major,
    )
    sign_in("viewer")
    opened(page, "/queues/main/shop/?state=active")
    script(
        """
        keep.child.kill("SIGKILL");
        tools.worker(args.major, "shop", async () => "recovered", { stalledInterval: 500, maxStalledCount: 3 });
        """,
        major=major,
    )
    expect(page.locator("#feed li[data-kind=stalled]")).to_have_count(1)
    expect(page.locator("#feed li[data-kind=completed]")).to_have_count(1)
    expect(page.locator("[data-state=completed] [data-part]")).to_have_text("1")
    never_reloaded(page)


@MAJORS
def test_a_failure_appears_on_the_overview_and_as_new_over_the_list(
    page: Page, sign_in: SignIn, script: Script, shop: QueueRef, major: int
) -> None:
    script("await tools.queue(args.major, 'shop').waitUntilReady()", major=major)
    sign_in("viewer")
    opened(page, "/queues/main/shop/?state=failed")
    other = page.context.new_page()
    opened(other, "/")
    script(
        """
        tools.worker(args.major, "shop", async () => { throw new Error("<img src=x onerror=window.bad=1>"); });
        const queue = tools.queue(args.major, "shop");
        for (let i = 0; i < 7; i += 1) await queue.add("pay", {});
        await until(async () => (await tools.redis.zcard("bull:shop:failed")) === 7);
        """,
        major=major,
    )
    expect(page.locator("#pill")).to_contain_text("7 new")
    expect(page.locator("[data-state=failed] [data-part]")).to_have_text("7")
    expect(page.locator("#feed")).to_contain_text("<img src=x onerror=window.bad=1>")
    expect(other.locator("tr[data-queue='main/shop'] [id$=-failed]")).to_have_text("7")
    for each in (page, other):
        assert each.evaluate("window.bad") is None
        never_reloaded(each)
    page.locator("#pill").click()
    expect(page.locator("tr[data-job]")).to_have_count(7)
    other.close()


def test_two_readers_of_different_roles_see_the_same_parts(
    page: Page, sign_in: SignIn, script: Script, shop: QueueRef
) -> None:
    script("keep.queue = tools.queue(6, 'shop'); await keep.queue.waitUntilReady()")
    sign_in("viewer")
    opened(page, "/queues/main/shop/?state=failed")
    page.context.clear_cookies()
    sign_in("admin")
    other = page.context.new_page()
    opened(other, "/queues/main/shop/?state=failed")
    script("await keep.queue.add('pay', {}); await keep.queue.pause()")
    for each in (page, other):
        expect(each.locator("[data-state=waiting] [data-part]")).to_have_text("1")
        expect(each.locator("#feed li[data-kind=paused]")).to_have_count(1)
    parts = page.evaluate(PARTS)
    assert len(parts) >= 7, parts
    assert any('data-kind="paused"' in part for part in parts)
    assert parts == other.evaluate(PARTS)
    other.close()


# IZ-01
@pytest.mark.parametrize(("zone", "offset"), [("Asia/Kolkata", "UTC+05:30"), ("America/New_York", "UTC-0")])
def test_moments_that_are_pushed_are_the_readers_own_and_those_of_the_page_that_is_read(
    page: Page, sign_in: SignIn, script: Script, zone: str, offset: str
) -> None:
    script("keep.queue = tools.queue(6, 'shop'); await keep.queue.waitUntilReady()")
    sign_in("viewer")
    page.context.new_cdp_session(page).send("Emulation.setTimezoneOverride", {"timezoneId": zone})
    opened(page, "/queues/main/shop/?state=failed")
    script(
        """
        tools.worker(6, "shop", async () => { throw new Error("no luck"); });
        await keep.queue.add("pay", {}, { jobId: "a" });
        """
    )
    moment = page.locator("#feed li[data-kind=failed] time").first
    expect(moment).to_have_attribute("title", re.compile(re.escape(offset)))
    instant = str(moment.get_attribute("datetime"))
    utc = datetime.fromisoformat(instant)
    shown = f"{utc.astimezone(ZoneInfo(zone)):%H:%M:%S}"

    def is_right() -> None:
        expect(moment).to_have_text(re.compile(shown))
        title = str(moment.get_attribute("title"))
        assert re.search(rf"{shown}\.\d+ {re.escape(offset)}\S* = {utc:%H:%M:%S}\.\d+ UTC ", title), title
        assert moment.get_attribute("datetime") == instant

    is_right()
    eventually(lambda: Notable.objects.filter(kind="failed").exists())  # kept, so that it is read with the page
    page.reload()
    is_right()
