"""What is kept of a signature, and how one that was split by hand is told on to its children. Pure."""

from __future__ import annotations

from queues import masking
from queues.failures.splitting import value_of
from queues.failures.store.rows import plain
from queues.failures.types import Signature, SplitBy
from queues.redaction import mask_text
from queues.types import QueueRef

TITLE, MESSAGE, NAME, APPLIED, RULES = 200, 500, 500, 200, 20


def name_of(name: str) -> str:
    """A job's name as strands and samples hold it: for eyes, at most 500 characters."""
    return plain(name, NAME)


def split_value(by: SplitBy | str, queue: QueueRef, name: str, reason: str | None) -> str:
    """What tells the children of a signature that was split `by` this from each other, masked."""
    message = safe(reason or "", 2 * MESSAGE, queue) if by == SplitBy.MESSAGE else ""
    return value_of(by, name=name_of(name), queue_slug=queue.slug, message=message)


def parts_of(signature: Signature, queue: QueueRef) -> dict[str, object]:
    """A signature as JSON that any database takes, masked as its queue demands and bounded."""
    told: dict[str, object] = {part: getattr(signature, part) for part in ("version", "digest", "shape", "place_kind")}
    told["title"] = safe(signature.title, TITLE, queue)
    for part in ("error_class", "code", "message", "place"):
        told[part] = safe(getattr(signature, part), MESSAGE, queue)
    told["applied"] = [
        {"rule": each.rule, "before": safe(each.before, APPLIED, queue), "after": safe(each.after, APPLIED, queue)}
        for each in list(signature.applied)[:RULES]
    ]
    return told


def child_title(title: str, by: str, value: str) -> str:
    """The title of a new group of a child: of a message that, else the name or queue behind its parent's."""
    if by == SplitBy.MESSAGE:
        return value[:TITLE] or title
    return f"{title[: TITLE - 60]} ({value[:50]})" if value else title


def safe(text: str, limit: int, queue: QueueRef) -> str:
    """Text on one line, masked by the rules of this queue, at most `limit` characters."""
    masked, _hidden = mask_text(text[: 2 * limit], masking.rules_for(queue), cut=len(text) > 2 * limit)
    return plain(masked, limit)
