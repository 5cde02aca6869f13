"""How fast a plan sends: never more than its pace in any second, and hardly less in the mean."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace

import pytest
import redis

from queues.replay import steering
from queues.replay.pacing import SLOWER, Pacer, curve, duration_s, pace_at
from queues.replay.run import facts
from queues.replay.run.clock import Clock
from queues.replay.terms import Terms
from queues.replay.types import Phase
from tests.queues.replaying import OLGA, QUIET
from tests.queues.runs import a_plan_of, a_slice, line, started, told, until, work

MINUTE_MS = 60_000.0


@dataclass
class Sender:
    """Sends to a server that answers late, is held up now and then, and is followed by another worker all the time."""

    chance: random.Random
    latency_ms: float = 3.0
    now: float = 1_000_000.0
    sent: list[tuple[float, int]] = field(default_factory=list)
    pacer: Pacer = field(default_factory=Pacer)
    changes: float = 0.01  # of a worker, a tick
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = self.read_clock()

    def read_clock(self) -> Clock:
        """As a worker knows the server's clock: its answers take their time."""
        late = self.chance.random() ** 4 * 300
        told = int(self.now)
        self.now += late
        return Clock(told - self.now, told + 1 - (self.now - late), lambda: self.now / 1000)

    def run(self, pace: float, jitter: int, ms: float, *, until: int = 10**9) -> None:
        end = self.now + ms
        while self.now < end and sum(number for _at, number in self.sent) < until:
            if number := self.pacer.due(pace, jitter, self.clock.now_ms):
                at = self.now + self.chance.random() * self.latency_ms
                self.sent.append((at, number))
                self.now += self.latency_ms
                self.pacer.sent(number, self.clock.hear(int(at)))
            self.now += self.pacer.wait_ms(pace, self.clock.now_ms) + self.chance.random() * 5
            if self.changes and self.chance.random() < self.changes:
                self.change_worker()

    def change_worker(self) -> None:
        kept = json.loads(json.dumps(self.pacer.kept()))
        self.now += self.chance.random() * 40
        self.clock = self.read_clock()
        self.pacer = Pacer.of(kept, self.clock.now_ms, self.chance)

    @property
    def most(self) -> int:
        """How many were sent in any window of a second."""
        return most_in_a_second(self.sent)


def most_in_a_second(sent: list[tuple[float, int]]) -> int:
    first = within = most = 0
    for at, number in sent:
        within += number
        while sent[first][0] <= at - 1000:
            within -= sent[first][1]
            first += 1
        most = max(most, within)
    return most


def seen_late(sent: list[tuple[float, int]], rng: random.Random, ms: float) -> list[tuple[float, int]]:
    """The same as somebody sees it whom each job reaches up to so many ms later."""
    return sorted((at + rng.random() * ms, 1) for at, number in sent for _job in range(number))


def sender(rng: random.Random, latency_ms: float = 3.0) -> Sender:
    return Sender(rng, latency_ms, pacer=Pacer(rng))


@pytest.mark.parametrize("jitter", [0, 20, 100])
@pytest.mark.parametrize("pace", [1, 5, 20, 50, 200, 1_000])
def test_a_pace_is_never_exceeded_and_its_mean_is_within_five_percent(
    pace: int, jitter: int, rng: random.Random
) -> None:
    sending = sender(rng)
    sending.run(pace, jitter, MINUTE_MS)
    mean = sum(number for _at, number in sending.sent) / 60
    assert sending.most <= pace
    assert most_in_a_second(seen_late(sending.sent, rng, 25.0)) <= pace, "as those see it who are called"
    # Jitter as large as the time between two sendings is lost where another worker takes over every few seconds.
    assert (0.95 if jitter < 100 else 0.93) * pace <= mean <= pace


def test_a_pace_that_is_no_whole_number_is_kept_in_the_mean(rng: random.Random) -> None:
    for pace in (0.5, 2.5):
        sending = sender(rng)
        sending.run(pace, 20, 10 * MINUTE_MS)
        mean = sum(number for _at, number in sending.sent) / 600
        assert 0.95 * pace <= mean <= pace
        assert sending.most <= pace + 1


def test_a_slow_server_makes_it_slower_and_never_faster(rng: random.Random) -> None:
    sending = sender(rng, latency_ms=400.0)
    sending.run(50, 20, MINUTE_MS)
    assert 0 < sending.most <= 50


def test_who_was_held_up_does_not_send_all_that_was_due_meanwhile(rng: random.Random) -> None:
    sending = sender(rng)
    sending.run(200, 0, 5_000)
    sending.now += 30_000
    before = len(sending.sent)
    sending.run(200, 0, 100)
    assert sum(number for _at, number in sending.sent[before:]) <= 50
    assert sending.most <= 200


def test_a_change_of_pace_counts_at_once_in_both_directions(rng: random.Random) -> None:
    sending = sender(rng)
    sending.run(0.1, 0, 1_000)
    before = len(sending.sent)
    sending.run(100, 0, 1_000)
    assert sum(number for _at, number in sending.sent[before:]) > 80
    at = sending.now
    sending.run(2, 0, 5_000)
    later = [each for each in sending.sent if each[0] > at]
    assert later[0][0] > at + 900  # the second before was full
    assert most_in_a_second(later) <= 2


