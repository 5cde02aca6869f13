"""From the variables to one frozen, checked `Environment`."""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dashboard.environment.kept import kept
from dashboard.environment.urls import BaseUrl, Email, RedisUrl, base_url, database, email, redis, sqlite
from dashboard.environment.values import (
    BadEnvironment,
    Values,
    Wrong,
    boolean,
    choice,
    endings,
    rate,
    readable_file,
    whole_number,
    words,
)
from queues.registry import SourceConfig

_LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_SOURCE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_HOST = re.compile(r"\*|\.?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\]")
_ORIGIN = re.compile(r"https?://(\*\.)?[A-Za-z0-9\[][A-Za-z0-9._:\]-]*")
_NONE: tuple[str, ...] = ()
_MAKE_KEY = 'python3 -c "import secrets; print(secrets.token_urlsafe(50))"'


@dataclass(frozen=True)
class Environment:
    """All settings. `port` None means the first free one from 8000; `app_redis` None means the embedded server.

    `bulk_max` and `audit_days` 0 mean no limit, `undo_hours` 0 that no copies are kept.

    `secret_key_file` is where the secret key is kept when nobody has set one and it was made here.
    """

    debug: bool
    secret_key: str = field(repr=False)
    secret_key_file: Path | None
    secret_key_fallbacks: tuple[str, ...] = field(repr=False)
    allowed_hosts: tuple[str, ...]
    csrf_trusted_origins: tuple[str, ...]
    base_url: BaseUrl | None
    trust_proxy: bool
    hsts_seconds: int
    bind: str
    port: int | None
    database: dict[str, object] = field(repr=False)
    var_dir: Path
    sources: tuple[SourceConfig, ...]
    app_redis: RedisUrl | None
    admin_password: str | None = field(repr=False)
    bulk_max: int
    undo_hours: int
    undo_mb: int
    audit_days: int
    failures_days: int
    replays_days: int
    dead_letters: tuple[str, ...]
    email: Email | None
    from_email: str
    log_level: str
    log_format: str
    demo_rate: float

    @property
    def path_prefix(self) -> str:
        """Empty, or `/prefix` without a slash at its end."""
        return self.base_url.path if self.base_url else ""

    @property
    def https(self) -> bool:
        return self.base_url is not None and self.base_url.https


def read(env: Mapping[str, str], *, base_dir: Path) -> Environment:
    """The whole environment; BadEnvironment names every wrong value. Makes the secret key where one may be made."""
    values = Values(env)
    bind = values.parsed("BIND", _bind, "127.0.0.1")
    base = values.parsed("MIRANTE_BASE_URL", base_url, None)
    var_dir = base_dir / Path(values.text("MIRANTE_VAR_DIR") or "var").expanduser()
    secret_key, secret_key_file = _secret_key(values, bind, var_dir)
    environment = Environment(
        debug=values.parsed("MIRANTE_DEBUG", boolean, default=False),
        secret_key=secret_key,
        secret_key_file=secret_key_file,
        secret_key_fallbacks=values.parsed("SECRET_KEY_FALLBACKS", _keys, _NONE),
        allowed_hosts=_allowed_hosts(values, bind, base),
        csrf_trusted_origins=_origins(values, base),
        base_url=base,
        trust_proxy=values.parsed("MIRANTE_TRUST_PROXY", boolean, default=False),
        hsts_seconds=_hsts(values, base),
        bind=bind,
        port=values.parsed("PORT", whole_number(1, 65535), None),
        database=values.parsed(
            "DATABASE_URL", lambda text: database(text, base_dir=base_dir), sqlite(var_dir / "mirante.sqlite3")
        ),
        var_dir=var_dir,
        sources=_sources(values),
        app_redis=_app_redis(values),
        admin_password=values.parsed("MIRANTE_ADMIN_PASSWORD", _password, None),
        bulk_max=values.parsed("MIRANTE_BULK_MAX", whole_number(0, 10**9), 0),
        undo_hours=values.parsed("MIRANTE_UNDO_HOURS", whole_number(0, 24 * 365), 24),
        undo_mb=values.parsed("MIRANTE_UNDO_MB", whole_number(1, 10**6), 256),
        audit_days=values.parsed("MIRANTE_AUDIT_DAYS", whole_number(0, 36_500), 365),
        failures_days=values.parsed("MIRANTE_FAILURES_DAYS", whole_number(1, 36_500), 30),
        replays_days=values.parsed("MIRANTE_REPLAYS_DAYS", whole_number(0, 36_500), 90),
        dead_letters=values.parsed("MIRANTE_DEAD_LETTERS", endings, _NONE),
        email=values.parsed("EMAIL_URL", email, None),
        from_email=values.parsed("DEFAULT_FROM_EMAIL", _address, "mirante@localhost"),
        log_level=values.parsed("LOG_LEVEL", choice("debug", "info", "warning", "error"), "info"),
        log_format=values.parsed("LOG_FORMAT", choice("text", "json"), "text"),
        demo_rate=values.parsed("MIRANTE_DEMO_RATE", rate, 1.0),
    )
    if values.problems:
        raise BadEnvironment(values.problems)
    return environment


