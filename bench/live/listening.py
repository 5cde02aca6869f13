"""Which commands reach a server, by who sent them: MONITOR for a few seconds, apart from what is timed.

The server's own sums do not tell: Valkey counts what a script calls for the connection that called the script.
"""

from __future__ import annotations

import re
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import redis

LINE = re.compile(rb'^\+[\d.]+ \[\d+ ([^\]]+)\] "([^"]+)"', re.MULTILINE)
RECEIVE = 1 << 20


@dataclass
class Heard:
    """Commands of one stretch of time by their names: those that were sent, and how many scripts called inside."""

    seconds: float = 0
    sent: Counter[str] = field(default_factory=Counter)
    inside: int = 0


def listen(client: redis.Redis, is_ours: Callable[[str], bool], seconds: float) -> Heard:
    """What the connections sent whose names are ours. Blocks for so long."""
    port = int(client.connection_pool.connection_kwargs["port"])
    names, hidden = _names(client), _hidden(client)
    began = time.monotonic()
    text = _monitored(port, seconds)
    heard = Heard(time.monotonic() - began)
    heard.sent["CLIENT or CONFIG"] = _hidden(client) - hidden
    names |= _names(client)
    for found in LINE.finditer(text):
        sender = found[1].decode()
        if sender == "lua":
            heard.inside += 1
        elif is_ours(names.get(sender, "")):
            heard.sent[found[2].decode("ascii", "replace").upper()] += 1
    return heard


def _monitored(port: int, seconds: float) -> bytes:
    """What MONITOR prints; looked at afterwards, so that it is read as fast as it comes."""
    chunks, until = [], time.monotonic() + seconds
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.sendall(b"MONITOR\r\n")
        while (left := until - time.monotonic()) > 0:
            link.settimeout(left)
            try:
                chunks.append(link.recv(RECEIVE))
            except TimeoutError:
                break
    return b"".join(chunks)


def _names(client: redis.Redis) -> dict[str, str]:
    return {entry["addr"]: entry["name"] for entry in client.client_list()}


def _hidden(client: redis.Redis) -> int:
    """CLIENT LIST and CONFIG, which MONITOR leaves out: so far, by anybody."""
    told = client.info("commandstats")
    calls = sum(told.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("client|list", "config|get"))
    return int(calls)
