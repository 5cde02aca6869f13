"""Who did it before: for jobs that an action found done already, one by one or as part of many."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from queues.actions import Outcome
from queues.audit.tally import Tally
from queues.audit.types import Status
from queues.bulk.packing import unpack
from queues.models import AuditEntry, BulkBatch
from queues.names import encode_part
from queues.types import JobRef

LOOKED_AT = 50  # entries of the queue's last day
BATCHES = 100  # of those among them that were about many jobs; a batch takes less than a millisecond
NAMED = 100  # jobs


@dataclass(frozen=True, slots=True)
class Before:
    """Who did the same to a job, and when."""

    who: str
    at: datetime


@dataclass(frozen=True, slots=True)
class _Entry:
    pk: int
    before: Before
    jobs: set[str]
    undone: set[str]


def name_those_before(entry: AuditEntry, tally: Tally) -> None:
    """Put into the exceptions who had done the same to the same job in the last day, as far as the log tells.

    Nothing is asked where nothing was done already.
    """
    already = [told for told in tally.exceptions if told["outcome"] == Outcome.ALREADY][:NAMED]
    if not already:
        return
    found = _before(entry.source, entry.queue, entry.action, {str(told["job"]) for told in already}, below=entry.pk)
    for told in already:
        if before := found.get(str(told["job"])):
            told.update(by=before.who, at=before.at.isoformat())


def who_did(action: str, job: JobRef) -> Before | None:
    """Who did this to a job last, within a day, as far as the log tells. One or two queries."""
    return _before(job.queue.source, job.queue.slug, action, {job.slug}).get(job.slug)


def _before(
    source: str, queue: str, action: str, jobs: Collection[str], *, below: int | None = None
) -> Mapping[str, Before]:
    """The last entry about each of the jobs, by slug."""
    earlier = AuditEntry.objects.filter(
        source=source, queue=queue, action=action, at__gte=timezone.now() - timedelta(days=1)
    ).exclude(status=Status.REFUSED)
    if below is not None:
        earlier = earlier.filter(pk__lt=below)
    rows = earlier.order_by("-pk").values_list("pk", "who", "at", "jobs", "exceptions")[:LOOKED_AT]
    entries = [_Entry(pk, Before(who, at), set(map(str, named)), _undone(kept)) for pk, who, at, named, kept in rows]
    found: dict[str, Before] = {}
    for entry in entries:
        for job in entry.jobs & set(jobs) - entry.undone:
            found.setdefault(job, entry.before)
    if missing := set(jobs) - set(found):
        found |= _in_batches({entry.pk: entry for entry in entries}, missing)
    return {job: before for job, before in found.items() if before.who}


def _undone(exceptions: Sequence[Mapping[str, Any]]) -> set[str]:
    """The jobs to which an entry did nothing: who came second has not done it."""
    return {str(told["job"]) for told in exceptions if told["outcome"] != Outcome.DONE}


def _in_batches(entries: Mapping[int, _Entry], jobs: set[str]) -> Mapping[str, Before]:
    """The same of actions over many jobs, which name only the first of them: by the batches that are kept for a day."""
    begun = BulkBatch.objects.filter(bulk__entry__in=entries, begun=True).order_by("-bulk__entry", "-number")
    found: dict[str, Before] = {}
    for pk, packed in begun.values_list("bulk__entry", "targets")[:BATCHES]:
        meant = {encode_part(target.id, colon=True) for target in unpack(bytes(packed))}
        for job in meant & jobs - entries[pk].undone:
            found.setdefault(job, entries[pk].before)
        if len(found) == len(jobs):
            break
    return found
