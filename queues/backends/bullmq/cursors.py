"""Opaque cursors: where a page of jobs ends, as text for a link."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from queues.errors import BadInput

_SCORE = re.compile(r"-?([0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?|inf)")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place in a sorted set: a member's score as the server wrote it, its id, the number of its set."""

    score: bytes
    id: bytes
    owner: int


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a list: how many entries come before it, counted in the order of the page."""

    offset: int


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place from which a page goes on, `back` for the page before it."""

    at: Anchor | Position
    back: bool = False


def encode(cursor: Cursor) -> str:
    at = cursor.at
    parts: list[object] = [int(cursor.back)]
    parts += [at.offset] if isinstance(at, Position) else [_text(at.score), _text(at.id), at.owner]
    raw = json.dumps(parts, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str, *, ranked: bool) -> Cursor:
    """The inverse of `encode`, for a sorted set (`ranked`) or a list. Raises BadInput for anything else."""
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        parts = json.loads(raw)
        cursor = _anchored(parts) if ranked else _positioned(parts)
        if encode(cursor) == text:
            return cursor
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
        pass
    raise BadInput(_("This link does not lead to a page of this list. Start again from its first page."))


def is_score(raw: bytes) -> bool:
    """Whether the server takes this for the score of a sorted set, as it writes them."""
    return _SCORE.fullmatch(_text(raw)) is not None


def _anchored(parts: list[object]) -> Cursor:
    back, score, job_id, owner = parts
    if not (isinstance(score, str) and isinstance(job_id, str) and _SCORE.fullmatch(score)):
        raise ValueError(parts)
    if type(owner) is not int or not 1 <= owner <= 2:  # in Python a bool is an int, for Redis it is none
        raise ValueError(parts)
    return Cursor(Anchor(score.encode(), job_id.encode("latin-1"), owner), back == 1)


def _positioned(parts: list[object]) -> Cursor:
    back, offset = parts
    if type(offset) is not int or not 0 <= offset < 2**53:
        raise ValueError(parts)
    return Cursor(Position(offset), back == 1)


def _text(raw: bytes) -> str:
    return raw.decode("latin-1")
