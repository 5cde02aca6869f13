"""What stands above the table of queues and is live: the lede, the totals, and what needs eyes.

Each is an inert part, made here for the first render and for every push alike. The ids of a page on some of the
sources end with which ones, because its sums are others than those of a page on all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import rows as table
from dashboard.live.parts import part, row_key
from dashboard.templatetags.mirante import moment
from dashboard.words import cut
from queues import attention, listing
from queues.attention import Eye
from queues.facts import Fact
from queues.failures.tops import Top
from queues.quantities import number
from queues.readings import SourceReading
from queues.registry import configured
from queues.types import QueueRef, State


@dataclass(frozen=True)
class Total:
    """A figure above the table. `state` is empty for what is no number of jobs in a state."""

    state: str
    label: object
    number: SafeString
    note: SafeString
    unit: str = ""


@dataclass(frozen=True)
class Strip:
    """A queue that needs eyes: its name is a link, the rest is live. `top` is its worst group, if one is known."""

    eye: Eye
    title: SafeString
    sentence: SafeString
    top: Top | None = None


def scope(sources: Collection[str]) -> str:
    """What the ids of a page on these sources end with."""
    every = [config.name for config in configured()]
    return "" if set(sources) == set(every) else "".join(f"-{every.index(name)}" for name in sources if name in every)


def totals(listed: Sequence[listing.Row], found: Sequence[SourceReading], where: str, *, manned: bool) -> list[Total]:
    """The sums over all queues that are not gone."""
    summed = listing.totals(listed)
    notes = {State.ACTIVE: _workers(summed.workers, found) if manned else "", State.WAITING: _paused(summed.paused)}
    made = [_total(state.value, table.label(state), summed[state], notes.get(state, ""), where) for state in State]
    return [*made, _total("finished", _("Finished"), summed.finished, _("completed in the last minute"), where)]


def _total(name: str, label: object, total: listing.Sum, note: str, where: str) -> Total:
    known: int | None = total.number
    if not total.known and total.total:
        known, note = None, _("not known")
    elif not total.complete:
        note = _("counted in %(known)s of %(total)s queues") % {
            "known": number(total.known),
            "total": number(total.total),
        }
    figure = format_html(
        '<span id="total-{}{}" data-part data-count="{}">{}</span>',
        name,
        where,
        "" if known is None else known,
        number(known),
    )
    state = "" if name == "finished" else name
    unit = "" if state else _("/min")
    return Total(state, label, figure, part(f"total-{name}-note{where}", note), unit)


def _workers(total: listing.Sum, found: Sequence[SourceReading]) -> str:
    text = _("workers unknown in %(source)s: %(why)s")
    parts = [
        text % {"source": reading.source, "why": reading.workers_unknown_because}
        for reading in found
        if reading.workers_unknown_because
    ]
    if not parts and not total.complete:
        return _("workers unknown")
    if total.known or not parts:
        text = ngettext("%(n)s worker connected", "%(n)s workers connected", total.number)
        parts.insert(0, text % {"n": number(total.number)})
    return "; ".join(parts)


def _paused(count: int) -> str:
    return ngettext("%(n)s queue paused", "%(n)s queues paused", count) % {"n": number(count)} if count else ""


def lede(found: Sequence[SourceReading], listed: Sequence[listing.Row], where: str) -> SafeString:
    """The state of everything in one or two sentences."""
    return part(f"lede{where}", attention.lede(found, [(row.ref, row.verdict) for row in listed]))


def eyes(listed: Sequence[listing.Row]) -> Sequence[Eye]:
    """What needs eyes, the gravest first."""
    return attention.needs_eyes([(row.ref, row.verdict) for row in listed])


def strip(found: Sequence[Eye], worst: Mapping[QueueRef, Top]) -> list[Strip]:
    """What needs eyes, drawn, each with its worst group."""
    return [Strip(eye, *said(row_key(eye.ref), eye.facts), worst.get(eye.ref)) for eye in found]


def said(key: str, facts: Sequence[Fact]) -> tuple[SafeString, SafeString]:
    """The two parts of a queue in the strip: what it is about, and the whole of it. Without facts it is well again."""
    title = facts[0].title if facts else _("well now")
    sentence = [_sentence(fact) for fact in facts] or [_("It does not need eyes any more.")]
    whole = format_html("{}" + " {}" * (len(sentence) - 1), *sentence)
    return part(f"eye-{key}-title", title), part(f"eye-{key}", whole)


def _sentence(fact: Fact) -> SafeString | str:
    """A fact with its age as a moment: the words change only when the fact does."""
    if not fact.aged:
        return fact.said
    before, _place, after = fact.aged.partition("%(span)s")
    return format_html("{} {}{}{}", fact.said, before, moment(fact.since_ms, "age"), after)


def told(new: Sequence[Eye], well: Collection[str]) -> str:
    """What a screen reader is told when other queues need eyes than before; `well` are the names of those that left."""
    parts = [_("%(title)s.") % {"title": cut(eye.title, 200)} for eye in new]
    parts += [_("%(queue)s does not need eyes any more.") % {"queue": cut(name, 120)} for name in sorted(well)]
    return " ".join(parts)


def figures(made: Sequence[Total], where: str) -> Mapping[str, str]:
    """The totals by their ids, for a push."""
    names = [total.state or "finished" for total in made]
    numbers = {f"total-{name}{where}": str(total.number) for name, total in zip(names, made, strict=True)}
    return numbers | {f"total-{name}-note{where}": str(t.note) for name, t in zip(names, made, strict=True)}
