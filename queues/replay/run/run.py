"""One slice of a plan: what it holds, and how it writes."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from queues.lease import Lease, LeaseLost
from queues.models import Queue, Replay, ReplayLine
from queues.replay.hands import Reader, Sender
from queues.replay.patching import Patcher, patcher
from queues.replay.run.clock import Clock
from queues.replay.terms import Terms
from queues.replay.types import Phase, Told
from queues.types import QueueRef

ALIVE_S = 3.0  # between two signs of life
SURE_S = 12.0  # after one in which nobody else takes over: less than `lease.FREE_AFTER_S`
# What people steer with: read anew at each tick, and never written but where the phase is the one that we know.
STEERED = ("phase", "step", "why", "holding", "terms", "starts_at", "rest_at")


_pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="sending")  # threads that wait for servers


class Steered(Exception):
    """Somebody has changed the phase meanwhile: what was to be written in that belief is not."""


@dataclass
class Run:
    """A plan in the hands of one worker. `replay` is as it stood when the slice began, kept up with what we write.

    `facts` are the runner's alone (`queues.replay.run.facts`), and written with whatever is saved next.
    """

    replay: Replay
    lease: Lease
    kept_at: float = field(default_factory=time.monotonic)  # before which the last sign of life was not written
    reader: Reader = field(init=False)  # within a slice, as `actions` and `clock`
    actions: Sender = field(init=False)
    clock: Clock = field(init=False)
    facts: dict[str, Any] = field(init=False)
    _queues: dict[int, Queue] = field(default_factory=dict)
    _refs: dict[int, QueueRef] = field(default_factory=dict)
    _terms: tuple[Mapping[str, Any], Terms] = field(init=False)
    _patcher: Patcher | None = None
    _meanwhile: list[Future[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.facts = copy.deepcopy(self.replay.facts)
        self._terms = self.replay.terms, Terms.of(self.replay.terms)

    @property
    def phase(self) -> Phase:
        return Phase(self.replay.phase)

    @property
    def terms(self) -> Terms:
        if self._terms[0] != self.replay.terms:
            self._terms = self.replay.terms, Terms.of(self.replay.terms)
        return self._terms[1]

    @property
    def patcher(self) -> Patcher | None:
        """What edits the data of copies; None where nothing does. BadInput for an edit that cannot be read."""
        patch = self.terms.patch
        if patch is not None and self._patcher is None:
            self._patcher = patcher(patch, bytes(self.replay.data) if self.replay.data is not None else None)
        return self._patcher

    def queue(self, key: int) -> Queue:
        """A queue with its source. A query for one that was not asked for before in this slice."""
        if key not in self._queues:
            self._queues[key] = Queue.objects.select_related("source").get(pk=key)
        return self._queues[key]

    def ref(self, key: int) -> QueueRef:
        """The same as backends call it."""
        if key not in self._refs:
            row = self.queue(key)
            self._refs[key] = QueueRef.from_slug(row.source.name, row.slug)
        return self._refs[key]

    def look(self) -> None:
        """Read what people may have changed. One query. LeaseLost when another worker has taken over."""
        row = Replay.objects.filter(pk=self.replay.pk, epoch=self.lease.epoch).values(*STEERED).first()
        if row is None:
            raise LeaseLost
        for name, value in row.items():
            setattr(self.replay, name, value)

    @contextmanager
    def saving(self, **values: Any) -> Iterator[None]:
        """Write values of the plan, and its facts, in one transaction with what is written within.

        LeaseLost when we are no longer the holder; Steered where `phase` is among the values and somebody has changed
        it meanwhile. In both cases nothing of it is written.
        """
        written = dict(values)
        if self.facts != self.replay.facts:
            written["facts"] = copy.deepcopy(self.facts)
        phase, began = written.pop("phase", None), time.monotonic()
        with transaction.atomic():
            self.lease.keep(changed_at=timezone.now(), **written)
            if phase is not None:
                known = Replay.objects.filter(pk=self.replay.pk, phase=self.replay.phase)
                if not known.update(phase=phase):
                    raise Steered
                written["phase"] = phase
            yield
        self.kept_at = began
        for name, value in written.items():
            setattr(self.replay, name, value)
        if told := [name for name, value in written.items() if hasattr(value, "resolve_expression")]:
            self.replay.refresh_from_db(fields=told)

    def alive(self) -> None:
        """Show that we live, where that was last done some seconds ago. LeaseLost as `saving`."""
        if time.monotonic() - self.kept_at >= ALIVE_S:
            with self.saving():
                pass

    @property
    def until_ms(self) -> int:
        """Until when, by the server's clock, nobody else can have taken over: after that nothing is to be sent.

        Who is held up for longer (a process that was stopped, a machine that slept) finds out on the server.
        """
        return math.floor(self.clock.at_ms(self.kept_at + SURE_S))

    def meanwhile(self, call: Callable[[], None]) -> Future[None]:
        """Have something done that uses the server only, while this thread uses the database. One at a time."""
        self._meanwhile = [_pool.submit(call)]
        return self._meanwhile[0]

    def land(self) -> None:
        """Wait until nothing is done meanwhile any more."""
        wait(self._meanwhile)

    def tell(self, kind: Told, facts: Mapping[str, object] | None = None) -> None:
        """A line of the feed. Within a transaction of `saving`."""
        ReplayLine.objects.create(replay=self.replay, kind=kind, facts=dict(facts or {}))

    def move(
        self,
        phase: Phase,
        told: Told | None,
        facts: Mapping[str, object] | None = None,
        *,
        also: Callable[[], object] = lambda: None,
        **values: Any,
    ) -> bool:
        """To another phase, with its line; False where somebody has changed it meanwhile: then that is known now.

        `also` writes what belongs to it, in the same transaction.
        """
        try:
            with self.saving(phase=phase, **values):
                if told is not None:
                    self.tell(told, facts)
                also()
        except Steered:
            self.look()
            return False
        return True
