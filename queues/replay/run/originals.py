"""What goes as soon as its copy is safely in: letters, and other originals where the terms say so.

Those that stay until their copy has completed are those of `watching.originals`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from queues.actions import BATCH, Outcome, Result, Target
from queues.models import ReplayJob
from queues.replay.naming import is_exact, job_id, target_of
from queues.replay.run import facts
from queues.replay.run.run import Run
from queues.replay.types import Acts
from queues.replay.watching.originals import KEPT, REMOVED
from queues.types import QueueRef, State

_GONE = (Outcome.DONE, Outcome.GONE, Outcome.ALREADY)


def remove_due(run: Run) -> None:
    """Remove the originals that are due, as the facts name them; nothing where none are.

    A call for every thousand of a queue, and a transaction. May be interrupted anywhere and called again.
    """
    while due := run.facts.get(facts.ORIGINALS, []):
        some = due[:BATCH]
        outcomes = remove(run, ReplayJob.objects.filter(replay=run.replay.pk, pk__in=some, original=""))
        run.facts[facts.ORIGINALS] = due[len(some) :]
        with run.saving():
            note(run, outcomes)


def remove(run: Run, rows: Iterable[ReplayJob]) -> Mapping[int, str]:
    """Remove what stands behind rows; gives for each, by its key, what `ReplayJob.original` is then.

    What a worker holds, or is there anew since it was looked at, is kept. Raises what the backend raises.
    """
    found: dict[int, str] = {}
    for (queue, state), some in _by_place(run, rows).items():
        pairs = list(some)
        for first in range(0, len(pairs), BATCH):
            for key, said in _removed(run, queue, state, pairs[first : first + BATCH]):
                found[key] = KEPT if found.get(key) == KEPT else said
    return found


def note(run: Run, outcomes: Mapping[int, str]) -> None:
    """Write what became of originals. Within a transaction of `saving`."""
    for said in (REMOVED, KEPT):
        keys = [key for key, outcome in outcomes.items() if outcome == said]
        if keys:
            ReplayJob.objects.filter(replay=run.replay.pk, pk__in=keys).update(original=said)


def _removed(
    run: Run, queue: QueueRef, state: State | None, pairs: Sequence[tuple[int, Target]]
) -> Iterator[tuple[int, str]]:
    results = run.actions.remove(queue, [target for _key, target in pairs], state=state, children=False)
    for (key, _target), result in zip(pairs, results, strict=True):
        yield key, _said(result)


def _said(result: Result) -> str:
    return REMOVED if result.outcome in _GONE else KEPT


def _by_place(
    run: Run, rows: Iterable[ReplayJob]
) -> Mapping[tuple[QueueRef, State | None], Sequence[tuple[int, Target]]]:
    found: dict[tuple[QueueRef, State | None], list[tuple[int, Target]]] = {}
    for row in rows:
        if row.acts == Acts.COPY and is_exact(row.job):
            # A letter lies in whichever list or set of its queue; a failed or completed job in its own.
            state = None if row.state == State.WAITING else State(row.state)
            found.setdefault((run.ref(row.queue_id), state), []).append((row.pk, target_of(row)))
        # Beside a copy, too: once its job is gone a letter would be sent by itself.
        if row.letter and row.letter_queue_id is not None and is_exact(row.letter):
            ref = run.ref(row.letter_queue_id)
            found.setdefault((ref, None), []).append((row.pk, Target(job_id(row.letter))))
    return found
