"""The page of a plan that was started: what it does now, or what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from dashboard.access import Right, allowed
from dashboard.replays import around, figures, keys, order_keys
from dashboard.replays.chart import charted
from dashboard.replays.edit_done import edit_done
from dashboard.replays.halted import halted
from dashboard.replays.lacking import lacking
from dashboard.replays.outcome import Outcome, outcome
from dashboard.replays.seen import Seen, see
from dashboard.replays.sentence import About, Sentences, copies_by, sentences
from dashboard.replays.terms_form import queue_label
from dashboard.replays.terms_words import choices, told
from dashboard.replays.verbs import cancel_form, cancel_words, pace_form, verbs
from dashboard.words import shown
from queues.models import Replay
from queues.quantities import instant, now_ms
from queues.registry import configured
from queues.replay.freezing.counting import ways
from queues.replay.report import explain
from queues.replay.types import HALTED, From
from queues.types import State

Parts = Mapping[str, SafeString]


@dataclass(frozen=True, slots=True)
class AgainRow:
    """A group that jobs failed into again."""

    slug: str
    title: str
    number: SafeString
    compared: SafeString
    last: SafeString


@dataclass(frozen=True, slots=True)
class TargetRow:
    """A queue that jobs go to."""

    label: str
    url: str
    depth: SafeString
    oldest: SafeString
    workers: SafeString
    paused: SafeString
    why: SafeString


def context(request: HttpRequest, replay: Replay, **given: object) -> Mapping[str, object]:
    """What `replays/running.html` needs for a plan that was started, whether it has ended or not.

    `given` are forms that were sent with mistakes, by name. Some ten queries; by its rows where it has ended.
    """
    at_ms = now_ms()
    if replay.phase in HALTED:
        explain(replay)  # nobody else does, once all that was sent has ended
    seen = see(replay, at_ms)
    live = figures.drawn(seen)
    known = replay.source.name in {config.name for config in configured()}
    return {
        "replay": replay,
        "seen": seen,
        "key": keys.page(replay.pk),
        "live": live,
        "marks": around.markers(seen),
        "chart": charted(seen),
        "title": shown(replay.title, 120),
        "about": shown(replay.words, 300),
        "verbs": verbs(seen, request.user) if known else None,
        "cancel_words": cancel_words(seen),
        "pace_form": pace_form(seen),
        "cancel_form": cancel_form(),
        "halted": halted(seen),
        "lacking": lacking(replay),
        "again": again(seen, live),
        "targets": targets(seen, live),
        "plan": plan(seen),
        "terms": (*told(seen.terms, replay.source.name, copies(seen)), *choices(seen.terms)) if known else (),
        "outcome": came_to(seen),
        "edit_done": edit_done(replay, reveals=allowed(request.user, Right.REVEAL)),
        "live_source": replay.source.name if known else "",
        "live_read_ms": str(at_ms),
        "read_at": instant(at_ms),
        **given,
    }


def came_to(seen: Seen) -> Outcome | None:
    """What came of a plan that has ended."""
    return outcome(seen.replay) if seen.ended else None


def plan(seen: Seen) -> Sentences:
    """How it was planned, in words."""
    terms, total = seen.terms, seen.replay.total
    target = queue_label(seen.replay.source.name, terms.target)
    letters = ways(seen.replay.frozen, terms)[2] > 0
    keys = order_keys.found(seen.replay, terms, reveals=False)
    by = seen.replay.made_by
    about = About(
        total,
        seen.of,
        permanent=seen.replay.permanent,
        copies=copies(seen),
        target=target,
        letters=letters,
        keys=keys,
        by=by,
    )
    return sentences(terms, about)


def copies(seen: Seen) -> bool | None:
    """Whether new jobs were sent: for all (True), for none (False), or only for letters (None)."""
    made_from = seen.replay.made_from
    if seen.terms.acts_copy or seen.terms.patch or made_from.get("state") == State.COMPLETED:
        return True
    jobs, new, _letters = ways(seen.replay.frozen, seen.terms)
    if jobs:
        return copies_by(jobs, new)
    return None if made_from.get("kind") in (From.LETTERS, From.GROUP, From.AGAIN) else False


def again(seen: Seen, live: Parts) -> Sequence[AgainRow]:
    made = []
    for each in around.known(seen):
        name = f"again.{each.slug}"
        made.append(AgainRow(each.slug, each.title, live[name], live[f"{name}.w"], live[f"{name}.last"]))
    return made


def targets(seen: Seen, live: Parts) -> Sequence[TargetRow]:
    return [
        TargetRow(
            shown(around.label(target), 80),
            reverse("queue", args=[target.queue.source.name, target.queue.slug]),
            *(live[f"target.{target.queue_id}.{name}"] for name in ("depth", "oldest", "workers", "paused", "why")),
        )
        for target in seen.targets
    ]
