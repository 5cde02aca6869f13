"""Jobs of one key in a chain: each waits for the end of the one before it."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from django.db import connection

from queues.models import ReplayJob
from queues.replay.types import Place

ROWS = 2_000  # of one step

_TABLE = ReplayJob._meta.db_table
_NEXT = f"""
SELECT key, rank, id FROM {_TABLE}
WHERE replay_id = %s AND key IS NOT NULL AND place = %s AND (key, rank, id) > (%s, %s, %s)
ORDER BY key, rank, id LIMIT %s
"""  # noqa: S608
_HOLD = f"UPDATE {_TABLE} SET place = %s, after = %s WHERE id = %s"  # noqa: S608


class Link(NamedTuple):
    """A row by its place in the order of keys."""

    key: int = -1
    rank: int = 0
    pk: int = 0


def chain(replay: int, behind: Link) -> Link | None:
    """Hold the next rows of which another of their key comes first; gives the last of them, None at the end."""
    with connection.cursor() as cursor:
        cursor.execute(_NEXT, [replay, Place.READY.value, *behind, ROWS])
        links = [Link(*row) for row in cursor.fetchall()]
        turns = pairwise([behind, *links])
        held = [(Place.HELD.value, before.pk, each.pk) for before, each in turns if before.key == each.key]
        if held:
            cursor.executemany(_HOLD, held)
    return links[-1] if links else None
