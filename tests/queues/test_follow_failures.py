"""The follower hints to the index of failures what to look at, and tells those who watch what changed in the index."""

# mypy: allow-untyped-calls

from __future__ import annotations

import threading
import time
from importlib import import_module

import pytest
import redis

from queues.events import EventKind
from queues.failures.desk import EVENTS, Desk
from queues.follow.failing import GROUPS, RECALL_S, Changed
from queues.follow.run import run
from queues.follow.source import SourceFollower
from queues.follow.teller import Reader
from queues.live import About, FailuresNews, Pulse, Standing, Topic
from queues.models import Following
from queues.registry import SourceConfig, dedicated
from queues.types import QueueRef
from tests.queues.following import Listening, add, know, step
from tests.valkey import eventually

pytestmark = pytest.mark.django_db

FAILURES = Topic(About.FAILURES, "main")
LIVE = Standing(Pulse.LIVE, 1)


@pytest.fixture
def shop(valkey: redis.Redis, source: SourceConfig) -> QueueRef:
    add(valkey, "shop", "added", "jobId", "0", "name", "charge")
    return know(b"shop")[0]


@pytest.fixture
def desk() -> Desk:
    return Desk("main")


def following(desk: Desk, audience: Listening | None = None, holder: str = "one") -> SourceFollower:
    reader = dedicated("main")
    assert isinstance(reader, Reader)
    one = SourceFollower("main", reader, audience or Listening(), holder, desk)
    step(one)
    return one


def test_the_desk_has_the_epoch_of_the_lease_for_as_long_as_it_is_held(shop: QueueRef, desk: Desk) -> None:
    one = following(desk)
    assert desk.epoch == one.lease.epoch == Following.objects.get().epoch
    Following.objects.update(epoch=99, holder="another")
    step(one)
    assert desk.epoch is None
    Following.objects.update(holder="")
    step(one)
    assert desk.epoch == 100
    one.close()
    assert desk.epoch is None


def test_the_desk_has_the_epoch_before_the_first_hint(
    shop: QueueRef, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SourceFollower, "_follow", lambda _self: 0.0 if desk.epoch else pytest.fail("it has none"))
    following(desk)


def test_who_stands_by_may_not_index(shop: QueueRef, desk: Desk) -> None:
    following(Desk("main"))
    following(desk, holder="two")
    assert desk.epoch is None


def test_failures_are_handed_over_as_they_happen(valkey: redis.Redis, shop: QueueRef, desk: Desk) -> None:
    one = following(desk)
    desk.take()
    add(valkey, "shop", "completed", "jobId", "1", "returnvalue", "1", "prev", "active")
    add(valkey, "shop", "failed", "jobId", "2", "failedReason", "no luck", "prev", "active")
    add(valkey, "shop", "failed", "jobId", "3", "failedReason", "none at all", "prev", "active")
    step(one)
    assert desk.woken.is_set()
    hints = desk.take()
    assert [(event.kind, event.job, str(event.text)) for event in hints.failed[shop]] == [
        (EventKind.FAILED, b"2", "no luck"),
        (EventKind.FAILED, b"3", "none at all"),
    ]
    assert (hints.touched, hints.left, hints.compare) == ({shop}, {}, set())


def test_jobs_that_left_the_failed_set_are_named_and_no_others(valkey: redis.Redis, shop: QueueRef, desk: Desk) -> None:
    one = following(desk)
    desk.take()
    add(valkey, "shop", "removed", "jobId", "1", "prev", "failed")
    add(valkey, "shop", "waiting", "jobId", "2", "prev", "failed")
    add(valkey, "shop", "waiting", "prev", "failed", "jobId", "odd order")
    add(valkey, "shop", "waiting", "jobId", "failed")
    add(valkey, "shop", "waiting", "jobId", "3", "prev", "active")
    add(valkey, "shop", "removed", "jobId", "4", "prev", "completed")
    add(valkey, "shop", "waiting-children", "jobId", "5", "prev", "failed")
    step(one)
    hints = desk.take()
    assert hints.left == {shop: {b"1", b"2", b"odd order"}}
    assert (hints.failed, hints.compare) == ({}, set())


def test_nothing_is_said_while_nothing_fails(valkey: redis.Redis, shop: QueueRef, desk: Desk) -> None:
    one = following(desk)
    desk.take()
    for number in range(50):
        add(valkey, "shop", "added", "jobId", str(number), "name", "failed")
        add(valkey, "shop", "waiting", "jobId", str(number))
        add(valkey, "shop", "completed", "jobId", str(number), "returnvalue", "failed", "prev", "active")
    step(one)
    assert not desk.woken.is_set()
    assert desk.take().touched == set()


def test_a_queue_is_compared_when_a_word_tells_no_ids(valkey: redis.Redis, shop: QueueRef, desk: Desk) -> None:
    one = following(desk)
    desk.take()
    add(valkey, "shop", "cleaned", "count", "7")
    step(one)
    assert desk.take().compare == {shop}


@pytest.mark.parametrize("how", ["emptied", "deleted"])
def test_a_queue_is_compared_when_events_were_lost(valkey: redis.Redis, shop: QueueRef, desk: Desk, how: str) -> None:
    one = following(desk)
    desk.take()
    add(valkey, "shop", "failed", "jobId", "1", "failedReason", "x")
    if how == "deleted":
        valkey.delete("bull:shop:events")
    else:
        valkey.xtrim("bull:shop:events", 0, approximate=False)
    step(one)
    step(one)
    assert desk.take().compare == {shop}


