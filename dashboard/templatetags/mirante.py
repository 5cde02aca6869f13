"""Template tags and filters of the interface: glyphs, state chips, moments, numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache, wraps
from typing import Any

from django import template
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from dashboard import access, words
from dashboard.charts import bar
from queues import masking
from queues.names import visible
from queues.payload import Shown, Token
from queues.quantities import UNKNOWN, duration, instant, now_ms, number, size, units
from queues.registry import backend
from queues.timeline import Stretch
from queues.types import Capability, Counts, Delay, JobRow, QueueInfo, State

register = template.Library()


def _unknown_too(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """A template hands over "" for what is not there; that is unknown, as None is."""

    @wraps(write)
    def written(value: Any) -> str:
        return write(None if value == "" else value)

    return written


for _name, _write in (("number", number), ("bytes", size), ("duration", duration)):
    register.filter(_name, _unknown_too(_write))
for _name, _filter in (
    ("shown", words.shown),
    ("cut", words.cut),
    ("masked", masking.hidden_here),
    ("marks", words.marks),
    ("key", words.key),
):
    register.filter(_name, _filter)
register.filter("health_notes", words.health_notes)
register.simple_tag(bar, name="bar")


@register.simple_tag
@lru_cache(maxsize=500)
def icon(name: str, size: int = 12) -> SafeString:
    """A glyph of the sprite in `components/glyphs.html`, drawn in the text's colour."""
    return format_html(
        '<svg class="mk" width="{0}" height="{0}" viewBox="0 0 12 12" aria-hidden="true"><use href="#i-{1}"/></svg>',
        size,
        name,
    )


@register.simple_tag
def tokens(body: Shown) -> SafeString:
    """A body in colours, each masked value with the rule that hides it. Within `pre`: no white space is added."""
    return format_html_join("", "{}", ((_token(token),) for token in body.tokens))


def _token(token: Token) -> str:
    if not token.kind:
        return token.text
    if not token.rule:
        return format_html('<span class="{}">{}</span>', token.kind, token.text)
    why = gettext("Hidden by the rule %(rule)s") % {"rule": token.rule}
    return format_html('<span class="{}" title="{}">{}</span>', token.kind, why, token.text)


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

    `style` is `clock` (time of day, with the date when it is not today), `ms` (with milliseconds) or `day` (the date
    alone when it is not today), `minute` (hours and minutes) or `date`, which are for the axes of charts.
    Milliseconds since 1970 or an aware datetime; a value that is no moment is written as it is.
    """
    at = when if isinstance(when, datetime) or when is None else instant(when)
    if at is None:
        return UNKNOWN if when is None else str(when)
    at = at.astimezone(UTC)
    return _time(at, style, _moment_text(at, style))


def _time(at: datetime, style: str, text: str) -> SafeString:
    iso = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    exact = f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC"
    return format_html('<time datetime="{}" title="{}" data-time="{}">{}</time>', iso, exact, style, text)


AXES = {"minute": "%H:%M", "date": "%Y-%m-%d"}


def _moment_text(at: datetime, style: str) -> str:
    if style in AXES:
        return f"{at:{AXES[style]}}"
    text = f"{at:%H:%M:%S}"
    if style == "ms":
        text += f".{at.microsecond // 1000:03d}"
    if at.date() == datetime.now(UTC).date():
        return text
    return f"{at:%Y-%m-%d}" if style == "day" else f"{at:%Y-%m-%d} {text}"


@register.simple_tag
def since(when: float | datetime | str | None) -> str:
    """The time from `when` to now, in words: 4 min 33 s."""
    if when is None or isinstance(when, str):  # "" is what a template hands over for what is not there
        return UNKNOWN
    ms = when.timestamp() * 1000 if isinstance(when, datetime) else when
    return duration(now_ms() - ms, whole=True)


@register.simple_tag
def age(when: float | None) -> SafeString | str:
    """The same, growing each second while the page stays open."""
    at = None if when is None else instant(when)
    return since(when) if at is None else _time(at.astimezone(UTC), "age", since(when))


@register.filter
def can(source: str, capability: str) -> bool:
    """Whether the backend of a source has a capability; pages leave out what it cannot tell."""
    return Capability(capability) in backend(source).capabilities


@register.simple_tag(takes_context=True)
def may_do(context: template.Context, right: str) -> bool:
    """Whether the reader of this page has a right, by its word in `access.Right`."""
    request: HttpRequest = context["request"]
    return access.allowed(request.user, right)


@register.simple_tag
def off_for(right: str) -> str:
    """Why a button is off for who has not this right."""
    return gettext("Off: it needs the %(role)s role.") % {"role": access.RIGHTS[access.Right(right)].label}


@register.simple_tag(takes_context=True)
def query(context: template.Context, **changes: object) -> str:
    """The page's query string with `changes`; an empty value drops a parameter."""
    params = context["request"].GET.copy()
    params.pop("done", None)  # what came of an action is told once
    for name, value in changes.items():
        if value in ("", None):
            params.pop(name, None)
        else:
            params[name] = str(value)
    encoded: str = params.urlencode()
    return f"?{encoded}" if encoded else "?"


@register.simple_tag
def until(when: float | None) -> SafeString | str:
    """The time from now to `when`, counted down while the page stays open; past moments are overdue and say so."""
    if when is None:
        return UNKNOWN
    left = when - now_ms()
    text = duration(abs(left), whole=True)
    text = text if left >= 0 else gettext("overdue {}").format(text)
    at = instant(when)
    return text if at is None else _time(at.astimezone(UTC), "until", text)


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
    return duration(value * 1000)


@register.filter
def kind_word(kind: Delay | None) -> str:
    """Why a job is delayed."""
    return str(words.DELAY_WORDS[kind]) if kind else UNKNOWN


@register.filter
def bytes_text(raw: bytes) -> str:
    return visible(raw)


@register.simple_tag
def time_units() -> str:
    """The words for second, minute, hour and day, for scripts that count time up."""
    return "|".join(units())


@register.filter
def offset(ms: float) -> str:
    """A clock's distance from ours: 0.4 ms ahead, 12 s behind."""
    text = duration(abs(ms))
    return gettext("%(by)s ahead") % {"by": text} if ms >= 0 else gettext("%(by)s behind") % {"by": text}


@register.filter
def far(ms: float) -> bool:
    """Whether a clock is so far off that ages and delays mislead: more than two seconds."""
    return abs(ms) > 2000


@register.filter
def stretch_word(stretch: Stretch) -> str:
    """What a job did in a stretch of its timeline, after a duration: 1.2 s waiting."""
    return str(words.STRETCH_WORDS[stretch])