def is_loopback(bind: str) -> bool:
    return ipaddress.ip_address(bind).is_loopback


def _bind(text: str) -> str:
    if text == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        raise Wrong("expected an IP address such as 127.0.0.1, 0.0.0.0 or ::1, or localhost") from None


def _secret_key(values: Values, bind: str, var_dir: Path) -> tuple[str, Path | None]:
    """The key and, when it was made here, the file that keeps it."""
    key = values.parsed("SECRET_KEY", _key, "")
    if key or values.is_wrong("SECRET_KEY"):
        return key, None
    if not is_loopback(bind):
        values.problem(
            "SECRET_KEY", f"expected a key, because BIND={bind} can be reached from outside; try {_MAKE_KEY}"
        )
    else:
        file = var_dir / "secret-key"
        try:
            return kept(file, lambda: secrets.token_urlsafe(50)), file
        except OSError as error:
            values.problem("MIRANTE_VAR_DIR", f"expected a folder to write to, but {var_dir} is not: {error.strerror}")
    return "", None


def _key(text: str) -> str:
    if len(text) < 50 or len(set(text)) < 5:
        raise Wrong(f"expected at least 50 random characters; try {_MAKE_KEY}")
    return text


def _keys(text: str) -> tuple[str, ...]:
    return tuple(_key(key) for key in text.split())


def _password(text: str) -> str:
    if len(text) < 8:
        raise Wrong("expected at least 8 characters")
    return text


def _address(text: str) -> str:
    if "@" not in text or any(letter in text for letter in "\r\n"):
        raise Wrong("expected an e-mail address such as mirante@example.com")
    return text


def _allowed_hosts(values: Values, bind: str, base: BaseUrl | None) -> tuple[str, ...]:
    named = values.parsed("ALLOWED_HOSTS", _hosts, _NONE)
    everywhere = ipaddress.ip_address(bind).is_unspecified
    said = values.is_wrong("ALLOWED_HOSTS") or values.is_wrong("MIRANTE_BASE_URL")
    if everywhere and not named and not base and not said:
        values.problem(
            "ALLOWED_HOSTS",
            f"expected the host names under which browsers reach BIND={bind} (or MIRANTE_BASE_URL), "
            "such as mirante.example.com",
        )
    own = () if everywhere else (f"[{bind}]" if ":" in bind else bind,)
    return tuple(dict.fromkeys((*named, *((base.host,) if base else ()), *own, *_LOCAL_HOSTS)))


def _hosts(text: str) -> tuple[str, ...]:
    hosts = words(text)
    if not all(_HOST.fullmatch(host) for host in hosts):
        raise Wrong("expected host names without scheme, port or path, such as mirante.example.com, .example.com")
    return hosts


def _origins(values: Values, base: BaseUrl | None) -> tuple[str, ...]:
    named = values.parsed("CSRF_TRUSTED_ORIGINS", _origin_list, _NONE)
    return tuple(dict.fromkeys((*named, *((base.origin,) if base else ()))))