def test_a_gap_that_shows_only_as_one_reads_on_has_the_queue_compared(
    valkey: redis.Redis, shop: QueueRef, desk: Desk
) -> None:
    one = following(desk)
    desk.take()
    for number in range(10):
        add(valkey, "shop", "failed", "jobId", str(number), "failedReason", "x")
    valkey.xtrim("bull:shop:events", 3, approximate=False)
    step(one)
    hints = desk.take()
    assert hints.compare == {shop}
    assert len(hints.failed[shop]) == 3


def test_all_queues_are_compared_when_the_server_answers_again(
    valkey: redis.Redis, shop: QueueRef, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = following(desk)
    desk.take()
    one._failures = 1  # as after a try that brought nothing
    step(one)
    assert desk.take().compare == {shop}


def test_failures_that_nobody_takes_are_not_even_read(valkey: redis.Redis, shop: QueueRef, desk: Desk) -> None:
    one = following(desk)
    desk.take()
    add(valkey, "shop", "failed", "jobId", "1", "failedReason", "x")
    desk._events = EVENTS
    step(one)
    hints = desk.take()
    assert (hints.failed, hints.compare) == ({}, {shop})
    add(valkey, "shop", "failed", "jobId", "2", "failedReason", "x")
    step(one)
    assert [event.job for event in desk.take().failed[shop]] == [b"2"]


def test_a_follower_without_an_index_goes_on_as_ever(valkey: redis.Redis, shop: QueueRef) -> None:
    reader = dedicated("main")
    assert isinstance(reader, Reader)
    audience = Listening(FAILURES)
    one = SourceFollower("main", reader, audience, "one")
    step(one)
    add(valkey, "shop", "failed", "jobId", "1", "failedReason", "x")
    time.sleep(0.5)
    step(one)
    [news] = [each for each in audience.news if isinstance(each, FailuresNews)][:1]
    assert (news.groups, news.open) == ((), None)


def test_what_changed_is_told_to_those_who_watch(shop: QueueRef, desk: Desk) -> None:
    audience = Listening(FAILURES)
    one = following(desk, audience)
    audience.news.clear()
    desk.changed(["a", "b"], ["b"], 7)
    desk.changed(["a", "c"], [], 8)

    def told() -> FailuresNews | None:
        step(one)
        return next((each for each in audience.news if isinstance(each, FailuresNews) and each.groups), None)

    news = eventually(told)
    assert (news.source, set(news.groups), news.fresh, news.open) == ("main", {"a", "b", "c"}, 1, 8)
    assert news.topic == FAILURES
    assert news.standing.pulse is Pulse.LIVE
    audience.news.clear()

    def still() -> FailuresNews | None:
        step(one)
        return next((each for each in audience.news if isinstance(each, FailuresNews)), None)

    again = eventually(still)
    assert (again.groups, again.fresh, again.open) == ((), 0, 8)


def test_what_changed_just_before_somebody_watched_is_told_and_what_is_older_is_not(desk: Desk) -> None:
    changed = Changed(desk)
    desk.changed(["old"], [], 1)
    assert changed.collect(100.0, watched=False)
    desk.changed(["recent"], [], 2)
    assert changed.collect(100.0 + RECALL_S - 1, watched=False)
    assert changed.collect(100.0 + RECALL_S + 1, watched=False)
    news = changed.news("main", LIVE)
    assert (news.groups, news.open) == (("recent",), 2)
    assert not changed.collect(110.0, watched=True)


def test_of_very_many_groups_it_is_said_that_any_may_have_changed(desk: Desk) -> None:
    changed = Changed(desk)
    desk.changed([str(number) for number in range(GROUPS + 1)], [], 1)
    assert changed.collect(1.0, watched=True)
    news = changed.news("main", LIVE)
    assert (len(news.groups), news.whole) == (GROUPS, True)


@pytest.mark.django_db(transaction=True)
def test_an_index_is_not_let_write_once_the_process_ends(
    valkey: redis.Redis, shop: QueueRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    desks: list[Desk] = []

    def noted(source: str) -> Desk:
        desks.append(Desk(source))
        return desks[-1]

    monkeypatch.setattr(import_module("queues.follow.run"), "Desk", noted)
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(Listening(), stop))
    thread.start()
    try:
        eventually(lambda: desks and desks[0].epoch)
    finally:
        stop.set()
        thread.join(60)
    assert [desk.epoch for desk in desks] == [None]


def test_a_batch_of_hostile_entries_hints_without_failing(valkey: redis.Redis, shop: QueueRef, desk: Desk) -> None:
    one = following(desk)
    desk.take()
    add(valkey, "shop", "failed")
    add(valkey, "shop", "failed", "jobId", "")
    add(valkey, "shop", "failed", "jobId", "x" * 100_000, "failedReason", "y" * 1_000_000)
    add(valkey, "shop", "removed", "prev", "failed")
    add(valkey, "shop", "waiting", "failed", "prev")
    add(valkey, "shop", "removed", "jobId", "\x00", "prev", "failed")
    step(one)
    hints = desk.take()
    assert [event.job for event in hints.failed[shop]] == [None, None, None]
    assert all(event.text is None or len(event.text.value) <= 500 for event in hints.failed[shop])
    assert hints.left == {shop: {b"\x00"}}
