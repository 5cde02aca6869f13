"""While somebody else holds SQLite's lock: pages are read all the same, and signing in says what is the matter."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from queues import cost, outages, readings
from queues.models import Source
from tests.dashboard.people import PASSWORD, as_role, person
from tests.queues.fakes import FakeBackend
from tests.queues.rows import keep

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # PostgreSQL has no lock that one writer could hold against all others: there, nothing is to be tested.
    pytest.mark.skipif("sqlite3" not in str(django_settings.DATABASES["default"]["ENGINE"]), reason="for SQLite only"),
]


@pytest.fixture
def other() -> Iterator[sqlite3.Connection]:
    """Another writer; what waits for it would do so for 20 s."""
    connection.ensure_connection()
    with sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None) as writer:
        yield writer
    writer.close()


def patience() -> int:
    return int(connection.connection.execute("PRAGMA busy_timeout").fetchone()[0])


def test_a_page_does_not_wait_for_what_is_written_in_passing(
    main: FakeBackend, other: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    keep(main)
    client = as_role("viewer")
    main.down = "no"
    before = patience()
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    assert client.get("/").status_code == 200
    assert time.monotonic() - began < 10
    assert "somebody else writes to the database" in caplog.text
    assert patience() == before == 20_000
    other.execute("ROLLBACK")
    assert readings.read("main").down_since == Source.objects.get().down_since is not None


def test_an_outage_that_is_known_keeps_its_time_while_nothing_can_be_written(
    main: FakeBackend, other: sqlite3.Connection
) -> None:
    main.down = "no"
    since = readings.read("main").down_since
    Source.objects.update(tried_at=timezone.now() - timedelta(minutes=1))
    other.execute("BEGIN IMMEDIATE")
    assert readings.read("main").down_since == since
    main.down = ""
    outages.forget("main")
    began = time.monotonic()
    assert readings.read("main").live
    cost.report(now=True, silent_too=True)
    assert time.monotonic() - began < 10


def test_signing_in_says_that_the_database_is_busy(other: sqlite3.Connection) -> None:
    user = person("viewer")
    connection.connection.execute("PRAGMA busy_timeout = 100")
    client = Client(raise_request_exception=False)
    other.execute("BEGIN IMMEDIATE")
    try:
        answer = client.post("/login/", {"username": user.username, "password": PASSWORD})
    finally:
        connection.close()
    assert answer.status_code == 503
    assert "The database is busy" in answer.text
    other.execute("ROLLBACK")
    assert client.post("/login/", {"username": user.username, "password": PASSWORD}).status_code == 302
