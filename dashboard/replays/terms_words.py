"""The terms of a plan as words, for who cannot change them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.replays.sentence import ORDER_WORDS, figure, originals_words
from dashboard.replays.terms_form import DAYS, queue_label
from dashboard.replays.words import conflict as conflict_words
from dashboard.replays.words import does
from dashboard.replays.words import pace as pace_words
from dashboard.words import shown
from queues.quantities import duration, number
from queues.replay.terms import AfterLoss, KeyFailed, PatchKind, Terms
from queues.replay.types import CHOICES

EDITS: Mapping[PatchKind, Promise] = {
    PatchKind.MERGE: _("by a merge patch"),
    PatchKind.PATHS: _("by setting paths"),
    PatchKind.WHOLE: _("other data as a whole"),
}


def told(terms: Terms, source: str, copies: bool | None) -> Sequence[tuple[str, str]]:
    """What was chosen, as labels and texts, in the order of the form. One query where copies go to one queue.

    `copies`: new jobs are sent for all (True), for none (False), or for letters alone (None).
    """
    rows = [
        (gettext("Sent"), _how(terms, source, copies)),
        (gettext("Attempts"), _attempts(terms, copies)),
        (gettext("Originals"), str(originals_words(terms)) if copies is not False else ""),
        (gettext("Canary"), _canary(terms)),
        (gettext("Pace"), _pace(terms)),
        (gettext("Order"), _order(terms)),
        (gettext("Edit"), str(EDITS[terms.patch.kind]) if terms.patch else ""),
        (gettext("Stops by itself"), _listed(_stops(terms))),
        (gettext("Holds"), _listed(_holds(terms))),
        (gettext("If its worker is lost"), _after_loss(terms)),
        (gettext("Hours"), _hours(terms)),
    ]
    return [(label, text) for label, text in rows if text]


def choices(terms: Terms) -> Sequence[tuple[str, str]]:
    """What was chosen about jobs with something in their way, and about those that most likely fail again."""
    rows = [
        (str(conflict_words(conflict)), str(does(conflict, terms.choice(conflict))))
        for conflict in CHOICES
        if terms.choice(conflict) is not CHOICES[conflict][0]
    ]
    return rows + ([(gettext("Permanent ones"), gettext("left out"))] if terms.without_permanent else [])


def otherwise(mine: Terms, now: Terms, source: str) -> Sequence[tuple[str, str]]:
    """What somebody had chosen and what is not so in the terms of now, as labels and texts. Two queries at most."""
    before, after = (dict(told(terms, source, terms.acts_copy or terms.patch is not None)) for terms in (mine, now))
    none = gettext("none")
    rows = [(name, before.get(name, none)) for name in {**before, **after} if before.get(name) != after.get(name)]
    if mine.patch and now.patch != mine.patch:
        rows = [row for row in rows if row[0] != gettext("Edit")] + [(gettext("Edit"), shown(mine.patch.text, 500))]
    rows += [
        (str(conflict_words(conflict)), str(does(conflict, mine.choice(conflict))))
        for conflict in CHOICES
        if mine.choice(conflict) != now.choice(conflict)
    ]
    if mine.jitter != now.jitter and gettext("Pace") not in dict(rows):
        rows.append((gettext("Jitter"), f"{mine.jitter} %"))
    if mine.without_permanent != now.without_permanent:
        rows.append((gettext("Permanent ones"), gettext("left out") if mine.without_permanent else gettext("sent")))
    return rows


def _listed(parts: Iterator[str]) -> str:
    return "; ".join(parts) or gettext("never")


def _how(terms: Terms, source: str, copies: bool | None) -> str:
    if copies is False:
        return gettext("in place, under their own ids")
    where = gettext("to where they came from")
    if terms.target:
        where = gettext("to %(queue)s") % {"queue": shown(queue_label(source, terms.target))}
    if copies:
        return gettext("as new jobs, %(where)s") % {"where": where}
    return gettext("in place what is still failed; of letters new jobs, %(where)s") % {"where": where}


def _attempts(terms: Terms, copies: bool | None) -> str:
    if copies:
        return gettext("counted anew, as of every new job")
    return gettext("given anew") if terms.reset else gettext("those that were made count")


def _canary(terms: Terms) -> str:
    if not terms.canary:
        return gettext("none")
    told_ = {
        "n": number(terms.canary),
        "limit": number(terms.canary_failed),
        "time": duration(terms.canary_wait_s * 1000, whole=True),
    }
    return gettext("%(n)s, of which at most %(limit)s may fail again; awaited for at most %(time)s") % told_


def _pace(terms: Terms) -> str:
    if terms.pace_to is None or terms.pace_from is None or terms.pace_from >= terms.pace_to:
        return pace_words(terms.pace_to)
    told_ = {
        "from": figure(terms.pace_from),
        "to": figure(terms.pace_to),
        "time": duration(terms.double_s * 1000, whole=True),
        "jitter": terms.jitter,
    }
    return gettext("from %(from)s to %(to)s a second, doubling every %(time)s; jitter %(jitter)s %%") % told_


def _order(terms: Terms) -> str:
    said = str(ORDER_WORDS[terms.order])
    if not terms.key:
        return said
    held = gettext("the later ones of a key wait for those before them")
    if terms.key_failed is KeyFailed.HOLD:
        held = gettext("later ones are not sent when one before them fails again")
    return gettext("%(order)s; in order within the same %(key)s: %(held)s") % {
        "order": said,
        "key": shown(terms.key),
        "held": held,
    }


def _stops(terms: Terms) -> Iterator[str]:
    if terms.stop_percent is not None:
        yield gettext("more than %(n)s %% of the last 100 fail again") % {"n": terms.stop_percent}
    if terms.stop_paused:
        yield gettext("the target queue is paused")
    if terms.stop_idle:
        yield gettext("the target queue has no worker")


def _holds(terms: Terms) -> Iterator[str]:
    if terms.depth_max is not None:
        yield gettext("while more than %(n)s jobs wait in the target queue") % {"n": number(terms.depth_max)}
    if terms.age_max_s is not None:
        age = duration(terms.age_max_s * 1000, whole=True)
        yield gettext("while the oldest waiting job is older than %(age)s") % {"age": age}


def _after_loss(terms: Terms) -> str:
    if terms.after_loss is AfterLoss.WAIT:
        return gettext("it waits for a person")
    return gettext("it goes on by itself")


def _hours(terms: Terms) -> str:
    if terms.hours is None:
        return gettext("at any time")
    days = ", ".join(str(word) for day, word in DAYS if day in terms.hours.days)
    told_ = {"days": days, "begin": terms.hours.begin, "until": terms.hours.until, "zone": terms.hours.zone}
    return gettext("%(days)s, %(begin)s to %(until)s (%(zone)s)") % told_
