"""What `manage.py up` starts: each process with the variables that it needs, and without secrets that it does not."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from django.conf import settings

from dashboard.environment import VARIABLES, Environment, read
from dashboard.first_admin import FirstAdmin
from dashboard.management.commands import up
from dashboard.processes.listen import web_socket
from dashboard.processes.plan import Plan
from dashboard.processes.valkey import EmbeddedValkey

GIVEN = {
    "SECRET_KEY": "a key of more than fifty characters for these tests only",
    "SECRET_KEY_FALLBACKS": "an-earlier-key-of-more-than-fifty-characters-for-these-tests",
    "DATABASE_URL": "postgres://someone:hunter22-database@127.0.0.1/mirante",
    "MIRANTE_ADMIN_PASSWORD": "hunter22-admin",
    "EMAIL_URL": "smtps://someone:hunter22-mail@127.0.0.1",
    "LOG_LEVEL": "warning",
    "PATH": "/usr/bin",
}
SECRETS = {form for v in VARIABLES if v.secret for form in (v.name, v.file_name)}


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    made = EmbeddedValkey(tmp_path / "var" / "valkey")
    made.prepare()
    yield made
    made.close()


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Environment:
    """Of this process, with no other variables of ours than the test's."""
    given: Mapping[str, str] = getattr(request, "param", GIVEN) | {"MIRANTE_VAR_DIR": str(tmp_path / "var")}
    for variable in VARIABLES:
        monkeypatch.delenv(variable.name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return read(given, base_dir=settings.BASE_DIR)


@pytest.fixture
def told(environment: Environment, embedded: EmbeddedValkey) -> Mapping[str, Mapping[str, str]]:
    """The variables of each program, by its name."""
    with web_socket("127.0.0.1", None) as web:
        plan = Plan(environment, base_dir=settings.BASE_DIR, web=web, embedded=embedded)
        return {program.name: program.environment() for program in (*plan.programs(), plan.demo_traffic(asked=False))}


def test_each_process_is_told_the_secrets_that_it_needs_and_no_others(told: Mapping[str, Mapping[str, str]]) -> None:
    ours = {"SECRET_KEY", "SECRET_KEY_FALLBACKS", "DATABASE_URL", "EMAIL_URL", "APP_REDIS_URL", "REDIS_URL"}
    assert {name: SECRETS & set(variables) for name, variables in told.items()} == {
        "valkey": set(),
        "web": ours,
        "worker": ours,
        "beat": ours,
        "follow": ours,
        "demo": {"SECRET_KEY"},
    }
    assert told["demo"]["SECRET_KEY"] != told["web"]["SECRET_KEY"]
    assert {variables["PATH"] for variables in told.values()} == {"/usr/bin"}
    assert told["demo"]["LOG_LEVEL"] == "warning"
    assert "LOG_LEVEL" not in told["valkey"]


@pytest.mark.parametrize("environment", [{"SECRET_KEY": ""}], indirect=True)
def test_a_key_that_was_made_here_is_the_same_for_all(told: Mapping[str, Mapping[str, str]], tmp_path: Path) -> None:
    web = read(told["web"], base_dir=tmp_path / "elsewhere")
    assert web.secret_key == (tmp_path / "var" / "secret-key").read_text().strip()
    assert web.secret_key_file is None


def test_no_secret_of_ours_can_reach_the_console(environment: Environment, embedded: EmbeddedValkey) -> None:
    hidden = up._passwords(environment, FirstAdmin("made-for-the-first-admin", ""), embedded)
    assert {
        GIVEN["SECRET_KEY"],
        GIVEN["SECRET_KEY_FALLBACKS"],
        "hunter22-database",
        "hunter22-admin",
        "hunter22-mail",
        "made-for-the-first-admin",
        embedded.password,
    } <= set(hidden)
