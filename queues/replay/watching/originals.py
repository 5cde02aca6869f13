"""Originals of copies, where they are kept until the copy has completed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from queues.actions import Outcome, Target
from queues.failures.store.rows import parts
from queues.models import Queue, ReplayJob
from queues.replay.hands import Hands
from queues.replay.naming import is_exact, job_id, target_of
from queues.replay.terms import Originals, Terms
from queues.replay.types import Acts, Place
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
        words: dict[int, str] = {}
        for (queue, state), found in _by_place(done.select_related("queue__source", "letter_queue__source")).items():
            results = run.actions.remove(queue, [target for _key, target in found], state=state, children=False)
            for (key, _target), result in zip(found, results, strict=True):
                words[key] = REMOVED if result.outcome in _AWAY and words.get(key) != KEPT else KEPT
        _write(run, words)


def _by_place(
    rows: Iterable[ReplayJob],
) -> Mapping[tuple[QueueRef, State | None], Sequence[tuple[int, Target]]]:
    """What is to be removed, by the keys of rows: also letters beside what was copied, which would be sent later."""
    found: dict[tuple[QueueRef, State | None], list[tuple[int, Target]]] = defaultdict(list)
    for row in rows:
        # A letter is taken wherever it waits: what was seen of it says that it is the same.
        state = State(row.state) if row.state in (State.FAILED, State.COMPLETED) else None
        found[_ref(row.queue), state].append((row.pk, target_of(row)))
        if row.letter_queue is not None and is_exact(row.letter):
            found[_ref(row.letter_queue), None].append((row.pk, Target(job_id(row.letter))))
    return found


def _ref(queue: Queue) -> QueueRef:
    return QueueRef.from_slug(queue.source.name, queue.slug)


def _write(run: Hands, words: Mapping[int, str]) -> None:
    by_word: dict[str, list[int]] = defaultdict(list)
    for key, word in words.items():
        by_word[word].append(key)
    with run.saving():
        for word, keys in by_word.items():
            ReplayJob.objects.filter(pk__in=keys).update(original=word)
