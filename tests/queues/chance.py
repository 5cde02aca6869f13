"""What workers, people and machines do at random to two queues, and what holds of the index whenever one looks."""

# mypy: allow-untyped-calls

from __future__ import annotations

import random
from collections.abc import Callable

from queues.types import QueueRef
from tests.node import MAJORS, Node
from tests.queues.indexing import key, on_server
from tests.queues.real_index import CLEAN, OBLITERATE, REMOVE, RETRY, RETRY_ALL, Memory, Watch, Workers, agree
from tests.valkey import Server

WAYS = ("error", "code", "custom", "type", "object", "string", "empty", "unrecoverable")


class Chance:
    """`said` is what was done, for who has to understand a failure."""

    def __init__(self, node: Node, server: Server, rng: random.Random, refs: list[QueueRef]) -> None:
        self.node, self.server, self.rng, self.refs = node, server, rng, refs
        self.watch, self.memory = Watch(), Memory()
        self.client = server.client()
        self.said: list[str] = []
        self._deeds: dict[str, Callable[[Workers, list[str]], object]] = {
            "fail": lambda workers, _: workers.fail(*self._ways()),
            "trim": lambda workers, _: workers.fail(*self._ways(), opts={"removeOnFail": {"count": rng.randint(1, 4)}}),
            "gone": lambda workers, _: workers.fail(*self._ways(), opts={"removeOnFail": True}),
            "retry": lambda workers, jobs: self._retry(workers, RETRY, jobs),
            "retry all": lambda workers, jobs: self._retry(workers, RETRY_ALL if workers.major > 4 else RETRY, jobs),
            "remove": lambda workers, jobs: workers.run(REMOVE, jobs=jobs),
            "by hand": lambda workers, jobs: self.client.zrem(key(workers.ref, "failed"), "", *jobs),
            "clean": lambda workers, _: workers.run(CLEAN, limit=rng.choice((0, 2))),
            "obliterate": lambda workers, _: self._obliterate(workers),
            "forget events": lambda workers, _: self.client.xtrim(key(workers.ref, "events"), 0, approximate=False),
            "lose all": lambda _workers, _: self._lose_all(),
            "restart": lambda _workers, _: self._restart(),
            "away": lambda _workers, _: self.watch.outage(),
            "glance": lambda _workers, _: self.watch.glance(),
        }

    def run(self, deeds: int) -> None:
        for _deed in range(deeds):
            self._do()
            if self.rng.random() < 0.6:
                self.look()
        self.look()

    def look(self) -> None:
        """The index equals the sets, its numbers their rows, and nothing that it once held is forgotten."""
        assert agree(self.client, self.watch, *self.refs)
        self.memory.note(self.client, *self.refs)
        assert self.memory.holds()

    def close(self) -> None:
        self.watch.outage()
        self.client.close()

    def _do(self) -> None:
        """One deed, with a worker of any major, on one of the queues; failing comes thrice as often as others."""
        ref = self.rng.choice(self.refs)
        workers = Workers(self.node, self.server.url, self.rng.choice(MAJORS), ref)
        jobs = [job.decode() for job in on_server(self.client, ref)]
        some = self.rng.sample(jobs, min(len(jobs), self.rng.randint(1, 4)))
        deed = self.rng.choice([*self._deeds, "fail", "fail"])
        self.said.append(f"{deed}, {ref.label}, {workers.major}.x, {some}")
        self._deeds[deed](workers, some)

    def _ways(self) -> list[str]:
        return self.rng.choices(WAYS, k=4)

    def _retry(self, workers: Workers, script: str, jobs: list[str]) -> None:
        """While workers run, or while none does."""
        if self.rng.random() < 0.3:
            self.node.reset()
        else:
            workers.run("failing(args.major, args.name);")
        workers.run(script, jobs=jobs)

    def _obliterate(self, workers: Workers) -> None:
        self.node.reset()
        workers.run(OBLITERATE)

    def _restart(self) -> None:
        self.node.reset()
        self.server.stop()
        self.watch.glance()
        self.server.start()

    def _lose_all(self) -> None:
        self.node.reset()
        self.client.flushall()
