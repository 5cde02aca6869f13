"""What browser tests of live pages share: the queue `shop`, followed, and a socket that the test plays itself."""

from __future__ import annotations

import subprocess

import pytest
import redis
from playwright.sync_api import Page, expect

from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.browser.far_end import PARTS, PATH, Follower, Served, word
from tests.browser.live_page import Script
from tests.chromium import SignIn
from tests.node import Node
from tests.queues.following import know
from tests.valkey import Server as Valkey


@pytest.fixture
def shop(valkey: redis.Redis, follower: subprocess.Popen[bytes]) -> QueueRef:
    return know(b"shop")[0]


@pytest.fixture
def script(shop: QueueRef, node: Node, valkey_server: Valkey) -> Script:
    """Runs JavaScript with BullMQ on the watched server, on which the queue `shop` is followed."""

    def run(body: str, **args: object) -> object:
        return node.run(body, url=valkey_server.url, **args)

    return run


@pytest.fixture
def far_end(page: Page, source: SourceConfig, sign_in: SignIn) -> Follower:
    """The server's side of the page's socket."""
    sign_in("viewer")
    return Follower(page)


@pytest.fixture
def served(page: Page, far_end: Follower) -> Served:
    return Served(page, PARTS)


@pytest.fixture
def opened(page: Page, far_end: Follower, served: Served) -> Page:
    """A page with live parts whose socket has been asked for news and says live."""
    page.clock.install()
    page.goto(PATH)
    far_end.watched()
    far_end.frame()
    expect(word(page)).to_have_text("Live")
    return page
