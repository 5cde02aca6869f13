"""Why a plan stands still, what to look at, and what it means to let it go on: for who has to decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.replays import words
from dashboard.replays.seen import Seen
from dashboard.replays.terms_form import queue_label
from dashboard.words import shown
from queues.models import Queue, ReplayLine
from queues.quantities import number
from queues.replay.freezing.counting import sums
from queues.replay.types import HALTED, Phase, Place, Stop, Told
from queues.sendings import Fate

LINKS = 3  # queues that are linked

Link = tuple[str, str]  # an address, and what is there


@dataclass(frozen=True, slots=True)
class Halted:
    """`why` it stands still and `look` where to look, with addresses; `means` is what going on means."""

    bad: bool
    why: str
    look: Sequence[Link]
    means: str


def halted(seen: Seen) -> Halted | None:
    """None for a plan that does not wait for a person."""
    if seen.phase not in HALTED:
        return None
    rest = seen.replay.to_send
    left = ngettext("the %(n)s that is left", "the %(n)s that are left", rest) % {"n": number(rest)}
    if seen.phase is Phase.STOPPED:
        return Halted(True, _stopped(seen), _look(seen), _means(seen, left))
    if seen.phase is Phase.DECIDING:
        means = _("Going on sends %(left)s, whatever becomes of the canary.") % {"left": left}
        return Halted(True, _line(seen, Told.CANARY_LATE), [_jobs(seen, _("Jobs of the canary"), "canary=1")], means)
    means = _("Going on sends %(left)s, where it was.") % {"left": left} if rest else _("Nothing is left to send.")
    return Halted(False, _line(seen, Told.PAUSED), (), f"{_('What was sent goes on.')} {means}")


def _stopped(seen: Seen) -> str:
    line = _last(seen, Told.STOPPED)
    facts = dict(line.facts) if line else {}
    if seen.replay.note and "note" not in facts:
        facts["note"] = seen.replay.note
    why = words.stop(seen.replay.why, facts)
    return f"{_('Stopped by itself.')} {why}".rstrip()


def _line(seen: Seen, kind: Told) -> str:
    line = _last(seen, kind)
    return words.line(line) if line else ""


def _last(seen: Seen, kind: Told) -> ReplayLine | None:
    return next((line for line in seen.lines if line.kind == kind), None)


def _means(seen: Seen, left: str) -> str:
    """What going on means after it stopped."""
    told = {"left": left, "percent": number(seen.terms.stop_percent)}
    by_why: Mapping[str, str] = {
        Stop.CANARY: _("Going on sends %(left)s, whatever came of the canary."),
        Stop.FAILING: _("Going on sends %(left)s. It stops again when too many of them fail."),
        Stop.PAUSED: _("Resume the queue first: while it is paused the plan stops again."),
        Stop.NO_WORKER: _("Start a worker first: without one the plan stops again."),
        Stop.UNWELL: _("Going on sends %(left)s. It stops again while the server is not well."),
        Stop.AWAY: _("Going on sends %(left)s, as soon as the source answers."),
        Stop.LOST: _("What was sent is known. Going on sends %(left)s, each once."),
        Stop.BLOCKED: _("Going on sends also what waits behind jobs that failed again: they overtake these."),
    }
    return by_why.get(seen.replay.why, _("Going on sends %(left)s.")) % told


def _look(seen: Seen) -> Sequence[Link]:
    """Where to look after it stopped."""
    by_why: Mapping[str, Callable[[], Sequence[Link]]] = {
        Stop.CANARY: lambda: [_jobs(seen, _("Jobs that failed again"), f"fate={Fate.FAILED}")],
        Stop.FAILING: lambda: [_jobs(seen, _("Jobs that failed again"), f"fate={Fate.FAILED}")],
        Stop.PAUSED: lambda: _queues(seen),
        Stop.NO_WORKER: lambda: _queues(seen),
        Stop.UNWELL: lambda: [(reverse("system"), _("System"))],
        Stop.AWAY: lambda: [(reverse("system"), _("System"))],
        Stop.BLOCKED: lambda: [_jobs(seen, _("Jobs that wait"), f"place={Place.HELD}")],
    }
    found = by_why.get(seen.replay.why)
    return found() if found else ()


def _jobs(seen: Seen, text: str, query: str) -> Link:
    return f"{reverse('replay-jobs', args=[seen.replay.pk])}?{query}", text


def _queues(seen: Seen) -> Sequence[Link]:
    """Those that are meant; all of the plan where it stopped before it read how they stand."""
    paused = [target.queue for target in seen.targets if target.paused] if seen.replay.why == Stop.PAUSED else []
    queues = paused or [target.queue for target in seen.targets] or _planned(seen)
    return [
        (reverse("queue", args=[each.source.name, each.slug]), shown(queue_label(each.source.name, each.slug), 40))
        for each in queues
    ][:LINKS]


def _planned(seen: Seen) -> Sequence[Queue]:
    """Where its jobs go, by what freezing counted. One query."""
    keys = {each.target for each in sums(seen.replay.frozen) if each.target is not None}
    return list(Queue.objects.filter(pk__in=keys).select_related("source").order_by("pk")[:LINKS])
