"""Template tags and filters of the interface: glyphs, state chips, moments, numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from django import template
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from dashboard import access, words
from dashboard.charts import bar
from queues import payload, redaction
from queues.names import visible
from queues.types import Body, Counts, JobRow, Mark, QueueInfo, State, Text

register = template.Library()


def _unknown_too(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """A template hands over "" for what is not there; that is unknown, as None is."""

    @wraps(write)
    def written(value: Any) -> str:
        return write(None if value == "" else value)

    return written


for _name, _write in (("number", words.number), ("bytes", words.size), ("duration", words.duration)):
    register.filter(_name, _unknown_too(_write))
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


@register.simple_tag
def until(when: float | None) -> str:
    """The time from now to `when`; past moments are overdue and say so."""
    if when is None:
        return words.NONE
    left = when - words.now_ms()
    return words.duration(left) if left >= 0 else gettext("overdue %(by)s") % {"by": words.duration(-left)}


@register.filter
def shown(text: Text | None, limit: int = 200) -> str:
    """Text out of a queue in a cell: one line, secrets masked, cut at `limit` characters."""
    if text is None:
        return ""
    masked, _hidden = redaction.mask_text(text.value, cut=Mark.CUT in text.marks)
    line = " ".join(masked.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


@register.filter
def cut(text: str, limit: int) -> str:
    """The first `limit` characters, with a mark where something is cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


@register.filter
def count(value: str, counts: Counts) -> int | None:
    return counts[State(value)]


@register.filter
def filled(counts: Counts) -> list[tuple[State, int]]:
    """The states that hold jobs, with their numbers."""
    return [(state, counts[state] or 0) for state in State if counts[state]]


@register.filter
def took(row: JobRow) -> float | None:
    if row.finished_ms is None or row.processed_ms is None:
        return None
    return row.finished_ms - row.processed_ms


@register.filter
def events_span(info: QueueInfo) -> float | None:
    if info.first_event_ms is None or info.last_event_ms is None:
        return None
    return info.last_event_ms - info.first_event_ms


@register.filter
def seconds(value: int) -> str:
    return words.duration(value * 1000) if value >= 60 else f"{value} s"


@register.filter
def kind_word(kind: str) -> str:
    """Why a job is delayed."""
    return str(words.DELAY_WORDS.get(kind, words.NONE))


@register.filter
def bytes_text(raw: bytes) -> str:
    return visible(raw)


@register.filter
def offset(ms: float) -> str:
    """A clock's distance from ours: 0.4 ms ahead, 12.0 s behind."""
    text = words.duration(abs(ms))
    return gettext("%(by)s ahead") % {"by": text} if ms >= 0 else gettext("%(by)s behind") % {"by": text}


@register.filter
def far(ms: float) -> bool:
    """Whether a clock is so far off that ages and delays mislead: more than two seconds."""
    return abs(ms) > 2000


@register.filter
def stretch_word(stretch: str) -> str:
    """What a job did in a stretch of its timeline, after a duration: 1.2 s waiting."""
    return str(words.STRETCH_WORDS[stretch])


@register.filter
def line(text: Text) -> str:
    """A log line: secrets masked, a cut one with its true size."""
    raw = text.value.encode()
    is_cut = Mark.CUT in text.marks
    shown = payload.plain_text(Body(raw, text.size if is_cut else len(raw))).value
    if not is_cut:
        return shown
    return gettext("%(text)s … (%(size)s in all)") % {"text": shown, "size": words.size(text.size)}
