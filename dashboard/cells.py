"""The small drawings in a row of the overview: what stands within its live parts.

They depend on numbers alone and are kept: a page has more than a thousand, most of which are alike, and what is
pushed must be what was rendered, byte for byte. `language` is the active one, by which they are kept.

What is kept takes some 10 MB of a web process with a thousand busy queues: a drawing of the last hour is 4 KB.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache

from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.charts import bar as draw_bar
from dashboard.charts import spark as draw_spark
from dashboard.templatetags.mirante import icon
from queues import quantities
from queues.facts import Fact, Level, Why
from queues.history import MINUTE_MS, MINUTES
from queues.types import Oldest, State

# Completed jobs are a record, not work: they would drown everything else in a bar.
IN_BAR = (State.WAITING, State.PRIORITIZED, State.ACTIVE, State.DELAYED, State.WAITING_CHILDREN, State.FAILED)
FULL_BAR = 100_000  # jobs: the same for all rows, pages and pushes, so that a bar moves only when its own queue does

Minutes = tuple[int | None, ...]
UNKNOWN: Minutes = (None,) * MINUTES  # an hour of which nothing is known


@lru_cache(maxsize=100)
def mark(name: str, css: str) -> SafeString:
    """A glyph; nothing without a name."""
    return _rest(format_html('<span class="mw {}">{}</span>', css, icon(name)) if name else "")


@lru_cache(maxsize=5_000)
def note(why: Why | None, number: int, total: int, language: str) -> SafeString:
    """A fact in a few words."""
    return _rest(Fact(why, Level.QUIET, number, total=total).title if why else "")


@lru_cache(maxsize=2_000)
def bar(numbers: tuple[int | None, ...], paused: bool) -> SafeString:
    """The jobs of a queue by state, in the order of `State`; the numbers stand in the cells beside it."""
    parts = [(name, number) for name, number in zip(_bar_names(paused), numbers, strict=True) if number and name]
    return _rest(draw_bar(parts, "", FULL_BAR))


@lru_cache(maxsize=1)
def no_bar() -> SafeString:
    return _rest("")


def _rest(content: SafeString | str) -> SafeString:
    """The rest of a part without a class of its own."""
    return format_html(">{}</span>", content)


@lru_cache(maxsize=2)
def _bar_names(paused: bool) -> Sequence[str]:
    """What fills the part of each state; "" for what is left out."""
    held = (State.WAITING, State.PRIORITIZED)
    return ["paused" if paused and state in held else state.value if state in IN_BAR else "" for state in State]


@lru_cache(maxsize=10_000)
def number(value: int | None, css: str, data: str, language: str) -> SafeString:
    """The rest of a part with a number in it; for scripts the exact one under `data`, nothing when unknown."""
    css = css if value or css.startswith("warn") else f"z {css}".strip()
    exact = "" if value is None else int(value)
    return format_html(f' class="{css}" data-{data}="{exact}">{{}}</span>', quantities.number(value, language))


@lru_cache(maxsize=1_200)
def hour(finished: Minutes, failed: Minutes, upto: int, css: str, language: str) -> tuple[SafeString, ...]:
    """The last hour, which ends with the minute `upto`: the rests of the parts spark, rate and failing.

    `css` is how the share of failures looks. `upto` may be 0 where no minute is unknown: no time is said then, and
    all queues that are alike share one drawing.
    """
    lose, win = _known(failed), _known(finished)
    drawn = draw_spark(finished, failed, _spark_label(finished, lose, upto, language))
    minutes = len(finished) - finished.count(None)
    return _rest(drawn), _rate(finished[-1], language), _share(lose, lose + win, minutes, css, language)


def _spark_label(finished: Minutes, failed: int, upto: int, language: str) -> str:
    known = [value for value in finished if value is not None]
    phrases = _phrases(language)
    if not known:
        return phrases["unknown"]
    numbers = [quantities.number(value, language) for value in (sum(known), max(known), failed)]
    said = phrases["hour"].format(*numbers)
    unknown = len(finished) - len(known)
    return f"{said}; {_unknown(finished, unknown, upto)}" if unknown else said


@lru_cache(maxsize=32)
def _phrases(language: str) -> Mapping[str, str]:
    """What every row says, translated once: a thousand rows move on in the same moment."""
    return {
        "unknown": _("Finished in the last 60 minutes: unknown"),
        "hour": _("{} finished in the last 60 minutes; at most {} a minute; {} failed"),
        "nothing": _("nothing finished"),
        "not known": _("not known"),
        "share": _("{} of {} that finished in {} known minutes"),
        "/min": _("/min"),
    }


def _unknown(series: Minutes, unknown: int, upto: int) -> str:
    if all(value is None for value in series[:unknown]):
        at = quantities.instant((upto - len(series) + 1 + unknown) * MINUTE_MS)
        return _("unknown before %(time)s") % {"time": f"{at:%H:%M} UTC" if at else quantities.UNKNOWN}
    return ngettext("%(n)s minute unknown", "%(n)s minutes unknown", unknown) % {"n": unknown}


@lru_cache(maxsize=5_000)
def _rate(value: int | None, language: str) -> SafeString:
    """Jobs finished in the last whole minute."""
    phrases = _phrases(language)
    if value is None:
        return format_html(' class="z" title="{}">{}</span>', phrases["not known"], quantities.UNKNOWN)
    css = "" if value else ' class="z"'
    return format_html(f'{css}>{{}}<span class="u">{{}}</span></span>', quantities.number(value), phrases["/min"])


def _share(failed: int, total: int, minutes: int, css: str, language: str) -> SafeString:
    """The share that failed, of `total` that finished in so many known minutes."""
    phrases = _phrases(language)
    if not total:
        why = phrases["nothing" if minutes else "not known"]
        return format_html(' class="z" title="{}">{}</span>', why, quantities.UNKNOWN)
    numbers = (quantities.number(failed, language), quantities.number(total, language), minutes)
    title, css = phrases["share"].format(*numbers), css if failed else "z"
    return format_html(f' class="{css}" title="{{}}">{{}}</span>', title, percent(failed / total, language))


def percent(part: float, language: str) -> str:
    """A share in per cent with one decimal; what is more than nothing is never written as nothing."""
    return _percent(0 if 0 < part < 0.001 else round(part * 1000) or -1, language)


@lru_cache(maxsize=2_000)
def _percent(tenths: int, language: str) -> str:
    """Tenths of a per cent; 0 is less than one of them, -1 nothing at all."""
    text = _("%(n)s %%") if tenths else _("< %(n)s %%")
    return text % {"n": number_format(max(tenths, 0) / 10 if tenths else 0.1, decimal_pos=1)}


def oldest(found: Oldest | None, css: str, language: str) -> SafeString:
    """The rest of the part with the age of the oldest waiting job.

    It counts from the job's creation, by which the list is sorted. Where the job may have done something else since
    (it was retried or replayed) the age says so.
    """
    if found is None:
        return _no_age()
    today = time.strftime("%Y-%m-%d", time.gmtime())  # a moment of another day is written with its date
    return _oldest(found, css, language, today)


@lru_cache(maxsize=1)
def _no_age() -> SafeString:
    return format_html(' class="z">{}</span>', quantities.UNKNOWN)


@lru_cache(maxsize=2_000)
def _oldest(found: Oldest, css: str, language: str, today: str) -> SafeString:
    since = _counted_from(found.since_ms == found.created_ms, language)
    least = "≥ " if found.at_least else ""
    age = _age(found.created_ms, today)
    return format_html(f' class="{css}">{least}{age}{{}}</span>', since)


@lru_cache(maxsize=64)
def _counted_from(waited: bool, language: str) -> SafeString | str:
    """What the age of the oldest counts from, where it may mislead."""
    return "" if waited else format_html(' <span class="u">{}</span>', _("since created"))


def _age(ms: int, today: str) -> str:
    """As the tag `moment` writes an age, and quicker: a hot queue has another oldest job with each reading."""
    at = quantities.instant(ms)
    if at is None:
        return str(int(ms))
    iso = at.isoformat(timespec="milliseconds")
    day, clock = iso[:10], iso[11:23]
    text = clock[:8] if day == today else f"{day} {clock[:8]}"
    return f'<time datetime="{day}T{clock}Z" data-time="age">{text}</time>'


def _known(series: Sequence[int | None]) -> int:
    """The sum of the minutes that are known."""
    return sum(value for value in series if value)
