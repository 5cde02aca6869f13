"""Trials from reports on other dashboards, on the pages of failures: hostile jobs, twins of a name, acting on many."""

# mypy: allow-untyped-calls

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import redis
from django.test import Client

from queues import discovery
from queues.failures import letters
from queues.models import AuditEntry, Failure, FailureGroup, Letter
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.dashboard.pages import Page
from tests.dashboard.people import person, signed_in
from tests.hostile import BYTES, MARKUP, write_corpus
from tests.queues.acting import to_its_end
from tests.queues.following import know
from tests.queues.indexing import fail, in_index, indexer, key, on_server, settle, sums_agree
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.django_db

RUNS = ("<script>window", "<img src=x", "<b>x</b>")


@pytest.fixture
def admin(source: SourceConfig) -> Client:
    letters.forget()
    return signed_in(person("admin", name="ada"))


def _pages(client: Client) -> Mapping[str, str]:
    """All that the pages of failures say, by address, with a sound answer from each."""
    found = {}
    plain = ["/failures/", "/failures/?sort=last", "/failures/letters/"]
    plain += ["/failures/export.csv", "/failures/export.jsonl"]
    for slug in FailureGroup.objects.values_list("slug", flat=True):
        plain += [f"/failures/{slug}/", *(f"/failures/{slug}/jobs{end}" for end in ("/", ".csv", ".jsonl"))]
    for path in plain:
        answer = client.get(path)
        assert answer.status_code == 200, path
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
        found[path] = body.decode()
    return found


def test_a_whole_corpus_of_hostile_jobs_is_indexed_and_each_costs_its_own_cell_only(
    admin: Client, valkey: redis.Redis
) -> None:
    """JD-02, JD-04, JD-05, JD-07, JD-08, JD-09: titles, stacks, payloads, workers, job names, queues, and files."""
    corpus = write_corpus(valkey)
    refs = [corpus.queue, *corpus.queues, corpus.wrong_types]
    for ref in refs:
        discovery.pin("main", ref.slug)
    one = indexer()
    settle(one)
    one.close()
    readable = {job for job in on_server(valkey, corpus.queue) if valkey.type(key(corpus.queue, "") + job) == b"hash"}
    assert readable <= in_index(corpus.queue).keys()
    assert sums_agree()
    for path, text in _pages(admin).items():
        if path.endswith((".csv", ".jsonl")):
            text.encode()
        else:
            assert not any(each in text for each in RUNS), path
            assert len(text) < 600_000, path


def test_files_of_hostile_failures_parse_and_run_nowhere(admin: Client, valkey: redis.Redis) -> None:
    queue = seed_queue(valkey, "shop")
    discovery.pin("main", "shop")
    names = ["=1+1", "@SUM(A1)", "-2", '"', "a,b\nc", MARKUP, "\x1b[31m"]
    for number, name in enumerate(names):
        fail(valkey, queue, f"n{number}", reason=name or " ", name=name, pb=name)
    one = indexer()
    settle(one)
    one.close()
    for path, text in _pages(admin).items():
        if path.endswith(".csv"):
            for row in csv.reader(io.StringIO(text.lstrip("\ufeff"))):
                assert not any(cell[:1] in tuple("=@+\t\r") for cell in row), (path, row)
        elif path.endswith(".jsonl"):
            for line in text.splitlines():
                json.loads(line, parse_constant=pytest.fail)


@pytest.mark.parametrize(
    "data",
    [
        json.dumps({"payload": {MARKUP: MARKUP}, "error": {"message": MARKUP, "name": "X<b>", "stack": MARKUP},
                    "queue": MARKUP, "jobId": MARKUP, "jobName": MARKUP, "failedAt": MARKUP}).encode(),
        b'{"error": "' + BYTES + b'", "jobId": "' + BYTES + b'"}', b'{"error": "a\\ud800b", "queue": "\\ud800"}',
        b'{"a":' * 3000 + b"1" + b"}" * 3000,
        b"[" * 100_000, b'{"error": NaN}', b'{"attempts": ' + b"9" * 5000 + b"}", b"", b"null",
        json.dumps({"error": {"message": "e" * 500_000, "stack": "s" * 500_000}}).encode(),
    ],
    ids=["markup", "bytes", "surrogate", "deep", "abyss", "nan", "digits", "empty", "null", "large"],
)  # fmt: skip
def test_a_hostile_letter_is_a_failure_like_others(admin: Client, valkey: redis.Redis, data: bytes) -> None:
    """JD-02 to JD-09 in a letter; a sound one beside it is read all the same."""
    for name in ("shop", "shop-dlq"):
        seed_queue(valkey, name)
        discovery.pin("main", name)
    dead = QueueRef("main", b"bull", b"shop-dlq")
    sound = {"error": "card declined", "queue": "shop", "jobId": "7"}
    for job, body in ((b"odd", data), (b"sound", json.dumps(sound).encode())):
        seed_job(valkey, dead, job, name="dead", data=body, timestamp=now_ms())
        valkey.lpush(key(dead, "wait"), job)
    one = indexer()
    settle(one)
    one.close()
    assert set(Letter.objects.values_list("job", flat=True)) == {"odd", "sound"}
    assert Failure.objects.filter(queue__slug="shop", job="7").exists()
    said = {**_pages(admin), "letters": admin.get("/failures/letters/main/shop-dlq/").content.decode()}
    for path, text in said.items():
        if not path.endswith((".csv", ".jsonl")):
            assert not any(each in text for each in RUNS), path
            assert len(text) < 300_000, path


