"""What an error says is for a person, and in their language."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import queues
from queues import errors
from queues.backends.bullmq import moves

SOURCES = sorted(Path(queues.__file__).parent.rglob("*.py"))
KINDS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.QueueError)}


def _raised(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
            yield node


def test_every_error_can_be_translated() -> None:
    found = {path: list(_raised(ast.parse(path.read_text()))) for path in SOURCES}
    assert sum(map(len, found.values())) > 60
    bare = [
        f"{path}:{call.lineno}"
        for path, calls in found.items()
        for call in calls
        if call.args and isinstance(call.args[0], ast.Constant | ast.JoinedStr)
    ]
    assert bare == []


def test_every_reason_of_a_move_can_be_translated() -> None:
    assert "a worker would fail" in moves._sentence("damaged", b"data")
    assert not [reason for reason in (moves._SCHEDULED, *moves._WHY.values()) if isinstance(reason, str)]
