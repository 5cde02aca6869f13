"""What admins allow of replays: one row, read wherever it counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from django.db import transaction
from django.utils.translation import gettext as _

from queues import audit
from queues.audit.types import Asked
from queues.models import AuditEntry, ReplayLimits
from queues.quantities import number
from queues.replay.fields import BadFields

ROW = 1
LIMITS = "replay-limits"  # as the log of actions calls it
MOST_JOBS = 10**12
FASTEST = 100_000.0  # jobs a second
SLOWEST = 0.01
LONGEST_UNDO_S = 3_600


def limits() -> ReplayLimits:
    """What is allowed now; what a fresh installation allows where nobody has changed it. One query."""
    return ReplayLimits.objects.filter(pk=ROW).first() or ReplayLimits(pk=ROW)


def change(
    asked: Asked,
    *,
    largest: int | None,
    fastest: float | None,
    approval: int | None,
    undo_s: int,
    typed: int,
) -> AuditEntry:
    """Set all of them, with an entry in the log of actions; the same form sent again changes nothing.

    They hold from the next act on: a replay that runs is not slowed down. BadFields for what is no limit.
    """
    values = {"largest": largest, "fastest": fastest, "approval": approval, "undo_s": undo_s, "typed": typed}
    if wrong := dict(_wrong(values)):
        raise BadFields(wrong)
    with transaction.atomic():
        # Written first: whoever sends the same form at once waits here. Who is first makes the row.
        ReplayLimits.objects.get_or_create(pk=ROW)
        row = ReplayLimits.objects.select_for_update().get(pk=ROW)
        if before := audit.earlier(asked, LIMITS):
            return before
        was = {name: getattr(row, name) for name in values}
        for name, value in values.items():
            setattr(row, name, value)
        row.changed_by = asked.by.name[:150]
        row.save()
        told = {name: value for name, value in values.items() if value != was[name]}
        key = audit.token(asked, LIMITS)
        return audit.record(asked.by, LIMITS, parameters=told, reason=asked.reason, note=_note(told, was), key=key)


def _wrong(values: Mapping[str, float | None]) -> Iterator[tuple[str, str]]:
    bounds: Mapping[str, tuple[float, float]] = {
        "largest": (1, MOST_JOBS),
        "fastest": (SLOWEST, FASTEST),
        "approval": (0, MOST_JOBS),
        "undo_s": (0, LONGEST_UNDO_S),
        "typed": (0, MOST_JOBS),
    }
    for name, (least, most) in bounds.items():
        value = values[name]
        if value is not None and not (math.isfinite(value) and least <= value <= most):
            yield name, _("Expected a number from %(least)s to %(most)s.") % {"least": least, "most": number(most)}


def _note(told: Mapping[str, object], was: Mapping[str, object]) -> str:
    """What they were before, for the log."""
    if not told:
        return _("Nothing was changed.")
    before = ", ".join(f"{name} {_valued(was[name])}" for name in told)
    return _("Before: %(limits)s.") % {"limits": before}


def _valued(value: object) -> str:
    return _("unlimited") if value is None else str(value)
