"""What became of a few jobs that were retried at once, told below what came of the action."""

from __future__ import annotations

import pytest
import redis
from django.test import Client

from queues.models import AuditEntry
from queues.registry import SourceConfig
from tests.dashboard.asking import act
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.seed import seed_queue

pytestmark = pytest.mark.django_db

ASK = "/queues/main/mail/jobs/{}/ask/retry/"


@pytest.fixture
def operator(source: SourceConfig, valkey: redis.Redis) -> Client:
    seed_queue(valkey, "mail", failed=2)
    return as_role("operator")


def finish(valkey: redis.Redis, job: str, state: str) -> None:
    """What a worker does with a job that waits, as far as its keys tell where it is."""
    valkey.lrem("bull:mail:wait", 1, job)
    valkey.zadd(f"bull:mail:{state}", {job: 2_000_000_000_000})
    valkey.hset(f"bull:mail:{job}", mapping={"finishedOn": "2000000000000", "atm": "1"})


def test_after_a_retry_the_page_goes_on_telling_what_became_of_the_job(operator: Client, valkey: redis.Redis) -> None:
    answer = act(operator, ASK.format(1))
    (told,) = Page(operator.get(answer.url)).all("data-fates")
    assert told.text.split() == ["Since", "then:", "1", "waits."]
    finish(valkey, "1", "completed")
    (told,) = Page(operator.get(told.attrs["hx-get"])).all("data-fates")
    assert told.text.split() == ["Since", "then:", "1", "completed."]
    assert "hx-get" not in told.attrs


def test_a_job_that_failed_again_is_told_as_such(operator: Client, valkey: redis.Redis) -> None:
    answer = act(operator, ASK.format(2))
    finish(valkey, "2", "failed")
    (told,) = Page(operator.get(answer.url)).all("data-fates")
    assert told.text.split() == ["Since", "then:", "1", "failed", "again."]
    assert "bad" in told.attrs["class"]


def test_a_page_stops_to_ask_after_a_while(operator: Client) -> None:
    entry = act(operator, ASK.format(1)) and AuditEntry.objects.get()
    (told,) = Page(operator.get(f"/audit/{entry.pk}/since/?looks=59")).all("data-fates")
    assert told.attrs["hx-get"].endswith("?looks=60")
    for odd in ("60", "999", "-1", "x", ""):
        (told,) = Page(operator.get(f"/audit/{entry.pk}/since/?looks={odd}")).all("data-fates")
        assert "hx-get" not in told.attrs


def test_of_other_actions_no_fate_is_told(operator: Client) -> None:
    entry = AuditEntry.objects.create(action="remove", source="main", queue="mail", jobs=["1"], status="done")
    assert operator.get(f"/audit/{entry.pk}/since/").status_code == 404
