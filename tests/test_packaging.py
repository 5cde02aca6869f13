"""What is declared, locked, explained and shipped: dependencies, lock files, the image and its composition."""

import importlib.util
import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands
from packaging.requirements import Requirement

from dashboard.environment import VARIABLES

ROOT = Path(settings.BASE_DIR)
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME = [Requirement(text) for text in PROJECT["project"]["dependencies"]]
DEV = [Requirement(text) for text in PROJECT["dependency-groups"]["dev"]]
NPM: dict[str, Any] = json.loads((ROOT / "tests/bullmq/package.json").read_text())
BOARD: dict[str, Any] = json.loads((ROOT / "bench/operate/board/package.json").read_text())
DECLARED = {*(r.name for r in RUNTIME + DEV), *NPM["dependencies"], *BOARD["dependencies"]}
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = {name: service for name, service in COMPOSE["services"].items() if "build" in service}

# The dots stand in brackets so that this file does not name what it looks for.
REGISTRIES = re.compile(
    r"py[p]i[.]org|python[h]osted[.]org|npm[j]s[.](org|com)|yarnpkg[.]com|npmmirror[.]com|deb[.]debia[n][.]org"
    r"|docker[.]io|ghcr[.]io|quay[.]io"
)


def _files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def _locked(name: str) -> dict[str, str]:
    """Package and version of a lock file, each checked to have a hash."""
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=[a-z])", (ROOT / name).read_text()):
        if match := re.match(r"([a-z0-9-]+)==([^ ;\\]+)", entry):
            assert "--hash=sha256:" in entry, f"{match[0]} has no hash"
            found[match[1]] = match[2]
    return found


def test_no_file_names_a_package_registry() -> None:
    naming = [path.name for path in _files() if REGISTRIES.search(path.read_text("utf-8", errors="ignore"))]
    assert naming == []


@pytest.mark.parametrize(("lock", "declared"), [("requirements.txt", RUNTIME), ("requirements-dev.txt", RUNTIME + DEV)])
def test_a_lock_file_has_all_that_is_declared_in_versions_that_fit_and_with_hashes(
    lock: str, declared: list[Requirement]
) -> None:
    locked = _locked(lock)
    for requirement in declared:
        assert requirement.specifier.contains(locked[requirement.name]), f"{requirement} against {lock}: make lock"


def test_tests_run_with_the_very_versions_that_are_shipped() -> None:
    assert _locked("requirements.txt").items() <= _locked("requirements-dev.txt").items()


def test_the_npm_lock_has_the_three_majors_with_hashes_and_no_addresses() -> None:
    packages: dict[str, dict[str, Any]] = json.loads((ROOT / "tests/bullmq/package-lock.json").read_text())["packages"]
    assert packages.pop("")["dependencies"] == NPM["dependencies"]
    assert {packages[f"node_modules/bullmq{major}"]["version"][0] for major in (4, 5, 6)} == {"4", "5", "6"}
    _have_hashes_and_no_addresses(packages)


def test_the_npm_lock_of_the_bench_has_hashes_and_no_addresses_too() -> None:
    lock = ROOT / "bench/operate/board/package-lock.json"
    packages: dict[str, dict[str, Any]] = json.loads(lock.read_text())["packages"]
    assert packages.pop("")["dependencies"] == BOARD["dependencies"]
    _have_hashes_and_no_addresses(packages)


def _have_hashes_and_no_addresses(packages: dict[str, dict[str, Any]]) -> None:
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name


@pytest.mark.parametrize(
    "name", sorted({*(r.name for r in RUNTIME + DEV), *NPM["dependencies"], *BOARD["dependencies"]})
)
def test_every_dependency_has_a_sentence_that_says_why(name: str) -> None:
    sentences = re.findall(r"^- ([^:]*`[^:]*): \w[^\n]{15,}", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert any(f"`{name}`" in sentence for sentence in sentences)


def test_no_sentence_stands_for_a_dependency_that_is_gone() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## Dependencies")[2]
    explained = {
        name for line in re.findall(r"^- (`[^:]*):", text, re.MULTILINE) for name in re.findall(r"`(.+?)`", line)
    }
    assert explained == DECLARED


def test_the_image_runs_without_root_with_a_health_check_and_without_secrets() -> None:
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER (?!0\b|root\b)\S+$", final, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK .*\\\n\s+CMD .*/healthz", final, re.MULTILINE)
    assert not re.search(r"^\s*(ARG|ENV)\b.*(KEY|PASSWORD|SECRET|TOKEN)", DOCKERFILE, re.MULTILINE)
    assert ":latest" not in DOCKERFILE


def test_both_stages_of_the_image_have_the_same_python_which_we_support() -> None:
    bases = re.findall(r"^FROM python:3\.(\d+)-slim\b", DOCKERFILE, re.MULTILINE)
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert int(bases[0]) >= 11


def test_the_image_gets_all_of_the_product_and_nothing_else() -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.MULTILINE)
    let_in = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(copied) == sorted(let_in)
    assert all((ROOT / name).exists() for name in copied)


def _command(words: list[str]) -> None:
    """Fails unless the words start something that is there."""
    assert words[0] == "python"
    if words[1] == "-m":
        assert importlib.util.find_spec(words[2]), words
    else:
        assert words[1] == "manage.py"
        assert words[2] in get_commands(), words


def test_the_image_starts_something_that_exists() -> None:
    _command(json.loads(DOCKERFILE.rpartition("\nCMD ")[2]))


@pytest.mark.parametrize("service", sorted(OURS))
def test_a_service_starts_something_that_exists_with_settings_that_exist(service: str) -> None:
    definition = OURS[service]
    _command(definition["command"])
    known = {v.name for v in VARIABLES} | {v.file_name for v in VARIABLES if v.secret}
    assert set(definition["environment"]) <= known
    for name, value in definition["environment"].items():
        if name.endswith("_FILE"):
            assert Path(value).name in definition["secrets"]


def test_the_composition_holds_together() -> None:
    services, secrets = COMPOSE["services"], COMPOSE["secrets"]
    assert {"web", "worker", "beat", "follow", "redis", "postgres"} <= set(services)
    for name, service in services.items():
        assert set(service.get("depends_on", ())) <= set(services), name
        assert set(service.get("secrets", ())) <= set(secrets), name
        for dependency, wait in service.get("depends_on", {}).items():
            if wait["condition"] == "service_healthy":
                assert "test" in services[dependency]["healthcheck"]
    assert all(str(secret["file"]).startswith("secrets/") for secret in secrets.values())
    assert all(published.startswith("127.0.0.1:") for s in services.values() for published in s.get("ports", ()))


def test_secrets_and_data_are_kept_out_of_git_and_of_the_image() -> None:
    for path in ("secrets/secret_key", ".env", "var/mirante.sqlite3", ".venv/bin/python"):
        assert subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False).returncode == 0, path
