"""What is kept in the log: bounded, masked and without control characters, whatever it came from."""

from __future__ import annotations

from collections.abc import Mapping

from queues.masking import in_force
from queues.names import show_controls
from queues.payload import summary
from queues.redaction import is_secret_key, mask_label, mask_text
from queues.types import Body

SLUG = 2_000  # characters of a job's slug; a longer one names nothing any more, but tells what it began with
SHOWN = 200  # characters of a body or a line
DEPTH = 6


def line(text: str, limit: int = SHOWN) -> str:
    """Free text with secrets masked and control characters written out, at most `limit` characters."""
    cut = len(text) > 10 * limit
    masked, _hidden = mask_text(text[: 10 * limit], in_force(), cut=cut)
    shown = show_controls(masked)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def body(raw: bytes) -> str:
    """A body on one line, secrets masked, cut."""
    return summary(Body(raw, len(raw)), SHOWN, rules=in_force()).value


def short_slug(slug: str) -> str:
    return slug if len(slug) <= SLUG else slug[: SLUG - 1] + "…"


def clean(value: object, depth: int = 0) -> object:
    """`value` as JSON that any database takes, its strings as `line` gives them, secret keys masked."""
    if isinstance(value, Mapping):
        return {line(str(key), 100): _under(str(key), inner, depth + 1) for key, inner in list(value.items())[:100]}
    if isinstance(value, (list, tuple)):
        return [clean(inner, depth + 1) for inner in value[:100]] if depth < DEPTH else "…"
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, bytes):
        return body(value)
    return line(str(value), 1_000)


def _under(key: str, value: object, depth: int) -> object:
    if isinstance(value, str) and value and is_secret_key(key, in_force()):
        return mask_label(len(value))
    return clean(value, depth) if depth < DEPTH else "…"
