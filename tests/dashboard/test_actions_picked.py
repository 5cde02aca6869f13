"""Selections that hold what cannot be done, through the pages: counted, named, and never half done (AC-01, AC-09)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import redis
from django.test import Client

from queues.models import AuditEntry
from queues.registry import SourceConfig
from tests.dashboard.asking import form_of, said
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.node import Node
from tests.seed import seed_queue
from tests.valkey import Server

pytestmark = pytest.mark.django_db

QUEUE = "/queues/main/mail/"
SCHEDULES = """
const q = queue(args.major, "mail");
await q.upsertJobScheduler("s1", { pattern: "0 0 1 1 *" }, { name: "n" });
await q.upsertJobScheduler("s2", { pattern: "0 0 1 2 *" }, { name: "n" });
for (const id of ["a", "b", "c"]) await q.add("x", {}, { jobId: id, delay: 600000 });
return (await q.getDelayed()).map((job) => job.id);
"""


@pytest.fixture
def operator(source: SourceConfig) -> Client:
    return as_role("operator")


def boxes(client: Client, state: str, size: int = 200) -> list[str]:
    page = Page(client.get(f"{QUEUE}?state={state}&size={size}"))
    return [node.attrs["value"] for node in page.all("name", "job")]


def act_on(client: Client, action: str, state: str, picked: Sequence[str]) -> Any:
    """Ask about a selection and confirm it, as the pages would."""
    sent = {"job": list(picked), "state": state, "until": "1790000000000"}
    asked = client.post(f"{QUEUE}bulk/ask/{action}/", sent)
    assert asked.status_code == 200, said(asked)
    return client.post(f"{QUEUE}bulk/act/{action}/", form_of(asked) | {"job": list(picked)})


def outcome(client: Client, answer: Any) -> str:
    return " ".join(Page(client.get(answer["Location"])).all("data-outcome")[0].text.split())


def test_ac_01_jobs_without_data_are_named_and_never_put_back_and_a_second_press_does_nothing(
    operator: Client, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", failed=150)
    picked = boxes(operator, "failed")
    assert len(picked) == 150
    valkey.delete("bull:mail:2", "bull:mail:77")
    answer = act_on(operator, "retry", "failed", picked)
    assert "Retried 148 of 150; 2 were gone" in outcome(operator, answer)
    entry = AuditEntry.objects.get()
    rows = Page(operator.get(f"/audit/{entry.pk}/")).rows("data-job")
    assert sorted(rows) == ["2", "77"]
    waiting = valkey.lrange("bull:mail:wait", 0, -1)
    assert len(waiting) == 148
    assert not {b"2", b"77"} & set(waiting)
    again = act_on(operator, "retry", "failed", picked)
    assert "Retried none of 150" in outcome(operator, again)
    assert valkey.llen("bull:mail:wait") == 148


@pytest.mark.parametrize("major", [5, 6])
def test_ac_09_a_selection_goes_without_the_next_runs_of_schedules_which_are_counted(
    operator: Client, node: Node, valkey: redis.Redis, valkey_server: Server, major: int
) -> None:
    ids = node.run(SCHEDULES, url=valkey_server.url, major=major)
    assert isinstance(ids, list)
    armed = sorted(str(job) for job in ids if str(job).startswith("repeat:"))
    assert len(armed) == 2
    answer = act_on(operator, "remove", "delayed", boxes(operator, "delayed"))
    assert "Removed 3 of 5; 2 are schedulers’ next runs and were kept" in outcome(operator, answer)
    assert set(valkey.zrange("bull:mail:delayed", 0, -1)) == {job.encode() for job in armed}
    assert valkey.zcard("bull:mail:repeat") == 2
    asked = operator.get(f"{QUEUE}jobs/{armed[0]}/ask/remove/")
    assert asked.status_code == 409
    assert "It is the next run of the schedule s" in said(asked)


def test_ac_02_one_with_a_priority_goes_back_by_it_and_the_question_says_so(
    operator: Client, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", failed=3)
    valkey.hset("bull:mail:1", mapping={"priority": "9", "opts": '{"attempts":1,"priority":9}'})
    sent = {"job": boxes(operator, "failed"), "state": "failed", "until": "1790000000000"}
    assert "with its priority" in said(operator.post(f"{QUEUE}bulk/ask/retry/", sent))
    act_on(operator, "retry", "failed", sent["job"])
    assert valkey.zrange("bull:mail:prioritized", 0, -1) == [b"1"]
    assert sorted(valkey.lrange("bull:mail:wait", 0, -1)) == [b"2", b"3"]
