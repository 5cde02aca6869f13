"""The ids of live parts, and the one way in which a part is written: at the first render and in every push."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1

from django.utils.html import format_html
from django.utils.safestring import SafeString

from queues.types import JobRef, QueueRef


@lru_cache(maxsize=20_000)
def row_key(ref: QueueRef) -> str:
    """The beginning of the ids of all parts in the row of a queue: ids cannot hold every name."""
    return f"q-{sha1(f'{ref.source}/{ref.slug}'.encode(), usedforsecurity=False).hexdigest()[:10]}"


@lru_cache(maxsize=20_000)
def job_key(ref: JobRef) -> str:
    """What the ids of the parts in the row of a job have in common: `p-<key>` is its progress, `s-<key>` its end."""
    told = f"{ref.queue.source}/{ref.queue.slug}/{ref.slug}"
    return sha1(told.encode(), usedforsecurity=False).hexdigest()[:10]


def part(name: str, content: object, css: str = "") -> SafeString:
    """An inert element that news may replace: it holds text or a drawing, never a link, a field or a button."""
    if css:
        return format_html('<span id="{}" data-part class="{}">{}</span>', name, css, content)
    return format_html('<span id="{}" data-part>{}</span>', name, content)
