"""What the page of a plan shows before anything of it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from dashboard.access import RIGHTS, Right, allowed
from dashboard.replays import hidden, order_keys, sentence, words
from dashboard.replays.edit_samples import edited
from dashboard.replays.forms import fresh_key
from dashboard.replays.lacking import lacking
from dashboard.replays.pace_chart import is_flat, pace_chart
from dashboard.replays.plan_rows import conflict_row, target_row
from dashboard.replays.terms_form import Shape, TermsForm, queue_label
from dashboard.replays.terms_words import told
from queues import readings
from queues.errors import NotFound
from queues.models import Replay
from queues.operations.ability import ability
from queues.quantities import duration, now_ms, number
from queues.registry import backend
from queues.replay.freezing import counting, progress
from queues.replay.limits import limits
from queues.replay.making import LATER_MOST
from queues.replay.preview import Preview, preview
from queues.replay.steering import wanted
from queues.replay.terms import FEW, PatchKind, Terms
from queues.replay.types import CHOICES, From, Phase
from queues.sendings import Conflict
from queues.types import Capability, QueueRef, State

SILENT = timedelta(seconds=20)  # without a sign of life of the worker, before the page says so
EDITABLE = frozenset({Phase.FREEZING, Phase.DRAFT})


@dataclass(frozen=True, slots=True)
class Start:
    """The button that starts it, and what stands around it. `off` says why it cannot be started."""

    label: str
    off: str = ""
    typed: str = ""  # the name to be typed
    above: int | None = None  # so many jobs need no name
    approval: int | None = None  # so many jobs need no second person
    undo_s: int = 0


def _shape_of(replay: Replay, found: Sequence[Conflict], *, reveals: bool) -> Shape:
    """What of the form fits a plan in which these conflicts were found, for who may reveal hidden values or not."""
    terms = Terms.of(replay.terms)
    whole = terms.patch is not None and terms.patch.kind is PatchKind.WHOLE
    sealed = not reveals and hidden.is_sealed(replay, terms)
    return Shape(replay.source.name, [each for each in found if each in CHOICES], whole, sealed)


def form_of(request: HttpRequest, replay: Replay) -> TermsForm:
    """The form as it was sent. It shows what it showed then."""
    sent, reveals = request.POST, allowed(request.user, Right.REVEAL)
    found = [conflict for conflict in CHOICES if f"choice-{conflict.value}" in sent]
    return TermsForm(sent, terms=Terms.of(replay.terms), shape=_shape_of(replay, found, reveals=reveals))


def context(
    request: HttpRequest, replay: Replay, *, form: TermsForm | None = None, error: str = ""
) -> Mapping[str, object]:
    """What `replays/plan.html` needs. Some fifteen bounded queries; a short call of the server for what is edited."""
    terms = _terms(replay, form)
    seen = preview(replay, terms)
    reveals = allowed(request.user, Right.REVEAL)
    if form is None:
        shape = _shape_of(replay, [each.conflict for each in seen.conflicts], reveals=reveals)
        form = TermsForm(terms=terms, shape=shape)
    phase = Phase(replay.phase)
    may = allowed(request.user, Right.REPLAY)
    source, lacks = replay.source.name, lacking(replay)
    return {
        **live(replay, terms, seen, reveals=reveals),
        "form": form,
        "edits": may and phase in EDITABLE,
        "may": may,
        "role": RIGHTS[Right.REPLAY].label,
        "own": replay.started_by == request.user.get_username(),
        "told": told(terms, source, _copies_of(replay, terms, seen)),
        "conflicts": [conflict_row(each, form) for each in seen.conflicts],
        "in_conflict": sum(each.number for each in seen.conflicts),
        "letters": _letters_of(replay, seen),
        "queues": sorted(ref.label for ref in readings.names(source))[:200],
        "lacking": lacks,
        "later": seen.later if seen.later is None or lacks is None else max(0, seen.later - lacks.since),
        "later_most": LATER_MOST,
        "act_key": fresh_key(),
        "origin": origin(replay),
        "first_more": seen.to_send - len(seen.sample),
        **_countdown(replay),
        "error": error,
        "outage": next((each for each in readings.status() if each.name == source and each.down_since), None),
    }


def so_far(replay: Replay) -> Mapping[str, object]:
    """How far its set is put together, and whether somebody is at work on it. No query."""
    return {
        "replay": replay,
        "phase": Phase(replay.phase),
        "phase_word": _phase_word(replay),
        "progress": progress(replay),
        "silent_since": _silent_since(replay),
    }


def _phase_word(replay: Replay) -> str:
    """How it stands. What was frozen once stays so, while its jobs are looked at anew."""
    if replay.phase == Phase.FREEZING and counting.sums(replay.frozen):
        return gettext("being looked at anew")
    return words.phase(replay.phase)


def _silent_since(replay: Replay) -> datetime | None:
    """Since when no worker has shown to be at work on it, where one should be; None while one has just done so."""
    if replay.phase == Phase.FREEZING:
        due = replay.beat_at or replay.made_at
    elif replay.phase == Phase.ARMED and replay.starts_at:
        due = max(replay.starts_at, replay.beat_at or replay.starts_at)
    else:
        return None
    return due if timezone.now() - due > SILENT else None


def live(replay: Replay, terms: Terms, seen: Preview, *, reveals: bool) -> Mapping[str, object]:
    """The parts that follow what is typed: the sentences, the pace, what is edited, and the button that starts it."""
    early = replay.phase == Phase.FREEZING and not seen.number  # it has never been frozen
    copies, keys = _copies_of(replay, terms, seen), order_keys.found(replay, terms, reveals=reveals)
    about = sentence.About(
        None if early else seen.number,
        None if early else seen.to_send,
        None if early else seen.duration_s,
        copies,
        queue_label(replay.source.name, terms.target),
        sentence.attempts_of(seen, terms),
        seen.permanent.permanent,
        _letters_of(replay, seen),
        keys,
        replay.made_by,
    )
    return {
        **so_far(replay),
        "mark": words.mark(replay.phase),
        "terms": terms,
        "seen": seen,
        "sentences": sentence.sentences(terms, about),
        "copies": copies,
        "chart": None if is_flat(terms) else pace_chart(terms, seen.to_send),
        "targets": [target_row(each, terms) for each in seen.targets],
        "key_words": order_keys.words(keys, terms) if keys else "",
        "overtaken": order_keys.overtaken(seen, terms) if keys else "",
        "early": early,
        "small": _is_small(replay),
        "edited": edited(terms, seen.varied, data=bytes(replay.data) if replay.data else None, blind=not reveals),
        "start": _start(replay, seen),
    }


def _is_small(replay: Replay) -> bool:
    """Whether its terms were suggested as those of few jobs. That is so from the first on: its page never jumps."""
    expected = replay.frozen.get(counting.EXPECTED)
    return expected is not None and expected <= FEW


def _copies_of(replay: Replay, terms: Terms, seen: Preview) -> bool | None:
    """Whether new jobs are sent: for all (True), for none (False), or only for letters (None)."""
    if terms.acts_copy or terms.patch or replay.made_from.get("state") == State.COMPLETED:
        return True
    if seen.to_send:
        return sentence.copies_by(seen.to_send, seen.copies)
    return None if _letters_of(replay, seen) else False


def _letters_of(replay: Replay, seen: Preview) -> bool:
    """Whether letters are part of it."""
    return bool(seen.letters or replay.made_from.get("letters") or replay.made_from["kind"] == From.LETTERS)


def _terms(replay: Replay, form: TermsForm | None) -> Terms:
    """Those that were typed where they can be read, else those that are kept."""
    kept = Terms.of(replay.terms)
    return form.terms if form is not None and form.is_bound and form.is_valid() else kept


def _countdown(replay: Replay) -> Mapping[str, object]:
    """When it starts, and in how long by the server's clock; "" where that is over."""
    if replay.starts_at is None:
        return {}
    starts_ms = round(replay.starts_at.timestamp() * 1000)
    left = starts_ms - now_ms()
    return {"starts_ms": starts_ms, "starts_in": duration(left + 999, whole=True) if left > 0 else ""}


