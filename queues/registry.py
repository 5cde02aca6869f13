"""From configuration to backends: one shared backend for each configured source, made on first use."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from django.conf import settings

from queues.backend import Backend
from queues.errors import NotFound


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """A monitored server. `url` may hold a password: never show it, `repr` hides it.

    `prefixes` limits discovery to these key prefixes; empty means all.
    """

    name: str
    url: str
    kind: str = "bullmq"
    prefixes: tuple[str, ...] = ()
    ca_file: str = ""

    def __repr__(self) -> str:
        return f"SourceConfig({self.name!r}, kind={self.kind!r})"


_lock = threading.Lock()


def configured() -> Sequence[SourceConfig]:
    """All sources in the order in which they were configured."""
    return tuple(settings.MIRANTE_SOURCES)


def backend(name: str) -> Backend:
    """The backend of a source. NotFound when no source has this name; does not connect."""
    for config in configured():
        if config.name == name:
            with _lock:
                return _made(config)
    raise NotFound(f"No source is called “{name}”.")


def forget() -> None:
    """Drop all made backends, for a process that forked and for tests."""
    _made.cache_clear()


@cache
def _made(config: SourceConfig) -> Backend:
    module = importlib.import_module(f"queues.backends.{config.kind}")
    made: Backend = module.connect(config)
    return made
