"""One slice of an action: what it holds, and how it writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from queues.actions import Action
from queues.audit.before import name_those_before
from queues.audit.log import FREED
from queues.audit.tally import Tally
from queues.audit.types import Status
from queues.backend import Actions
from queues.bulk import facts
from queues.bulk.phases import Phase
from queues.lease import Lease
from queues.models import AuditEntry, Bulk
from queues.types import QueueRef


@dataclass
class Run:
    """An action in the hands of one worker. `bulk` is as it stood when the slice began, kept up with what we write."""

    bulk: Bulk
    lease: Lease
    actions: Actions = field(init=False)  # within a slice: see `queues.operations.sending`
    tally: Tally = field(init=False)
    facts: dict[str, Any] = field(init=False)
    queue: QueueRef = field(init=False)

    def __post_init__(self) -> None:
        self.tally = Tally(dict(self.entry.outcomes), list(self.entry.exceptions))
        self.facts = dict(self.bulk.facts)
        self.queue = QueueRef.from_slug(self.entry.source, self.entry.queue)

    @property
    def entry(self) -> AuditEntry:
        return self.bulk.entry

    @property
    def action(self) -> Action:
        return Action(self.entry.action)

    @property
    def phase(self) -> Phase:
        return Phase(self.bulk.phase)

    def stop_asked_by(self) -> str:
        """Who has asked it to stop by now; "" for nobody. One query."""
        asked = Bulk.objects.filter(pk=self.bulk.pk).values_list("stop_asked_by", flat=True).first()
        return asked or ""

    @contextmanager
    def saving(self, **values: Any) -> Iterator[None]:
        """Write how far we are, and the outcomes so far, in one transaction with what is written within.

        The source has answered: an outage ends by it. LeaseLost when we are no longer the holder.
        """
        values |= {"facts": self.facts, **self._pace(values)}
        written = self._changed()
        with transaction.atomic():
            self.lease.keep(**values)
            yield
            if written:
                AuditEntry.objects.filter(pk=self.entry.pk).update(**written)
        for name, value in values.items():
            setattr(self.bulk, name, value)
        for name, value in written.items():
            setattr(self.entry, name, value)

    def finish(self, status: Status, note: str = "") -> None:
        """The end, whichever: its note also says what its outcomes do not. What was typed stays masked in the entry."""
        now = timezone.now()
        text = " ".join([*([note] if note else []), *facts.sentences(self.facts)])
        name_those_before(self.entry, self.tally)
        freed = {"key": None} if status in FREED else {}
        with transaction.atomic():
            exact: dict[str, Any] = {"name": "", "parameters": {}}
            self.lease.keep(phase=Phase.ENDED, holder="", facts=self.facts, down_since=None, tries=0, **exact)
            AuditEntry.objects.filter(pk=self.entry.pk).update(
                status=status,
                note=text,
                outcomes=self.tally.outcomes,
                exceptions=self.tally.exceptions,
                ended_at=now,
                duration_ms=max(0, round((now - self.entry.at).total_seconds() * 1000)),
                **freed,
            )
        self.bulk.phase = Phase.ENDED

    def _changed(self) -> dict[str, Any]:
        """What the entry does not say yet."""
        told: dict[str, Any] = {"outcomes": dict(self.tally.outcomes), "exceptions": list(self.tally.exceptions)}
        if self.bulk.down_since:
            told["note"] = ""
        return {name: value for name, value in told.items() if value != getattr(self.entry, name)}

    def _pace(self, values: dict[str, Any]) -> dict[str, Any]:
        """From when on the pace is measured: when acting begins, and again after an outage."""
        acts = values.get("phase", self.bulk.phase) != Phase.COLLECTING
        ended = {"down_since": None, "tries": 0} if self.bulk.down_since else {}
        if acts and (self.bulk.rated_at is None or ended):
            return {"rated_at": timezone.now(), "rated_handled": self.bulk.handled, **ended}
        return ended
