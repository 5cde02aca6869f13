"""What browser tests of live pages share: the queue `shop` of the real library, followed."""

from __future__ import annotations

import subprocess

import pytest
import redis

from queues.types import QueueRef
from tests.browser.live_page import Script
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
