"""Taking back what was sent and no worker has begun, when a plan is cancelled.

While a plan's step is `taking-back`, its cursor says how far this is, and which rows are being taken back just now:
those of a batch that was interrupted are asked for again, and nothing is made of what events tell of our own doing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from django.db.models import Q

from queues.actions import Outcome, Result, Target
from queues.models import Queue, ReplayJob
from queues.replay.hands import Hands
from queues.replay.naming import is_exact, job_id, target_of
from queues.replay.originals import KEPT, REMOVED, when
from queues.replay.receipts import receipt
from queues.replay.terms import Originals
from queues.replay.types import Acts, Place
from queues.replay.watching import Watching
from queues.replay.watching.taking import Taking
from queues.replay.watching.ways import Way, under_way
from queues.sendings import Conflict, Fate
from queues.types import QueueRef, State

BATCH = 500
_BACK = (Outcome.DONE, Outcome.ALREADY)
_ALSO_WAITS = (State.PRIORITIZED, State.DELAYED)  # where else a copy may be that no worker has begun


def take_back(run: Hands) -> bool:
    """Take back some of the jobs that wait still; True when there are none left to look at.

    Jobs that were sent in place go to where they were. A copy is removed where its original is there still; others
    stay and run. At most 500 a call, which may be repeated after any interruption. Raises what the backend raises.
    """
    taking = Taking.of(run.replay)
    if taking is None:
        return True
    again = taking.until is not None
    if again:
        Watching(run).read()  # what is gone may have been done meanwhile
    else:
        found = _next(run, taking)
        if found is None:
            return True
        taking = found
        with run.saving(cursor=str(taking)):
            pass
    rows = [row for row in _between(run, taking) if is_exact(row.made or row.job) and is_exact(row.job)]
    back = [*_in_place(run, rows), *_copies(run, rows, again=again)]
    _write(run, taking, back)
    return False


def _next(run: Hands, taking: Taking) -> Taking | None:
    """The next batch; None where there is none."""
    after = taking.after
    ahead = Q(sent_ms__gt=after.sent_ms) | Q(sent_ms=after.sent_ms, pk__gt=after.pk)
    rows = under_way(run.replay).filter(ahead, sent_ms__gte=after.sent_ms).order_by("sent_ms", "pk")
    found = list(rows.values_list("pk", "sent_ms")[:BATCH])
    return Taking(after, Way(found[-1][0], found[-1][1] or 0)) if found else None


def _between(run: Hands, taking: Taking) -> list[ReplayJob]:
    """The rows of a batch that have not ended."""
    rows = under_way(run.replay).order_by("sent_ms", "pk").select_related("queue__source", "target__source")
    if taking.until is not None:
        rows = rows.filter(sent_ms__gte=taking.after.sent_ms, sent_ms__lte=taking.until.sent_ms)
    return [row for row in rows if Way(row.pk, row.sent_ms or 0) in taking]


def _in_place(run: Hands, rows: Sequence[ReplayJob]) -> Iterator[int]:
    """Those that are where they were before, by the keys of their rows."""
    by_queue: dict[QueueRef, list[tuple[int, Target, bytes]]] = defaultdict(list)
    for row in rows:
        if row.acts == Acts.RETRY and row.was is not None:
            by_queue[_ref(row.queue)].append((row.pk, target_of(row), bytes(row.was)))
    for queue, found in by_queue.items():
        results = run.actions.take_back(queue, [(target, was) for _pk, target, was in found])
        yield from (pk for (pk, *_asked), result in zip(found, results, strict=True) if result.outcome in _BACK)


def _copies(run: Hands, rows: Sequence[ReplayJob], *, again: bool) -> Iterator[int]:
    """Copies that are removed, by the keys of their rows. `again`: those that are gone were removed before."""
    by_queue: dict[QueueRef, list[ReplayJob]] = defaultdict(list)
    for row in rows:
        if row.acts == Acts.COPY and _has_original(run, row):
            by_queue[_ref(row.target or row.queue)].append(row)
    for queue, found in by_queue.items():
        standings = run.actions.standings(queue, [job_id(row.made or row.job) for row in found])
        stands = [(row, standing.fate) for row, standing in zip(found, standings, strict=True)]
        gone = [row for row, fate in stands if again and fate is Fate.GONE]
        removed = _removed(run, queue, [row for row, fate in stands if fate is Fate.WAITING])
        back = [*gone, *removed]
        _forget(run, back)
        yield from (row.pk for row in back)


def _has_original(run: Hands, row: ReplayJob) -> bool:
    """Whether the original of a copy is there, and stays: else the job would be lost with the copy."""
    return row.original == KEPT or (when(run.terms) is not Originals.WHEN_SENT and row.original != REMOVED)


def _removed(run: Hands, queue: QueueRef, rows: Sequence[ReplayJob]) -> list[ReplayJob]:
    """Those of some copies that were removed: each from the state in which it waits, and from no other."""
    removed: list[ReplayJob] = []
    elsewhere: dict[State, list[ReplayJob]] = defaultdict(list)
    for row, result in zip(rows, _remove(run, queue, rows, State.WAITING), strict=True):
        if result.outcome is Outcome.DONE:
            removed.append(row)
        elif result.outcome is Outcome.WRONG_STATE and result.state in _ALSO_WAITS:
            elsewhere[result.state].append(row)
    for state, some in elsewhere.items():
        results = _remove(run, queue, some, state)
        removed += [row for row, result in zip(some, results, strict=True) if result.outcome is Outcome.DONE]
    return removed


def _remove(run: Hands, queue: QueueRef, rows: Sequence[ReplayJob], state: State) -> Sequence[Result]:
    targets = [Target(job_id(row.made or row.job)) for row in rows]
    return run.actions.remove(queue, targets, state=state, children=False) if targets else ()


def _forget(run: Hands, rows: Sequence[ReplayJob]) -> None:
    """Drop what the sendings have left: it would keep the originals from being sent later."""
    by_queue: dict[QueueRef, list[str]] = defaultdict(list)
    for row in rows:
        by_queue[_ref(row.queue)].append(_receipt(run, row))
    for queue, names in by_queue.items():
        run.actions.drop_receipts(queue, names)


def _receipt(run: Hands, row: ReplayJob) -> str:
    target = target_of(row)
    own = run.replay.token if row.conflict == Conflict.SENT_BEFORE else ""
    return receipt(_ref(row.queue), target.id, target.seen, plan=own)


def _write(run: Hands, taking: Taking, back: Sequence[int]) -> None:
    """These are not sent any more; go on behind the batch."""
    plan = run.replay
    behind = str(Taking(taking.until or taking.after))
    with run.saving(cursor=behind, sent=plan.sent - len(back), back=plan.back + len(back)):
        ReplayJob.objects.filter(pk__in=back).update(place=Place.BACK, fate=Fate.NONE, tries=0)


def _ref(queue: Queue) -> QueueRef:
    return QueueRef.from_slug(queue.source.name, queue.slug)
