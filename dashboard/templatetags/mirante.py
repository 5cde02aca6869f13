"""Template tags and filters of the interface: glyphs, state chips, moments, numbers."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard import access, words
from dashboard.charts import bar
from queues.types import State

register = template.Library()

register.filter("number", words.number)
register.filter("bytes", words.size)
register.filter("duration", words.duration)
register.filter("coarse", words.coarse)
register.simple_tag(bar, name="bar")


@register.simple_tag
def icon(name: str, size: int = 12) -> SafeString:
    """A glyph of the sprite in `components/glyphs.html`, drawn in the text's colour."""
    return format_html(
        '<svg class="mk" width="{0}" height="{0}" viewBox="0 0 12 12" aria-hidden="true"><use href="#i-{1}"/></svg>',
        size,
        name,
    )


@register.simple_tag
def state(value: str, label: object = "") -> SafeString:
    """A job state as glyph and word; `label` replaces the word."""
    word = label or words.STATE_WORDS[State(value)]
    return format_html('<span class="st s-{}">{}<span>{}</span></span>', value, icon(value), word)


@register.filter
def state_word(value: str) -> str:
    return str(words.STATE_WORDS[State(value)])


@register.simple_tag
def moment(when: float | datetime | None, style: str = "clock") -> SafeString | str:
    """A moment as `<time>` in UTC; scripts turn it into the reader's zone and style.

    `style` is `clock` (time of day, with the date when it is not today), `ms` (with milliseconds) or
    `ago`. Milliseconds since 1970 or an aware datetime; a value that is no moment is written as it is.
    """
    at = when if isinstance(when, datetime) or when is None else words.instant(when)
    if at is None:
        return words.NONE if when is None else str(when)
    at = at.astimezone(UTC)
    iso = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    exact = f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC"
    return format_html(
        '<time datetime="{}" title="{}" data-time="{}">{}</time>', iso, exact, style, _moment_text(at, style)
    )


def _moment_text(at: datetime, style: str) -> str:
    now = datetime.now(UTC)
    if style == "ago":
        return words.duration(max(0.0, (now - at).total_seconds() * 1000))
    text = f"{at:%H:%M:%S}"
    if style == "ms":
        text += f".{at.microsecond // 1000:03d}"
    return text if at.date() == now.date() else f"{at:%Y-%m-%d} {text}"


@register.simple_tag
def since(when: float | datetime | None) -> str:
    """The time from `when` to now, in words: 4 m 33 s."""
    if when is None:
        return words.NONE
    ms = when.timestamp() * 1000 if isinstance(when, datetime) else when
    return words.duration(words.now_ms() - ms)


@register.simple_tag(takes_context=True)
def may(context: template.Context, role: str) -> bool:
    """Whether the reader of this page holds `role` or a higher one."""
    request: HttpRequest = context["request"]
    return access.can(request.user, role)


@register.simple_tag(takes_context=True)
def query(context: template.Context, **changes: object) -> str:
    """The page's query string with `changes`; an empty value drops a parameter."""
    params = context["request"].GET.copy()
    for name, value in changes.items():
        if value in ("", None):
            params.pop(name, None)
        else:
            params[name] = str(value)
    encoded: str = params.urlencode()
    return f"?{encoded}" if encoded else "?"
