"""From configuration to backends: one shared backend for each configured source, made on first use."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from django.conf import settings
from django.utils.translation import gettext as _

from queues.backend import Actions, Backend
from queues.errors import NotFound


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """A monitored server. `url` may hold a password: never show it, `repr` hides it.

    `prefixes` limits discovery to these key prefixes; empty means all. `read_only` refuses every write.
    """

    name: str
    url: str
    kind: str = "bullmq"
    prefixes: tuple[str, ...] = ()
    ca_file: str = ""
    read_only: bool = False

    def __repr__(self) -> str:
        return f"SourceConfig({self.name!r}, kind={self.kind!r})"


_lock = threading.Lock()
_backends: dict[SourceConfig, Backend] = {}
_actions: dict[SourceConfig, Actions] = {}
_dedicated: list[tuple[str, Backend]] = []  # kept when closed, too: what they have sent stays sent


def configured() -> Sequence[SourceConfig]:
    """All sources in the order in which they were configured."""
    return tuple(settings.MIRANTE_SOURCES)


def backend(name: str) -> Backend:
    """The backend of a source. NotFound when no source has this name; does not connect."""
    config = _named(name)
    with _lock:
        if config not in _backends:
            _backends[config] = _connect(config)
        return _backends[config]


def config(name: str) -> SourceConfig:
    """How a source is configured. NotFound when no source has this name."""
    return _named(name)


def actions(name: str) -> Actions:
    """What can be done to the queues of a source; `queues.operations` alone asks for it. Does not connect.

    Only for a backend with `Capability.ACTIONS`. NotFound when no source has this name.
    """
    config = _named(name)
    with _lock:
        if config not in _actions:
            made: Actions = _module(config).actions(config)
            _actions[config] = made
        return _actions[config]


def dedicated(name: str) -> Backend:
    """A backend of a source with one connection, shared with nobody, for its caller to close. NotFound as above."""
    config = _named(name)
    made: Backend = _module(config).connect(config, connections=1)
    with _lock:
        _dedicated.append((name, made))
    return made


def made() -> Sequence[tuple[str, Backend | Actions]]:
    """What this process has used so far to read and to act, with the names of their sources: one may have several."""
    with _lock:
        return (
            *((config.name, made) for config, made in _backends.items()),
            *((config.name, made) for config, made in _actions.items()),
            *_dedicated,
        )


def forget() -> None:
    """Drop all made backends, for a process that forked and for tests."""
    with _lock:
        _backends.clear()
        _actions.clear()
        _dedicated.clear()


def _named(name: str) -> SourceConfig:
    for config in configured():
        if config.name == name:
            return config
    raise NotFound(_("No source is called “%(source)s”.") % {"source": name})


def _connect(config: SourceConfig) -> Backend:
    made: Backend = _module(config).connect(config)
    return made


def _module(config: SourceConfig) -> ModuleType:
    return importlib.import_module(f"queues.backends.{config.kind}")
