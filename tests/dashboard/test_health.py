"""/healthz: red for our own faults only, and silent about addresses and secrets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.db import connection, connections
from django.test import Client
from pytest_django.asserts import assertNumQueries
from pytest_django.fixtures import Settings

from queues.models import Source
from queues.registry import SourceConfig
from tests.dashboard.people import person, signed_in

pytestmark = pytest.mark.django_db

# Nothing listens at these addresses: a request that tried to connect would fail.
SECRET = "redis://user:PW42%40x@10.11.12.13:1/0"
AT = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)
AS_JSON = "2025-03-04T05:06:07Z"
NEVER_ASKED = {"reachable": None, "readable": None, "reason": None, "down_since": None, "ok_at": None}
READ = {"reachable": True, "readable": True, "reason": None, "down_since": None, "ok_at": AS_JSON}
DOWN = {"reachable": False, "readable": False, "reason": "unreachable", "down_since": AS_JSON, "ok_at": AS_JSON}
REFUSING = {"reachable": True, "readable": False, "reason": "refused", "down_since": None, "ok_at": None}


@pytest.fixture(autouse=True)
def sources(settings: Settings) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", SECRET), SourceConfig("other", SECRET))


@pytest.fixture
def broken_database() -> Iterator[None]:
    """A database that cannot be connected to, in the place of the working one."""
    working = connections["default"]
    broken = working.copy()
    broken.settings_dict |= {"NAME": "/no/such/folder/database", "HOST": "127.0.0.1", "PORT": "1"}
    connections["default"] = broken
    yield
    broken.close()
    connections["default"] = working


def test_it_is_open_and_green() -> None:
    answer = Client().get("/healthz")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert "no-store" in answer.headers["Cache-Control"]
    assert answer.json() == {
        "status": "ok",
        "database": "ok",
        "sources": [
            {"name": "main", **NEVER_ASKED},
            {"name": "other", **NEVER_ASKED},
        ],
    }


def test_it_reports_sources_by_the_last_state_and_stays_green() -> None:
    Source.objects.create(name="main", ok_at=AT)
    Source.objects.create(name="other", ok_at=AT, down_since=AT, error=f"cannot connect to {SECRET}")
    Source.objects.create(name="no longer configured", ok_at=AT)
    answer = Client().get("/healthz")
    assert answer.status_code == 200
    assert answer.json()["sources"] == [{"name": "main", **READ}, {"name": "other", **DOWN}]


def test_a_source_that_answers_and_refuses_is_reachable_and_not_readable() -> None:
    Source.objects.create(name="main", error=f"{SECRET} does not permit SCAN to our user")
    answer = Client().get("/healthz")
    assert answer.status_code == 200
    assert answer.json()["sources"][0] == {"name": "main", **REFUSING}
    assert "SCAN" not in answer.text


def test_it_says_nothing_about_addresses_and_passwords() -> None:
    Source.objects.create(name="main", down_since=AT, error=f"cannot connect to {SECRET}")
    text = Client().get("/healthz").text
    for secret in ("PW42", "10.11.12.13", "redis:", "user", "cannot"):
        assert secret not in text


def test_it_costs_two_queries() -> None:
    with assertNumQueries(2):
        Client().get("/healthz")


def test_head_answers_without_a_body() -> None:
    answer = Client().head("/healthz")
    assert answer.status_code == 200
    assert answer.content == b""


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_only_reads(method: str) -> None:
    assert Client().generic(method, "/healthz").status_code == 405


@pytest.mark.usefixtures("broken_database")
def test_it_is_red_when_the_database_cannot_be_reached(caplog: pytest.LogCaptureFixture) -> None:
    answer = Client().get("/healthz")
    assert [record.getMessage().split(":")[:2] for record in caplog.records if record.name.endswith("health")] == [
        ["the database cannot be used", " OperationalError"]
    ]
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "database": "unavailable"}
    assert "no-store" in answer.headers["Cache-Control"]


def test_it_is_red_and_no_error_for_a_browser_that_is_signed_in(request: pytest.FixtureRequest) -> None:
    client = signed_in(person("viewer"))
    request.getfixturevalue("broken_database")
    assert client.get("/healthz").status_code == 503


def test_it_is_red_when_the_database_has_no_tables() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE queues_source RENAME TO elsewhere")
    answer = Client().get("/healthz")
    assert answer.status_code == 503
    assert "queues_source" not in answer.text
