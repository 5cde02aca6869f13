"""Questions about jobs of flows, schedules and deduplication, written by the real library: what is said before."""

from __future__ import annotations

import pytest
import redis
from django.test import Client

from queues.backends.bullmq.reader import BullMQ
from queues.registry import SourceConfig
from queues.types import Job, JobRef
from tests.dashboard.asking import act, form_of, said
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.node import Node
from tests.valkey import Server

pytestmark = pytest.mark.django_db

FLOW = """
const made = await flow(args.major).add({
  name: "parent", queueName: "orders", opts: { jobId: "p" },
  children: [
    { name: "child", queueName: "mail", opts: { jobId: "c1", delay: 600000 } },
    { name: "child", queueName: "mail", opts: { jobId: "c2", delay: 600000 },
      children: [{ name: "below", queueName: "deep", opts: { jobId: "d1" } }] },
  ],
});
if (args.held) {
  const w = worker(args.major, "deep", () => new Promise(() => {}));
  await until(async () => (await queue(args.major, "deep").getActiveCount()) === 1);
}
"""
STILL = """
await flow(args.major).add({
  name: "parent", queueName: "orders", opts: { jobId: "still" },
  children: [{ name: "child", queueName: "deep", opts: { jobId: "later", delay: 600000 } }],
});
"""
FAILING_CHILD = """
await flow(args.major).add({
  name: "parent", queueName: "orders", opts: { jobId: "p" },
  children: [{ name: "child", queueName: "mail", opts: { jobId: "c1", failParentOnFailure: args.fails } }],
});
const w = worker(args.major, "mail", async () => { throw new Error("no"); });
await until(async () => (await queue(args.major, "mail").getFailedCount()) === 1);
await w.close();
if (args.fails) {
  const p = worker(args.major, "orders", async () => 1);
  await until(async () => (await queue(args.major, "orders").getFailedCount()) === 1);
  await p.close();
}
"""
COMPLETES = """
const w = worker(args.major, "mail", async () => 1);
await until(async () => (await queue(args.major, "mail").getCompletedCount()) === 1);
await w.close();
"""
PARENT_COMPLETES = """
const w = worker(args.major, "orders", async () => 1);
await until(async () => (await queue(args.major, "orders").getCompletedCount()) === 1);
await w.close();
"""
TWIN = """
const q = queue(args.major, "mail");
await q.add("a", {}, { jobId: "a", deduplication: { id: "order-1" } });
const w = worker(args.major, "mail", async () => { throw new Error("no"); });
await until(async () => (await q.getFailedCount()) === 1);
await w.close();
await q.add("b", {}, { jobId: "b", deduplication: { id: "order-1" } });
"""

SCHEDULE = """
return (await queue(args.major, "mail").upsertJobScheduler("nightly", args.repeat, { name: "n" })).id;
"""


