"""The drill: a bad deploy fails jobs of three kinds over two queues and their dead-letter queues. One operator sees it,
understands, corrects the data and replays all of it, by clicks that are counted and seconds that are printed.

600 jobs here; DRILL=10000 in the environment makes it as many, and SOAK=1 does, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis
from django.conf import settings
from playwright.sync_api import Locator, Page, Response, expect

from queues import deploys
from queues.audit.types import Status
from queues.failures.types import Life
from queues.models import AuditEntry, Failure, FailureGroup, Letter, Replay
from queues.quantities import MINUTE, now_ms, number
from queues.replay.report import report
from tests.browser.live_page import opened
from tests.chromium import SignIn
from tests.node import Node
from tests.policy import rounds
from tests.queues.following import know
from tests.server import Server, child_environment
from tests.valkey import Server as Valkey
from tests.valkey import eventually

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.soak]

JOBS = int(os.environ.get("DRILL") or rounds(sample=600, soak=10_000))
CLICKS = 12
ALL_WELL = f"{number(JOBS)} of {number(JOBS)} sent, {number(JOBS)} completed."
PATIENCE_MS = 120_000 + 20 * JOBS
KINDS = ("charge-card", "reserve-stock", "issue-invoice")
FIX = '{"currency": "BRL"}'
NUMBER = """
local type = redis.call("TYPE", KEYS[1]).ok
return type == "none" and 0 or redis.call(type == "zset" and "ZCARD" or "LLEN", KEYS[1])
"""
# Workers of two majors. Since the deploy producers leave the currency out, by which each kind of job fails in its own
# way, at the first attempt.
SHOP = """
    const work = {
      "charge-card": (data) => data.currency.toUpperCase(),
      "reserve-stock": (data) => { if (!data.currency) throw new RangeError(`no price of ${data.sku} in undefined`); },
      "issue-invoice": (data) => { if (!data.currency) throw new Error("SchemaError: /currency must be string"); },
    };
    for (const [major, name] of [[6, "orders"], [5, "billing"]]) {
      const box = queue(major, `${name}-dlq`);
      const w = worker(major, name, async (job) => work[job.name](job.data), { concurrency: 50 });
      w.on("failed", (job, error) => box.add("dead-letter", {
        payload: job.data, error: { message: error.message, name: error.name, stack: error.stack },
        failedAt: new Date().toISOString(),
        origin: { queue: name, jobId: job.id, jobName: job.name, attempts: job.attemptsMade },
      }));
      await w.waitUntilReady();
    }
"""
DEPLOY = """
    const queues = { orders: queue(6, "orders"), billing: queue(5, "billing") };
    for (const [kind, place] of [[0, "orders"], [1, "orders"], [2, "billing"]]) {
      const jobs = [];
      for (let n = args.begin; n < args.end; n += 1) if (n % 3 === kind) jobs.push({
        name: args.kinds[kind],
        data: { orderId: 70000 + n, sku: `SKU-${n % 40}`, customer: { id: n % 97 }, cents: n } });
      await queues[place].addBulk(jobs);
    }
    const letters = [queue(6, "orders-dlq"), queue(5, "billing-dlq")];
    const posted = async () => Promise.all(letters.map((box) => box.getWaitingCount()));
    await until(async () => (await posted()).reduce((a, b) => a + b) === args.end);
