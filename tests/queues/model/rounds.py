"""One round of the model: an application and operators in turn, then everything is worked on to its end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import redis

from queues import operations
from queues.actions import Action, Target
from queues.audit import Actor, Asked
from queues.models import AuditEntry
from queues.types import QueueRef, State
from tests.node import Node
from tests.queues.model.buttons import BUTTONS
from tests.queues.model.look import Key, View, look
from tests.queues.model.operator import Operator, ref
from tests.queues.model.theirs import QUEUES, Application, harmless

# How a queue has come to be paused or open: by which majors it was paused and then resumed.
PAUSES: Mapping[str, tuple[int | None, int | None]] = {
    "open": (None, None),
    "paused by 5": (5, None),
    "paused by 6": (6, None),
    "paused by 5, resumed by 6": (5, 6),
    "paused by 6, resumed by 5": (6, 5),
}
ADMIN = Asked(Actor("root", "admin"))
KINDS = ("plain", "first", "urgent", "later", "single")
ENDS = ("complete", "complete", "fail", "fail", "hold", "lose")
# Those that empty queues come seldom, or nothing would be left to act on.
_SELDOM = (Action.OBLITERATE, Action.DRAIN, Action.CLEAN, Action.TRIM_EVENTS, Action.CONCURRENCY, Action.RATE_LIMIT)
_OFTEN = (Action.RETRY, Action.PROMOTE, Action.REMOVE, Action.REQUEUE, Action.PRIORITY, Action.REMOVE_CHILDREN)


@dataclass(slots=True)
class Round:
    store: redis.Redis
    app: Application
    operator: Operator
    rng: random.Random

    def begin(self, pause: str, *, most: int) -> None:
        """Some jobs in every state, then the queue is paused and resumed as it is said, more being added between."""
        app, (by, then) = self.app, PAUSES[pause]
        app.run(*({"op": "look", "major": most, "name": name} for name in QUEUES))
        ops = [app.new(kind) for kind in KINDS for _ in range(2)] + [app.family(), app.family()]
        ops += [{"op": "plan", "major": app.major(), "name": "shop", "id": "nightly"}]
        ops += [app.taking(how) for how in ENDS] + [app.new("plain"), app.new("urgent"), app.taking("lose")]
        app.run(*ops)
        if by:
            # By the same major: another's would stand in the other list, and be lost by a resume of 5.x anyway.
            app.run(app.pausing("pause", by), {**app.new("plain"), "major": by}, {**app.new("later"), "major": by})
        if then:
            self.theirs(app.pausing("resume", then))
        look(self.store)

    def step(self) -> None:
        if self.rng.random() < 0.65:
            actions = [action for action in BUTTONS if action not in _SELDOM or self.rng.random() < 0.2]
            action = self.rng.choice([*actions, *_OFTEN])
            BUTTONS[action](self.operator, self.rng.choice(["shop", "shop", "kitchen"]))
        else:
            self.theirs(self._op())

    def _op(self) -> dict[str, object]:
        app, name, chance = self.app, self.rng.choice(["shop", "shop", "kitchen"]), self.rng.random()
        if chance < 0.3:
            return app.new(self.rng.choice(KINDS), name)
        if chance < 0.4:
            return app.family()
        if chance < 0.7:
            return app.taking(self.rng.choice(ENDS), name)
        if chance < 0.8:
            return {"op": "release", "how": self.rng.choice(["complete", "fail"])}
        if chance < 0.82:
            return {"op": "look", "major": app.major(), "name": name}
        if chance < 0.95:
            return app.pausing(self.rng.choice(["pause", "resume"]), app.major(), name)
        return self._erasing(name)

    def _erasing(self, name: str) -> dict[str, object]:
        """The hash of a job that ended is deleted by somebody: its id stays behind."""
        ended = look(self.store).of(name, "completed", "failed")
        lone = [key for key in ended if not self.store.hexists(key.full, "parentKey")]
        return {"op": "erase", "name": name, "id": self.rng.choice(lone).id if lone else "nobody"}

    def theirs(self, op: dict[str, object]) -> None:
        """The application does one thing, where that alone loses no job; nothing is taken from a paused queue."""
        major, name = op.get("major"), str(op.get("name"))
        if not isinstance(major, int) or harmless(self.store, str(op["op"]), major, name):
            before = look(self.store)
            told = self.app.run(op)[0]
            self.operator.log.append(f"{major}.x {op} -> {told}")
            after = look(self.store)
            assert set(before.jobs) <= set(after.jobs)
            assert op["op"] != "take" or not told or name not in before.paused, "taken from a paused queue"

    def finish(self) -> None:
        """Workers of both majors idle; operators let everything go on; each job that waits is worked on once."""
        while self.app.run({"op": "release", "how": "complete"})[0]:
            pass
        for queue in QUEUES:
            operations.concurrency(ADMIN, ref(queue), None)
            operations.rate_limit(ADMIN, ref(queue), None)
            operations.release_limit(ADMIN, ref(queue))
        # A parent that its child gave up is failed by a worker, and not worked on.
        view = look(self.store)
        due = {key for key, job in view.jobs.items() if job.waits and "defa" not in job.fields}
        self.app.start_workers()
        for queue in QUEUES:
            operations.resume(ADMIN, ref(queue))
        self._worked_on(view, due)
        for _again in range(8):
            view = look(self.store)
            if not self._left(view):
                return
            self._worked_on(view, self._let_go_on(view))
        raise AssertionError(f"it does not end: {self._left(view)}")

    def _worked_on(self, view: View, due: set[Key]) -> None:
        """Until nothing waits: these once, and at most once what waited for children."""
        ran = Counter(self.app.ran_until_quiet())
        self.operator.log.append(f"worked on: {dict(ran)}")
        assert not [job for job, times in ran.items() if times > 1], "worked on twice"
        asked = {str(key) for key in due}
        assert asked <= set(ran), f"not worked on: {asked - set(ran)}"
        freed = {str(key) for key, job in view.jobs.items() if job.place == "waiting-children"}
        assert set(ran) <= asked | freed, f"worked on without anybody's asking: {set(ran) - asked - freed}"

    def _let_go_on(self, view: View) -> set[Key]:
        """Retries, promotes and requeues all that can, under the eyes of idle workers; gives those that will go on."""
        due = set[Key]()
        for queue in QUEUES:
            failed = [key for key in view.of(queue, "failed") if view.jobs[key].fields and not self._hangs(view, key)]
            later = [key for key in view.of(queue, "delayed") if view.jobs[key].fields and key not in view.runs]
            lost = view.of(queue, "active")
            for keys, ask in ((failed, _retry), (later, operations.promote), (lost, operations.requeue)):
                if keys:
                    entry = ask(ADMIN, ref(queue), [Target(key.id.encode()) for key in keys])
                    assert entry.outcomes == {"done": len(keys)}, entry.exceptions
            due |= {*failed, *later, *lost}
        return due

    @staticmethod
    def _hangs(view: View, key: Key) -> bool:
        """Whether a child has yet to be worked on."""
        return any(view.parent(one) == key and job.place != "completed" for one, job in view.jobs.items())

    @staticmethod
    def _left(view: View) -> list[Key]:
        return [
            key for key, job in view.jobs.items() if job.fields and job.place != "completed" and key not in view.runs
        ]


def _retry(asked: Asked, queue: QueueRef, targets: Sequence[Target]) -> AuditEntry:
    return operations.retry(asked, queue, targets, state=State.FAILED, reset=True, twins=True)


def made(node: Node, url: str, store: redis.Redis, rng: random.Random, majors: tuple[int, ...]) -> Round:
    return Round(store, Application(node, url, rng, majors), Operator(store, rng), rng)
