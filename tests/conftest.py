"""What holds for every test: fixtures' modules, the seed, collected static files, rows that migrations made."""

import functools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core import serializers
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.creation import BaseDatabaseCreation
from django.db.models import Model
from django.db.transaction import atomic
from hypothesis import HealthCheck
from hypothesis import settings as chance
from pytest_django import DjangoDbBlocker
from whitenoise.base import WhiteNoise

from queues import masking
from queues.failures import letters
from tests.policy import SOAK

# How long an example takes says how busy the machine is, and nothing about the product.
chance.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
chance.load_profile("suite")

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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseCreation, "deserialize_db_from_string", _insert_rows)
        yield
    if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
        with django_db_blocker.unblock(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            # It drops no database in which a thread of an event loop that is gone still holds a session.
            cursor.execute(_END_OTHERS)


def _insert_rows(creation: BaseDatabaseCreation, data: str) -> None:
    """Rows of migrations before each test with real transactions: read once, a statement for each table."""
    alias = creation.connection.alias
    with atomic(using=alias):
        for model, rows in _rows(data, alias):
            # Before the first of these tests nobody has emptied the tables yet.
            model._base_manager.using(alias).bulk_create(rows, ignore_conflicts=True)


@functools.cache
def _rows(data: str, alias: str) -> list[tuple[type[Model], list[Model]]]:
    """In the order in which they may be inserted: keys that point forward are checked at the end of a transaction."""
    found: dict[type[Model], list[Model]] = {}
    for each in serializers.deserialize("json", data, using=alias):
        assert not any((each.m2m_data or {}).values()), "rows between two tables would be left out"
        found.setdefault(type(each.object), []).append(each.object)
    return list(found.items())


@pytest.fixture(scope="session", autouse=True)
def static_files() -> Iterator[None]:
    """Pages under test link the files that the product serves: hashed names, a missing one is an error."""
    call_command("collectstatic", interactive=False, verbosity=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoise, "update_files_dictionary", _looked_up_once(WhiteNoise.update_files_dictionary))
        yield


def _looked_up_once(look: Callable[[WhiteNoise, str, str], None]) -> Callable[[WhiteNoise, str, str], None]:
    """Each client of a test starts the application anew, and that would look at each of these files again."""
    ours = Path(settings.STATIC_ROOT)
    found: dict[str, object] = {}

    def update(served: WhiteNoise, root: str, prefix: str) -> None:
        if Path(root) != ours:  # a test's own folder, which may change
            look(served, root, prefix)
            return
        if not found:
            look(served, root, prefix)
            found.update(served.files)
        served.files.update(found)

    return update


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
