"""However long names, ids, progress and workers are, the list of jobs does not run into what stands beside it."""

from __future__ import annotations

import json

import pytest
import redis
from playwright.sync_api import Page

from queues.quantities import now_ms
from queues.types import State
from tests.chromium import SignIn

pytestmark = pytest.mark.django_db(transaction=True)

WIDTHS = (1090, 1280, 1344, 1366, 1440, 1510, 1600, 1792, 2560)
OVER = """() => {
  const edge = (selector) => document.querySelector(selector).getBoundingClientRect().right;
  return Math.max(edge("table.jobs") - edge("#jobs"), document.documentElement.scrollWidth - innerWidth);
}"""


def test_a_list_of_long_names_stays_in_its_column(page: Page, sign_in: SignIn, valkey: redis.Redis) -> None:
    now = now_ms()
    shapes = (42, {"step": "reading the file of the customers", "n": 12}, "text " * 20)
    valkey.hset("bull:long:meta", "opts.maxLenEvents", "10000")
    for number, shape in enumerate(shapes):
        job = f"customer-{number}-import-of-2026-11-30T23:00:00-0300-{'x' * 90}"
        valkey.hset(
            f"bull:long:{job}",
            mapping={
                "name": f"synchronise-the-customers-of-tenant-{'y' * 90}",
                "data": "{}",
                "timestamp": now - 90_000_000,
                "processedOn": now - 86_000_000,
                "ats": 1,
                "progress": json.dumps(shape),
                "pb": f"worker-{'w' * 60}",
                "failedReason": "no luck " * 40,
            },
        )
        valkey.lpush("bull:long:active", job)
        for state in ("failed", "completed", "delayed"):
            valkey.zadd(f"bull:long:{state}", {job: now})
    sign_in("viewer")
    page.goto("/queues/main/long/")
    over = []
    for state in (State.ACTIVE, State.FAILED, State.COMPLETED, State.DELAYED, "finished"):
        page.goto(f"/queues/main/long/?state={state}")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            by = page.evaluate(OVER)
            over += [(str(state), width, by)] if by > 1 else []
    assert over == [], str(over)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/queues/main/long/?state=failed")
    error = page.locator("tbody td.sig").first.bounding_box()
    assert error is not None
    assert error["width"] > 190, "what they failed with can be read"
    color = "each => getComputedStyle(each).color"
    link = page.locator(".crumbs a").first.evaluate(color)
    assert page.locator("tbody th a.idc").first.evaluate(color) == link, "an id looks like the link that it is"
