"""What the pages of failures write: shares, growth, the parts of a message that differ."""

from __future__ import annotations

import re

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from dashboard.failures import forms, lines, sums
from dashboard.replays import counts as replay_counts
from queues.names import show_controls
from queues.quantities import number

register = template.Library()
register.filter("is_link", forms.is_link)
register.filter("grown", lines.grown)
register.filter("badge", sums.badge)
register.filter("replays_badge", replay_counts.badge)

_DIFFERS = re.compile("(‹[^‹›]{1,40}›|<[a-z][a-z -]{0,30}>|…)")


@register.filter
def breakable(text: str) -> SafeString:
    """A long title that may break behind dots, slashes and the like, and not within a word; fit to be shown."""
    pieces = re.split(r"(?<=[./:_?&=@-])(?=\w)", show_controls(lines.hidden(text[:500]), keep=""))
    return format_html_join("", "{}<wbr>", ((piece,) for piece in pieces))


@register.filter
def marked(text: str) -> SafeString:
    """A normalised message with what was taken out of it marked, and controls written out."""
    pieces = _DIFFERS.split(show_controls(lines.hidden(text[:1_000])))
    made = (
        format_html('<span class="dif">{}</span>', piece) if at % 2 else format_html("{}", piece)
        for at, piece in enumerate(pieces)
    )
    return format_html_join("", "{}", ((piece,) for piece in made))


@register.filter
def share_bar(count: int, of: int) -> SafeString:
    """A bar for a part of a whole."""
    label = gettext("%(count)s of %(of)s") % {"count": number(count), "of": number(of)}
    return format_html(
        '<svg class="sbar" role="img" aria-label="{}"><rect class="f-rule" y="2.5" width="100%" height="1"/>'
        '<rect class="f-ink" width="{}%" height="6"/></svg>',
        label,
        f"{100 * count / max(of, 1):.1f}",
    )


@register.filter
def per_cent(count: int, of: int) -> str:
    return f"{number(round(100 * count / max(of, 1), 1))}%"
