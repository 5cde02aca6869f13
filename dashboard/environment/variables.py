"""The list of all environment variables, so that a misspelt one can be named and the documentation be checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """A `secret` may also be given as a file, named by `<name>_FILE`, and its value is never printed."""

    name: str
    secret: bool = False

    @property
    def file_name(self) -> str:
        return f"{self.name}_FILE"


VARIABLES: tuple[Variable, ...] = (
    # What is watched.
    Variable("REDIS_URL", secret=True),
    Variable("REDIS_CA_FILE"),
    Variable("MIRANTE_SOURCES", secret=True),
    # Where our own data lives.
    Variable("APP_REDIS_URL", secret=True),
    Variable("APP_REDIS_CA_FILE"),
    Variable("DATABASE_URL", secret=True),
    Variable("MIRANTE_VAR_DIR"),
    # The web server and its address.
    Variable("BIND"),
    Variable("PORT"),
    Variable("MIRANTE_BASE_URL"),
    Variable("MIRANTE_TRUST_PROXY"),
    Variable("MIRANTE_HSTS_SECONDS"),
    Variable("ALLOWED_HOSTS"),
    Variable("CSRF_TRUSTED_ORIGINS"),
    # Secrets and users.
    Variable("SECRET_KEY", secret=True),
    Variable("SECRET_KEY_FALLBACKS", secret=True),
    Variable("MIRANTE_ADMIN_PASSWORD", secret=True),
    # What may be done to queues, and how long what was done is kept.
    Variable("MIRANTE_READ_ONLY"),
    Variable("MIRANTE_BULK_MAX"),
    Variable("MIRANTE_UNDO_HOURS"),
    Variable("MIRANTE_UNDO_MB"),
    Variable("MIRANTE_AUDIT_DAYS"),
    # Failures.
    Variable("MIRANTE_FAILURES_DAYS"),
    Variable("MIRANTE_DEAD_LETTERS"),
    # Replays.
    Variable("MIRANTE_REPLAYS_DAYS"),
    # Mail, logs and the rest.
    Variable("EMAIL_URL", secret=True),
    Variable("DEFAULT_FROM_EMAIL"),
    Variable("LOG_LEVEL"),
    Variable("LOG_FORMAT"),
    Variable("MIRANTE_DEBUG"),
    Variable("MIRANTE_DEMO_RATE"),
)


def known_names() -> set[str]:
    """Every name that may be set, the `_FILE` forms included."""
    return {v.name for v in VARIABLES} | {v.file_name for v in VARIABLES if v.secret}


def only(env: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The environment for a process that may know these of our variables, in either form, and no other."""
    allowed = {form for name in names for form in (name, f"{name}_FILE")}
    return {name: value for name, value in env.items() if name in allowed or name not in known_names()}
