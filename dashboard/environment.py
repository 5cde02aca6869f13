"""Reads and checks the environment: every variable, what it may hold, and what to do when it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from queues.registry import SourceConfig


@dataclass(frozen=True)
class Environment:
    debug: bool
    secret_key: str
    secret_key_fallbacks: tuple[str, ...]
    allowed_hosts: tuple[str, ...]
    csrf_trusted_origins: tuple[str, ...]
    path_prefix: str
    database: dict[str, object]
    var_dir: Path
    sources: tuple[SourceConfig, ...]


def read(env: Mapping[str, str], *, base_dir: Path) -> Environment:
    var = Path(env.get("MIRANTE_VAR") or base_dir / "var")
    return Environment(
        debug=False,
        secret_key=env.get("SECRET_KEY", "insecure-skeleton"),
        secret_key_fallbacks=(),
        allowed_hosts=("localhost", "127.0.0.1"),
        csrf_trusted_origins=(),
        path_prefix="",
        database={"ENGINE": "django.db.backends.sqlite3", "NAME": var / "mirante.sqlite3"},
        var_dir=var,
        sources=(SourceConfig("main", env.get("REDIS_URL", "redis://127.0.0.1:6379/0")),),
    )
