"""Words for what pages about jobs and queues say of groups of failures."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from dashboard.failures.words import KIND_WORDS, LIFE_WORDS
from dashboard.letters import PART_WORDS
from queues.failures.classes import advice, words
from queues.failures.of_jobs import Told
from queues.failures.standing import Index, Standing
from queues.failures.types import Kind, Life
from queues.names import show_controls
from queues.quantities import number

register = template.Library()


@register.filter
def class_word(kind: Kind) -> str:
    """“transient”, “permanent” or “unknown”."""
    return str(KIND_WORDS[kind])


@register.filter
def life_word(life: Life) -> str:
    return str(LIFE_WORDS[life])


@register.filter
def advised(told: Told) -> str:
    """What to do about a failure of this class, in a sentence or two."""
    return advice(told.kind, told.rule)


@register.filter
def decided(told: Told) -> str:
    """What decided its class."""
    if told.by_hand:
        return _("set by hand")
    return _("by the rule: %(rule)s") % {"rule": words(told.rule)} if told.rule else words("")


@register.filter
def headline(title: str, most: int = 200) -> str:
    """The title of a group on one line, without a character that is not seen or moves what is."""
    text = show_controls(title, keep="") or _("no message")
    return text if len(text) <= most else text[: most - 1] + "…"


@register.filter
def not_found(parts: list[str]) -> str:
    """The parts of a letter that were not found, in words."""
    return show_controls(", ".join(str(PART_WORDS.get(part, part)) for part in parts), keep="")


@register.filter
def unread_because(index: Standing) -> str:
    """Why the group of a failure may not be known yet."""
    if index.index is Index.NEVER:
        return _("Failures of this source are not indexed.")
    if index.index is Index.BLIND:
        return _("The index cannot read failures now: %(why)s") % {"why": index.why}
    if index.index is Index.SILENT:
        return _("Nobody reads failures now: the process that follows events is not running.")
    if index.index is Index.READING:
        text = _("The index is still reading: %(n)s of %(of)s failed jobs so far.")
        return text % {"n": number(index.scanned), "of": number(index.expected)}
    return _("The index reads it within seconds.")
