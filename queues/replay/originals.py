"""What was copied, and letters beside what was sent: removed as soon as that is safely in, or when it has completed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from django.db.models import QuerySet

from queues.actions import BATCH, Outcome, Target
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
_READ = ("queue_id", "job", "seen", "state", "acts", "letter_queue_id", "letter")


def when(terms: Terms) -> Originals:
    """What becomes of originals. Those of edited jobs are never removed before the copy has completed."""
    if terms.patch is not None and terms.originals is Originals.WHEN_SENT:
        return Originals.WHEN_DONE
    return terms.originals


def goes_at_once(row: ReplayJob, terms: Terms) -> bool:
    """Whether the original of a copy, or the letter beside a job that is sent in place, goes as soon as that is sent.

    That of a copy whose data is edited stays until the copy has completed.
    """
    if terms.originals is Originals.KEEP:
        return False
    if row.acts == Acts.RETRY:
        return bool(row.letter)
    return when(terms) is Originals.WHEN_SENT


def left(run: Hands) -> list[int]:
    """The rows whose copy has completed and whose original is still to be removed. One query; none where none are."""
    if when(run.terms) is not Originals.WHEN_DONE:
        return []
    done = ReplayJob.objects.filter(replay=run.replay, place=Place.SENT, fate=Fate.COMPLETED, ended_ms__isnull=False)
    return list(done.filter(acts=Acts.COPY, original="").values_list("pk", flat=True))


def remove_completed(run: Hands, keys: Collection[int]) -> None:
    """Remove the originals of these rows, of those whose copy has completed, and write it down. As `remove`."""
    for part in parts(sorted(keys)):
        done = ReplayJob.objects.filter(pk__in=part, acts=Acts.COPY, fate=Fate.COMPLETED, original="")
        words = remove(run, done)
        with run.saving():
            note(words)


def remove(run: Hands, rows: QuerySet[ReplayJob]) -> Mapping[int, str]:
    """Remove what stands behind rows; gives for each, by its key, what `ReplayJob.original` is then.

    A call for every thousand of a queue, and two queries. May be repeated: one that is gone counts as removed. What
    somebody moved, what a worker holds, or is there anew since it was looked at, is kept. Raises what the backend
    raises.
    """
    words: dict[int, str] = {}
    for (queue, state), found in _by_place(rows).items():
        for first in range(0, len(found), BATCH):
            part = found[first : first + BATCH]
            results = run.actions.remove(queue, [target for _key, target in part], state=state, children=False)
            for (key, _target), result in zip(part, results, strict=True):
                words[key] = REMOVED if result.outcome in _AWAY and words.get(key) != KEPT else KEPT
    return words


def note(words: Mapping[int, str]) -> None:
    """Write what became of originals, as `remove` gives it. Within a transaction of `saving`."""
    for said in (REMOVED, KEPT):
        if keys := [key for key, word in words.items() if word == said]:
            ReplayJob.objects.filter(pk__in=keys).update(original=said)


def _by_place(rows: QuerySet[ReplayJob]) -> Mapping[tuple[QueueRef, State | None], Sequence[tuple[int, Target]]]:
    """What is to be removed, with the keys of rows, by the queue and the state in which alone it is removed."""
    found: dict[tuple[int, State | None], list[tuple[int, Target]]] = defaultdict(list)
    for row in rows.only(*_READ):
        if row.acts == Acts.COPY and is_exact(row.job):
            # A letter is taken wherever it waits: what was seen of it says that it is the same.
            state = State(row.state) if row.state in (State.FAILED, State.COMPLETED) else None
            found[row.queue_id, state].append((row.pk, target_of(row)))
        # Beside a copy, too: once its job is gone a letter would be sent by itself.
        if row.letter_queue_id is not None and row.letter and is_exact(row.letter):
            found[row.letter_queue_id, None].append((row.pk, Target(job_id(row.letter))))
    queues = Queue.objects.select_related("source").in_bulk([queue for queue, _state in found])
    refs = {pk: QueueRef.from_slug(queue.source.name, queue.slug) for pk, queue in queues.items()}
    return {(refs[queue], state): some for (queue, state), some in found.items()}
