"""Jobs as they should not be, while somebody watches: through the real follower, the real server and a socket."""

# mypy: allow-untyped-calls

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import psutil
import pytest
import redis

from queues.quantities import now_ms
from queues.types import JobRef, QueueRef
from tests.dashboard.browser_socket import BrowserSocket
from tests.dashboard.people import as_role, person, signed_in
from tests.queues.following import add, know
from tests.seed import seed_job, write_hash
from tests.server import Server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("source")]

PATIENCE_S = 60.0
FRAME_BYTES = 128 * 1024
MEGABYTE = 1_000_000

Frames = list[dict[str, Any]]


def watch(ref: QueueRef, job: JobRef | None = None) -> dict[str, Any]:
    names = {"queue": ref.slug} | ({"job": job.slug} if job else {})
    page = "job" if job else "queue"
    return {"watch": {"page": page, "sources": ["main"], "read": now_ms(), "after": "", **names}}


class Watching:
    """A socket, and all that it was told."""

    def __init__(self, server: Server, message: object) -> None:
        self._socket = BrowserSocket(server.url, signed_in(person("viewer")).session.session_key or "")
        self._socket.send(message)
        self.largest = 0
        self.text = ""
        self.feed = ""
        self.log = ""
        self.parts: dict[str, str] = {}
        self.pulse = ""

    def until(self, holds: Callable[[Watching], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds(self):
            assert time.monotonic() < deadline, (self.pulse, self.parts, self.feed[-2_000:], self.log[-2_000:])
            self._hear()

    def _hear(self) -> None:
        text = self._socket.text()
        self.largest = max(self.largest, len(text.encode()))
        frame = json.loads(text)
        self._socket.send({"ack": frame["n"]})
        self.pulse = frame["pulse"]
        self.feed += frame.get("feed", "")
        self.log += frame.get("log", "")
        self.parts |= frame.get("parts", {})

    def close(self) -> None:
        self._socket.close()


def rss(pids: list[int]) -> list[int]:
    return [psutil.Process(pid).memory_info().rss for pid in pids]


def server_of(live: Server) -> int:
    port = int(live.url.rpartition(":")[2])
    return next(
        child.pid
        for child in psutil.Process(os.getpid()).children()
        if any(each.laddr.port == port and each.status == "LISTEN" for each in child.net_connections("tcp"))
    )


# JD-05
def test_large_jobs_make_no_large_frames_and_no_large_processes(
    live: Server, follower: subprocess.Popen[bytes], valkey: redis.Redis
) -> None:
    [shop] = know(b"shop")
    valkey.hset("bull:shop:meta", "opts.maxLenEvents", "10000")
    large = json.dumps({"s": "x" * 8 * 1024 * 1024})
    for number in range(10):
        seed_job(valkey, shop, f"w{number}", data=large)
        valkey.lpush("bull:shop:wait", f"w{number}")
    with ExitStack() as stack:
        queue = stack.enter_context(closing(Watching(live, watch(shop))))
        job = stack.enter_context(closing(Watching(live, watch(shop, JobRef(shop, b"f0")))))
        for each in (queue, job):
            each.until(lambda it: it.pulse == "live")
        pids = [follower.pid, server_of(live)]
        before = rss(pids)
        for number in range(20):
            name = f"f{number}"
            seed_job(valkey, shop, name, failedReason="r" * MEGABYTE, stacktrace=json.dumps(["s" * 3 * MEGABYTE]),
                     progress=json.dumps({"p": "p" * MEGABYTE}), data=json.dumps(["line"] * 5_000))  # fmt: skip
            valkey.zadd("bull:shop:failed", {name: 1})
            add(valkey, "shop", "progress", "jobId", name, "data", json.dumps({"p": "p" * MEGABYTE}))
            add(valkey, "shop", "failed", "jobId", name, "failedReason", "r" * MEGABYTE, "prev", "active")
        add(valkey, "shop", "completed", "jobId", "c", "returnvalue", json.dumps("v" * 20 * MEGABYTE))
        queue.until(lambda it: 'data-kind="completed"' in it.feed)
        queue.until(lambda it: 'data-count="20"' in it.parts.get("tab-failed", ""))
        job.until(lambda it: 'data-kind="failed"' in it.feed)
        assert max(queue.largest, job.largest) < FRAME_BYTES
        assert max(now - then for now, then in zip(rss(pids), before, strict=True)) < 100 * MEGABYTE
    began = time.monotonic()
    answer = as_role("viewer").get(f"/queues/main/{shop.slug}/?state=waiting")
    assert (answer.status_code, len(answer.content) < 300_000) == (200, True)
    assert time.monotonic() - began < 10, "a second where nothing else runs"


ODD_QUEUE = b"shop \xff\xfe\x80"
ODD_ID = b"job\xff\xfe\x80"
ODD = b"\xff\xfe\x80 \x1b[31mred\x1b[0m \x00 <b>x</b>"


# JD-08, JD-02
def test_bytes_that_are_no_text_arrive_and_lead_to_the_job(
    live: Server, follower: subprocess.Popen[bytes], valkey: redis.Redis
) -> None:
    [shop] = know(ODD_QUEUE)
    ref = JobRef(shop, ODD_ID)
    base = b"bull:" + ODD_QUEUE + b":"
    valkey.hset(base + b"meta", "opts.maxLenEvents", "10000")
    stack = b'["\\ud800 ' + ODD + b'"]'
    fields: dict[str, str | bytes | int] = {
        "name": ODD,
        "data": ODD,
        "opts": "{}",
        "timestamp": now_ms(),
        "failedReason": ODD,
        "stacktrace": stack,
    }
    write_hash(valkey, base + ODD_ID, fields)
    valkey.lpush(base + b"active", ODD_ID)
    queue, job = Watching(live, watch(shop)), Watching(live, watch(shop, ref))
    for each in (queue, job):
        each.until(lambda it: it.pulse == "live")
    valkey.rpush(base + ODD_ID + b":logs", ODD, b'{"s":"\\ud800"}')
    valkey.lrem(base + b"active", 0, ODD_ID)  # type: ignore[arg-type]
    valkey.zadd(base + b"failed", {ODD_ID: 1})
    for kind, field, value in ((b"progress", b"data", b'"\\ud800"'), (b"failed", b"failedReason", ODD)):
        valkey.execute_command("XADD", base + b"events", "*", b"event", kind, b"jobId", ODD_ID, field, value)
    queue.until(lambda it: 'data-kind="failed"' in it.feed)
    job.until(lambda it: 'data-kind="failed"' in it.feed and it.log.count("<li") >= 2)
    for each in (queue, job):
        said = each.feed + each.log
        assert "\x1b" not in said
        assert "<b>x" not in said
        assert "&lt;b&gt;x" in said
        each.close()
    links = set(re.findall(r'href="([^"]+)"', queue.feed))
    assert links
    for link in links:
        assert as_role("viewer").get(html.unescape(link)).status_code == 200, link
    assert "Traceback" not in live.output


# LS-08
def test_queues_of_one_name_under_four_prefixes_are_told_apart(
    live: Server, follower: subprocess.Popen[bytes], valkey: redis.Redis
) -> None:
    prefixes = ("tenant-a", "tenant-b", "app:prod", "{bull}")
    watching = {}
    for prefix in prefixes:
        [ref] = know(b"emails", prefix=prefix.encode())
        valkey.hset(f"{prefix}:emails:meta", "opts.maxLenEvents", "10000")
        watching[prefix] = Watching(live, watch(ref))
    for each in watching.values():
        each.until(lambda it: it.pulse == "live")
    for number, prefix in enumerate(prefixes):
        valkey.zadd(f"{prefix}:emails:failed", {f"{n}": n for n in range(number + 1)})
        for _each in range(number + 1):
            add(valkey, "emails", "failed", "jobId", f"of-{number}", "failedReason", f"why-{number}", prefix=prefix)
    for number, (prefix, each) in enumerate(watching.items()):
        each.until(lambda it: it.feed.count("<li") == number + 1)  # noqa: B023
        each.until(lambda it: f'data-count="{number + 1}"' in it.parts.get("tab-failed", ""))  # noqa: B023
        assert each.feed.count(f"why-{number}") >= number + 1, prefix
        assert not [other for other in range(len(prefixes)) if other != number and f"why-{other}" in each.feed]
        each.close()


# JD-14
def test_a_long_log_is_told_by_its_new_lines_whatever_they_are(
    live: Server, follower: subprocess.Popen[bytes], valkey: redis.Redis
) -> None:
    [shop] = know(b"shop")
    valkey.hset("bull:shop:meta", "opts.maxLenEvents", "10000")
    seed_job(valkey, shop, "a", processedOn=now_ms())
    valkey.lpush("bull:shop:active", "a")
    valkey.rpush("bull:shop:a:logs", *(f"old {number}" for number in range(20_000)))
    with closing(Watching(live, watch(shop, JobRef(shop, b"a")))) as job:
        job.until(lambda it: it.pulse == "live" and "log-total" in it.parts)
        odd = ("two\nlines", "\x1b[31mred\x1b[0m", "<pre>x</pre>", "l" * 200_000)
        for number, line in enumerate(odd):
            valkey.rpush("bull:shop:a:logs", line)
            job.until(lambda it: f'value="{20_001 + number}"' in it.log)  # noqa: B023
        for number in range(50):
            valkey.rpush("bull:shop:a:logs", f"new {number}")
            time.sleep(0.02)
        job.until(lambda it: 'value="20054"' in it.log)
    assert job.log.count("old ") <= 100, "the end of what was there, never the whole"
    assert "\x1b" not in job.log
    assert "&lt;pre&gt;" in job.log
    assert "20,054" in job.parts["log-total"]
    assert job.largest < FRAME_BYTES
