"""A live page behind a proxy of the kind that operators have: it says what it is, and is live again by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
import redis
from playwright.sync_api import Page, expect

from queues.types import QueueRef
from tests.browser.live_page import never_reloaded, opened
from tests.chromium import SignIn
from tests.proxy import Proxy, proxy
from tests.queues.following import add
from tests.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

QUEUE = "/queues/main/shop/?state=completed"
PATIENCE_MS = 60_000
SAID_WITHIN_S = 10.0


@pytest.fixture
def behind(live: Server, page: Page, shop: QueueRef, valkey: redis.Redis, complaints: list[str]) -> Iterator[Proxy]:
    valkey.hset("bull:shop:meta", "opts.maxLenEvents", "10000")
    with proxy(live.url) as made:
        yield made
        page.goto("about:blank")
    complaints.clear()  # a browser's own, on sockets that were refused or broken


@pytest.fixture
def complete(valkey: redis.Redis) -> Callable[[], None]:
    """One more job completes."""

    def complete() -> None:
        at = add(valkey, "shop", "completed", "jobId", str(time.monotonic_ns()), "prev", "active")
        valkey.zadd("bull:shop:completed", {at: 1})

    return complete


def says(page: Page, *states: str, within_s: float = PATIENCE_MS / 1000) -> None:
    page.wait_for_function(
        "states => states.includes(document.getElementById('state-line').dataset.state)",
        arg=list(states),
        timeout=within_s * 1000,
    )


def shows(page: Page, number: int) -> None:
    expect(page.locator("[data-state=completed] [data-part]")).to_have_text(str(number), timeout=PATIENCE_MS)


def drops_upgrade(behind: Proxy) -> None:
    behind.upgrade = False
    behind.cut()


def answers_502(behind: Proxy) -> None:
    behind.refused = "/live/"
    behind.cut()


# LV-04
@pytest.mark.parametrize("breaks", [drops_upgrade, answers_502])
def test_without_a_socket_the_page_is_polled_says_so_and_is_live_again_by_itself(
    page: Page, sign_in: SignIn, behind: Proxy, complete: Callable[[], None], breaks: Callable[[Proxy], None]
) -> None:
    sign_in("viewer")
    opened(page, behind.url + QUEUE)
    breaks(behind)
    says(page, "polling", within_s=SAID_WITHIN_S)
    complete()
    shows(page, 1)
    says(page, "polling")
    behind.upgrade, behind.refused = True, ""
    says(page, "live")
    complete()
    shows(page, 2)
    never_reloaded(page)


# LV-04
def test_a_page_that_never_had_a_socket_is_polled_and_says_so(
    page: Page, sign_in: SignIn, behind: Proxy, complete: Callable[[], None]
) -> None:
    behind.upgrade = False
    sign_in("viewer")
    page.goto(behind.url + QUEUE)
    says(page, "polling", within_s=SAID_WITHIN_S)
    complete()
    shows(page, 1)
    behind.upgrade = True
    says(page, "live")


# LV-04
def test_a_proxy_that_cuts_sockets_leaves_a_page_that_is_right_after_each_cut(
    page: Page, sign_in: SignIn, behind: Proxy, complete: Callable[[], None]
) -> None:
    sign_in("viewer")
    opened(page, behind.url + QUEUE)
    for number in (1, 2, 3):
        behind.cut()
        says(page, "polling", within_s=SAID_WITHIN_S)
        complete()
        says(page, "live")
        shows(page, number)
    never_reloaded(page)


# LV-04
def test_a_proxy_that_lets_nothing_through_is_noticed_without_a_word_from_it(
    page: Page, sign_in: SignIn, behind: Proxy, complete: Callable[[], None]
) -> None:
    sign_in("viewer")
    page.clock.install()
    opened(page, behind.url + QUEUE)
    behind.held = True
    page.clock.fast_forward(int(SAID_WITHIN_S * 1000))
    says(page, "polling", "blind")
    complete()
    says(page, "blind")
    expect(page.locator("#state-line")).to_contain_text("Not live since")
    shows(page, 0)
    behind.held = False
    says(page, "live")
    shows(page, 1)
    never_reloaded(page)


# LV-04
def test_a_proxy_whose_server_is_away_is_said_and_what_is_shown_stays(
    page: Page, sign_in: SignIn, behind: Proxy, complete: Callable[[], None]
) -> None:
    sign_in("viewer")
    complete()
    opened(page, behind.url + QUEUE)
    shows(page, 1)
    behind.refused = "/"
    behind.cut()
    says(page, "blind", within_s=SAID_WITHIN_S)
    complete()
    shows(page, 1)
    assert page.locator("text=502").count() == 0
    behind.refused = ""
    says(page, "live")
    shows(page, 2)
    never_reloaded(page)
