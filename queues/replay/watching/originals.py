"""Originals of copies, where they are kept until the copy has completed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from queues.actions import Outcome, Result
from queues.failures.store.rows import parts
from queues.models import ReplayJob
from queues.replay.naming import target_of
from queues.replay.terms import Originals, Terms
from queues.replay.types import Acts, Place
from queues.replay.watching.hands import Hands
from queues.sendings import Fate
from queues.types import QueueRef, State

REMOVED, KEPT = "removed", "kept"  # of `ReplayJob.original`
_AWAY = (Outcome.DONE, Outcome.ALREADY, Outcome.GONE)


def when(terms: Terms) -> Originals:
    """What becomes of originals. Those of edited jobs are never removed before the copy has completed."""
    if terms.patch is not None and terms.originals is Originals.WHEN_SENT:
        return Originals.WHEN_DONE
    return terms.originals


def left(run: Hands) -> list[int]:
    """The rows whose copy has completed and whose original is still to be removed. One query; none where none are."""
    if when(run.terms) is not Originals.WHEN_DONE:
        return []
    done = ReplayJob.objects.filter(replay=run.replay, place=Place.SENT, fate=Fate.COMPLETED, ended_ms__isnull=False)
    return list(done.filter(acts=Acts.COPY, original="").values_list("pk", flat=True))


def remove(run: Hands, rows: Collection[int]) -> None:
    """Remove the originals of these rows, of those that have completed. Raises what the backend raises.

    May be repeated: one that is gone counts as removed. One that somebody moved, or that a worker holds, is kept.
    """
    for part in parts(sorted(rows)):
        done = ReplayJob.objects.filter(pk__in=part, acts=Acts.COPY, fate=Fate.COMPLETED, original="")
        by_queue: dict[tuple[str, str, str], list[ReplayJob]] = defaultdict(list)
        for row in done.select_related("queue__source"):
            by_queue[row.queue.source.name, row.queue.slug, row.state].append(row)
        for (source, slug, state), found in by_queue.items():
            targets = [target_of(row) for row in found]
            # A letter is taken wherever it waits: what was seen of it says that it is the same.
            where = State(state) if state in (State.FAILED, State.COMPLETED) else None
            ref = QueueRef.from_slug(source, slug)
            results = run.actions.remove(ref, targets, state=where, children=False)
            _write(run, found, results)


def _write(run: Hands, rows: list[ReplayJob], results: Collection[Result]) -> None:
    by_word: dict[str, list[int]] = defaultdict(list)
    for row, result in zip(rows, results, strict=True):
        by_word[REMOVED if result.outcome in _AWAY else KEPT].append(row.pk)
    with run.saving():
        for word, keys in by_word.items():
            ReplayJob.objects.filter(pk__in=keys).update(original=word)