def test_after_sending_without_a_pace_a_pace_waits_for_a_second_to_pass(rng: random.Random) -> None:
    pacer = Pacer(rng)
    assert pacer.due(None, 0, 0.0) is None
    pacer.sent(1_000, 10.0)
    assert pacer.due(5, 0, 20.0) == 0
    assert pacer.due(5, 0, 1_036.0) == 1


def test_small_batches_are_spread(rng: random.Random) -> None:
    sending = sender(rng)
    sending.run(200, 20, 5_000)
    assert max(number for _at, number in sending.sent) <= 30


def test_the_pace_doubles_until_it_is_reached() -> None:
    terms = Terms(pace_from=5.0, pace_to=30.0, double_s=30)
    assert [pace_at(terms, s) for s in (0, 29.9, 30, 60, 90, 10**6)] == [5.0, 5.0, 10.0, 20.0, 30.0, 30.0]
    assert pace_at(replace(terms, pace_from=None, pace_to=None), 0) is None
    assert pace_at(replace(terms, pace_to=None), 0) == 5.0
    assert pace_at(replace(terms, pace_to=None), 10**9) is None
    assert pace_at(replace(terms, pace_from=50.0, pace_to=20.0), 0) == 20.0
    assert pace_at(replace(terms, double_s=0), 0) == 30.0


def test_how_long_it_takes_is_told_by_the_same_steps() -> None:
    steady = Terms(pace_from=20.0, pace_to=20.0)
    assert duration_s(steady, 1_200) == pytest.approx(60 * SLOWER)
    climbing = Terms(pace_from=5.0, pace_to=20.0, double_s=30)
    first, second = int(30 * 5 / SLOWER), int(30 * 10 / SLOWER)
    assert duration_s(climbing, first + second + 200) == pytest.approx(60 + 10 * SLOWER)
    assert duration_s(Terms(pace_from=None, pace_to=None), 10) is None
    assert curve(climbing, first + 10) == [(0.0, 5.0), (30.0, 5.0), (30.0, 10.0), (30 + SLOWER, 10.0)]
    assert curve(Terms(pace_from=None, pace_to=None), 10) == []


def test_the_duration_is_what_a_sender_takes(rng: random.Random) -> None:
    sending = sender(rng)
    began = sending.now
    sending.run(50, 20, MINUTE_MS, until=1_000)
    assert (sending.now - began) / 1000 == pytest.approx(duration_s(Terms(pace_from=50, pace_to=50), 1_000), rel=0.05)


@pytest.mark.django_db
@pytest.mark.usefixtures("source", "no_tasks", "no_index")
def test_a_plan_keeps_its_pace_on_a_real_server_over_slices(valkey: redis.Redis) -> None:
    terms = replace(QUIET, pace_from=50.0, pace_to=50.0)
    plan = a_plan_of(valkey, [f"j{number}" for number in range(110)], terms=terms)
    until(plan, Phase.DONE, between=lambda: work(valkey), most=4_000)
    times = sorted(at for at in plan.jobs.values_list("sent_ms", flat=True) if at is not None)
    assert most_in_a_second([(float(at), 1) for at in times]) <= 50


@pytest.mark.django_db
@pytest.mark.usefixtures("source", "no_tasks", "no_index")
def test_each_step_of_the_climb_is_told(valkey: redis.Redis) -> None:
    terms = replace(QUIET, pace_from=40.0, pace_to=80.0, double_s=1)
    plan = a_plan_of(valkey, [f"j{number}" for number in range(100)], terms=terms)
    until(plan, Phase.ENDING, most=4_000)
    assert "climbed" in told(plan)
    assert line(plan, "climbed") == {"pace": 80.0}


@pytest.mark.django_db
@pytest.mark.usefixtures("source", "no_tasks", "no_index")
def test_time_in_which_it_was_paused_is_no_climbing(valkey: redis.Redis) -> None:
    terms = replace(QUIET, pace_from=10.0, pace_to=80.0, double_s=600)
    plan = a_plan_of(valkey, [f"j{number}" for number in range(100)], terms=terms)
    started(plan)
    a_slice(plan, 0.1)
    steering.pause(OLGA, plan)
    until(plan, Phase.PAUSED)
    a_slice(plan)
    plan.refresh_from_db()
    climbed = plan.facts[facts.CLIMB]
    before = plan.rest_at
    steering.go_on(OLGA, plan)
    a_slice(plan, 0.1)
    plan.refresh_from_db()
    assert before
    assert plan.rest_at
    assert plan.rest_at > before
    assert plan.facts[facts.CLIMB] >= climbed


@pytest.mark.django_db
@pytest.mark.usefixtures("source", "no_tasks", "no_index")
def test_a_changed_pace_counts_within_the_slice(valkey: redis.Redis) -> None:
    terms = replace(QUIET, pace_from=1.0, pace_to=1.0)
    plan = a_plan_of(valkey, [f"j{number}" for number in range(2_000)], terms=terms)
    started(plan)
    a_slice(plan, 0.05)
    steering.change_pace(OLGA, plan, None, None, 30)
    until(plan, Phase.DONE, between=lambda: work(valkey))
    assert plan.completed == 2_000
