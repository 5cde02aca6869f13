"""Who did it before: for jobs that an action found done already, one by one or as part of many."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

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
    rows = list(earlier.order_by("-pk").values_list("pk", "who", "at", "jobs")[:LOOKED_AT])
    found: dict[str, tuple[int, Before]] = {}
    for pk, who, at, named in rows:
        for job in set(map(str, named)) & set(jobs):
            found.setdefault(job, (pk, Before(who, at)))
    missing = set(jobs) - set(found)
    if missing:
        by_entry = {pk: Before(who, at) for pk, who, at, _named in rows}
        found |= _in_batches(by_entry, missing)
    return {job: before for job, (_pk, before) in found.items() if before.who}


def _in_batches(by_entry: Mapping[int, Before], jobs: set[str]) -> Mapping[str, tuple[int, Before]]:
    """The same of actions over many jobs, which name only the first of them: by the batches that are kept for a day."""
    begun = BulkBatch.objects.filter(bulk__entry__in=by_entry, begun=True).order_by("-bulk__entry", "-number")
    found: dict[str, tuple[int, Before]] = {}
    for pk, packed in begun.values_list("bulk__entry", "targets")[:BATCHES]:
        for job in {encode_part(target.id, colon=True) for target in unpack(bytes(packed))} & jobs:
            found.setdefault(job, (pk, by_entry[pk]))
        if len(found) == len(jobs):
            break
    return found
