"""What is pressed for a queue, which may empty it: what goes is what was asked and told."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from queues import audit, operations
from queues.actions import Action, Clock
from queues.errors import WrongState
from queues.models import AuditEntry
from queues.types import State
from tests.queues.model.look import Key, View, look
from tests.queues.model.operator import Operator, ref


def pause(operator: Operator, queue: str) -> None:
    _switched(operator, queue, Action.PAUSE)


def resume(operator: Operator, queue: str) -> None:
    _switched(operator, queue, Action.RESUME)


def _switched(operator: Operator, queue: str, action: Action) -> None:
    """All that waits goes on waiting, in its order: what was parked goes before."""
    view, do = look(operator.store), operations.pause if action is Action.PAUSE else operations.resume
    operator.press(lambda asked: do(asked, ref(queue)))
    operator.log.append(f"{action} {queue}")
    waiting = [*view.orders[queue, "wait"], *view.orders[queue, "paused"]]
    after = operator.settled(view, moved={Key(queue, job) for job in waiting})
    assert [*after.orders[queue, "wait"], *after.orders[queue, "paused"]] == waiting
    assert (queue in after.paused) == (action is Action.PAUSE)
    assert action is Action.PAUSE or not after.orders[queue, "paused"]


def drain(operator: Operator, queue: str) -> None:
    view, delayed = look(operator.store), operator.rng.random() < 0.5
    places = ("wait", "paused", "prioritized", *(["delayed"] if delayed else []))
    entry = operator.sweep(lambda asked: operations.drain(asked, ref(queue), delayed=delayed))
    _swept(operator, view, queue, entry, places=places, words=f"drain {queue} delayed={delayed}")


def clean(operator: Operator, queue: str) -> None:
    view = look(operator.store)
    state = operator.rng.choice([State.COMPLETED, State.FAILED, State.DELAYED, State.WAITING, State.PRIORITIZED])
    clock = Clock.FINISHED if state in (State.COMPLETED, State.FAILED) else Clock.CREATED
    entry = operator.sweep(lambda asked: operations.clean(asked, ref(queue), state, clock=clock, older_ms=0))
    places = ("wait", "paused") if state is State.WAITING else (state.value,)
    _swept(operator, view, queue, entry, places=places, words=f"clean {queue} {state}")


def _swept(
    operator: Operator, view: View, queue: str, entry: AuditEntry, *, places: tuple[str, ...], words: str
) -> None:
    after = look(operator.store)
    gone = set(view.jobs) - set(after.jobs)
    operator.log.append(f"{words}: {entry.outcomes} {[str(key) for key in gone]}")
    assert entry.outcomes.get("done", 0) == len(gone)
    operator.settled(view, gone=gone)
    # A parent that goes on while its turn is yet to come goes too.
    above = {view.parent(key) for key in gone if key in view.jobs}
    assert all(view.jobs[key].place in places or key in above for key in gone)
    for key in set(view.of(queue, *places)) - gone:
        job = view.jobs[key]
        kept = job.locked or key in view.runs or operator.store.exists(f"{key.full}:dependencies")
        kept = kept or key in above  # its last child went after its own turn
        assert kept or not job.fields, f"{key} was left without a reason"


def obliterate(operator: Operator, queue: str) -> None:
    view, force = look(operator.store), operator.rng.random() < 0.5
    if queue not in view.paused or (not force and view.of(queue, "active")):
        try:
            operator.sweep(lambda asked: operations.obliterate(asked, ref(queue), force=force))
        except WrongState:
            operator.settled(view)
            return
        raise AssertionError("an open queue was removed")
    operator.sweep(lambda asked: operations.obliterate(asked, ref(queue), force=force))
    operator.log.append(f"obliterate {queue} force={force}")
    operator.settled(view, gone=view.of(queue))
    left = [name.decode() for name in cast(list[bytes], operator.store.keys(f"bull:{queue}:*"))]
    assert not [name for name in left if ":mirante:" not in name and ":de:" not in name and not _of_dead(view, name)]


def _of_dead(view: View, name: str) -> bool:
    """Whether it hung on a job whose hash somebody had deleted: nothing names it any more."""
    return any(not job.fields and name.startswith(f"{key.full}:") for key, job in view.jobs.items())


def limits(operator: Operator, queue: str, action: Action) -> None:
    view, most = look(operator.store), operator.rng.choice([None, 1, 50])
    calls: dict[Action, Callable[[audit.Asked], AuditEntry]] = {
        Action.CONCURRENCY: lambda asked: operations.concurrency(asked, ref(queue), most),
        Action.RATE_LIMIT: lambda asked: operations.rate_limit(asked, ref(queue), most, 60_000 if most else 0),
        Action.RELEASE_LIMIT: lambda asked: operations.release_limit(asked, ref(queue)),
        Action.TRIM_EVENTS: lambda asked: operations.trim_events(asked, ref(queue), keep=operator.rng.choice([0, 100])),
    }
    operator.press(calls[action])
    operator.log.append(f"{action} {queue} {most}")
    operator.settled(view)


def release_deduplication(operator: Operator, queue: str) -> None:
    view, name = look(operator.store), operator.rng.choice("xy")
    entry = operator.press(lambda asked: operations.release_deduplication(asked, ref(queue), name.encode()))[0]
    operator.log.append(f"release-deduplication {queue} {name}: {entry.outcomes}")
    after = operator.settled(view)
    holder = view.jobs.get(Key(queue, view.holders.get((queue, name), "")))
    runs_yet = holder and holder.fields and holder.place not in ("completed", "failed")
    assert ((queue, name) in after.holders) == bool(runs_yet)
