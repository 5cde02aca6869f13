"""The small drawings in a row of the overview: what stands within its live parts.

They depend on numbers alone and are kept: a page has more than a thousand, most of which are alike, and what is
pushed must be what was rendered, byte for byte. `language` is the active one, by which they are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import words
from dashboard.charts import bar as draw_bar
from dashboard.charts import spark as draw_spark
from dashboard.templatetags.mirante import icon, moment
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
def mark(name: str, css: str) -> SafeString | str:
    return format_html('<span class="mw {}">{}</span>', css, icon(name)) if name else ""


@lru_cache(maxsize=5_000)
def note(why: Why, number: int, total: int, language: str) -> str:
    """A fact in a few words."""
    return Fact(why, Level.QUIET, number, total=total).title


@lru_cache(maxsize=5_000)
def bar(numbers: tuple[int | None, ...], paused: bool, language: str) -> SafeString:
    """The jobs of a queue by state, in the order of `State`."""
    counted = dict(zip(State, numbers, strict=True))
    said = [f"{quantities.number(number)} {words.STATE_WORDS[state]}" for state, number in counted.items() if number]
    parts = [(_bar_name(state, paused), counted[state] or 0) for state in State if state in IN_BAR]
    return draw_bar(parts, ", ".join(said) or _("no jobs"), FULL_BAR)


def _bar_name(state: State, paused: bool) -> str:
    return "paused" if paused and state in (State.WAITING, State.PRIORITIZED) else str(state)


@lru_cache(maxsize=10_000)
def number(value: int | None, css: str, data: str, language: str) -> SafeString:
    """The rest of a part with a number in it; for scripts the exact one under `data`, nothing when unknown."""
    css = " ".join(filter(None, ("" if value else "z", css)))
    exact = "" if value is None else value
    return format_html(' class="{}" data-{}="{}">{}</span>', css, data, exact, quantities.number(value))


@lru_cache(maxsize=2_000)
def spark(finished: Minutes, failed: Minutes, upto: int, language: str) -> SafeString:
    """The last hour; `upto` is its last minute, 0 where no minute is unknown and no time has to be said."""
    return draw_spark(finished, failed, _spark_label(finished, failed, upto))


def _spark_label(finished: Minutes, failed: Minutes, upto: int) -> str:
    known = [value for value in finished if value is not None]
    if not known:
        return _("Finished in the last 60 minutes: unknown")
    said = [
        _("%(n)s finished in the last 60 minutes") % {"n": quantities.number(sum(known))},
        _("at most %(n)s a minute") % {"n": quantities.number(max(known))},
        _("%(n)s failed") % {"n": quantities.number(sum(value or 0 for value in failed))},
    ]
    if unknown := len(finished) - len(known):
        said.append(_unknown(finished, unknown, upto))
    return "; ".join(said)


def _unknown(series: Minutes, unknown: int, upto: int) -> str:
    if all(value is None for value in series[:unknown]):
        from_ms = (upto - len(series) + 1 + unknown) * MINUTE_MS
        at = quantities.instant(from_ms)
        return _("unknown before %(time)s") % {"time": f"{at:%H:%M} UTC" if at else quantities.UNKNOWN}
    return ngettext("%(n)s minute unknown", "%(n)s minutes unknown", unknown) % {"n": unknown}


@lru_cache(maxsize=5_000)
def rate(value: int | None, language: str) -> SafeString:
    """The rest of the part with the jobs finished in the last whole minute."""
    if value is None:
        return format_html(' class="z" title="{}">{}</span>', _("not known"), quantities.UNKNOWN)
    css = "" if value else ' class="z"'
    return format_html('{}>{}<span class="u">{}</span></span>', css, quantities.number(value), _("/min"))


@lru_cache(maxsize=5_000)
def share(failed: int, total: int, minutes: int, css: str, language: str) -> SafeString:
    """The rest of the part with the share that failed, of `total` that finished in so many known minutes."""
    if not total:
        why = _("nothing finished") if minutes else _("not known")
        return format_html(' class="z" title="{}">{}</span>', why, quantities.UNKNOWN)
    title = _("%(n)s of %(total)s that finished in %(minutes)s known minutes") % {
        "n": quantities.number(failed),
        "total": quantities.number(total),
        "minutes": minutes,
    }
    css = css if failed else "z"
    return format_html(' class="{}" title="{}">{}</span>', css, title, percent(failed / total))


def percent(part: float) -> str:
    """A share in per cent with one decimal; what is more than nothing is never written as nothing."""
    if 0 < part < 0.001:
        return _("< %(n)s %%") % {"n": number_format(0.1, decimal_pos=1)}
    return _("%(n)s %%") % {"n": number_format(round(part * 100, 1), decimal_pos=1)}


def oldest(found: Oldest | None, css: str, language: str) -> SafeString:
    """The rest of the part with the age of the oldest waiting job.

    It counts from the job's creation, by which the list is sorted. Where the job may have done something else since
    (it was retried or replayed) the age says so, in sight and in the title.
    """
    if found is None:
        return _no_age()
    today = datetime.now(UTC).date().toordinal()  # a moment of another day is written with its date
    return _oldest(found, css, language, today)


@lru_cache(maxsize=1)
def _no_age() -> SafeString:
    return format_html(' class="z">{}</span>', quantities.UNKNOWN)


@lru_cache(maxsize=5_000)
def _oldest(found: Oldest, css: str, language: str, today: int) -> SafeString:
    waited = found.since_ms == found.created_ms
    title = (
        _("since it was created; it has waited ever since")
        if waited
        else _("since it was created; when it entered waiting is not in the keys")
    )
    return format_html(
        ' class="{}" title="{}">{}{}{}</span>',
        css,
        title,
        "≥ " if found.at_least else "",
        moment(found.created_ms, "age"),
        "" if waited else format_html(' <span class="u">{}</span>', _("since created")),
    )


def known(series: Sequence[int | None]) -> int:
    """The sum of the minutes that are known."""
    return sum(value for value in series if value)
