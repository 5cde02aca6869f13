"""Workers, as their connections name themselves in CLIENT LIST."""

from __future__ import annotations

import base64
import binascii
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache

from django.utils.translation import gettext as _

from queues.backends.bullmq.connection import CLIENT_NAME, Connection
from queues.backends.bullmq.replies import integer, strange
from queues.errors import NotPermitted, Unsupported
from queues.names import visible
from queues.types import Worker, Workers

# `<prefix>:<base64 of the queue>[:w:<worker>]`. A prefix may hold colons; `:qe` ends no base64.
_NODE = re.compile(rb"(?P<prefix>.+?):(?P<queue>(?:[A-Za-z0-9+/]{4})+|[A-Za-z0-9+/]+={1,2})(?::w:(?P<worker>.*))?")
_PYTHON = re.compile(rb"(?:(?P<prefix>.+?):)?(?P<queue>[^:]+)(?::w:(?P<worker>.*))?")

# A line holds some thirty figures, of which these matter; no value holds a space. There are thousands of lines.
_FIGURES = re.compile(rb"(?:^| )(name|addr|idle|age|cmd)=([^ \r]*)")
_WAITING = (b"bzpopmin", b"brpoplpush")

Key = tuple[bytes, bytes]


def read(connection: Connection) -> Workers:
    """All workers of the server, from one CLIENT LIST (BullMQ 4.18 to 6.7: classes/queue-base, clientName)."""
    try:
        reply = connection.call("CLIENT", "LIST")
    except (NotPermitted, Unsupported):
        return Workers(unknown_because=_("not permitted (CLIENT LIST)"))
    if not isinstance(reply, bytes) or b"addr=" not in reply:  # we are in it ourselves
        raise strange()
    return Workers(by_queue=parse(reply))


def parse(listing: bytes) -> Mapping[Key, list[Worker]]:
    """Workers by (prefix, queue).

    A Node worker names its one blocking connection; a Python worker gives both of its connections the
    same plain name, so two of those are one worker.
    """
    found: dict[Key, list[Worker]] = defaultdict(list)
    pairs: dict[tuple[Key, str], list[Worker]] = defaultdict(list)
    clients = list(_clients(listing))
    # Any program may have named its connection like a queue; one that has waited for jobs is a worker's.
    waiting = {client.get(b"name") for client in clients if client.get(b"cmd") in _WAITING}
    for client in clients:
        name = client.get(b"name", b"")
        if not name or name == CLIENT_NAME.encode():
            continue
        if node := _node(name):
            found[node[0]].append(_worker(node[1], client))
        elif (plain := _python(name)) and (b":" in name or name in waiting):
            worker = _worker(plain[1], client)
            pairs[plain[0], worker.name].append(worker)
    for (key, _name), connections in pairs.items():
        found[key] += connections[::2]
    return dict(found)


def _clients(listing: bytes) -> Iterator[dict[bytes, bytes]]:
    for line in listing.split(b"\n"):
        yield dict(_FIGURES.findall(line))


@lru_cache(maxsize=20_000)
def _node(name: bytes) -> tuple[Key, bytes] | None:
    match = _NODE.fullmatch(name)
    if match is None:
        return None
    try:
        queue = base64.b64decode(match["queue"], validate=True)
        queue.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (match["prefix"], queue), match["worker"] or b""


def _python(name: bytes) -> tuple[Key, bytes] | None:
    """`<prefix>:<queue>[:w:<worker>]`; older releases gave the queue's name alone."""
    if name.endswith(b":qe"):
        return None
    match = _PYTHON.fullmatch(name)
    return ((match["prefix"] or b"bull", match["queue"]), match["worker"] or b"") if match else None


def _worker(name: bytes, client: dict[bytes, bytes]) -> Worker:
    return Worker(
        name=visible(name),
        address=visible(client.get(b"addr", b"")),
        idle_s=integer(client.get(b"idle")) or 0,
        age_s=integer(client.get(b"age")) or 0,
    )