"""
# Failed orders stay in their failed set; of invoices only the letters are left that tell of them.
TRIM = 'await queue(5, "billing").clean(0, 0, "failed")'


@dataclass
class Hand:
    """The operator's: clicks are counted, and how long the server took for each page and fragment."""

    page: Page
    clicks: int = 0
    began: float = field(default_factory=time.monotonic)
    told: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")

    def __post_init__(self) -> None:
        self.page.on("response", self._answered)

    def click(self, what: Locator, shows: Locator) -> None:
        """Click it, and wait for what comes of it."""
        at = time.monotonic()
        what.click(timeout=PATIENCE_MS)
        self.clicks += 1
        expect(shows).to_be_visible(timeout=PATIENCE_MS)
        self.tell(f"{self.clicks:2}. {self.page.title()}", time.monotonic() - at)

    def type(self, into: Locator, text: str) -> None:
        """What the keyboard does alone."""
        into.focus()
        self.page.keyboard.type(text)

    def tell(self, what: str, seconds: float | None = None) -> None:
        took = "" if seconds is None else f"  {seconds:.1f} s"
        self.told.append(f"{time.monotonic() - self.began:6.1f} s  {what}{took}")

    def _answered(self, response: Response) -> None:
        if response.request.resource_type in ("document", "xhr", "fetch") and response.ok:
            took = response.request.timing["responseStart"] / 1000
            self.slowest = max(self.slowest, (took, f"{response.request.method} {response.url}"))


@contextmanager
def _service(log: Path, environment: dict[str, str], *command: str) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-q", "-A", "dashboard", *command],
            cwd=settings.BASE_DIR,
            env=child_environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        print(log.read_text("utf-8", errors="replace"))


@pytest.fixture
def product(
    live: Server, live_environment: dict[str, str], follower: subprocess.Popen[bytes], tmp_path: Path
) -> Iterator[None]:
    """All services of Mirante, at work."""
    with ExitStack() as stack:
        stack.enter_context(_service(tmp_path / "worker.log", live_environment, "worker"))
        schedule = str(tmp_path / "beat")
        stack.enter_context(_service(tmp_path / "beat.log", live_environment, "beat", "--schedule", schedule))
        yield


@dataclass
class Shop:
    """The workers, and what has become of their jobs."""

    client: redis.Redis
    node: Node
    url: str

    def open(self) -> None:
        self.node.run(SHOP, url=self.url)

    def deploy(self) -> None:
        """As traffic comes: streams keep the events of some thousand jobs only."""
        for begin in range(0, JOBS, 600):
            self.node.run(DEPLOY, url=self.url, begin=begin, end=min(JOBS, begin + 600), kinds=KINDS)

    def trim(self) -> None:
        """Once all is known, as a limit on failed jobs does."""
        self.node.run(TRIM, url=self.url)
        eventually(lambda: not Failure.objects.filter(in_set=True, queue__slug="billing").exists(), within=120)

    def number(self, *sets: str) -> int:
        """How many jobs there are in some sets and lists."""
        return sum(int(str(self.client.eval(NUMBER, 1, f"bull:{each}"))) for each in sets)


@pytest.fixture
def shop(valkey: redis.Redis, valkey_server: Valkey, node: Node) -> Shop:
    made = Shop(valkey, node, valkey_server.url)
    know(b"orders", b"billing", b"orders-dlq", b"billing-dlq")
    made.open()
    return made


def test_a_bad_deploy_is_seen_understood_patched_replayed_and_verified_within_twelve_clicks(
    page: Page, sign_in: SignIn, product: None, shop: Shop
) -> None:
    sign_in("operator")
    opened(page, "/")
    deploys.record("v4.18.0", now_ms() - 2 * MINUTE)
    hand = Hand(page)
    shop.deploy()
    see(hand)
    shop.trim()
    understand(hand)
    plan(hand)
    patch(hand)
    replay(hand)
    verify(hand, shop)
    hand.tell(f"{JOBS} jobs, {hand.clicks} clicks; the slowest answer: {hand.slowest[0]:.1f} s, {hand.slowest[1]}")
    print("\n".join(hand.told))
    assert hand.clicks <= CLICKS


def see(hand: Hand) -> None:
    """The overview moves by itself."""
    expect(hand.page.locator("main")).to_contain_text("failed in 5 min", timeout=PATIENCE_MS)
    hand.tell("seen")
    # Whoever comes sooner reads the list again, as it offers by itself: letters are read after the events.
    eventually(lambda: Failure.objects.filter(present=True).count() == JOBS, within=PATIENCE_MS / 1000)
    eventually(lambda: Letter.objects.count() == JOBS, within=PATIENCE_MS / 1000)
    hand.tell("indexed")


