"""What a row says of a job's stay in its state is what the server has, to the byte."""

from __future__ import annotations

import pytest
import redis

from queues.registry import SourceConfig, backend
from queues.types import JobRef, Order, QueueRef, State
from tests.seed import seed_queue

SETS = {
    State.PRIORITIZED: "prioritized",
    State.DELAYED: "delayed",
    State.WAITING_CHILDREN: "waiting-children",
    State.COMPLETED: "completed",
    State.FAILED: "failed",
}


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    return seed_queue(
        valkey, "mail", waiting=2, prioritized=2, active=2, delayed=2, waiting_children=2, completed=2, failed=2
    )


@pytest.mark.parametrize("state", list(State))
def test_a_row_and_the_page_of_a_job_tell_the_same_stay_as_a_script_sees_it(
    mail: QueueRef, valkey: redis.Redis, state: State
) -> None:
    reader = backend("main")
    row = reader.jobs(mail, (state,), size=20, order=Order.NEWEST, cursor="", name="").rows[0]
    stored = (
        valkey.eval("return redis.call('ZSCORE', KEYS[1], ARGV[1])", 1, f"bull:mail:{SETS[state]}", row.ref.id)
        if state in SETS
        else valkey.hget(f"bull:mail:{row.ref.label}", "timestamp")
    )
    assert row.seen == stored != b""
    assert reader.job(JobRef(mail, row.ref.id)).row.seen == row.seen
