"""Operators who press buttons: an action over jobs, and what may and must come of it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import redis
from django.db import connection

from queues.actions import Outcome, Target
from queues.audit import Actor, Asked, Status
from queues.models import AuditEntry
from queues.types import QueueRef
from tests.queues.acting import to_its_end
from tests.queues.model.look import Job, Key, View, look

Press = Callable[[Asked], AuditEntry]
NOBODY = "nobody"  # an id without a job


@dataclass(slots=True)
class Operator:
    """Presses buttons by chance, at times twice at once, and looks at what came of it."""

    store: redis.Redis
    rng: random.Random
    log: list[str] = field(default_factory=list)
    pressed: int = 0

    def press(self, do: Press, *, once: bool = False) -> list[AuditEntry]:
        """The entries of one press, or of two at once, by two people or (`once`) by two presses of one form."""
        self.pressed += 1
        form = once or self.rng.random() < 0.5
        people = [Asked(Actor("anna", "operator"), f"form-{self.pressed}-{self.rng.random()}")]
        if self.rng.random() < 0.3:
            people.append(
                people[0] if form else Asked(Actor("bert", "operator"), f"other-{self.pressed}-{self.rng.random()}")
            )
        entries = {entry.pk: entry for entry in together([partial(do, asked) for asked in people])}
        for entry in entries.values():
            entry.refresh_from_db()
            assert entry.status == Status.DONE, entry.note
        return list(entries.values())

    def sweep(self, do: Press) -> AuditEntry:
        """One that runs in the background, to its end."""
        self.pressed += 1
        time.sleep(0.002)  # what was made in this very millisecond is not meant
        entry = to_its_end(do(Asked(Actor("anna", "admin"), f"form-{self.pressed}-{self.rng.random()}")))
        assert entry.status == Status.DONE, entry.note
        return entry

    def pick(self, view: View, queue: str, *places: str, most: int = 4) -> list[Key]:
        """Some jobs, mostly in these places, others among them, and now and then one that is none."""
        likely, others = view.of(queue, *places), view.of(queue)
        found = self.rng.sample(likely, min(len(likely), self.rng.randint(1, most)))
        if others and self.rng.random() < 0.4:
            found.append(self.rng.choice(others))
        if self.rng.random() < 0.1 or not found:
            found.append(Key(queue, NOBODY))
        return list(dict.fromkeys(found))

    def targets(self, view: View, keys: Iterable[Key]) -> list[Target]:
        """As they were seen, or whichever stay."""
        known = self.rng.random() < 0.6
        return [Target(key.id.encode(), view.jobs[key].seen if known and key in view.jobs else b"") for key in keys]

    def settled(
        self, before: View, *, gone: Iterable[Key] = (), new: Iterable[Key] = (), moved: Iterable[Key] = ()
    ) -> View:
        """How all stands now: nothing but this has gone, come or changed; parents of these may have gone on."""
        after, gone, moved = look(self.store), set(gone), set(moved)
        assert set(after.jobs) == set(before.jobs) - gone | set(new)
        parents = {parent for key in gone | moved for parent in _lines(before, key)}
        for key in set(after.jobs) - moved - set(new):
            was, now = before.jobs[key], after.jobs[key]
            if key in parents:
                assert now.place == was.place or was.place in ("waiting-children", "delayed"), f"{key} went elsewhere"
            else:
                assert (was.place, was.score) == (now.place, now.score), f"{key} moved"
                assert was.fields == now.fields, f"{key} changed"
        for queue in ("shop", "kitchen"):
            assert before.both(queue) or not after.both(queue), "a resume by 5.x would now lose jobs"
        return after


def _lines(view: View, key: Key) -> Iterable[Key]:
    while (parent := view.parent(key) if key in view.jobs else None) is not None:
        yield parent
        key = parent


def together(presses: Sequence[Callable[[], AuditEntry]]) -> list[AuditEntry]:
    """What each got; several press in the same moment."""
    if len(presses) == 1:
        return [presses[0]()]
    gate, got = threading.Barrier(len(presses)), list[AuditEntry]()

    def run(press: Callable[[], AuditEntry]) -> None:
        try:
            gate.wait(30)
            got.append(press())
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(press,)) for press in presses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len(presses), "somebody got an error"
    return got


def each(entries: Sequence[AuditEntry], keys: Sequence[Key]) -> Mapping[Key, Outcome]:
    """What came of each job: done where somebody's press did it, which may be one only."""
    told: dict[Key, list[Outcome]] = {key: [] for key in keys}
    for entry in entries:
        odd = {str(one["job"]): Outcome(str(one["outcome"])) for one in entry.exceptions}
        assert sum(count for name, count in entry.outcomes.items() if name != "removed") == len(keys)
        for key in keys:
            told[key].append(odd.get(key.id, Outcome.DONE))
    for key, outcomes in told.items():
        assert outcomes.count(Outcome.DONE) <= 1, f"{key} done twice"
    return {key: Outcome.DONE if Outcome.DONE in outcomes else outcomes[0] for key, outcomes in told.items()}


def is_as(found: Mapping[Key, Outcome], view: View, expected: Callable[[Key, Job], Outcome | None]) -> set[Key]:
    """Checks each outcome; gives those that were done. `expected` gives None where either is right."""
    for key, outcome in found.items():
        job = view.jobs.get(key)
        wanted = expected(key, job) if job and job.fields else None if job else Outcome.GONE
        assert wanted in (None, outcome), f"{key} ({job and job.place}): {outcome}, not {wanted}"
    return {key for key, outcome in found.items() if outcome is Outcome.DONE}


def ref(queue: str) -> QueueRef:
    return QueueRef("main", b"bull", queue.encode())
