"""What the checkboxes of a list say, and the words of the audit log's pages."""

from __future__ import annotations

import json

from django import template
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard import selection, trail
from dashboard.words import shown
from queues.actions import Outcome
from queues.audit.found import label
from queues.bulk import Phase
from queues.names import show_controls
from queues.quantities import duration

register = template.Library()

register.filter("pick", selection.pick)
register.filter("slug_label", label)
register.simple_tag(selection.bar, name="selection_bar", takes_context=True)

PHASES = {
    Phase.COLLECTING: _("writes down which jobs are meant"),
    Phase.ACTING: _("acts, batch by batch"),
    Phase.SWEEPING: _("acts, step by step"),
    Phase.ENDED: _("ended"),
}


@register.filter
def phase_word(phase: Phase) -> str:
    return str(PHASES[phase])


@register.filter
def outcome_word(outcome: Outcome) -> str:
    return str(trail.OUTCOME_WORDS[outcome][0])


@register.filter
def rounded(value: float) -> int:
    return round(value)


@register.filter
def whole_seconds(value: float) -> str:
    """A time that is left, at least a second."""
    return duration(max(1, round(value)) * 1000, whole=True)


@register.filter
def told(value: object) -> str:
    """A parameter of an action for eyes, on one line."""
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return plain(shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 2000))


@register.filter
def plain(text: str) -> str:
    """Text on one line without a character that is not seen or moves what is."""
    return show_controls(text, keep="")
