"""The server of a test is the only source, and background actions wait until a test runs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from queues import outages, readonly, registry
from tests.valkey import Server


@pytest.fixture
def watched(server: Server, settings: Settings, no_tasks: None) -> Iterator[None]:
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    readonly.forget()
    yield
    registry.forget()
    readonly.forget()
    outages.forget("main")