@pytest.fixture(params=[5, 6])
def major(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def operator(source: SourceConfig) -> Client:
    return as_role("operator")


def test_removing_a_parent_names_every_job_that_goes_in_other_queues(
    operator: Client, node: Node, valkey: redis.Redis, valkey_server: Server, major: int
) -> None:
    node.run(FLOW, url=valkey_server.url, major=major, held=False)
    answer = operator.get("/queues/main/orders/jobs/p/ask/remove/")
    for words in ("3 jobs hang below it", "in 2 other queues", "mail:c1 · Delayed", "deep:d1 · Waiting"):
        assert words in said(answer)
    assert form_of(answer)["children"] == "on"
    act(operator, "/queues/main/orders/jobs/p/ask/remove/")
    assert not any(valkey.exists(key) for key in ("bull:orders:p", "bull:mail:c1", "bull:mail:c2", "bull:deep:d1"))


def test_a_child_that_a_worker_holds_is_named_and_blocks_the_removal(
    operator: Client, node: Node, valkey: redis.Redis, valkey_server: Server, major: int
) -> None:
    node.run(FLOW, url=valkey_server.url, major=major, held=True)
    asked = said(operator.get("/queues/main/orders/jobs/p/ask/remove/"))
    assert "A worker holds deep:d1" in asked
    answer = act(operator, "/queues/main/orders/jobs/p/ask/remove/")
    assert answer.status_code == 409
    assert all(valkey.exists(key) for key in ("bull:orders:p", "bull:mail:c1", "bull:mail:c2", "bull:deep:d1"))


def _many(valkey: redis.Redis, number: int) -> None:
    """A parent `big` in orders, of children in mail and one in deep."""
    children = [*(f"bull:mail:c{each}" for each in range(number - 1)), "bull:deep:d"]
    pipe = valkey.pipeline()
    pipe.hset("bull:orders:meta", "version", "bullmq:5.0.0")
    for job in ("bull:orders:big", *children):
        pipe.hset(job, mapping={"name": "x", "data": "{}", "opts": "{}", "timestamp": "1700000000000"})
    for child in children:
        prefix, _colon, job = child.rpartition(":")
        pipe.hset(child, "parentKey", "bull:orders:big")
        pipe.zadd(f"{prefix}:delayed", {job: 2**40 * 4096})
    pipe.sadd("bull:orders:big:dependencies", *children)
    pipe.zadd("bull:orders:waiting-children", {"big": 1})
    pipe.execute()


def test_before_a_removal_all_that_hangs_below_is_counted_and_all_that_is_held_is_named(
    operator: Client, valkey: redis.Redis
) -> None:
    _many(valkey, 300)
    held = [f"c{each}" for each in range(280, 287)]
    for job in held:
        valkey.set(f"bull:mail:{job}:lock", "token", px=600_000)
    answer = operator.get("/queues/main/orders/jobs/big/ask/remove/")
    asked = said(answer)
    for words in ("300 jobs hang below it", "in 2 other queues", "and 253 more", "2 more of them are held"):
        assert words in asked
    assert [f"mail:{job} · a worker holds it" in asked for job in held] == [True] * 7
    depths = [node.text.split() for node in Page(answer).all("class") if node.attrs["class"] == "depths"]
    assert [sorted(found) for found in depths] == [["1", "299", "deep", "mail"]]


def test_before_a_removal_of_more_than_can_go_together_some_of_them_are_named(
    operator: Client, valkey: redis.Redis
) -> None:
    _many(valkey, 1_001)
    asked = said(operator.get("/queues/main/orders/jobs/big/ask/remove/"))
    assert "More than 1,000 jobs hang below it; the first of them stand here." in asked
    assert "· Delayed" in asked


def test_what_hangs_below_a_job_is_one_script(
    operator: Client, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    _many(valkey, 40)
    read: list[JobRef] = []
    read_job = BullMQ.job

    def noted(self: BullMQ, ref: JobRef) -> Job:
        read.append(ref)
        return read_job(self, ref)

    monkeypatch.setattr(BullMQ, "job", noted)
    assert "40 jobs hang below it" in said(operator.get("/queues/main/orders/jobs/big/ask/remove/"))
    assert [ref.id for ref in read] == [b"big"]


def test_removing_children_where_none_waits_says_that_there_is_nothing_to_do(
    operator: Client, node: Node, valkey_server: Server, major: int
) -> None:
    node.run('await queue(args.major, "mail").add("x", {}, { jobId: "x" });', url=valkey_server.url, major=major)
    assert "there is nothing to remove" in said(operator.get("/queues/main/mail/jobs/x/ask/remove-children/"))


def test_retrying_a_child_says_what_becomes_of_its_parent(
    operator: Client, node: Node, valkey_server: Server, major: int
) -> None:
    node.run(FAILING_CHILD, url=valkey_server.url, major=major, fails=False)
    asked = said(operator.get("/queues/main/mail/jobs/c1/ask/retry/"))
    assert "Its parent orders:p waits for its children: it goes on once this one is done too." in asked


def test_retrying_a_child_whose_parent_failed_says_that_it_stays_failed(
    operator: Client, node: Node, valkey_server: Server, major: int
) -> None:
    node.run(FAILING_CHILD, url=valkey_server.url, major=major, fails=True)
    answer = operator.get("/queues/main/mail/jobs/c1/ask/retry/")
    assert "Its parent orders:p has failed and stays so" in said(answer)
    assert 'href="/queues/main/orders/jobs/p/"' in answer.content.decode()


def test_ac_06_after_a_child_was_retried_its_failed_parent_is_offered_next(
    operator: Client, node: Node, valkey: redis.Redis, valkey_server: Server, major: int
) -> None:
    node.run(FAILING_CHILD, url=valkey_server.url, major=major, fails=True)
    assert not Page(operator.get("/queues/main/mail/jobs/c1/")).all("data-parent-left")
    answer = act(operator, "/queues/main/mail/jobs/c1/ask/retry/")
    page = Page(operator.get(answer["Location"]))
    assert "Its parent has failed: retry it after this job has completed." in page.all("data-outcome")[0].text
    assert "retry the parent once this job has completed" in page.all("data-parent-left")[0].text
    node.run(COMPLETES, url=valkey_server.url, major=major)
    page = Page(operator.get("/queues/main/mail/jobs/c1/"))
    assert "retry the parent now" in page.all("data-parent-left")[0].text
    (link,) = page.all("data-retry-parent")
    assert act(operator, link.attrs["href"]).status_code == 302
    assert not Page(operator.get("/queues/main/mail/jobs/c1/")).all("data-parent-left")
    node.run(PARENT_COMPLETES, url=valkey_server.url, major=major)
    assert valkey.zscore("bull:orders:completed", "p")


def test_ac_06_a_viewer_sees_the_failed_parent_and_no_button(
    source: SourceConfig, node: Node, valkey_server: Server, major: int
) -> None:
    node.run(FAILING_CHILD, url=valkey_server.url, major=major, fails=True)
    act(as_role("operator"), "/queues/main/mail/jobs/c1/ask/retry/")
    page = Page(as_role("viewer").get("/queues/main/mail/jobs/c1/"))
    assert page.all("data-parent-left")
    assert not page.all("data-retry-parent")


def test_ac_06_a_parent_that_waits_in_vain_says_for_which_children(
    operator: Client, node: Node, valkey: redis.Redis, valkey_server: Server, major: int
) -> None:
    node.run(FAILING_CHILD, url=valkey_server.url, major=major, fails=False)
    said_so = "It waits for 1 children, of which 1 has failed: it does not go on before these are retried or removed."
    parent = "/queues/main/orders/jobs/p/"
    assert said_so in Page(operator.get(parent)).text
    act(operator, "/queues/main/mail/jobs/c1/ask/retry/")
    assert "it does not go on" not in Page(operator.get(parent)).text
    valkey.delete("bull:mail:c1")
    assert "of which 1 is gone" in Page(operator.get(parent)).text


def test_ac_06_parents_that_wait_in_vain_are_found_in_their_list(
    operator: Client, node: Node, valkey_server: Server, major: int
) -> None:
    node.run(FAILING_CHILD, url=valkey_server.url, major=major, fails=False)
    node.run(STILL, url=valkey_server.url, major=major)
    parents = "/queues/main/orders/?state=waiting-children"

    def in_vain() -> list[str]:
        page = Page(operator.get(parents))
        assert sorted(page.rows("data-job")) == ["p", "still"]
        rows = page.all("data-job", tag="tr")
        return [row.attrs["data-job"] for row in rows if any("data-in-vain" in each.attrs for each in row.children)]

    assert in_vain() == ["p"]
    assert "waits in vain: its child has failed or is gone" in Page(operator.get(parents)).text
    act(operator, "/queues/main/mail/jobs/c1/ask/retry/")
    assert in_vain() == []


def test_a_newer_job_with_the_same_deduplication_id_is_named_and_nothing_is_doubled_unasked(
    operator: Client, node: Node, valkey: redis.Redis, valkey_server: Server, major: int
) -> None:
    node.run(TWIN, url=valkey_server.url, major=major)
    ask = "/queues/main/mail/jobs/a/ask/retry/"
    asked = said(operator.get(ask))
    assert "Another job holds the same deduplication id order-1: b (Waiting)." in asked
    answer = act(operator, ask)
    assert answer.status_code in (409, 422)
    assert valkey.zscore("bull:mail:failed", "a")
    page = operator.get("/queues/main/mail/jobs/a/").content.decode()
    assert 'href="/queues/main/mail/ask/release-deduplication/?id=order-1"' in page
    assert act(operator, ask, twins="on").status_code == 302
    assert valkey.zscore("bull:mail:failed", "a") is None


@pytest.fixture(params=[{"pattern": "0 0 1 1 *"}, {"every": 3_600_000}], ids=["delayed", "waiting"])
def armed(request: pytest.FixtureRequest, node: Node, valkey_server: Server, major: int) -> str:
    """The id of the next run of a schedule, delayed or waiting."""
    return str(node.run(SCHEDULE, url=valkey_server.url, major=major, repeat=request.param))


def test_the_next_run_of_a_schedule_of_the_library_is_kept(operator: Client, valkey: redis.Redis, armed: str) -> None:
    ask = f"/queues/main/mail/jobs/{armed}/ask/remove/"
    answer = operator.get(ask)
    if valkey.zscore("bull:mail:delayed", armed):
        assert answer.status_code == 409
        assert "the next run of the schedule nightly" in said(answer)
    else:
        assert act(operator, ask).status_code == 409
    assert valkey.exists(f"bull:mail:{armed}")
