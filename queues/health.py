"""How a source's server is: the figures that it tells of itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Persistence(StrEnum):
    """How a server keeps its data over a restart."""

    AOF = "AOF"
    RDB = "RDB"


@dataclass(frozen=True, slots=True)
class Health:
    """A source's server as INFO tells it. Optional figures are None when the server does not say."""

    server: str  # "Redis", "Valkey", "Dragonfly" ...; "" when it does not say
    version: str
    mode: str  # "standalone", "cluster", "sentinel"
    role: str
    memory_used: int | None = None
    memory_max: int | None = None  # 0 = no limit
    eviction_policy: str = ""
    persistence: tuple[Persistence, ...] | None = None  # () = none at all
    last_save_failed: bool = False
    clients: int | None = None
    clients_max: int | None = None
    uptime_s: int | None = None
    ops_per_s: int | None = None
    keys: int | None = None
    ping_ms: float | None = None
    clock_offset_ms: float | None = None  # server's clock minus ours
    refused: tuple[str, ...] = ()  # commands that our user may not send: their figures are missing
