"""The state of a monitored server, as INFO tells it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from redis.exceptions import ResponseError

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.replies import Reply, blob, count, integer, items, strange
from queues.health import Health, Persistence
from queues.names import visible

_SAVE = "CONFIG GET"  # tells whether snapshots (RDB) are made


def read(connection: Connection) -> Health:
    """Health from one pipeline. What the server refuses (managed services, ACL) fails alone."""
    began = time.time()
    [pong] = connection.run([("PING",)], tolerant=True)
    if pong != b"PONG" and not isinstance(pong, ResponseError):
        raise strange()
    ping_ms = (time.time() - began) * 1000
    before = time.time()
    info, now, size, save = connection.run(
        [("INFO",), ("TIME",), ("DBSIZE",), ("CONFIG", "GET", "save")], tolerant=True
    )
    middle = (before + time.time()) / 2
    told = _pairs(blob(info) or b"")
    replies = {"INFO": info, "TIME": now, "DBSIZE": size, _SAVE: save}
    return Health(
        server=_server(told),
        version=told.get("valkey_version") or told.get("dragonfly_version") or told.get("redis_version", ""),
        mode=told.get("server_mode") or told.get("redis_mode", ""),
        role=told.get("role", ""),
        memory_used=_int(told, "used_memory"),
        memory_max=_int(told, "maxmemory"),
        eviction_policy=told.get("maxmemory_policy", ""),
        persistence=_persistence(told, save),
        last_save_failed="err" in (told.get("rdb_last_bgsave_status"), told.get("aof_last_write_status")),
        clients=_int(told, "connected_clients"),
        clients_max=_int(told, "maxclients"),
        uptime_s=_int(told, "uptime_in_seconds"),
        ops_per_s=_int(told, "instantaneous_ops_per_sec"),
        keys=size if isinstance(size, int) else None,
        ping_ms=ping_ms,
        clock_offset_ms=_offset(now, middle),
        refused=tuple(command for command, reply in replies.items() if isinstance(reply, ResponseError)),
    )


def _pairs(info: bytes) -> Mapping[str, str]:
    lines = (line.partition(b":") for line in info.splitlines() if not line.startswith(b"#"))
    return {visible(name): visible(value[:200]) for name, _colon, value in lines if name}


def _int(told: Mapping[str, str], name: str) -> int | None:
    return integer(told[name].encode()) if name in told else None


def _server(told: Mapping[str, str]) -> str:
    if "valkey_version" in told or told.get("server_name") == "valkey":
        return "Valkey"
    if "dragonfly_version" in told:
        return "Dragonfly"
    return "Redis" if "redis_version" in told else ""


def _persistence(told: Mapping[str, str], save: Reply) -> tuple[Persistence, ...] | None:
    """What is known to be on; None where nothing is, and something could not be read."""
    schedule = items(save)
    known = {
        Persistence.AOF: told["aof_enabled"] == "1" if "aof_enabled" in told else None,
        Persistence.RDB: bool(schedule[1]) if len(schedule) == 2 else None,
    }
    kinds = tuple(kind for kind, on in known.items() if on)
    return kinds if kinds or None not in known.values() else None


def _offset(now: Reply, middle: float) -> float | None:
    parts = [integer(part) for part in items(now)]
    if len(parts) != 2 or parts[0] is None:
        return None
    return (parts[0] + count(parts[1]) / 1e6 - middle) * 1000
