"""What a page writes in passing, for which nobody shall wait while somebody else writes to SQLite."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection

SHORT_WAIT_MS = 500

logger = logging.getLogger(__name__)


@contextmanager
def in_passing() -> Iterator[None]:
    """What is written within waits half a second for SQLite's lock; after that it is left out, with a line in the log.

    PostgreSQL locks rows, each for an instant: nothing changes with it. Also a decorator.
    """
    try:
        with short_wait():
            yield
    except OperationalError as error:
        if "locked" not in str(error):
            raise
        logger.warning("Left out, as somebody else writes to the database: %s", error)


@contextmanager
def short_wait() -> Iterator[None]:
    """The same, but the error (OperationalError) is for the caller."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    # Below Django, for which these would be two further queries on every page.
    (before,) = connection.connection.execute("PRAGMA busy_timeout").fetchone()
    connection.connection.execute(f"PRAGMA busy_timeout = {SHORT_WAIT_MS:d}")
    try:
        yield
    finally:
        connection.connection.execute(f"PRAGMA busy_timeout = {before:d}")
