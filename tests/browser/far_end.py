"""A server's side of the socket, played by the test, and pages with live parts of the test's own."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, Route, WebSocketRoute

PATH = "/system/"
PLACE = '<div id="live-banner"></div>'
# The page of a queue's failed jobs, as far as scripts care.
ABOUT = (
    '<div id="live" hidden data-page="queue" data-sources="main" data-queue="mail" data-job=""'
    ' data-read="1764540000000" data-after="7-0" data-state="failed"></div>'
)
PARTS = (
    f'{ABOUT}<p><span id="t-a" data-part>old</span></p><p id="t-plain">plain</p>'
    '<p id="t-field"><input id="typed" aria-label="typed"></p>'
    '<p><a id="pill" class="pill" hidden href="/system/"><span data-pill></span></a></p>'
)
FEED = (
    '<div data-feed-tools hidden><select data-feed-kinds aria-label="kinds"><option value="">All</option>'
    '<option value="failed stalled">Failed</option></select><button type="button" data-feed-pause aria-pressed="false">'
    'Pause</button><span data-feed-held hidden></span></div><ol id="feed" class="feed"></ol>'
)


class Follower:
    """Speaks to the sockets of one page. `said` is what they told, `sockets` those that were opened."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[dict[str, Any]] = []
        self.sockets: list[WebSocketRoute] = []
        self.refuses = 0  # how many of the next sockets are closed at once
        self.number = 0
        page.route_web_socket(re.compile(r"/live/$"), self._opened)

    def _opened(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)
        socket.on_message(lambda text: self.said.append(json.loads(text)))
        if self.refuses:
            self.refuses -= 1
            socket.close(code=1011)

    def frame(self, **values: object) -> int:
        """Send a frame that says live and what `values` say; gives its number."""
        self.number += 1
        now = int(time.time() * 1000)
        self.sockets[-1].send(json.dumps({"n": self.number, "at": now, "pulse": "live", **values}))
        return self.number

    def part(self, name: str, text: str) -> int:
        """Send one part, made as the server makes them. `text` is markup."""
        return self.frame(parts={name: f'<span id="{name}" data-part>{text}</span>'})

    def told(self, key: str) -> list[Any]:
        return [message[key] for message in self.said if key in message]

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for something on this side of the socket."""
        deadline = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < deadline, f"{what}; said: {self.said}"
            self.page.wait_for_timeout(20)

    def watched(self, times: int = 1) -> None:
        """Wait until the page has asked for its news that many times."""
        self.until(lambda: len(self.told("watch")) >= times, f"watched {times} times")

    def acknowledged(self, number: int) -> None:
        self.until(lambda: number in self.told("ack"), f"frame {number} acknowledged")


class Served:
    """What the server answers for one page: the real page with `markup` in it, or `status` alone."""

    def __init__(self, page: Page, markup: str = "") -> None:
        self.markup = markup
        self.status = 200
        self.refreshed = 0
        page.route(f"**{PATH}", self._answer)

    def _answer(self, route: Route) -> None:
        self.refreshed += "mirante-refresh" in route.request.headers
        if self.status != 200:
            route.fulfill(status=self.status, body="<!doctype html><title>x</title>", content_type="text/html")
            return
        response = route.fetch()
        route.fulfill(response=response, body=response.text().replace(PLACE, PLACE + self.markup))


def hide(page: Page, hidden: bool = True) -> None:
    """The tab goes to the back, or comes to the front."""
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", { get: () => hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def word(page: Page) -> Locator:
    """The word of the state line."""
    return page.locator("[data-line=word]")


def entry(event: int, kind: str = "completed") -> str:
    return f'<li data-kind="{kind}" data-event="{event}-0"><a href="/queues/main/mail/">job {event}</a></li>'


def events(page: Page) -> list[str]:
    found: list[str] = page.locator("#feed li:not([hidden])").evaluate_all("all => all.map(one => one.dataset.event)")
    return found