def test_twins_of_a_name_keep_their_jobs_apart_and_an_action_touches_one(admin: Client, valkey: redis.Redis) -> None:
    """LS-08: one queue name below four prefixes, one cause, the same job ids."""
    refs = [QueueRef("main", prefix, b"emails") for prefix in (b"tenant-a", b"tenant-b", b"app:prod", b"{bull}")]
    for ref in refs:
        valkey.hset(key(ref, "meta"), "opts.maxLenEvents", 10_000)
        discovery.pin("main", ref.slug)
        fail(valkey, ref, 1, 2, reason="card declined")
    one = indexer()
    settle(one)
    one.close()
    group = FailureGroup.objects.get()
    assert group.total == 8
    for ref in refs:
        page = Page(admin.get(f"/failures/{group.slug}/jobs/", {"queue": ref.slug}))
        assert len(page.rows("data-job")) == 2, ref
    sent = _picks(admin, group, refs[1], most=1)
    assert admin.post(_act(refs[1]), sent | {"key": "k", "attempts": "keep"}).status_code == 302
    assert [valkey.zcard(key(ref, "failed")) for ref in refs] == [2, 1, 2, 2]


def test_a_retry_of_a_group_keeps_priority_skips_what_is_gone_and_does_nothing_twice(
    admin: Client, valkey: redis.Redis
) -> None:
    """AC-01, AC-02, AC-04: orphans, priorities, the same request five times, and what was retried meanwhile."""
    queue = seed_queue(valkey, "shop")
    discovery.pin("main", "shop")
    fail(valkey, queue, *range(300), reason="card declined")
    for job in (9, 10):
        valkey.hset(key(queue, job), mapping={"priority": "9", "opts": '{"priority":9}'})
    one = indexer()
    settle(one)
    one.close()
    group = FailureGroup.objects.get()
    sent = _picks(admin, group, queue, most=0) | {"all": "1"}
    valkey.delete(key(queue, 2), key(queue, 150))
    valkey.zrem(key(queue, "failed"), "5")
    valkey.lpush(key(queue, "wait"), "5")
    for _again in range(5):
        admin.post(_act(queue), sent | {"key": "k", "attempts": "keep"})
    entry = to_its_end(AuditEntry.objects.get(action="retry"))
    assert entry.outcomes["done"] == 297
    waiting: list[bytes] = valkey.lrange(key(queue, "wait"), 0, -1)  # type: ignore[assignment]
    prioritized: list[bytes] = valkey.zrange(key(queue, "prioritized"), 0, -1)  # type: ignore[assignment]
    assert sorted(prioritized) == [b"10", b"9"]
    assert len(waiting) == len(set(waiting)) == 296
    assert not {b"2", b"150"} & set(waiting)


def test_what_was_retried_and_failed_again_is_two_failures_of_one_group_and_one_that_can_be_retried(
    admin: Client, valkey: redis.Redis
) -> None:
    """MT-05, AC-04: a second failure of a job is told apart by its moment; the first is not acted on any more."""
    queue = seed_queue(valkey, "shop")
    discovery.pin("main", "shop")
    fail(valkey, queue, 1, reason="card declined", at=now_ms() - 5_000)
    one = indexer()
    settle(one)
    group = FailureGroup.objects.get()
    old = _picks(admin, group, queue, most=1)
    valkey.zrem(key(queue, "failed"), "1")
    settle(one)
    fail(valkey, queue, 1, reason="card declined")
    settle(one)
    one.close()
    group.refresh_from_db()
    assert group.total == 2
    assert sorted(Failure.objects.values_list("present", flat=True)) == [False, True]
    admin.post(_act(queue), old | {"key": "k", "attempts": "keep"})
    assert valkey.zcard(key(queue, "failed")) == 1, "what is there failed later than what was picked"


@pytest.mark.parametrize("where", ["wait", "paused", "delayed", "prioritized"])
def test_letters_are_read_wherever_in_their_queue_they_lie(admin: Client, valkey: redis.Redis, where: str) -> None:
    """LS-03: a legacy paused list holds letters like any other place; the page of the letter's job stands."""
    _shop, dead = know(b"shop", b"shop-dlq")
    data = json.dumps({"error": "card declined", "queue": "shop", "jobId": "7"})
    seed_job(valkey, dead, "L1", name="dead", data=data, timestamp=now_ms())
    put: Callable[..., Any] = valkey.lpush if where in {"wait", "paused"} else _scored(valkey)
    put(key(dead, where), "L1")
    one = indexer()
    settle(one)
    one.close()
    assert list(Failure.objects.filter(queue__slug="shop").values_list("job", "present")) == [("7", True)]
    assert admin.get("/queues/main/shop-dlq/jobs/L1/").status_code == 200


def _scored(valkey: redis.Redis) -> Callable[[bytes, str], object]:
    return lambda name, job: valkey.zadd(name, {job: now_ms()})


def _act(queue: QueueRef) -> str:
    return f"/queues/main/{queue.slug}/bulk/act/retry/"


def _picks(client: Client, group: FailureGroup, queue: QueueRef, *, most: int) -> dict[str, Any]:
    """What the form would send if its first rows were ticked."""
    page = Page(client.get(f"/failures/{group.slug}/jobs/", {"queue": queue.slug}))
    (form,) = page.all("id", "bulk", tag="form")
    fields = {node.attrs["name"]: node.attrs["value"] for node in form.children if node.attrs.get("type") == "hidden"}
    boxes = [node.attrs["value"] for node in form.children if node.attrs.get("name") == "job"]
    return fields | {"job": boxes[:most]}
