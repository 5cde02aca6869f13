"""Who did it before: for jobs that an action found done already."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from queues.actions import Outcome
from queues.audit.tally import Tally
from queues.audit.types import Status
from queues.models import AuditEntry

LOOKED_AT = 50  # entries of the queue's last day
NAMED = 100  # jobs


def name_those_before(entry: AuditEntry, tally: Tally) -> None:
    """Put into the exceptions who had done the same to the same job in the last day, as far as the log tells.

    One query, and none where nothing was done already.
    """
    already = [told for told in tally.exceptions if told["outcome"] == Outcome.ALREADY][:NAMED]
    if not already:
        return
    earlier = AuditEntry.objects.filter(
        source=entry.source, queue=entry.queue, action=entry.action, at__gte=timezone.now() - timedelta(days=1)
    ).exclude(status=Status.REFUSED)
    rows = earlier.filter(pk__lt=entry.pk).order_by("-pk").values_list("who", "at", "jobs")[:LOOKED_AT]
    looked = [(who, at.isoformat(), frozenset(map(str, jobs))) for who, at, jobs in rows]
    for told in already:
        for who, at, jobs in looked:
            if told["job"] in jobs and who:
                told.update(by=who, at=at)
                break