def understand(hand: Hand) -> None:
    """The list, and one of its groups: since when, after which deploy, with a stack and a payload."""
    page = hand.page
    rows = page.locator("tr[data-group]")
    hand.click(page.get_by_role("link", name="Failures"), rows.nth(2))
    expect(rows).to_have_count(3)
    hand.click(rows.filter(has_text="TypeError").get_by_role("link").first, page.get_by_role("heading", level=1))
    expect(page.locator("main")).to_contain_text("Cannot read properties of undefined (reading 'toUpperCase')")
    expect(page.locator("main")).to_contain_text("v4.18.0")
    hand.tell("understood")
    page.go_back()
    expect(rows).to_have_count(3)


def plan(hand: Hand) -> None:
    """One of all three kinds."""
    page = hand.page
    for row in page.locator("tr[data-group]").all():
        hand.click(row.get_by_role("checkbox"), row)
    hand.click(page.get_by_role("button", name="Plan replay…"), page.locator("#plan-sentence"))
    expect(startable(page)).to_be_enabled(timeout=PATIENCE_MS)
    hand.tell("planned")


def patch(hand: Hand) -> None:
    """What is missing is set, and shown before and after."""
    page = hand.page
    merge = page.get_by_text("Merge this JSON into the data")
    hand.click(page.get_by_text("Change the data of every job before it is sent"), merge)
    hand.click(merge, page.get_by_label("What is changed"))
    hand.type(page.get_by_label("What is changed"), FIX)
    hand.click(page.get_by_text("As fast as the server takes them"), page.locator("#plan-sentence"))
    hand.click(page.get_by_role("button", name="Save as draft").first, page.get_by_text("Kept. Nothing is sent"))
    expect(startable(page)).to_be_enabled(timeout=PATIENCE_MS)
    added = page.locator(".diff .in", has_text=FIX.strip("{}"))
    expect(added.first).to_be_visible(timeout=PATIENCE_MS)
    hand.tell("patched")


def replay(hand: Hand) -> None:
    """Above 1,000 jobs its name is typed."""
    page = hand.page
    if (name := page.locator("[name=sure]")).count():
        hand.type(name, str(Replay.objects.get()))
    hand.click(startable(page), page.get_by_text("Take it back"))
    hand.tell("started")
    expect(page.locator("[data-outcome]")).to_have_text(ALL_WELL, timeout=PATIENCE_MS)
    hand.tell("replayed")


def verify(hand: Hand, shop: Shop) -> None:
    """The report is clean, nothing is left behind, and the log tells the whole story."""
    page = hand.page
    expect(page.locator("main")).to_contain_text("Canary passed")
    hand.click(page.get_by_role("button", name="Resolve the 3 groups"), page.get_by_text("Resolved. What fails again"))
    hand.tell("verified and resolved")
    done = Replay.objects.get()
    found = report(done)
    assert (found.clean, found.sent, found.completed, found.removed) == (True, JOBS, JOBS, JOBS)
    left = ("orders:failed", "orders:wait", "orders-dlq:wait", "billing:failed", "billing:wait", "billing-dlq:wait")
    assert [shop.number(each) for each in left] == [0] * len(left)
    assert shop.number("orders:completed", "billing:completed") == JOBS
    assert set(FailureGroup.objects.values_list("life", flat=True)) == {Life.RESOLVED}
    entry = AuditEntry.objects.get(action="replay")
    assert (entry.status, entry.outcomes) == (Status.DONE, {"completed": JOBS})
    assert AuditEntry.objects.filter(action="failure-resolve", reason__contains=str(done)).count() == 3


def startable(page: Page) -> Locator:
    return page.get_by_role("button", name="Start replay of")
