"""Parses the URLs of the environment: Redis, the database, mail, our own address. No error quotes a password."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from dashboard.environment.values import Wrong, readable_file

_ENCODE = "write %2F, %3F, %23, %40 and %3A for / ? # @ : in a user or password"
_REDIS = (
    "expected redis://[user:password@]host[:6379][/db], rediss:// for TLS, "
    "or unix://[user:password@]/path/to/socket[?db=0]"
)
_POSTGRES_OPTIONS = {
    "application_name",
    "connect_timeout",
    "host",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
}


@dataclass(frozen=True)
class RedisUrl:
    """A Redis server and database. `url` is free of our own parameters and fit for redis-py's `from_url`."""

    url: str = field(repr=False)
    ca_file: str = ""
    prefixes: tuple[str, ...] = ()

    @property
    def tls(self) -> bool:
        return self.url.startswith("rediss://")


@dataclass(frozen=True)
class Email:
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    starttls: bool = False
    tls: bool = False


@dataclass(frozen=True)
class BaseUrl:
    """Our public address: `origin` is scheme and host, `path` is empty or `/prefix` without a slash at its end."""

    origin: str
    host: str
    path: str

    @property
    def https(self) -> bool:
        return self.origin.startswith("https://")


def redis(text: str, *, prefixes_allowed: bool = True) -> RedisUrl:
    parts = _split(text, _REDIS)
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise Wrong(_REDIS)
    options = _options(parts)
    prefixes = tuple(value for key, value in options if key == "prefix")
    ca_files = [value for key, value in options if key == "ca_file"]
    numbers = [value for key, value in options if key == "db"]
    allowed = {"ca_file", "db"} | ({"prefix"} if prefixes_allowed else set())
    if {key for key, _ in options} - allowed or len(ca_files) > 1 or len(numbers) > 1:
        raise Wrong(f"expected no other parameters in the URL than {', '.join(sorted(allowed))}")
    if ca_files and parts.scheme != "rediss":
        raise Wrong("ca_file is of use with rediss:// only")
    if "" in prefixes:
        raise Wrong("expected a key prefix after prefix=")
    url = _socket_url(parts, numbers) if parts.scheme == "unix" else _server_url(parts, numbers)
    return RedisUrl(url, _ca_file(ca_files[0]) if ca_files else "", prefixes)


def _server_url(parts: SplitResult, numbers: list[str]) -> str:
    if not _host(parts, _REDIS):
        raise Wrong(_REDIS)
    number = _number(parts.path.removeprefix("/"), numbers)
    return f"{parts.scheme}://{parts.netloc}/{number}"


def _socket_url(parts: SplitResult, numbers: list[str]) -> str:
    user, at, host = parts.netloc.rpartition("@")
    if host or len(parts.path) < 2:
        raise Wrong("expected unix:///absolute/path/to/socket[?db=0], user and password before its third slash")
    return f"unix://{user}{at}{parts.path}?{urlencode({'db': _number('', numbers)})}"


def _number(path: str, numbers: list[str]) -> int:
    given = [text for text in (path, *numbers) if text]
    if len(given) > 1:
        raise Wrong("expected the database number once, either as /0 or as ?db=0")
    if given and not (given[0].isascii() and given[0].isdigit() and len(given[0]) < 6):
        raise Wrong(f"expected a database number such as /0 after the host; {_ENCODE}")
    return int(given[0]) if given else 0


def _ca_file(text: str) -> str:
    try:
        return readable_file(text)
    except Wrong:
        raise Wrong("expected the path of a readable file in ca_file=") from None


def database(text: str, *, base_dir: Path) -> dict[str, object]:
    expected = "expected postgres://user:password@host:5432/name or sqlite:///path/to/file"
    parts = _split(text, expected)
    if parts.scheme == "sqlite":
        name = unquote(parts.path.removeprefix("/"))
        if parts.netloc or parts.query or not name:
            raise Wrong("expected sqlite:///path/to/file (sqlite:////path for an absolute one)")
        return sqlite(base_dir / name)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise Wrong(expected)
    options = dict(_options(parts))
    if set(options) - _POSTGRES_OPTIONS:
        raise Wrong(f"expected no other parameters in the URL than {', '.join(sorted(_POSTGRES_OPTIONS))}")
    name = unquote(parts.path.removeprefix("/"))
    if not name or "/" in name:
        raise Wrong(f"expected the name of the database after the host; {_ENCODE}")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", None) or _host(parts, expected),
        "PORT": str(parts.port or ""),
        # Kept connections belong to threads, and under ASGI threads come and go.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        # Without a limit a server that swallows packets holds every page for as long as the system tries.
        "OPTIONS": {"connect_timeout": "5", **options},
    }


def sqlite(path: Path) -> dict[str, object]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            # Web, worker and beat write to one file: take the write lock at BEGIN and wait for it, so that no
            # transaction fails half way because another one wrote in the meantime.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
        },
    }


def email(text: str) -> Email:
    expected = "expected smtp://, smtp+starttls:// or smtps://, then [user:password@]host[:port]"
    parts = _split(text, expected)
    ports = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
    if parts.scheme not in ports or not _host(parts, expected) or parts.path.strip("/") or parts.query:
        raise Wrong(f"{expected}; {_ENCODE}")
    return Email(
        host=_host(parts, expected),
        port=parts.port or ports[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+starttls",
        tls=parts.scheme == "smtps",
    )


def base_url(text: str) -> BaseUrl:
    expected = "expected http:// or https://, a host and at most a path, such as https://example.com/mirante"
    parts = _split(text, expected)
    host = _host(parts, expected)
    path = parts.path.rstrip("/")
    if parts.scheme not in {"http", "https"} or not host or "@" in parts.netloc or parts.query:
        raise Wrong(expected)
    if not re.fullmatch(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*", path):
        raise Wrong(f"{expected}, its path made of letters, digits, '-', '_', '.' and '~'")
    return BaseUrl(f"{parts.scheme}://{parts.netloc.lower()}", f"[{host}]" if ":" in host else host, path)


def _split(text: str, expected: str) -> SplitResult:
    """The parts of a URL. What urllib says of a bad one may quote the password, so its text is dropped."""
    if any(letter.isspace() or not letter.isprintable() for letter in text):
        raise Wrong(f"{expected}, without blanks")
    try:
        parts = urlsplit(text)
        port_is_right = parts.port != 0
    except ValueError:
        port_is_right = False
        parts = SplitResult("", "", "", "", "")
    if not port_is_right or parts.fragment:
        raise Wrong(f"{expected}; {_ENCODE}")
    return parts


def _host(parts: SplitResult, expected: str) -> str:
    host = parts.hostname or ""
    if host and not re.fullmatch(r"[A-Za-z0-9._:%-]+", host):
        raise Wrong(expected)
    return host


def _options(parts: SplitResult) -> list[tuple[str, str]]:
    try:
        return parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise Wrong("expected parameters in the form name=value, joined by &") from None
