"""Jobs that chance makes of the hostile corpus, on pages: each is a row and a page, and only text."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence

import pytest
import redis
from django.test import Client
from django.urls import reverse

from queues import discovery, readings
from queues.registry import SourceConfig
from queues.types import JobRef, QueueRef
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.hostile import JOB_IDS, JOBS, PROGRESS, QUEUE_NAMES
from tests.policy import rounds
from tests.seed import write_hash

PIECES = sorted(
    {
        value if isinstance(value, bytes) else str(value).encode()
        for value in (*JOB_IDS, *PROGRESS, *(value for fields in JOBS.values() for value in fields.values()))
        if value is not None and len(str(value)) < 10_000
    }
    | {b'{"', b'":', b"[", b"]}", b'\\"', b"\\ud83d", b"\n    at f (/a.js:1:2)", b"1700000000000", b"password", b"="}
)
FIELDS = (
    *("name", "data", "opts", "timestamp", "delay", "priority", "atm", "attemptsMade", "ats", "stc", "processedOn"),
    *("finishedOn", "pb", "progress", "returnvalue", "stacktrace", "failedReason", "parentKey", "parent"),
    *("rjk", "deid"),
)
STATES = ("failed", "completed", "delayed", "prioritized", "waiting-children")
A_PAGE = 20  # jobs of one state in one round
# What reorders or hides other text, or means something to a terminal.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.soak
@pytest.mark.django_db
def test_no_job_that_chance_makes_breaks_a_page(source: SourceConfig, valkey: redis.Redis, rng: random.Random) -> None:
    viewer = as_role("admin")
    for _round in range(rounds(sample=1, soak=300)):
        valkey.flushall()
        queue = QueueRef(source.name, b"bull", rng.choice(QUEUE_NAMES))
        state = rng.choice(STATES)
        jobs = _write(valkey, queue, state, rng)
        discovery.scan(source.name)
        readings.store(source.name)
        assert f"{queue.source}/{queue.slug}" in _look(viewer, reverse("overview")).rows("data-queue")
        page = _look(viewer, reverse("queue", args=[queue.source, queue.slug]) + f"?state={state}&size={A_PAGE}")
        assert sorted(page.rows("data-job")) == sorted(ref.slug for ref in jobs)
        for ref in jobs:
            for address in _addresses(ref):
                _look(viewer, address)


def _write(client: redis.Redis, queue: QueueRef, state: str, rng: random.Random) -> Sequence[JobRef]:
    base = b"%b:%b:" % (queue.prefix, queue.name)
    write_hash(client, base + b"meta", {"version": "bullmq:6.7.0", "opts.maxLenEvents": "10000"})
    jobs = [JobRef(queue, b"%d" % number + _value(rng)[:300]) for number in range(A_PAGE)]
    for ref in jobs:
        write_hash(client, base + ref.id, _fields(rng))
        client.zadd(base + state.encode(), {ref.id: rng.choice((0, -1, 1.5, 1.7e12, 7e15, 1e300))})
        client.rpush(base + ref.id + b":logs", *[_value(rng) for _line in range(rng.randrange(1, 5))])
    return jobs


def _fields(rng: random.Random) -> Mapping[str, bytes]:
    names = [*rng.sample(FIELDS, rng.randrange(1, len(FIELDS))), "x" + _value(rng).decode("utf-8", "ignore")[:50]]
    return {name: _value(rng) for name in names}


def _value(rng: random.Random) -> bytes:
    """Some pieces in a row, then a few bytes changed, dropped or put in; now and then very long."""
    made = bytearray(b"".join(rng.choices(PIECES, k=rng.randrange(1, 5))))
    for _change in range(rng.choice((0, 0, 1, 5))):
        at = rng.randrange(len(made) + 1)
        made[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    return bytes(made) * rng.choice((1,) * 60 + (3_000,))


def _addresses(ref: JobRef) -> Iterator[str]:
    at = [ref.queue.source, ref.queue.slug, ref.id]
    yield from (reverse(name, args=at) for name in ("job", "logs"))


def _look(viewer: Client, address: str) -> Page:
    """The page, which must hold nothing that a browser or terminal would do something about."""
    answer = viewer.get(address)
    assert answer.status_code == 200, address
    page = Page(answer)
    assert not CONTROL.search(page.source), address
    for node in page.nodes:
        assert not [name for name in node.attrs if name.startswith("on") or name in ("style", "srcdoc")], address
        assert node.tag != "script" or node.attrs["src"].startswith("/static/"), address
        assert node.attrs.get("src", "/").startswith("/"), address
        assert node.attrs.get("href", "/")[:1] in "/#?", address
    return page
