"""Secrets that are made once and kept in the var folder, readable by their owner only."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path


def kept(path: Path, make: Callable[[], str]) -> str:
    """The text in `path`, made first where there is none. Two processes that ask at once get the same answer.

    Fails with OSError when the folder cannot be written.
    """
    text = _text(path)
    if text:
        return text
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(make() + "\n")
    try:
        # A link, unlike a rename, fails when somebody else was faster, and it never shows a half-written file.
        path.hardlink_to(draft)
    except FileExistsError:
        if not _text(path):
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return _text(path)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except FileNotFoundError:
        return ""
