"""The page of a job while real workers run it: log, notices and end come without a reload, and the reader stays put."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.live_page import Script, never_reloaded, opened
from tests.chromium import SignIn, axe_findings

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.django_db(transaction=True)]

HOSTILE = '<img src=x onerror="window.__x=1"><b hx-get="/" hx-trigger="load">x</b>'
JOB = "/queues/main/shop/jobs/a/"
# A job that does what it is told: `keep.act(job => ...)`, then it waits for the next.
HELD = """
    keep.acts = []; keep.done = 0;
    keep.act = (what) => { keep.acts.push(what); const n = keep.acts.length; return until(() => keep.done >= n); };
    worker(args.major, "shop", async (job) => {
      for (;;) {
        await until(() => keep.done < keep.acts.length, 600000);
        try {
          const result = await keep.acts[keep.done](job);
          if (result !== undefined) return result;
        } finally { keep.done += 1; }
      }
    });
    await queue(args.major, "shop").add("pay", { a: 1 }, { jobId: "a", attempts: 3, backoff: 300, ...args.opts });
    await until(async () => (await redis.llen("bull:shop:active")) === 1);
"""


def lines(page: Page) -> Locator:
    return page.locator("#log-lines li")


# JD-02
def test_hostile_text_is_text_when_it_is_pushed_and_when_it_is_read(
    page: Page, sign_in: SignIn, script: Script
) -> None:
    script(HELD, major=6)
    sign_in("viewer")
    opened(page, JOB)
    script(
        "await keep.act(async (job) => { await job.log(args.text); await job.updateProgress({ msg: args.text }); })",
        text=HOSTILE,
    )
    expect(lines(page)).to_contain_text([HOSTILE])
    expect(page.locator("#job-progress")).to_contain_text("onerror")
    script("await keep.act(() => { throw new Error(args.text); })", text=HOSTILE)
    expect(page.locator("#feed")).to_contain_text(re.compile("retr|delayed"))
    pushed = {name: page.locator(name).inner_html() for name in ("#log-lines li", "#job-progress")}
    never_reloaded(page)
    page.reload()
    assert {name: page.locator(name).inner_html() for name in pushed} == pushed
    assert page.evaluate("window.__x") is None
    assert page.locator("#log-lines b, #log-lines img, #job-progress b, #feed b").count() == 0


# JD-14
def test_a_log_grows_by_its_new_lines_with_the_reader_where_he_is(page: Page, sign_in: SignIn, script: Script) -> None:
    script(HELD, major=5)
    write = (
        "await keep.act(async (job) => { for (let n = args.first; n <= args.last; n++) await job.log(`line ${n}`); })"
    )
    script(write, first=1, last=150)
    sign_in("viewer")
    opened(page, JOB)
    expect(lines(page)).to_have_count(50)
    assert page.locator("#log-lines").evaluate("log => log.scrollTop") > 0, "it opens at its end"
    lines(page).first.evaluate("line => { line.dataset.mark = 'old'; line.parentElement.scrollTop = 10; }")
    before = page.locator("#log-lines").evaluate("log => log.scrollTop")
    script(write, first=151, last=170)
    expect(page.locator("#log-total")).to_have_text("170 lines")
    expect(lines(page)).to_have_count(70)
    assert lines(page).first.get_attribute("data-mark") == "old", "lines that were there are not sent again"
    assert page.locator("#log-lines").evaluate("log => log.scrollTop") == before
    numbers = lines(page).evaluate_all("all => all.map((line) => [line.value, line.innerText.split(/\\s+/).pop()])")
    assert numbers == [[number, str(number)] for number in range(101, 171)]
    page.locator("#log-lines").evaluate("log => { log.scrollTop = log.scrollHeight; }")
    script("await redis.rpush('bull:shop:a:logs', ...Array.from({ length: 1000 }, (_, n) => `line ${171 + n}`))")
    expect(page.locator("#log-total")).to_have_text("1,170 lines")
    assert page.locator("#log-lines").evaluate("log => log.scrollHeight - log.scrollTop - log.clientHeight") < 8
    expect(page.locator("#log-lines .skipped")).to_have_text(re.compile(r"\d+ lines left out"))
    told = lines(page).last.evaluate("line => [line.value, line.innerText.split(/\\s+/).pop()]")
    assert told == [1170, "1170"]


# JD-14
def test_a_log_that_keeps_few_lines_says_that_newer_ones_are_missing(
    page: Page, sign_in: SignIn, script: Script
) -> None:
    script(HELD, major=6, opts={"keepLogs": 5})
    write = (
        "await keep.act(async (job) => { for (let n = args.first; n <= args.last; n++) await job.log(`line ${n}`); })"
    )
    script(write, first=1, last=5)
    sign_in("viewer")
    opened(page, JOB)
    notice = page.locator("#logs .notice")
    expect(lines(page)).to_have_count(5)
    expect(notice).to_be_hidden()
    script("await keep.act((job) => job.updateProgress(1))")
    expect(page.locator("#job-progress")).to_contain_text("1%")  # the log has been looked at since the page was read
    script(write, first=6, last=9)
    expect(notice).to_be_visible()
    notice.get_by_role("link", name="Read again").click()
    expect(lines(page).last).to_contain_text("line 9")
    expect(notice).to_be_hidden()


def test_what_cannot_be_pushed_says_that_it_is_out_of_date(page: Page, sign_in: SignIn, script: Script) -> None:
    script(HELD, major=6)
    sign_in("viewer")
    opened(page, JOB)
    notice = page.locator("[data-version] > .notice")
    expect(notice).to_be_hidden()
    script("await keep.act(() => ({ paid: true }))")
    expect(page.locator("#job-state")).to_contain_text("Completed")
    expect(notice).to_contain_text("This job has changed since")
    assert page.get_by_text("Return value").count() == 0
    notice.get_by_role("link", name="Read again").click()
    expect(page.get_by_role("heading", name="Return value")).to_be_visible()
    expect(page.locator("#state-line")).to_have_attribute("data-state", "live", timeout=60_000)
    expect(notice).to_be_hidden()


def test_a_job_that_is_removed_when_it_ends_leaves_its_last_state_and_says_so(
    page: Page, sign_in: SignIn, script: Script
) -> None:
    script(HELD, major=6, opts={"removeOnComplete": True})
    sign_in("viewer")
    opened(page, JOB)
    expect(page.locator("#job-state")).to_contain_text("Active, attempt 1")
    script("await keep.act(() => 1)")
    removed = page.locator("#job-removed")
    expect(removed).to_contain_text("Removed at")
    expect(removed).to_contain_text("It had completed.")
    expect(page.locator("#feed li").first).to_contain_text("completed")
    expect(page.locator("#job-state")).to_contain_text("Active, attempt 1")
    never_reloaded(page)


# LV-05
@pytest.mark.parametrize("most", [0, 1])
def test_a_job_that_stalls_too_often_is_explained(page: Page, sign_in: SignIn, script: Script, most: int) -> None:
    script(
        """
        const q = queue(6, "shop");
        await q.add("pay", {}, { jobId: "a", attempts: 5 });
        await redis.lmove("bull:shop:wait", "bull:shop:active", "LEFT", "LEFT");
        """
    )
    sign_in("viewer")
    opened(page, JOB)
    expect(page.locator("#job-state")).to_contain_text("No worker holds its lock")
    # Each time it comes to a worker that lets its lock run out.
    script(
        """
        worker(6, "shop", () => sleep(600000), {
          stalledInterval: 400, lockDuration: 500, maxStalledCount: args.most, skipLockRenewal: true, concurrency: 5,
        });
        """,
        most=most,
    )
    expect(page.locator("#job-state")).to_contain_text("whatever attempts it has left", timeout=60_000)
    expect(page.locator("#feed")).to_contain_text("stalled too often")
    expect(page.locator("#feed")).to_contain_text("stalled, lock lost")
    never_reloaded(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_live_page_is_accessible_and_fits_a_phone(page: Page, sign_in: SignIn, script: Script, scheme: str) -> None:
    script(HELD, major=6)
    script("await keep.act(async (job) => { await job.log('one'); await job.updateProgress(40); })")
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    sign_in("viewer")
    opened(page, JOB)
    script("await keep.act(() => { throw new Error('no luck'); })")
    expect(page.locator("#feed li").first).to_be_visible()
    expect(page.locator("[data-version] > .notice")).to_be_visible()
    assert axe_findings(page) == []
    page.set_viewport_size({"width": 360, "height": 780})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