def origin(replay: Replay) -> QueueRef | None:
    """The queue that it was made from; None for a group of failures."""
    slug = replay.made_from.get("queue")
    try:
        return QueueRef.from_slug(replay.source.name, slug) if slug else None
    except ValueError:
        return None


def _start(replay: Replay, seen: Preview) -> Start:
    many, now = seen.to_send, limits()
    asks = wanted(replay, many)
    if asks.approval:
        label = gettext("Ask for approval of %(n)s") % {"n": number(many)}
    elif replay.phase == Phase.FREEZING and not many:
        label = gettext("Start replay")
    else:
        label = ngettext("Start replay of %(n)s", "Start replay of %(n)s", many) % {"n": number(many)}
    return Start(
        label,
        off=_off(replay, seen),
        typed=asks.typed,
        above=now.typed,
        approval=now.approval if asks.approval else None,
        undo_s=asks.undo_s,
    )


def _off(replay: Replay, seen: Preview) -> str:
    """Why a plan cannot be started, as far as its page can tell; "" where nothing is known to be in the way."""
    if replay.phase == Phase.FREEZING:
        if seen.number:
            return gettext("It can be started once its jobs have been looked at anew.")
        return gettext("It can be started once its set is frozen.")
    if not seen.to_send:
        return gettext("Nothing is left to send.")
    try:
        if Capability.REPLAYS not in backend(replay.source.name).capabilities:
            return gettext("Jobs of this source cannot be sent again.")
    except NotFound as error:
        return str(error)
    return ability(seen.targets[0].queue).nothing if seen.targets else ""
