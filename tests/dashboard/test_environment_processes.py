"""Processes with an environment of their own: what it becomes in Django's settings, how each refuses a wrong one."""

import json
import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.dashboard.started import clean_environment

KEY = "a key of more than fifty characters for these tests only"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def django_settings(folder: Path, *names: str, **env: str) -> dict[str, Any]:
    """These settings of a fresh process."""
    script = (
        "import json, sys; from django.conf import settings; "
        "print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}, default=str))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *names],
        env=clean_environment(folder / "var") | env,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


COOKIES = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_PROXY_SSL_HEADER", "USE_X_FORWARDED_HOST")


def test_plain_http_trusts_no_header_and_sends_plain_cookies(folder: Path) -> None:
    assert django_settings(folder, *COOKIES, "DEBUG", "SECURE_SSL_REDIRECT") == {
        "SESSION_COOKIE_SECURE": False,
        "CSRF_COOKIE_SECURE": False,
        "SECURE_PROXY_SSL_HEADER": None,
        "USE_X_FORWARDED_HOST": False,
        "DEBUG": False,
        "SECURE_SSL_REDIRECT": False,
    }


def test_https_makes_cookies_secure_and_only_a_trusted_proxy_is_believed(folder: Path) -> None:
    https = {"MIRANTE_BASE_URL": "https://ops.example.com/mirante"}
    untrusted = django_settings(folder, *COOKIES, **https)
    assert untrusted["SESSION_COOKIE_SECURE"]
    assert untrusted["CSRF_COOKIE_SECURE"]
    assert untrusted["SECURE_PROXY_SSL_HEADER"] is None
    trusted = django_settings(folder, *COOKIES, "SECURE_SSL_REDIRECT", **https, MIRANTE_TRUST_PROXY="1")
    assert trusted["SECURE_PROXY_SSL_HEADER"] == ["HTTP_X_FORWARDED_PROTO", "https"]
    assert trusted["SECURE_SSL_REDIRECT"]


def test_a_sub_path_is_in_links_static_files_and_cookies(folder: Path) -> None:
    found = django_settings(
        folder,
        *("FORCE_SCRIPT_NAME", "STATIC_URL", "SESSION_COOKIE_PATH", "CSRF_COOKIE_PATH"),
        MIRANTE_BASE_URL="https://ops.example.com/mirante/",
    )
    assert found == {
        "FORCE_SCRIPT_NAME": "/mirante",
        "STATIC_URL": "/mirante/static/",
        "SESSION_COOKIE_PATH": "/mirante",
        "CSRF_COOKIE_PATH": "/mirante",
    }


def test_tls_of_our_own_redis_reaches_celery_and_channels(folder: Path) -> None:
    ca_file = folder / "ca.pem"
    ca_file.write_text("")
    env = {"APP_REDIS_URL": "rediss://u:p@host/1", "APP_REDIS_CA_FILE": str(ca_file)}
    found = django_settings(folder, "CHANNEL_LAYERS", "CELERY", **env)
    assert found["CELERY"]["broker_url"] == "rediss://u:p@host/1"
    assert found["CELERY"]["broker_use_ssl"]["ssl_ca_certs"] == str(ca_file)
    (host,) = found["CHANNEL_LAYERS"]["default"]["CONFIG"]["hosts"]
    assert host == {"address": "rediss://u:p@host/1", "ssl_ca_certs": str(ca_file)}


def test_mail_settings_come_from_one_url(folder: Path) -> None:
    names = ("EMAIL_BACKEND", "EMAIL_HOST", "EMAIL_PORT", "EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD", "EMAIL_USE_TLS")
    found = django_settings(folder, *names, EMAIL_URL="smtp+starttls://u%40x:p%2F@mail.example")
    assert list(found.values()) == [
        "django.core.mail.backends.smtp.EmailBackend",
        "mail.example",
        587,
        "u@x",
        "p/",
        True,
    ]


def run(folder: Path, command: list[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        env=clean_environment(folder / "var") | dict(env),
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


COMMANDS = [
    ["manage.py", "up"],
    ["-m", "daphne", "dashboard.asgi:application"],
    ["-m", "celery", "-A", "dashboard", "worker"],
    ["-m", "celery", "-A", "dashboard", "beat"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_process_names_wrong_values_a_line_each_without_a_trace(folder: Path, command: list[str]) -> None:
    done = run(folder, command, {"PORT": "80o0", "REDIS_URL": "redis://:hunter22/@host", "MIRANTE_SORCES": "x"})
    assert done.returncode == 1
    assert [line.split(":")[0].strip() for line in done.stderr.splitlines()[1:]] == [
        "MIRANTE_SORCES",
        "PORT",
        "REDIS_URL",
    ]
    assert "Traceback" not in done.stderr + done.stdout
    assert "hunter22" not in done.stderr + done.stdout


@pytest.mark.parametrize("command", COMMANDS[1:], ids=" ".join)
def test_a_process_on_its_own_needs_servers_that_are_named(folder: Path, command: list[str]) -> None:
    given = {"REDIS_URL": "redis://127.0.0.1:1", "SECRET_KEY": KEY} if "worker" in command else {}
    done = run(folder, command, given)
    assert done.returncode == 1
    missing = "APP_REDIS_URL" if given else "SECRET_KEY, APP_REDIS_URL, REDIS_URL (or MIRANTE_SOURCES)"
    assert done.stderr.startswith(f"Mirante cannot start this process: {missing} not set")
    assert len(done.stderr.splitlines()) == 1


def test_the_deployment_check_finds_nothing_behind_a_tls_proxy(folder: Path) -> None:
    production = {
        "BIND": "0.0.0.0",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "MIRANTE_BASE_URL": "https://ops.example.com/mirante",
        "MIRANTE_TRUST_PROXY": "1",
        "MIRANTE_HSTS_SECONDS": "31536000",
    }
    done = run(folder, ["manage.py", "check", "--deploy", "--fail-level", "WARNING"], production)
    assert done.returncode == 0, done.stderr
