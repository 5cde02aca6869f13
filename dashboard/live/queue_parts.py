"""The live parts of a queue's page, each drawn here for the first render and for every push: so both are byte-equal."""

from __future__ import annotations

from collections.abc import Sequence

from django.template import Context, Engine
from django.template.base import Template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard import feed
from dashboard.live.parts import job_key, part
from dashboard.templatetags.mirante import icon, moment
from queues.attention import Verdict
from queues.events import Event, EventKind
from queues.quantities import number
from queues.types import Counts, JobRef, Oldest, Progress, State

# What a row of a list may be told of its job since the list was read, as far as it is short.
OUTCOMES = {
    EventKind.ACTIVE: ("active", "active"),
    EventKind.COMPLETED: ("completed", "completed"),
    EventKind.FAILED: ("failed", "failed"),
    EventKind.STALLED: ("warn", "warn"),
    EventKind.DELAYED: ("delayed", "delayed"),
    EventKind.WAITING: ("waiting", "waiting"),
    EventKind.WAITING_CHILDREN: ("waiting-children", "waiting-children"),
    EventKind.REMOVED: ("unknown", "gone"),
}


def tab(state: State, counts: Counts) -> SafeString:
    """The number on a tab, for scripts the exact one, nothing when unknown."""
    count = counts[state]
    return format_html(
        '<span id="tab-{}" data-part data-count="{}" class="{}">{}</span>',
        state,
        "" if count is None else count,
        "z" if count == 0 else "",
        number(count),
    )


def verdict(judged: Verdict) -> SafeString:
    """What is to be said about the queue. Ages in it are of the moment at which it was judged."""
    return part("verdict", " ".join(judged.sentences) or _("All is well, as far as the keys tell."))


def paused(counts: Counts) -> SafeString:
    """The mark before the queue's name; empty when it is not paused."""
    if not counts.paused:
        return part("paused", "")
    return part("paused", format_html('{}<span class="vh">{}</span> ', icon("paused", 18), _("Paused:")), "mw s-paused")


def paused_fact(counts: Counts) -> SafeString:
    """Whether it is paused, among the facts."""
    if not counts.paused:
        return part("paused-fact", _("no"), "mute")
    return part("paused-fact", format_html("{}<span>{}</span>", icon("paused"), _("yes")), "st s-paused")


def workers(known: int | None) -> SafeString:
    """How many workers are connected."""
    return part("workers", _("not known") if known is None else number(known))


def nobody(known: int | None) -> SafeString:
    """In place of the list of workers where the page was read without one."""
    if not known:
        return part("nobody", _("No worker is connected."))
    text = ngettext(
        "%(n)s has connected since; who it is stands here when the page is read again.",
        "%(n)s have connected since; who they are stands here when the page is read again.",
        known,
    )
    return part("nobody", text % {"n": number(known)})


def oldest(found: Oldest | None) -> SafeString:
    """The age of the oldest waiting job."""
    return part("oldest", _drawn("components/oldest.html", {"oldest": found}))


def rate(per_s: float | None) -> SafeString:
    """How many events a second; empty while nobody knows."""
    if per_s is None:
        return part("feed-rate", "")
    shown = round(per_s, 1)
    text = ngettext("%(n)s event a second", "%(n)s events a second", 1 if shown == 1 else 2)
    return part("feed-rate", text % {"n": number(shown)})


def sample(shown: int, total: int) -> SafeString:
    """That the feed shows only some of what happened in the last ten seconds; empty when it shows everything."""
    if shown >= total:
        return part("feed-sample", "")
    text = _("showing %(shown)s of %(total)s events of the last 10 s")
    return part("feed-sample", text % {"shown": number(shown), "total": number(total)})


def gap_note(gaps: Sequence[Event]) -> SafeString:
    """Which events of the last hour were lost, how many, and what that means; empty without any."""
    if not gaps:
        return part("gap-note", "")
    told = format_html("{} {} {}", _lost(gaps), _stretch(gaps), _meaning())
    return part("gap-note", told)


def progress(ref: JobRef, found: Progress | None) -> SafeString:
    """The progress of the job in a row."""
    return part(f"p-{job_key(ref)}", _drawn("components/progress.html", {"progress": found}))


def outcome(ref: JobRef, event: Event | None) -> SafeString:
    """What happened to the job of a row since the list was read; empty without `event`."""
    name = f"s-{job_key(ref)}"
    if event is None or event.kind not in OUTCOMES:
        return part(name, "")
    colour, glyph = OUTCOMES[event.kind]
    word = feed.MARKS[event.kind][2]
    told = format_html(
        '<span class="st s-{}">{}<span>{}</span></span> {}', colour, icon(glyph), word, moment(event.at_ms)
    )
    return part(name, told, "since")


def _lost(gaps: Sequence[Event]) -> str:
    known = sum(gap.count or 0 for gap in gaps)
    if not known:
        return _("Events were lost before they could be read, nobody knows how many,")
    if any(gap.count is None for gap in gaps):
        text = ngettext(
            "At least %(n)s event was lost before it could be read,",
            "At least %(n)s events were lost before they could be read,",
            known,
        )
    else:
        text = ngettext(
            "%(n)s event was lost before it could be read,", "%(n)s events were lost before they could be read,", known
        )
    return text % {"n": number(known)}


def _stretch(gaps: Sequence[Event]) -> SafeString:
    """From the beginning of the first to the end of the last."""
    if len(gaps) == 1:
        return format_html("{}.", feed.between(gaps[0]))
    first, last = min(gap.at_ms for gap in gaps), max(gap.until_ms or gap.at_ms for gap in gaps)
    stretches = ngettext("%(n)s stretch", "%(n)s stretches", len(gaps)) % {"n": number(len(gaps))}
    text = _("in {stretches} between {first} and {last}.")
    return format_html(text, stretches=stretches, first=moment(first), last=moment(last))


def _meaning() -> str:
    return _(
        "The numbers of jobs are right: they are read, not counted from events. "
        "The feed has a hole there, and so has the curve of the last hour."
    )


def _drawn(template: str, values: dict[str, object]) -> SafeString:
    """A template without a request, as pages and pushes share it."""
    found: Template = Engine.get_default().get_template(template)
    return found.render(Context(values))
