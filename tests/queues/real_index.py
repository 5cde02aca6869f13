"""What tests of the index over real workers share: follower and index in steps, and what workers and people do."""

# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import redis

from queues.failures.desk import Desk
from queues.failures.index import SourceIndexer
from queues.follow.source import SourceFollower
from queues.follow.teller import Reader
from queues.models import Failure, FailureStrand
from queues.registry import dedicated
from queues.types import QueueRef
from tests.node import Node
from tests.queues.following import Listening, step
from tests.queues.indexing import equal, in_index, indexer, on_server, settle, sums_agree

RETRY = """
const q = queue(args.major, args.name);
const jobs = (await q.getFailed(0, -1)).filter((job) => job && args.jobs.includes(job.id));
for (const job of jobs) await job.retry();
return jobs.map((job) => job.id);
"""
RETRY_ALL = """
const q = queue(args.major, args.name);
await q.retryJobs({ state: "failed", count: 1000 });
"""
REMOVE = """
const q = queue(args.major, args.name);
for (const id of args.jobs) await q.remove(id);
"""
CLEAN = "await queue(args.major, args.name).clean(args.grace ?? 0, args.limit ?? 0, 'failed');"
OBLITERATE = """
const q = queue(args.major, args.name);
await q.obliterate({ force: true });
await q.resume();
"""
STALL = "await stall(args.major, args.name, args.count);"
FAIL = "return await fail(args.major, args.name, args.ways ?? ways, args.more ?? {});"
IDLE = """
const busy = ["wait", "active", "delayed"];
const q = queue(args.major, args.name);
await until(async () => Object.values(await q.getJobCounts(...busy)).every((n) => n === 0));
"""


class Watch:
    """The follower of `main` and the index beside it, whose steps a test takes."""

    def __init__(self, holder: str = "one") -> None:
        self.desk, self._holder = Desk("main"), holder
        self._follower: SourceFollower | None = None
        self._indexer: SourceIndexer | None = None

    def start(self) -> Watch:
        """Begin, or begin again after an outage, from what is stored."""
        reader = dedicated("main")
        assert isinstance(reader, Reader)
        self._follower = SourceFollower("main", reader, Listening(), self._holder, self.desk)
        step(self._follower)
        assert self.desk.epoch is not None
        self._indexer = indexer(self.desk, epoch=self.desk.epoch)
        return self

    def outage(self) -> None:
        """Nobody looks, as when the process ends."""
        if self._follower and self._indexer:
            self._indexer.close()
            self._follower.close()
        self._follower = self._indexer = None

    def glance(self) -> None:
        """One step of each, as in the midst of life."""
        if self._follower and self._indexer:
            step(self._follower)
            self._indexer.step()

    def settle(self) -> None:
        """Read all events, look at everything, and work until nothing is left to do."""
        if self._follower is None:
            self.start()
        assert self._follower
        assert self._indexer
        step(self._follower)
        settle(self._indexer)


class Workers:
    """What workers of one major do to a queue, and people by BullMQ's own calls."""

    def __init__(self, node: Node, url: str, major: int, ref: QueueRef) -> None:
        self._node, self._url, self.major, self.ref = node, url, major, ref

    def run(self, body: str, **args: object) -> object:
        name = self.ref.name.decode()
        return self._node.run(body, url=self._url, major=self.major, name=name, **args)

    def fail(
        self, *ways: str, opts: Mapping[str, object] | None = None, first: int = 0, letters: str = ""
    ) -> list[str]:
        """A job for each way to fail, or for all ways, numbered from `first`; when they have failed for good.

        With `letters` the worker posts them to that queue of letters too.
        """
        more: dict[str, object] = {"opts": opts or {}, "from": first}
        if letters:
            more["letters"] = letters
        found = self.run(FAIL, more=more, **({"ways": ways} if ways else {}))
        assert isinstance(found, list)
        return found


def agree(client: redis.Redis, watch: Watch, *refs: QueueRef) -> bool:
    """The index equals the failed sets, and each of its numbers the failures that it stands for."""
    watch.settle()
    return equal(client, *refs) and sums_agree()


@dataclass(frozen=True)
class Scene:
    """The queue `shop` of an empty server, workers of one major, and the index."""

    workers: Workers
    watch: Watch
    client: redis.Redis
    node: Node

    @property
    def shop(self) -> QueueRef:
        return self.workers.ref

    def agree(self, *others: QueueRef) -> bool:
        return agree(self.client, self.watch, self.shop, *others)

    def counts(self) -> tuple[int, int]:
        """How many failures are in the set as far as we know, and how many were ever counted."""
        return len(in_index(self.shop)), counted()


def counted() -> int:
    return sum(FailureStrand.objects.values_list("total", flat=True))


class Memory:
    """Every failure that was in a set while the index equalled it: history, which nothing may take or count twice."""

    def __init__(self) -> None:
        self._seen: dict[QueueRef, set[tuple[bytes, int]]] = {}

    def note(self, client: redis.Redis, *refs: QueueRef) -> None:
        for ref in refs:
            assert in_index(ref) == on_server(client, ref)
            self._seen.setdefault(ref, set()).update(on_server(client, ref).items())

    def holds(self) -> bool:
        for ref, seen in self._seen.items():
            rows = Failure.objects.filter(queue__slug=ref.slug).values_list("job", "score_ms")
            assert seen <= {(job.encode(), score) for job, score in rows}
        return True
