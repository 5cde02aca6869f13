"""The groups of failures that the jobs of a plan are of."""

from __future__ import annotations

from collections.abc import Sequence

from queues.models import FailureGroup
from queues.replay.freezing import counting
from queues.replay.freezing.counting import Frozen
from queues.replay.preview.types import Share

SHOWN = 10
STEPS = 5  # from a group to the one that it is part of by now


def shares(frozen: Frozen) -> tuple[Sequence[Share], int]:
    """The largest groups, and how many there are besides. Those that were merged since count as one. A few queries."""
    counted = [(pk, number) for pk, number in frozen.get(counting.GROUPS, ())]
    known = FailureGroup.objects.in_bulk([pk for pk, _number in counted if pk is not None])
    for _step in range(STEPS):
        missing = {row.merged_into_id for row in known.values() if row.merged_into_id} - known.keys()
        if not missing:
            break
        known |= FailureGroup.objects.in_bulk(list(missing))
    found: dict[int | None, int] = {}
    for pk, number in counted:
        now = _now(pk, known)
        found[now] = found.get(now, 0) + number
    ordered = sorted(found.items(), key=lambda pair: -pair[1])
    shown = [Share(known[pk] if pk is not None else None, number) for pk, number in ordered[:SHOWN]]
    return shown, max(0, len(ordered) - SHOWN) + int(frozen.get(counting.MORE_GROUPS, 0))


def _now(pk: int | None, known: dict[int, FailureGroup]) -> int | None:
    """The group that one is part of by now; None for one that is gone."""
    for _step in range(STEPS):
        if pk not in known:
            return None
        into = known[pk].merged_into_id
        if into is None or into not in known:
            return pk
        pk = into
    return pk
