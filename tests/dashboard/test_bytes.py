"""Jobs whose id, name, data and log are raw bytes: opened, retried, removed, restored and copied through the pages."""

from __future__ import annotations

import pytest
import redis
from django.test import Client

from queues.models import AuditEntry, RemovedJob
from queues.names import encode_part
from queues.registry import SourceConfig
from queues.types import JobRef, QueueRef
from tests.dashboard.asking import act, form_of
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.seed import seed_job, write_hash

pytestmark = pytest.mark.django_db

RAW = b"\xff\xfe\x80"
MAIL = QueueRef("main", b"bull", b"mail" + RAW)
BASE = b"bull:mail" + RAW + b":"
QUEUE = f"/queues/main/{MAIL.slug}/"
JOB = f"{QUEUE}jobs/{encode_part(RAW, colon=True)}/"
DATA = b'{"s":"' + RAW + b'","n":' + b"9" * 5_000 + b',"x":1e400}'


@pytest.fixture
def operator(source: SourceConfig, valkey: redis.Redis) -> Client:
    """An operator; there is one failed job of raw bytes in a queue of such."""
    write_hash(valkey, BASE + b"meta", {"version": "bullmq:5.81.5", "opts.maxLenEvents": 10_000})
    fields = {"name": b"n" + RAW, "data": DATA, "failedReason": RAW, "stacktrace": b'["' + RAW + b'"]'}
    seed_job(valkey, MAIL, RAW, **fields)
    valkey.zadd(BASE + b"failed", {RAW: 1_790_000_000_000})
    valkey.rpush(BASE + RAW + b":logs", RAW + b"\x1b[31mred")
    return as_role("operator")


def the_waiting_one(valkey: redis.Redis) -> bytes:
    [found] = valkey.lrange(BASE + b"wait", 0, -1)
    assert isinstance(found, bytes)
    return found


def test_jd_08_a_job_of_raw_bytes_is_opened_and_retried_by_its_exact_id(operator: Client, valkey: redis.Redis) -> None:
    for address in (QUEUE + "?state=failed", JOB, JOB + "logs/", JOB + "ask/retry/"):
        assert operator.get(address).status_code == 200
    answer = act(operator, JOB + "ask/retry/")
    assert answer.status_code == 302
    assert operator.get(answer["Location"]).status_code == 200
    assert valkey.lrange(BASE + b"wait", 0, -1) == [RAW]
    assert valkey.hget(BASE + RAW, "data") == DATA
    assert AuditEntry.objects.get().jobs == [JobRef(MAIL, RAW).slug]


def test_jd_08_it_is_removed_and_restored_with_every_byte_of_its_data(operator: Client, valkey: redis.Redis) -> None:
    assert act(operator, JOB + "ask/remove/").status_code == 302
    assert not list(valkey.scan_iter(BASE + RAW + b"*"))
    copy = RemovedJob.objects.get()
    page = Page(operator.get(f"/removed/?source=main&queue={MAIL.slug}"))
    assert page.all("data-removed", str(copy.pk))
    answer = operator.post(f"/removed/{copy.pk}/restore/", {"key": "k"})
    assert answer.status_code == 302
    made = the_waiting_one(valkey)
    assert valkey.hmget(BASE + made, "name", "data") == [b"n" + RAW, DATA]
    assert operator.get(answer["Location"]).status_code == 200


def test_jd_08_it_is_copied_as_it_is_and_not_edited(operator: Client, valkey: redis.Redis) -> None:
    assert operator.get(JOB + "ask/edit/").status_code == 409
    assert act(operator, JOB + "ask/duplicate/").status_code == 302
    made = the_waiting_one(valkey)
    assert valkey.hget(BASE + made, "data") == DATA


def test_jd_08_it_is_picked_from_a_list_and_retried_with_others(operator: Client, valkey: redis.Redis) -> None:
    boxes = [node.attrs["value"] for node in Page(operator.get(QUEUE + "?state=failed")).all("name", "job")]
    assert len(boxes) == 1
    picked = {"job": boxes, "state": "failed", "until": "1790000000001"}
    fields = form_of(operator.post(QUEUE + "bulk/ask/retry/", picked)) | {"job": boxes}
    assert operator.post(QUEUE + "bulk/act/retry/", fields).status_code == 302
    assert valkey.lrange(BASE + b"wait", 0, -1) == [RAW]


def test_jd_07_a_job_whose_data_is_no_json_is_neither_retried_nor_restored_and_says_why(
    operator: Client, valkey: redis.Redis
) -> None:
    valkey.hset(BASE + RAW, "data", "{not json")
    answer = act(operator, JOB + "ask/retry/")
    assert answer.status_code == 409
    assert "Its data is damaged" in Page(answer).text
    assert valkey.zscore(BASE + b"failed", RAW)
    act(operator, JOB + "ask/remove/")
    answer = operator.post(f"/removed/{RemovedJob.objects.get().pk}/restore/", {"key": "k"})
    assert answer.status_code == 422
    assert "The data is not JSON." in Page(answer).text
    assert RemovedJob.objects.get().restored_at is None
