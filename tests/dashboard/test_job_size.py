"""No job, however it was made, makes a page of its own or of its log too large to send."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import pytest
import redis
from django.test import Client

from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.hostile import write_corpus
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.django_db

MOST = 700_000  # bytes of a page
SIZE = 300_000
BODIES = ("data", "failedReason", "returnvalue", "progress", "stacktrace", "opts")


def everywhere(text: str) -> dict[str, str]:
    return dict.fromkeys(BODIES, text)


MONSTERS: Mapping[str, Mapping[str, str]] = {
    "escapes": everywhere("\x1b[" * 130_000),
    "controls": everywhere("\x00" * SIZE) | {"stacktrace": json.dumps(["\x01" * SIZE] * 50)},
    "bidi": everywhere("\u202e" * SIZE) | {"stacktrace": json.dumps(["\u202e" * 60_000] * 10)},
    "quotes": everywhere('"' * SIZE) | {f"field {n}": "'" * 3000 for n in range(300)},
    "names": {"'" * 3000 + str(n): '"' * 3000 for n in range(300)},
    "markup": everywhere(json.dumps("<&>'" * 70_000)),
    "objects": everywhere('{"a":' * 60_000),
    "arrays": everywhere("[" * 5_000_000),
    "numbers": everywhere("[" + "1," * 30_000 + "1]"),
    "secrets": everywhere("{" + '"token":"a",' * 5000 + '"b":1}'),
    "short secrets": everywhere("pin=1 " * 40_000),
    "lines": {"stacktrace": json.dumps(["    at f\n" * 8000] * 60), "failedReason": "\n" * SIZE},
    "large": everywhere(json.dumps({"a": "x" * 8_000_000})),
}


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    return seed_queue(valkey, "mail")


@pytest.mark.parametrize("fields", MONSTERS.values(), ids=MONSTERS.keys())
def test_no_body_makes_the_page_of_a_job_too_large(
    viewer: Client, mail: QueueRef, valkey: redis.Redis, fields: Mapping[str, str]
) -> None:
    seed_job(valkey, mail, "7", **fields)
    valkey.rpush("bull:mail:7:logs", *([fields.get("data", "x")[:20_000]] * 100))
    valkey.zadd("bull:mail:failed", {"7": 1})
    begun = time.process_time()
    response = viewer.get("/queues/main/mail/jobs/7/")
    assert response.status_code == 200
    assert len(response.content) < MOST
    assert time.process_time() - begun < 20
    logs = viewer.get("/queues/main/mail/jobs/7/logs/")
    assert len(logs.content) < MOST
    assert "cut: " in Page(response).text


def test_no_job_of_the_hostile_corpus_makes_its_page_too_large(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    corpus = write_corpus(valkey)
    sizes = {}
    for label, ref in corpus.jobs.items():
        address = f"/queues/main/{ref.queue.slug}/jobs/{ref.slug}/"
        sizes[label] = max(len(viewer.get(path).content) for path in (address, f"{address}logs/"))
    assert {label: size for label, size in sizes.items() if size > MOST} == {}


def test_many_children_with_long_keys_leave_the_page_small(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    seed_job(valkey, mail, "7")
    valkey.zadd("bull:mail:waiting-children", {"7": 1})
    for suffix in ("dependencies", "unsuccessful"):
        keys = [f"bull:{suffix}{'x' * 3000}:{number}" for number in range(100)]
        if suffix == "dependencies":
            valkey.sadd("bull:mail:7:dependencies", *keys)
        else:
            valkey.zadd("bull:mail:7:unsuccessful", dict.fromkeys(keys, 1))
    response = viewer.get("/queues/main/mail/jobs/7/")
    assert len(response.content) < 200_000
    assert "the first " in Page(response).text


def test_short_log_lines_stay_whole_beside_long_ones(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    seed_job(valkey, mail, "7")
    valkey.zadd("bull:mail:failed", {"7": 1})
    valkey.rpush("bull:mail:7:logs", *(["\x00" * 16_000] * 99), "the last one, password=hunter2 and all of it")
    page = Page(viewer.get("/queues/main/mail/jobs/7/"))
    lines = [" ".join(node.text.split()) for node in page.all("value", tag="li")]
    assert lines[-1].endswith("the last one, password=•••••••• and all of it")
    assert "cut: 15.6 KB in all" in lines[0]


def test_secrets_in_names_of_fields_keys_and_parents_are_masked(
    viewer: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    key = "password=hunter2"
    seed_job(valkey, mail, "7", data=json.dumps({key: {key: 1}}), parentKey=f"bull:{key}:1", **{key: key})
    valkey.zadd("bull:mail:failed", {"7": 1})
    valkey.sadd("bull:mail:7:dependencies", f"bull:q:{key}", key)
    assert "hunter2" not in viewer.get("/queues/main/mail/jobs/7/").content.decode()


def test_the_key_of_a_queue_that_is_named_after_a_secret_stays_whole(
    viewer: Client, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_job(valkey, seed_queue(valkey, "password-reset"), "token:x:7")
    assert "bull:password-reset:token:x:7," in Page(viewer.get("/queues/main/password-reset/jobs/token:x:7/")).text
