"""The queues that are measured: many small ones, one that is very long, and jobs out of the ordinary."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable, Sequence

import redis

from queues.types import QueueRef
from tests.seed import seed_job, seed_queue

WAITING, FAILED = 1_000_000, 200_000
SHORT = 1_000
HUGE, CHATTY = b"huge", b"chatty"  # ids of a job of 5 MB and of one with 10,000 log lines
HUGE_BYTES, LINES = 5 * 1024 * 1024, 10_000
TEAMS = ("billing", "catalog", "email", "fraud", "media", "orders", "search", "shipping")


def many(client: redis.Redis, queues: int, source: str) -> list[QueueRef]:
    """Queues that differ as those of a product do: some busy, some idle, a few paused or in trouble."""
    return [_one_of_many(client, number, source) for number in range(queues)]


def _one_of_many(client: redis.Redis, number: int, source: str) -> QueueRef:
    busy = number % 3 == 0
    return seed_queue(
        client,
        f"{TEAMS[number % len(TEAMS)]}-work-{number:04d}",
        waiting=number % 7 + (20 if busy else 0),
        prioritized=2 if number % 11 == 0 else 0,
        active=1 if busy else 0,
        delayed=number % 4,
        completed=5,
        failed=3 if number % 5 == 0 else 0,
        paused=number % 29 == 0,
        step_ms=4_000.0 * (number % 13 + 1),
        source=source,
    )


def long(client: redis.Redis, scale: float, source: str) -> list[QueueRef]:
    """A queue with 1,000,000 waiting and 200,000 failed jobs, one with a thousand of each, and the odd jobs in it."""
    waiting, failed = max(int(WAITING * scale), 200), max(int(FAILED * scale), 200)
    short = max(int(SHORT * min(scale * 10, 1)), 200)
    refs = [
        seed_queue(client, "long", waiting=waiting, failed=failed, step_ms=100.0, source=source),
        seed_queue(client, "short", waiting=short, failed=short, step_ms=100.0, source=source),
        seed_queue(client, "odd", waiting=1, source=source),
    ]
    _huge(client, refs[2])
    _chatty(client, refs[2])
    return refs


def _huge(client: redis.Redis, ref: QueueRef) -> None:
    line = {"sku": "A-4711-blue", "quantity": 3, "price": 19.99, "gift": False, "note": "leave at the door"}
    size = len(json.dumps(line)) + 2
    data = json.dumps({"customerId": 4711, "lines": [line] * (HUGE_BYTES // size + 1)})
    seed_job(client, ref, HUGE, name="import", data=data)
    client.lpush(b"bull:" + ref.name + b":wait", HUGE)


def _chatty(client: redis.Redis, ref: QueueRef) -> None:
    seed_job(client, ref, CHATTY, name="crawl", data='{"depth":3}')
    client.lpush(b"bull:" + ref.name + b":wait", CHATTY)
    lines = [f"2026-08-01T12:00:00.{number % 1000:03d}Z fetched page {number} in 48 ms" for number in range(LINES)]
    client.rpush(b"bull:" + ref.name + b":" + CHATTY + b":logs", *lines)


def connect_workers(port: int, database: int, refs: Sequence[QueueRef]) -> Callable[[], None]:
    """A connection for each but every fifth queue, named as a worker of npm names its own. Gives what closes them."""
    links = []
    for number, ref in enumerate(refs):
        if number % 5 == 4:
            continue
        link = socket.create_connection(("127.0.0.1", port))
        name = f"{ref.prefix.decode()}:{base64.b64encode(ref.name).decode()}"
        link.sendall(f"SELECT {database}\r\nCLIENT SETNAME {name}\r\n".encode())
        links.append(link)
    for link in links:
        answer = b""
        while answer.count(b"\r\n") < 2:
            answer += link.recv(100)

    def close() -> None:
        for link in links:
            link.close()

    return close
