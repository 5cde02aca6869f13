"""The canary: some jobs, spread evenly over those that can be sent first."""

from __future__ import annotations

from django.db import connection

from queues.models import ReplayJob
from queues.replay.types import Place

PART = 1_000

_TABLE = ReplayJob._meta.db_table
_NUMBERED = f"""
SELECT id FROM (
  SELECT id, ROW_NUMBER() OVER (ORDER BY rank, id) AS number
  FROM {_TABLE} WHERE replay_id = %s AND place = %s
) AS numbered WHERE number IN ({{}})
"""  # noqa: S608


def pick(replay: int, number: int) -> None:
    """Mark so many of the rows that are ready: of each key its first. One walk over an index of them."""
    ready = ReplayJob.objects.filter(replay=replay, place=Place.READY)
    there = ready.count()
    # The middle of each of so many equal parts.
    wanted = sorted({(2 * part + 1) * there // (2 * number) + 1 for part in range(number)}) if there else []
    found: list[int] = []
    for at in range(0, len(wanted), PART):
        part = wanted[at : at + PART]
        with connection.cursor() as cursor:
            cursor.execute(_NUMBERED.format(",".join(["%s"] * len(part))), [replay, Place.READY.value, *part])
            found += [pk for (pk,) in cursor.fetchall()]
    for at in range(0, len(found), PART):
        ready.filter(pk__in=found[at : at + PART]).update(canary=True)
