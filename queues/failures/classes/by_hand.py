"""The class of a group by hand: it holds whatever the rules say."""

from __future__ import annotations

from django.db import transaction

from queues import audit
from queues.audit import Asked
from queues.failures.types import Kind
from queues.models import AuditEntry, FailureGroup


def set_by_hand(asked: Asked, group: FailureGroup, kind: Kind | None) -> AuditEntry:
    """Say which class a group is of, None for the rules to say it again. Written to the log of actions.

    The strands keep what the rules say, so that it is there again when this is taken back.
    """
    with transaction.atomic():
        FailureGroup.objects.filter(pk=group.pk).update(
            kind_set=kind.value if kind else "", kind_by=asked.by.name[:150] if kind else ""
        )
        entry = audit.record(
            asked.by,
            "failure-class",
            source=group.source.name,
            parameters={"class": kind.value if kind else "by the rules"},
            reason=asked.reason,
            note=group.title[:200],
            group=group,
        )
    group.kind_set = kind.value if kind else ""
    group.kind_by = asked.by.name[:150] if kind else ""
    return entry
