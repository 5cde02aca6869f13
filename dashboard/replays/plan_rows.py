"""Rows of the page of a plan: the conflicts of its jobs, and the queues that these go to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.forms.boundfield import BoundField
from django.utils.translation import gettext, ngettext

from dashboard.replays import sentence, words
from dashboard.replays.terms_form import TermsForm
from queues.quantities import duration, number
from queues.replay.preview import LATELY, Found, Target
from queues.replay.terms import Terms


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A conflict, what the plan does about it, and the field by which a person chooses, where there is a choice."""

    found: Found
    word: str
    mark: tuple[str, str]
    does: str
    field: BoundField | None

    @property
    def more(self) -> int:
        """How many besides the examples."""
        return self.found.number - len(self.found.examples)


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A queue that jobs go to. `effect` is what the pace means for it, where that is known; `notes` can be acted on."""

    target: Target
    limit: str
    effect: str
    notes: Sequence[str]


def conflict_row(found: Found, form: TermsForm) -> ConflictRow:
    conflict = found.conflict
    field = form.choices.get(conflict) if len(found.possible) > 1 else None
    does = words.does(conflict, found.choice)
    return ConflictRow(found, words.conflict(conflict), words.conflict_mark(conflict), does, field)


def target_row(target: Target, terms: Terms) -> TargetRow:
    limit = ""
    if target.rate_max and target.rate_duration_ms:
        figures = {"n": number(target.rate_max), "time": duration(target.rate_duration_ms)}
        limit = gettext("at most %(n)s in %(time)s") % figures
    return TargetRow(target, limit, _effect(target, terms), _notes(target, terms))


def _notes(target: Target, terms: Terms) -> Sequence[str]:
    """What is in the way there, and what the plan makes of it."""
    found = []
    if target.too_old:
        found.append(gettext("It is of BullMQ 4, to which no new jobs can be sent."))
    if target.paused:
        stops = gettext("It is paused: the replay stops at once.")
        found.append(stops if terms.stop_paused else gettext("It is paused: jobs wait there until it is resumed."))
    if target.workers == 0:
        stops = gettext("It has no worker: the replay stops at once.")
        found.append(stops if terms.stop_idle else gettext("It has no worker: jobs wait there until one comes."))
    if terms.depth_max is not None and target.backlog is not None and target.backlog > terms.depth_max:
        found.append(gettext("More jobs wait there than you allow: the replay holds until they are fewer."))
    return found


def _effect(target: Target, terms: Terms) -> str:
    """What the fastest pace means for what runs there besides, and what of that is not known."""
    effect, said = target.effect, []
    if effect.finished_per_min is None:
        said.append(
            gettext("How many jobs live traffic ends a minute is not known yet: no whole minute of it was seen")
        )
    else:
        figures = {"n": _about(effect.finished_per_min), "limit": _about(effect.limit_per_min)}
        if effect.limit_per_min is not None:
            text = gettext("Live traffic uses %(n)s of the %(limit)s a minute that the queue’s rate limit allows")
            said.append(text % figures)
        else:
            said.append(gettext("Live traffic ends %(n)s jobs a minute") % figures)
        said[-1] += _over(target.over_min)
        if effect.left_per_min is not None and terms.pace_to is not None:
            told_ = {"pace": sentence.figure(terms.pace_to), "left": _about(max(0.0, effect.left_per_min))}
            said.append(gettext("%(pace)s a second leaves %(left)s") % told_)
    text = "; ".join(said) + "." if said else ""
    if effect.longer_s is not None and effect.longer_s >= 1:
        wait = gettext("Live jobs would wait up to %(time)s longer.") % {"time": sentence.about_time(effect.longer_s)}
        text = f"{text} {wait}".strip()
    return text


def _over(minutes: int) -> str:
    """That a mean is one of fewer minutes than usual."""
    if minutes >= LATELY:
        return ""
    text = ngettext(" (in the last whole minute)", " (mean of the last %(n)s whole minutes)", minutes)
    return text % {"n": number(minutes)}


def _about(value: float | None) -> str:
    return number(None if value is None else round(value))
