"""Plans from their start to their end: what is sent, in which order, and what is written down."""

from __future__ import annotations

import pytest
import redis

from queues.models import ReplaySpan
from queues.replay.types import Phase, Place
from tests.queues.runs import a_plan_of, line, ran, told, until, work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks", "no_index")]


def test_a_plan_goes_from_its_start_to_its_end_and_tells(valkey: redis.Redis) -> None:
    ids = [f"j{number}" for number in range(1_500)]
    plan = a_plan_of(valkey, ids)
    until(plan, Phase.DONE, between=lambda: work(valkey, bad={"j7"}))
    assert ran(valkey) == ids
    assert (plan.sent, plan.completed, plan.failed, plan.other, plan.to_send) == (1_500, 1_499, 1, 0, 0)
    assert told(plan) == ["started", "all-sent", "done"]
    assert line(plan, "started") == {"number": 1_500}
    assert not plan.jobs.exclude(place=Place.SENT).exists()
    assert sum(span.sent for span in ReplaySpan.objects.filter(replay=plan)) == 1_500
    assert not list(valkey.scan_iter("*mirante*"))
