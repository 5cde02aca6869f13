"""Every action, pressed by chance: what it does to jobs is what was asked, and to others nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import cast

from queues import audit, operations, undo
from queues.actions import Action, Clock, NewJob, Outcome
from queues.errors import WrongState
from queues.models import AuditEntry
from queues.types import JobRef, State
from tests.queues.model.look import Job, Key, View, key_of, look
from tests.queues.model.operator import Operator, each, is_as, ref

ANY = ("wait", "paused", "prioritized", "delayed", "completed", "failed", "waiting-children", "active")
FORM = 10**12  # a moment in 2033, after which delayed jobs are moved


def _came(operator: Operator, found: Mapping[Key, Outcome], words: object = "") -> None:
    operator.log.append(f"{words} { ({str(key): outcome.value for key, outcome in found.items()}) }")


def retry(operator: Operator, queue: str) -> None:
    view, state = look(operator.store), operator.rng.choice([State.FAILED, State.FAILED, State.COMPLETED])
    keys, reset, twins = (
        operator.pick(view, queue, state.value),
        operator.rng.random() < 0.5,
        bool(operator.rng.randint(0, 1)),
    )
    targets = operator.targets(view, keys)
    entries = operator.press(
        lambda asked: operations.retry(asked, ref(queue), targets, state=state, reset=reset, twins=twins)
    )
    found = each(entries, keys)
    _came(operator, found, f"retry {queue} {state} reset={reset} twins={twins}")

    def expected(key: Key, job: Job) -> Outcome | None:
        if job.place == state.value:
            return None if job.fields.get("deid") and not twins else Outcome.DONE
        return Outcome.ALREADY if job.waits or job.place == "active" else Outcome.WRONG_STATE

    done = is_as(found, view, expected)
    after = operator.settled(view, moved=done)
    for key in done:
        was, now = view.jobs[key].fields, after.jobs[key]
        assert now.waits
        assert not {"finishedOn", "failedReason", "returnvalue", "defa"} & set(now.fields)
        assert reset or now.fields.get("atm") == was.get("atm")
        assert _payload(was) == _payload(now.fields)


def promote(operator: Operator, queue: str) -> None:
    view = look(operator.store)
    keys = operator.pick(view, queue, "delayed")
    targets = operator.targets(view, keys)
    found = each(operator.press(lambda asked: operations.promote(asked, ref(queue), targets)), keys)
    _came(operator, found, f"promote {queue}")

    def expected(key: Key, job: Job) -> Outcome:
        if job.place == "delayed":
            return Outcome.SCHEDULED if key in view.runs else Outcome.DONE
        return Outcome.ALREADY if job.waits or job.place == "active" else Outcome.WRONG_STATE

    done = is_as(found, view, expected)
    after = operator.settled(view, moved=done)
    assert all(
        after.jobs[key].waits and _payload(after.jobs[key].fields) == _payload(view.jobs[key].fields) for key in done
    )


def delay(operator: Operator, queue: str) -> None:
    view, at = look(operator.store), FORM + operator.pressed + int(time.time() * 1000)
    keys = operator.pick(view, queue, "delayed")
    targets = operator.targets(view, keys)
    found = each(operator.press(lambda asked: operations.delay(asked, ref(queue), targets, run_at_ms=at)), keys)
    _came(operator, found, f"delay {queue}")

    def expected(key: Key, job: Job) -> Outcome:
        if job.place != "delayed":
            return Outcome.WRONG_STATE
        return Outcome.SCHEDULED if key in view.runs else Outcome.DONE

    done = is_as(found, view, expected)
    after = operator.settled(view, moved=done)
    assert all(int(cast(float, after.jobs[key].score)) >> 12 == at for key in done)
    assert all(after.jobs[key].place == "delayed" for key in done)


def priority(operator: Operator, queue: str) -> None:
    view, wanted = look(operator.store), operator.rng.choice([0, 1, 2, 9])
    keys = operator.pick(view, queue, "wait", "paused", "prioritized", "delayed", "waiting-children")
    targets = operator.targets(view, keys)
    found = each(operator.press(lambda asked: operations.priority(asked, ref(queue), targets, priority=wanted)), keys)
    _came(operator, found, f"priority {queue} {wanted}")

    def expected(key: Key, job: Job) -> Outcome | None:
        if not (job.waits or job.place in ("delayed", "waiting-children")):
            return None if wanted else Outcome.WRONG_STATE  # what was seen of it in another state is not what it is
        return Outcome.ALREADY if job.priority == wanted else Outcome.DONE

    done = is_as(found, view, expected)
    after = operator.settled(view, moved=done)
    for key in done:
        was, now = view.jobs[key], after.jobs[key]
        assert was.waits or was.place in ("delayed", "waiting-children")
        assert now.priority == wanted
        assert now.waits if was.waits else now.place == was.place


def remove(operator: Operator, queue: str) -> None:
    view, children = look(operator.store), operator.rng.random() < 0.5
    keys = operator.pick(view, queue, *operator.rng.sample(ANY, 3), most=2)
    targets = operator.targets(view, keys)
    below = {key: _below(operator, view, key) for key in keys if key in view.jobs and view.jobs[key].fields}
    entries = operator.press(lambda asked: operations.remove(asked, ref(queue), targets, state=None, children=children))
    found = each(entries, keys)
    _came(operator, found, f"remove {queue} children={children}")
    tree = {one for key in keys for one in below.get(key, ())} if children else set()

    def expected(key: Key, job: Job) -> Outcome | None:
        if key in tree:
            return None  # it may have gone, and been freed, with another that was chosen
        with_it = [key, *(below[key] if children else ())]
        if any(view.jobs[one].locked for one in with_it):
            return Outcome.LOCKED
        if key in view.runs:
            return Outcome.SCHEDULED
        if not children and operator.store.exists(f"{key.full}:dependencies"):
            return Outcome.CHILDREN
        held = any(view.jobs[one].place == "active" for one in with_it)
        return Outcome.WRONG_STATE if held else None if set(below[key]) & set(keys) else Outcome.DONE

    done = is_as(found, view, expected)
    gone = done | ({one for key in done for one in below.get(key, ())} if children else set())
    operator.settled(view, gone=gone)
    along = sum(audit.took_along(entry) for entry in entries)
    assert along == len(gone - done), "what went with it is counted"


def _below(operator: Operator, view: View, key: Key, *, unended: bool = False) -> list[Key]:
    """What hangs below a job and names it as its parent."""
    store, found = operator.store, list[Key]()
    names = cast(set[bytes], store.smembers(f"{key.full}:dependencies"))
    if not unended:
        names |= {*cast(list[bytes], store.hkeys(f"{key.full}:processed"))}
        names |= {*cast(list[bytes], store.hkeys(f"{key.full}:failed"))}
        names |= {*cast(list[bytes], store.zrange(f"{key.full}:unsuccessful", 0, -1))}
    for child in map(key_of, (name.decode() for name in names)):
        if child in view.jobs and view.jobs[child].fields.get("parentKey") == key.full:
            found += [child, *_below(operator, view, child, unended=unended)]
    return found


def remove_children(operator: Operator, queue: str) -> None:
    view = look(operator.store)
    key = operator.pick(view, queue, "waiting-children", most=1)[0]
    below = _below(operator, view, key, unended=True) if key in view.jobs else []
    entries = operator.press(lambda asked: operations.remove_children(asked, JobRef(ref(queue), key.id.encode())))
    after = look(operator.store)
    gone = set(view.jobs) - set(after.jobs)
    operator.log.append(f"remove-children {key} {[str(one) for one in gone]}")
    assert gone <= set(below)
    assert sum(audit.took_along(entry) for entry in entries) == len(gone)
    held = [view.jobs[one] for one in below]
    if not any(job.locked or job.place in ("active", "failed", "completed") for job in held):
        assert gone == set(below)
    operator.settled(view, gone=gone)


def edit(operator: Operator, queue: str) -> None:
    view, data = look(operator.store), json.dumps({"n": operator.pressed, "text": "é\ud800"}).encode()
    key = operator.pick(view, queue, *ANY, most=1)[0]
    job = view.jobs.get(key)
    was = job.fields.get("data", "{}").encode() if job else b"{}"
    entries = operator.press(lambda asked: operations.edit(asked, JobRef(ref(queue), key.id.encode()), data, was=was))
    found = each(entries, [key])
    _came(operator, found, "edit")

    def expected(key: Key, job: Job) -> Outcome:
        return Outcome.LOCKED if job.locked else Outcome.WRONG_STATE if job.place == "active" else Outcome.DONE

    done = is_as(found, view, expected)
    after = operator.settled(view, moved=done)
    for one in done:
        assert after.jobs[one].fields == {**view.jobs[one].fields, "data": data.decode()}
        assert after.jobs[one].place == view.jobs[one].place


def log(operator: Operator, queue: str) -> None:
    view = look(operator.store)
    key = operator.pick(view, queue, *ANY, most=1)[0]
    lines = operator.store.llen(f"{key.full}:logs")
    ask = lambda asked: operations.log(asked, JobRef(ref(queue), key.id.encode()), "looked at it")  # noqa: E731
    done = is_as(each(operator.press(ask, once=True), [key]), view, lambda _key, _job: Outcome.DONE)
    operator.log.append(f"log {key}")
    operator.settled(view)
    assert operator.store.llen(f"{key.full}:logs") == lines + len(done)


def fail(operator: Operator, queue: str) -> None:
    _orphans(operator, queue, Action.FAIL, ("failed",))


def requeue(operator: Operator, queue: str) -> None:
    _orphans(operator, queue, Action.REQUEUE, ("wait", "paused", "prioritized"))


def _orphans(operator: Operator, queue: str, action: Action, to: tuple[str, ...]) -> None:
    view = look(operator.store)
    keys = operator.pick(view, queue, "active")
    targets = operator.targets(view, keys)

    def ask(asked: audit.Asked) -> AuditEntry:
        if action is Action.FAIL:
            return operations.fail(asked, ref(queue), targets, reason="its worker died")
        return operations.requeue(asked, ref(queue), targets)

    found = each(operator.press(ask), keys)
    _came(operator, found, f"{action} {queue}")

    def expected(key: Key, job: Job) -> Outcome:
        if job.place == "active":
            return Outcome.LOCKED if job.locked else Outcome.DONE
        return Outcome.ALREADY if job.place in to else Outcome.WRONG_STATE

    done = is_as(found, view, expected)
    after = operator.settled(view, moved=done)
    assert all(after.jobs[key].place in to for key in done)


def _payload(fields: Mapping[str, str]) -> list[str | None]:
    """What no move may change."""
    return [
        fields.get(name) for name in ("name", "data", "opts", "timestamp", "priority", "parentKey", "parent", "deid")
    ]


def add(operator: Operator, queue: str) -> None:
    view, number = look(operator.store), operator.pressed
    opts = operator.rng.choice([b"{}", b'{"priority":2}', b'{"delay":3600000}', b'{"lifo":true}', b'{"de":{"id":"x"}}'])
    new = NewJob(b"send", b'{"by":"hand"}', opts, id=operator.rng.choice([b"", b"h%d" % number]))
    entry = operator.press(lambda asked: operations.add(asked, ref(queue), new), once=True)[0]
    _made(operator, view, queue, entry, f"add {queue} {opts.decode()}")


def duplicate(operator: Operator, queue: str) -> None:
    view = look(operator.store)
    alive = [key for key in view.of(queue) if view.jobs[key].fields]
    if not alive:
        return
    job = JobRef(ref(queue), operator.rng.choice(alive).id.encode())
    entry = operator.press(lambda asked: operations.duplicate(asked, job), once=True)[0]
    _made(operator, view, queue, entry, f"duplicate {job}")


def restore(operator: Operator, queue: str) -> None:
    view = look(operator.store)
    copy = undo.kept(queue=ref(queue)).filter(restored_at=None, removed_at__isnull=False).order_by("?").first()
    if copy is None:
        return
    entry = operator.press(lambda asked: operations.restore(asked, copy), once=True)[0]
    _made(operator, view, queue, entry, f"restore {copy.job}")


def _made(operator: Operator, view: View, queue: str, entry: AuditEntry, words: str) -> None:
    operator.log.append(f"{words}: {entry.outcomes} {audit.made(entry)}")
    done = entry.outcomes == {"done": 1}
    assert done or entry.outcomes == {"changed": 1}, "only a deduplication id that is held stands in the way"
    operator.settled(view, new={Key(queue, audit.made(entry))} if done else ())


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


BUTTONS: Mapping[Action, Callable[[Operator, str], None]] = {
    Action.RETRY: retry,
    Action.PROMOTE: promote,
    Action.DELAY: delay,
    Action.PRIORITY: priority,
    Action.EDIT: edit,
    Action.REMOVE: remove,
    Action.REMOVE_CHILDREN: remove_children,
    Action.DUPLICATE: duplicate,
    Action.LOG: log,
    Action.FAIL: fail,
    Action.REQUEUE: requeue,
    Action.RESTORE: restore,
    Action.ADD: add,
    Action.PAUSE: pause,
    Action.RESUME: resume,
    Action.CONCURRENCY: lambda operator, queue: limits(operator, queue, Action.CONCURRENCY),
    Action.RATE_LIMIT: lambda operator, queue: limits(operator, queue, Action.RATE_LIMIT),
    Action.RELEASE_LIMIT: lambda operator, queue: limits(operator, queue, Action.RELEASE_LIMIT),
    Action.RELEASE_DEDUPLICATION: release_deduplication,
    Action.DRAIN: drain,
    Action.CLEAN: clean,
    Action.OBLITERATE: obliterate,
    Action.TRIM_EVENTS: lambda operator, queue: limits(operator, queue, Action.TRIM_EVENTS),
}
