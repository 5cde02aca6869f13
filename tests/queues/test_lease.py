"""One follower at a time, and never a writing by one that has lost its right."""

from __future__ import annotations

import pytest
import redis

from queues.follow.lease import TAKE_AFTER_S, Lease, LeaseLost
from queues.followed import details, standings
from queues.live import Pulse
from queues.models import Following, Stream
from queues.registry import SourceConfig
from tests.queues.following import add, follower, know, step

pytestmark = pytest.mark.django_db


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_first_takes_the_lease_and_the_second_stands_by() -> None:
    first, second = Lease("main", "a"), Lease("main", "b")
    assert first.take()
    assert not second.take()
    first.release()
    assert second.take()


def test_a_holder_that_beats_keeps_the_lease_for_ever() -> None:
    clock = Clock()
    first, second = Lease("main", "a"), Lease("main", "b", clock)
    first.take()
    for _again in range(5):
        assert not second.take()
        clock.now += TAKE_AFTER_S - 1
        first.keep()


def test_a_silent_holder_loses_the_lease_and_can_write_no_more() -> None:
    clock = Clock()
    first, second = Lease("main", "a"), Lease("main", "b", clock)
    first.take()
    assert not second.take()
    clock.now += TAKE_AFTER_S + 0.1
    assert second.take()
    with pytest.raises(LeaseLost):
        first.keep(pulse="live")
    assert not first.held
    second.keep()
    assert Following.objects.get().epoch == 2


def test_no_wall_clock_decides_who_holds_it() -> None:
    """The database's and both machines' clocks may be hours apart: only beats that grow count."""
    clock = Clock()
    first, second = Lease("main", "a"), Lease("main", "b", clock)
    first.take()
    Following.objects.update(beat_at=None)
    assert not second.take()
    clock.now += 1
    assert not second.take()


def test_two_that_try_at_once_do_not_both_get_it() -> None:
    clock = Clock()
    dead, one, two = Lease("main", "dead"), Lease("main", "a", clock), Lease("main", "b", clock)
    dead.take()
    assert not one.take()
    assert not two.take()
    clock.now += TAKE_AFTER_S + 1
    assert [one.take(), two.take()].count(True) == 1


@pytest.mark.django_db(transaction=True)
def test_a_follower_that_lost_the_lease_stores_nothing_of_what_it_read(
    valkey: redis.Redis, source: SourceConfig
) -> None:
    know(b"shop")
    add(valkey, "shop", "completed", "jobId", "0")
    old, new = follower(holder="old"), follower(holder="new")
    step(old)
    assert old.lease.held
    Following.objects.update(holder="")
    add(valkey, "shop", "completed", "jobId", "1")
    step(new)
    read = Stream.objects.get().read
    add(valkey, "shop", "completed", "jobId", "2")
    step(old)
    assert not old.lease.held
    assert Stream.objects.get().read == read
    assert old.streams == {}
    step(new)
    assert Stream.objects.get().read == 3


def test_a_follower_that_has_just_begun_is_catching_up_for_pages() -> None:
    """It holds the lease, and has stored nothing yet of how it stands."""
    Lease("main", "a").take()
    assert standings(["main"])["main"].pulse is Pulse.CATCHING_UP
    assert details(["main"])["main"].standing.pulse is Pulse.CATCHING_UP
