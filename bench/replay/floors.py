"""The bare work that a replay cannot go below: jobs moved by a script, and as many rows of a ledger written."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import redis
from django.db import connection

from queues.models import ReplayJob

PAGE, SCRIPT, PIPELINE = 10_000, 500, 10  # jobs whose ids are read at once, of one script; scripts of one pipeline
ROWS = 1_000  # of one transaction

# Jobs that are moved as BullMQ moves them, without a look at what they are. Not for production: keys are not declared.
_MOVE = """
local base = KEYS[1]
redis.call("LPUSH", base .. "wait", unpack(ARGV))
redis.call("ZREM", base .. "failed", unpack(ARGV))
for _, id in ipairs(ARGV) do
  redis.call("HDEL", base .. id, "finishedOn", "processedOn", "failedReason", "returnvalue", "defa")
  redis.call("XADD", base .. "events", "MAXLEN", "~", 10000, "*", "event", "waiting", "jobId", id, "prev", "failed")
end
"""


def moving(client: redis.Redis, queue: str) -> float:
    """Seconds of moving all failed jobs to where they wait; no receipt, no ledger."""
    script, base, first = client.register_script(_MOVE), f"bull:{queue}:", 0
    script(keys=[base], args=[b"none"])
    client.lrem(f"{base}wait", 1, "none")
    began = time.perf_counter()
    ids = cast("list[bytes]", client.zrange(f"{base}failed", 0, PAGE - 1))
    while ids:
        pipeline = client.pipeline(transaction=False)
        for number, first in enumerate(range(0, len(ids), SCRIPT), start=1):
            pipeline.evalsha(script.sha, 1, base, *ids[first : first + SCRIPT])
            if number % PIPELINE == 0:
                pipeline.execute()
        pipeline.execute()
        ids = cast("list[bytes]", client.zrange(f"{base}failed", 0, PAGE - 1))
    return time.perf_counter() - began


class Ledger:
    """A table with the same columns and indexes as that of the product, in a file of its own."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._rows, self._file = rows, folder / f"ledger-{time.monotonic_ns()}.sqlite3"
        self._database = sqlite3.connect(self._file, isolation_level=None)
        self._table = ReplayJob._meta.db_table

    def inserted(self) -> float:
        """Seconds of writing so many new rows, 1,000 in a transaction."""
        for sql in _made(self._table):
            self._database.execute(sql)
        statement = (
            f"INSERT INTO {self._table} (id, replay_id, queue_id, job, seen, state, acts, target_id, letter, name,"
            " created_ms, failed_ms, permanent, conflict, note, place, rank, canary, made, fate, tries, original)"
            " VALUES (?, 1, 1, ?, ?, 'failed', 'retry', 1, '', 'send', ?, ?, 0, '', '', 'ready', ?, 0, '', '', 0, '')"
        )
        at = 1_700_000_000_000
        return self._timed(statement, [(n, str(n), str(at + n), at + n, at + n, at + n) for n in range(self._rows)])

    def updated(self) -> float:
        """Seconds of writing into each of them that it was sent."""
        statement = (
            f"UPDATE {self._table} SET place = 'sent', made = '', sent_ms = ?, was = ?, original = '' WHERE id = ?"
        )
        at = 1_700_000_000_000
        return self._timed(statement, [(at + n, b"x" * 120, n) for n in range(self._rows)])

    def close(self) -> None:
        self._database.close()
        self._file.unlink()

    def _timed(self, statement: str, values: Sequence[tuple[object, ...]]) -> float:
        began = time.perf_counter()
        for first in range(0, len(values), ROWS):
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(statement, values[first : first + ROWS])
            self._database.execute("COMMIT")
        return time.perf_counter() - began


def _made(table: str) -> Sequence[str]:
    """How the product's database is set up, and how the table and its indexes were made in it."""
    with connection.cursor() as cursor:
        settings = []
        for name in ("journal_mode", "synchronous"):
            cursor.execute(f"PRAGMA {name}")
            settings.append(f"PRAGMA {name} = {cursor.fetchone()[0]}")
        cursor.execute("SELECT sql FROM sqlite_master WHERE tbl_name = %s AND sql IS NOT NULL", [table])
        made = [sql for (sql,) in cursor.fetchall()]
    return [*settings, *sorted(made, key=lambda sql: not sql.startswith("CREATE TABLE"))]
