"""What is pressed for jobs: what it does to them is what was asked, and to others nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import cast

from queues import audit, operations, undo
from queues.actions import Action, NewJob, Outcome
from queues.models import AuditEntry
from queues.types import JobRef, State
from tests.queues.model.look import Job, Key, View, key_of, look
from tests.queues.model.operator import Operator, each, is_as, ref

ANY = ("wait", "paused", "prioritized", "delayed", "completed", "failed", "waiting-children", "active")
AHEAD = 10**11  # three years, after which delayed jobs are moved


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
        parent = view.parent(key)
        if parent and parent in after.of(parent.queue, "waiting-children"):
            waited_for = operator.store.sismember(f"{parent.full}:dependencies", key.full)
            assert waited_for or '"rdof"' in now.fields["opts"], "its parent does not wait for it"
    _ranked(view, after, done)


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
    assert all(after.jobs[key].waits for key in done)
    assert all(_payload(after.jobs[key].fields) == _payload(view.jobs[key].fields) for key in done)
    _ranked(view, after, done)


def delay(operator: Operator, queue: str) -> None:
    view, at = look(operator.store), AHEAD + operator.pressed + int(time.time() * 1000)
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
    if action is Action.REQUEUE:
        _ranked(view, after, done, first=True)


def _ranked(view: View, after: View, done: set[Key], *, first: bool = False) -> None:
    """These are taken after those that waited before them, of the same priority; before them with `lifo` or `first`."""
    for key in done:
        job = after.jobs[key]
        order = after.orders[key.queue, job.place]
        if job.place == "prioritized":
            order = [one for one in reversed(order) if after.jobs[Key(key.queue, one)].priority == job.priority]
        waited = [
            at for at, one in enumerate(order) if Key(key.queue, one) not in done and Key(key.queue, one) in view.jobs
        ]
        before = first or ('"lifo":true' in job.fields["opts"] and job.place != "prioritized")
        place = order.index(key.id)
        assert not waited or (place > max(waited) if before else place < min(waited)), f"{key} is not taken in its turn"


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
