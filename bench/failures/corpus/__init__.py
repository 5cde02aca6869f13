"""Errors of Node.js as BullMQ stores them, each with the group and the class that an operator would give it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queues.failed import REASON_CAP, STACK_CAP
from queues.failures.types import Kind, Thrown

FOLDER = Path(__file__).parent
PARTS = ("tune", "held")


@dataclass(frozen=True, slots=True)
class Entry:
    """One error. `group` and `kind` are what a person says; `thrown` is what the index would be given."""

    id: str
    family: str
    group: str
    kind: Kind
    thrown: Thrown


def load(part: str) -> list[Entry]:
    """All errors of a part, family by family; raises where one is not well formed."""
    files = sorted((FOLDER / part).glob("*.json"))
    return [entry for file in files for entry in _read(file)]


def _read(file: Path) -> Iterator[Entry]:
    for raw in json.loads(file.read_text(encoding="utf-8")):
        yield Entry(raw["id"], file.stem, raw["group"], Kind(raw["class"]), _thrown(raw))


def _thrown(raw: dict[str, Any]) -> Thrown:
    """As a backend reads it: so many bytes of both texts and no more."""
    reason = None if raw["reason"] is None else _text(raw["reason"]).encode()
    stack = _text(raw["stack"]).encode()[:STACK_CAP].decode(errors="replace")
    if reason is None:
        return Thrown(None, stack, raw["name"])
    return Thrown(reason[:REASON_CAP].decode(errors="replace"), stack, raw["name"], len(reason))


def _text(said: str | dict[str, Any]) -> str:
    """A long text is told by what it repeats."""
    if isinstance(said, str):
        return said
    unit, times = said["repeat"]
    return f"{said.get('before', '')}{unit * times}{said.get('after', '')}"
