"""The bare work that indexing cannot go below: reading the same fields, and writing as many rows."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import cast

import redis
from django.db import connection

from queues.models import Failure
from queues.types import QueueRef

FIELDS = ("name", "failedReason", "stacktrace", "pb", "atm", "attemptsMade", "timestamp")
PAGE = 1_000


def reading(client: redis.Redis, refs: list[QueueRef]) -> float:
    """Seconds of ZRANGE and one pipeline of HMGET for each 1,000 jobs; replies are not looked at."""
    began = time.perf_counter()
    for ref in refs:
        base = b"%b:%b:" % (ref.prefix, ref.name)
        first = 0
        while ids := _ids(client, base, first):
            pipeline = client.pipeline(transaction=False)
            for job in ids:
                pipeline.hmget(base + job, FIELDS)
            pipeline.execute()
            first += PAGE
    return time.perf_counter() - began


def _ids(client: redis.Redis, base: bytes, first: int) -> list[bytes]:
    return cast(list[bytes], client.zrange(base + b"failed", first, first + PAGE - 1))


def writing(folder: Path, rows: int, queues: int) -> float:
    """Seconds of executemany into a table and indexes like those of failures, in a file of its own, 1,000 at a time."""
    database = sqlite3.connect(folder / "floor.sqlite3", isolation_level=None)
    table = Failure._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        journal = cursor.fetchone()[0]
        cursor.execute("PRAGMA synchronous")
        synchronous = cursor.fetchone()[0]
        cursor.execute("SELECT sql FROM sqlite_master WHERE tbl_name = %s AND sql IS NOT NULL", [table])
        made = [sql for (sql,) in cursor.fetchall()]
    database.execute(f"PRAGMA journal_mode = {journal}")
    database.execute(f"PRAGMA synchronous = {synchronous}")
    for sql in sorted(made, key=lambda sql: not sql.startswith("CREATE TABLE")):
        database.execute(sql)
    insert = (
        f"INSERT INTO {table} (queue_id, strand_id, job, at_ms, score_ms, worker, attempts, in_set, present, how)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    began = time.perf_counter()
    for first in range(0, rows, PAGE):
        database.execute("BEGIN IMMEDIATE")
        made_rows = [_row(number, queues) for number in range(first, min(first + PAGE, rows))]
        database.executemany(insert, made_rows)
        database.execute("COMMIT")
    took = time.perf_counter() - began
    database.close()
    return took


def _row(number: int, queues: int) -> tuple[object, ...]:
    at = 1_700_000_000_000 - number * 1_000  # the newest first, as the scan finds them
    return number % queues, number % (100 * queues), str(number), at, at, f"worker-{number % 4}", 3, True, True, "set"
