"""The mark in a demo's database: who may write there, and which history has been written already."""

from __future__ import annotations

import time
from typing import Any

KEY = "mirante:demo"


class ForeignDatabase(Exception):
    """The database holds somebody's keys, and nobody asked for demo traffic in it."""


async def claim(client: Any, *, asked: bool) -> None:
    """Mark the database as the demo's. ForeignDatabase when it holds other keys and `asked` is false.

    A database that was not empty when the demo was asked for stays somebody's: each start has to ask again.
    """
    origin = await client.hget(KEY, "origin")
    if origin is None:
        origin = "theirs" if await client.dbsize() else "empty"
    if origin != "empty" and not asked:
        raise ForeignDatabase(
            "This Redis database already holds keys that the demo did not write, so nothing was written. "
            "Name an empty database, or give --demo-traffic if you want demo jobs among yours."
        )
    await client.hset(KEY, mapping={"origin": origin})
    await client.hsetnx(KEY, "since", _now())


async def first_time(client: Any, step: str) -> bool:
    """True for the first caller of this step in the life of the database."""
    return bool(await client.hsetnx(KEY, f"seed:{step}", _now()))


async def time_of(client: Any, step: str) -> float:
    """When this step was done first, in seconds since 1970; 0.0 when it never was."""
    return int(await client.hget(KEY, f"seed:{step}") or 0) / 1000


def _now() -> int:
    return round(time.time() * 1000)
