"""How all jobs stand at a moment, and what must always be so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import redis

from tests.queues.model.theirs import QUEUES
from tests.queues.moving import LISTS, SETS

WAITS = ("wait", "paused", "prioritized")
# Keys of a queue that are no jobs.
_OTHER = re.compile(
    r"(meta|wait|paused|active|prioritized|delayed|completed|failed|waiting-children|stalled|stalled-check|limiter|id|pc"
    r"|marker|events|repeat|repeat:[^:]+|de:.*|dn:.*|mirante:.*|metrics:.*"
    r"|.*:(logs|lock|dependencies|processed|failed|unsuccessful))"
)


@dataclass(frozen=True, slots=True)
class Key:
    queue: str
    id: str

    def __str__(self) -> str:
        return f"{self.queue}/{self.id}"

    @property
    def full(self) -> str:
        return f"bull:{self.queue}:{self.id}"


@dataclass(frozen=True, slots=True)
class Job:
    """`score` is None in lists; `fields` are empty where the hash is gone; `locked`: a worker holds it."""

    place: str
    score: float | None
    fields: Mapping[str, str]
    locked: bool

    @property
    def state(self) -> str:
        return "waiting" if self.place in ("wait", "paused") else self.place

    @property
    def waits(self) -> bool:
        return self.place in WAITS

    @property
    def priority(self) -> int:
        return int(self.fields.get("priority") or 0)

    @property
    def seen(self) -> bytes:
        """What tells this stay from a later one."""
        found = self.fields.get("timestamp", "") if self.score is None else f"{self.score:.0f}"
        return found.encode()


@dataclass(frozen=True, slots=True)
class View:
    """Both queues at a moment. `runs` are the next runs of schedulers."""

    jobs: Mapping[Key, Job]
    orders: Mapping[tuple[str, str], list[str]]
    paused: frozenset[str]
    runs: frozenset[Key]
    holders: Mapping[tuple[str, str], str]

    def of(self, queue: str, *places: str) -> list[Key]:
        return [key for key, job in self.jobs.items() if key.queue == queue and (not places or job.place in places)]

    def both(self, queue: str) -> bool:
        """Whether a paused queue holds jobs in both lists: what 5.x would lose when it resumes."""
        return queue in self.paused and bool(self.orders[queue, "wait"]) and bool(self.orders[queue, "paused"])

    def parent(self, key: Key) -> Key | None:
        name = self.jobs[key].fields.get("parentKey")
        return key_of(name) if name else None


def key_of(full: str) -> Key:
    return Key(*full.split(":", 2)[1:])


def look(store: redis.Redis) -> View:
    """Reads all, and checks: each job stands in one place, each hash stands somewhere, ranks are right."""
    orders: dict[tuple[str, str], list[str]] = {}
    places: dict[Key, tuple[str, float | None]] = {}
    found: Counter[Key] = Counter()
    for queue in QUEUES:
        for place in (*LISTS, *SETS):
            scored = _read(store, f"bull:{queue}:{place}", of_list=place in LISTS)
            orders[queue, place] = [job for job, _score in scored]
            found.update(Key(queue, job) for job, _score in scored)
            places.update({Key(queue, job): (place, score) for job, score in scored})
    assert set(found.values()) <= {1}, f"twice: {[str(key) for key, times in found.items() if times > 1]}"
    jobs = _jobs(store, places)
    named = _hashes(store)
    there = {key for key, job in jobs.items() if job.fields}
    assert named == there, f"in no place: {named - there}"
    for key, job in jobs.items():
        if job.fields and job.waits:
            assert (job.place == "prioritized") == (job.priority > 0), f"{key} stands in {job.place}"
            assert job.score is None or int(job.score) >> 32 == job.priority, f"{key} has another rank"
    paused = frozenset(queue for queue in QUEUES if store.hexists(f"bull:{queue}:meta", "paused"))
    names = [(queue, each) for queue in QUEUES for each in "xy"]
    held = [cast(bytes | None, store.get(f"bull:{queue}:de:{each}")) for queue, each in names]
    holders = {name: job.decode() for name, job in zip(names, held, strict=True) if job}
    view = View(jobs, orders, paused, _runs(store), holders)
    assert all(jobs[run].place == "delayed" and jobs[run].fields for run in view.runs), "a schedule has no next run"
    return view


def _read(store: redis.Redis, name: str, *, of_list: bool) -> list[tuple[str, float | None]]:
    if of_list:
        return [(job.decode(), None) for job in cast(list[bytes], store.lrange(name, 0, -1))]
    scored = cast(list[tuple[bytes, float]], store.zrange(name, 0, -1, withscores=True))
    return [(job.decode(), score) for job, score in scored]


def _jobs(store: redis.Redis, places: Mapping[Key, tuple[str, float | None]]) -> dict[Key, Job]:
    pipe = store.pipeline(transaction=False)
    for key in places:
        pipe.hgetall(key.full)
        pipe.exists(f"{key.full}:lock")
    replies = pipe.execute()
    jobs = {}
    for number, (key, (place, score)) in enumerate(places.items()):
        fields = {name.decode(): value.decode() for name, value in replies[2 * number].items()}
        jobs[key] = Job(place, score, fields, bool(replies[2 * number + 1]))
    return jobs


def _hashes(store: redis.Redis) -> set[Key]:
    names = [name.decode() for queue in QUEUES for name in cast(list[bytes], store.keys(f"bull:{queue}:*"))]
    return {key_of(name) for name in names if not _OTHER.fullmatch(name.split(":", 2)[2])}


def _runs(store: redis.Redis) -> frozenset[Key]:
    return frozenset(
        Key(queue, f"repeat:{job}:{score:.0f}")
        for queue in QUEUES
        for job, score in _read(store, f"bull:{queue}:repeat", of_list=False)
    )
