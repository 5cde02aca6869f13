"""The life of a group: open, resolved, ignored, regressed. By people, written to the log of actions, and by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypedDict

from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from queues import audit
from queues.audit.types import Asked
from queues.errors import BadInput, NotFound
from queues.failures.locking import beside_the_index
from queues.failures.types import Life
from queues.models import AuditEntry, FailureGroup, FailureStrand
from queues.quantities import now_ms

RESOLVE, REOPEN, IGNORE = "failure-resolve", "failure-reopen", "failure-ignore"
MOST = 2**53  # of a count or rate


@dataclass(frozen=True, slots=True)
class Conditions:
    """What decides how the life of a group goes on, as `FailureGroup` keeps it."""

    life: Life
    resolved_ms: int | None = None
    regressed_ms: int | None = None
    ignore_until: datetime | None = None
    ignore_total: int | None = None
    ignore_rate: int | None = None


class Change(TypedDict, total=False):
    """Fields of `FailureGroup` that change."""

    life: str
    life_at: datetime
    life_by: str
    resolved_ms: int | None
    regressed_ms: int | None
    ignore_until: datetime | None
    ignore_total: int | None
    ignore_rate: int | None


def seen(group: Conditions, came: Sequence[int], *, total: int, rate: int, now: datetime) -> Change:
    """What changes for a group by failures at these ms, `total` and `rate` (of an hour) with them. Pure; {}: nothing.

    Failures that are older than its resolving change nothing: they were only read late.
    """
    later = [] if group.resolved_ms is None else [at for at in came if at > group.resolved_ms]
    if group.life is Life.RESOLVED and later:
        return Change(life=Life.REGRESSED.value, life_at=now, life_by="", regressed_ms=min(later))
    if group.life is Life.REGRESSED and later and min(later) < (group.regressed_ms or 0):
        return Change(regressed_ms=min(later))
    if group.life is Life.IGNORED and over(group, total=total, rate=rate, now=now):
        return opened(now)
    return {}


def over(group: Conditions, *, total: int, rate: int, now: datetime) -> bool:
    """Whether the time, count or rate until which a group is ignored is reached. Never where none was said."""
    return (
        (group.ignore_until is not None and now >= group.ignore_until)
        or (group.ignore_total is not None and total >= group.ignore_total)
        or (group.ignore_rate is not None and rate >= group.ignore_rate)
    )


def opened(now: datetime, by: str = "") -> Change:
    """What makes a group open, whatever it was before."""
    return Change(life=Life.OPEN.value, life_at=now, life_by=by, regressed_ms=None, resolved_ms=None, **_heeded())


def resolve(asked: Asked, group: FailureGroup) -> AuditEntry:
    """Say that a group will not fail any more. What fails from now on makes it regressed.

    This and the other two: written together with the entry in the log of actions, or not at all; the same form sent
    again changes nothing and gives the first entry. NotFound when the group was merged or is gone.
    """
    at = timezone.now()
    change = Change(life=Life.RESOLVED.value, life_at=at, life_by=_by(asked), resolved_ms=now_ms(), regressed_ms=None)
    return _change(asked, group, RESOLVE, change | _heeded(), {})


def reopen(asked: Asked, group: FailureGroup) -> AuditEntry:
    """Say that a group is to be heeded: neither resolved nor ignored, nor regressed any more."""
    return _change(asked, group, REOPEN, opened(timezone.now(), _by(asked)), {})


def ignore(
    asked: Asked,
    group: FailureGroup,
    *,
    until: datetime | None = None,
    total: int | None = None,
    rate: int | None = None,
) -> AuditEntry:
    """Say that a group is not to be heeded: until a time, `total` failures ever, or `rate` within an hour; or always.

    Whichever comes first opens it. BadInput for what is reached already.
    """
    now = timezone.now()
    for number in (total, rate):
        if number is not None and not 0 < number <= MOST:
            raise BadInput(_("A number of failures is a whole number from 1."))
    conditions = Conditions(Life.IGNORED, ignore_until=until, ignore_total=total, ignore_rate=rate)
    if over(conditions, total=group.total, rate=rate_of(group.pk), now=now):
        raise BadInput(_("That is reached already: it would be open again at once."))
    change = Change(life=Life.IGNORED.value, life_at=now, life_by=_by(asked), regressed_ms=None, resolved_ms=None)
    change |= Change(ignore_until=until, ignore_total=total, ignore_rate=rate)
    told = {"until": until.astimezone(UTC).isoformat() if until else None, "total": total, "rate": rate}
    return _change(asked, group, IGNORE, change, {name: value for name, value in told.items() if value is not None})


def rate_of(group: int) -> int:
    """How many failures of a group, by its key, fell into the last hour."""
    return FailureStrand.objects.filter(group_id=group).aggregate(rate=Sum("h1"))["rate"] or 0


def _heeded() -> Change:
    return Change(ignore_until=None, ignore_total=None, ignore_rate=None)


def _by(asked: Asked) -> str:
    return asked.by.name[:150]


def _change(
    asked: Asked, group: FailureGroup, action: str, change: Change, parameters: Mapping[str, object]
) -> AuditEntry:
    with beside_the_index(group.source_id):
        if before := audit.earlier(asked, action, group.pk):
            return before
        ours = FailureGroup.objects.filter(pk=group.pk, merged_into=None)
        if not ours.update(**change):
            raise NotFound(_("This group is gone, or was merged into another."))
        entry = audit.record(
            asked.by,
            action,
            source=group.source.name,
            parameters={"group": group.slug, **parameters},
            reason=asked.reason,
            group=group,
            key=audit.token(asked, action, group.pk),
        )
    group.refresh_from_db()
    return entry
