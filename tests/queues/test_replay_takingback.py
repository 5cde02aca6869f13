"""Taking back what was sent and not begun, on a real server, with kills between any two writings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import redis

from queues.backends.bullmq.actions import BullMQActions
from queues.errors import Unsure
from queues.models import Replay
from queues.replay import takingback
from queues.replay.takingback import take_back
from queues.replay.terms import Originals
from queues.replay.types import TAKING_BACK, Acts, Phase, Place
from queues.replay.watching import Watching
from queues.sendings import Fate
from queues.types import QueueRef
from tests.node import Node
from tests.queues import sent, streams
from tests.queues.moving import everywhere, places, put
from tests.queues.replaying import QUIET, FakeHands, Killed, hands
from tests.queues.sent import dispatch, fates, send, send_copies
from tests.valkey import Server

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source")]

OTHER = QueueRef("main", b"bull", b"other")
COPIED = replace(QUIET, acts_copy=True, originals=Originals.WHEN_DONE)


def test_what_no_worker_has_begun_goes_back_to_where_it_failed(valkey: redis.Redis) -> None:
    plan = cancelling(valkey, ["a", "b", "c"])
    run = hands(plan)
    send(run)
    begun(valkey, "b")
    to_the_end(run)
    assert places(valkey) == {"failed": [b"a", b"c"], "active": [b"b"]}
    assert [row.place for row in plan.jobs.order_by("job")] == [Place.BACK, Place.SENT, Place.BACK]
    found = Replay.objects.get(pk=plan.pk)
    assert (found.sent, found.back) == (1, 2)
    Watching(hands(plan)).step()
    found = Replay.objects.get(pk=plan.pk)
    assert (found.failed, found.other, found.running) == (0, 0, 1)
    assert valkey.zscore("bull:shop:failed", "a") == 1700000000001
    other = hands(sent.a_running_plan(["a"], valkey))
    assert [row.job for row in dispatch(other)] == ["a"]  # another plan may send it


@pytest.mark.parametrize("opts", [b"{}", b'{"priority": 4}', b'{"delay": 600000}'])
def test_copies_that_wait_are_removed_where_their_originals_are_still_there(opts: bytes, valkey: redis.Redis) -> None:
    plan = cancelling(valkey, ["a", "b"], terms=COPIED)
    run = hands(plan)
    send_copies(run, OTHER, opts=opts)
    to_the_end(run)
    assert (everywhere(valkey, "other"), places(valkey)) == ([], {"failed": [b"a", b"b"]})
    assert run.replay.back == 2
    assert valkey.keys("bull:*:mirante:*") == []
    Watching(hands(plan)).step()
    assert set(fates(plan).values()) == {Fate.NONE}


def test_copies_whose_originals_are_gone_stay_and_run(valkey: redis.Redis) -> None:
    plan = cancelling(valkey, ["a", "b"], terms=replace(COPIED, originals=Originals.WHEN_SENT))
    run = hands(plan)
    send_copies(run, OTHER)
    plan.jobs.filter(job="a").update(original="removed")
    to_the_end(run)
    assert len(everywhere(valkey, "other")) == 2
    assert (run.replay.sent, run.replay.back) == (2, 0)


@pytest.mark.parametrize("acts", list(Acts))
@pytest.mark.parametrize("killed_at", range(6))
def test_a_kill_at_any_moment_of_taking_back_is_made_good(
    killed_at: int, acts: Acts, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takingback, "BATCH", 2)
    jobs = [f"j{number}" for number in range(5)]
    copied = acts is Acts.COPY
    plan = cancelling(valkey, jobs, terms=COPIED if copied else QUIET)
    if copied:
        send_copies(hands(plan), OTHER)
    else:
        send(hands(plan))
    has_completed(valkey, plan, "j3")
    with pytest.raises(Killed):
        to_the_end(hands(plan, killed_at=killed_at))
    if killed_at % 3:
        Watching(hands(plan)).step()
    to_the_end(hands(plan))
    Watching(hands(plan)).step()
    found = Replay.objects.get(pk=plan.pk)
    assert (found.sent, found.back, found.completed, found.failed, found.other) == (1, 4, 1, 0, 0)
    left = [job.encode() for job in jobs if job != "j3"]
    assert places(valkey) == {"failed": left}
    assert everywhere(valkey, "other") == []


def test_an_answer_that_was_lost_is_asked_for_again(valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = cancelling(valkey, ["a", "b"])
    send(hands(plan))
    true = BullMQActions.take_back
    lost: list[object] = []

    def loses(*given: Any) -> Any:
        told = true(*given)
        if not lost:
            lost.append(told)
            raise Unsure("The answer was lost.", source="main")
        return told

    monkeypatch.setattr(BullMQActions, "take_back", loses)
    run = hands(plan)
    with pytest.raises(Unsure):
        take_back(run)
    to_the_end(run)
    assert (run.replay.back, places(valkey)) == (2, {"failed": [b"a", b"b"]})


def test_a_plan_that_does_not_take_back_is_left_alone(valkey: redis.Redis) -> None:
    plan = cancelling(valkey, ["a"], step="")
    run = hands(plan)
    send(run)
    assert take_back(run)
    assert (places(valkey), run.saved[1:]) == ({"wait": [b"a"]}, [])


@pytest.mark.node
@pytest.mark.parametrize("major", [5, 6])
def test_real_workers_and_taking_back_leave_each_job_in_one_place(
    major: int, node: Node, valkey_server: Server, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takingback, "BATCH", 7)
    jobs: list[sent.Made] = [(f"j{number:02}", "good", {}) for number in range(60)]
    plan = sent.failed(node, valkey_server, valkey, jobs, major, phase=Phase.CANCELLING, step=TAKING_BACK)
    send(hands(plan))
    node.run(
        "worker(args.major, 'shop', async () => { await sleep(5); }, { concurrency: 2 })",
        url=valkey_server.url,
        major=major,
    )
    to_the_end(hands(plan))
    sent.work(node, valkey_server, major)
    Watching(hands(plan)).step()
    found = Replay.objects.get(pk=plan.pk)
    back = [row.job.encode() for row in plan.jobs.filter(place=Place.BACK).order_by("job")]
    assert (found.completed, found.back, found.sent, found.other) == (60 - len(back), len(back), 60 - len(back), 0)
    assert sorted(places(valkey).get("failed", [])) == back
    assert len(everywhere(valkey)) == 60


def cancelling(valkey: redis.Redis, jobs: list[str], **values: Any) -> Replay:
    """A plan of failed jobs that is being cancelled, and is to take back what it can."""
    for job in jobs:
        put(valkey, job, "failed", failedReason="no", finishedOn="1700000000001")
    return sent.a_running_plan(jobs, valkey, **{"phase": Phase.CANCELLING, "step": TAKING_BACK, **values})


def begun(valkey: redis.Redis, job: str) -> None:
    """A worker has taken it."""
    valkey.lrem("bull:shop:wait", 0, job)
    valkey.lpush("bull:shop:active", job)
    valkey.hset(f"bull:shop:{job}", "processedOn", "1700000000002")
    valkey.set(f"bull:shop:{job}:lock", "token")


def has_completed(valkey: redis.Redis, plan: Replay, job: str) -> None:
    """A worker has completed what was sent for it, and nothing is left of that but an event."""
    made = plan.jobs.get(job=job).made
    name, here = ("other", made) if made else ("shop", job)
    valkey.lrem(f"bull:{name}:wait", 0, here)
    valkey.delete(f"bull:{name}:{here}")
    streams.write(valkey, "event", "completed", "jobId", here, "prev", "active", key=f"bull:{name}:events".encode())


def to_the_end(run: FakeHands) -> None:
    for _time in range(50):
        if take_back(run):
            return
    raise AssertionError("it does not end")
