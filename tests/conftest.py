"""What holds for every test: fixtures' modules, the seed, collected static files, rows that migrations made."""

import random
from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections
from hypothesis import HealthCheck, settings
from pytest_django import DjangoDbBlocker

from queues import masking
from queues.failures import letters
from tests.policy import SOAK

# How long an example takes says how busy the machine is, and nothing about the product.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

_END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

# Each after those that it imports.
pytest_plugins = ["tests.valkey", "tests.node", "tests.server", "tests.chromium"]


def pytest_report_header(config: pytest.Config) -> str:
    part = "whole" if SOAK else "a sample, `make soak` runs the whole"
    return f"long runs: {part}; chance is seeded with {_seed(config)} (again: make test SEED={_seed(config)})"


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test with real transactions ends with empty tables; it must still begin with the rows of migrations."""
    marker = item.get_closest_marker("django_db")
    options = dict(marker.kwargs) if marker else {}
    if {"transactional_db", "live_server"} & set(getattr(item, "fixturenames", ())):
        options["transaction"] = True
    if options.get("transaction"):
        item.add_marker(pytest.mark.django_db(**options | {"serialized_rollback": True}), append=False)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Rows of migrations are known to every connection, also to those that Django opens beside an event loop."""
    contents = getattr(connections[DEFAULT_DB_ALIAS], "_test_serialized_contents", None)
    if contents is not None:
        type(connections[DEFAULT_DB_ALIAS])._test_serialized_contents = contents  # type: ignore[attr-defined]
    yield
    if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
        with django_db_blocker.unblock(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            # It drops no database in which a thread of an event loop that is gone still holds a session.
            cursor.execute(_END_OTHERS)


@pytest.fixture(scope="session", autouse=True)
def static_files() -> None:
    """Pages under test link the files that the product serves: hashed names, a missing one is an error."""
    call_command("collectstatic", interactive=False, verbosity=0)


@pytest.fixture(autouse=True)
def no_patterns_of_users() -> None:
    """What is hidden needs no database, and none of a test before; who tests patterns calls `masking.forget()`."""
    masking.preload(())
    letters.preload({})


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Chance for samples of long runs, repeatable by the seed in the suite's header."""
    return random.Random(f"{_seed(request.config)} {request.node.nodeid}")


def _seed(config: pytest.Config) -> int:
    return int(config.getoption("randomly_seed"))