def _origin_list(text: str) -> tuple[str, ...]:
    origins = words(text)
    if not all(_ORIGIN.fullmatch(origin) for origin in origins):
        raise Wrong("expected scheme and host without a path, such as https://mirante.example.com")
    return origins


def _hsts(values: Values, base: BaseUrl | None) -> int:
    seconds = values.parsed("MIRANTE_HSTS_SECONDS", whole_number(0, 10**9), 0)
    if seconds and not (base and base.https) and not values.is_wrong("MIRANTE_BASE_URL"):
        values.problem("MIRANTE_HSTS_SECONDS", "expected MIRANTE_BASE_URL with https:// beside it")
    return seconds


def _sources(values: Values) -> tuple[SourceConfig, ...]:
    ca_file = values.parsed("REDIS_CA_FILE", readable_file, "")
    single = values.parsed("REDIS_URL", redis, None)
    nothing: tuple[tuple[str, RedisUrl], ...] = ()
    several = values.parsed("MIRANTE_SOURCES", _named_sources, nothing)
    if values.text("REDIS_URL") and values.text("MIRANTE_SOURCES"):
        values.problem("MIRANTE_SOURCES", "set either REDIS_URL or MIRANTE_SOURCES, not both")
    found = several or ((("main", single),) if single else ())
    said = values.is_wrong("REDIS_URL") or values.is_wrong("MIRANTE_SOURCES")
    if ca_file and not any(server.tls for _, server in found) and not said:
        values.problem("REDIS_CA_FILE", "expected a source with rediss:// to use it for")
    read_only = _read_only(values, [name for name, _ in found], said=said)
    return tuple(
        SourceConfig(
            name,
            server.url,
            prefixes=server.prefixes,
            ca_file=server.ca_file or (ca_file if server.tls else ""),
            read_only=name in read_only,
        )
        for name, server in found
    )


def _read_only(values: Values, sources: Sequence[str], *, said: bool) -> Collection[str]:
    """The names of the sources that are never written to; `said`: that these are not known is a problem already."""

    def parse(text: str) -> Collection[str]:
        try:
            # Without a source of ours there is the one that `manage.py up` starts, called main.
            return (*sources, "main") if boolean(text) else ()
        except Wrong:
            named = words(text)
        unknown = [name for name in named if name not in (sources or ("main",))]
        if unknown and not said:
            raise Wrong(f"expected 1, 0 or names of sources ({', '.join(sources or ('main',))})")
        return named

    return values.parsed("MIRANTE_READ_ONLY", parse, _NONE)


def _named_sources(text: str) -> tuple[tuple[str, RedisUrl], ...]:
    found: dict[str, RedisUrl] = {}
    for number, entry in enumerate(re.split(r"[\s,]+", text.strip(" \t\r\n,")), start=1):
        name, equals, url = entry.partition("=")
        if not equals or not _SOURCE_NAME.fullmatch(name):
            # The entry itself may be a URL with a password, so only its position is named.
            raise Wrong(
                f"expected name=url in entry {number}, the name in small letters, digits, '-' and '_' "
                "(a comma or blank in a URL is written %2C or %20)"
            )
        if name in found:
            raise Wrong(f"expected each name once, but “{name}” stands there twice")
        try:
            found[name] = redis(url)
        except Wrong as wrong:
            raise Wrong(f"source “{name}”: {wrong}") from None
    return tuple(found.items())


def _app_redis(values: Values) -> RedisUrl | None:
    ca_file = values.parsed("APP_REDIS_CA_FILE", readable_file, "")
    server = values.parsed("APP_REDIS_URL", lambda text: redis(text, prefixes_allowed=False), None)
    if ca_file and not (server and server.tls) and not values.is_wrong("APP_REDIS_URL"):
        values.problem("APP_REDIS_CA_FILE", "expected APP_REDIS_URL with rediss:// to use it for")
    if server and ca_file and not server.ca_file:
        return RedisUrl(server.url, ca_file)
    return server
