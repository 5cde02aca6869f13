"""Pages of jobs: order, cursors that stay right under change, merged lists, filters, and their bounds."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import redis

from queues.backends.bullmq.reader import BullMQ
from queues.errors import BadInput, LimitExceeded
from queues.types import JobPage, Order, QueueRef, State
from tests.policy import rounds
from tests.seed import seed_job, seed_queue, seed_state
from tests.valkey import RedisCommands

QUEUE = QueueRef("main", b"bull", b"list")
FAILED = b"bull:list:failed"
FINISHED = (State.COMPLETED, State.FAILED)


def _ids(page: JobPage) -> list[bytes]:
    return [row.ref.id for row in page.rows]


def _walk(bullmq: BullMQ, states: Sequence[State], order: Order, size: int = 20, name: str = "") -> list[list[bytes]]:
    pages, cursor = [], ""
    while True:
        page = bullmq.jobs(QUEUE, states, size=size, order=order, cursor=cursor, name=name)
        pages.append(_ids(page))
        if not (cursor := page.next):
            return pages


def _walk_back(bullmq: BullMQ, states: Sequence[State], order: Order, size: int = 20) -> list[list[bytes]]:
    page = bullmq.jobs(QUEUE, states, size=size, order=order)
    while page.next:
        page = bullmq.jobs(QUEUE, states, size=size, order=order, cursor=page.next)
    pages = [_ids(page)]
    while page.previous:
        page = bullmq.jobs(QUEUE, states, size=size, order=order, cursor=page.previous)
        pages.append(_ids(page))
    return pages


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize("state", list(State))
def test_pages_of_each_state_hold_every_job_once_in_both_directions(
    bullmq: BullMQ, store: redis.Redis, state: State, order: Order
) -> None:
    seed_state(store, "list", state, 107)
    pages = _walk(bullmq, [state], order)
    assert [len(page) for page in pages] == [20, 20, 20, 20, 20, 7]
    seen = [job for page in pages for job in page]
    assert len(set(seen)) == 107
    oldest_first = [str(number).encode() for number in range(1, 108)]
    assert seen == (oldest_first if order is Order.OLDEST else oldest_first[::-1])
    back = _walk_back(bullmq, [state], order)
    assert set(back[-1]) == set(pages[0])
    assert {job for page in back for job in page} == set(seen)


def test_many_jobs_of_one_moment_are_paged_by_their_bytes_without_loss(bullmq: BullMQ, store: redis.Redis) -> None:
    # Bytes that a locale would sort in another order than Redis does.
    ids = [f"{letter}{number}".encode() for number in range(60) for letter in ("a", "B", "é", "_", "Z", "-")]
    ids += [b"\xff\x00", b"\xff", b"", b"0"]
    store.zadd(FAILED, dict.fromkeys(ids, 1_700_000_000_000))
    for order in Order:
        seen = [job for page in _walk(bullmq, [State.FAILED], order, size=37) for job in page]
        assert seen == sorted(ids, reverse=order is Order.NEWEST)


@pytest.mark.soak
def test_a_page_stays_in_place_while_jobs_come_and_go(bullmq: BullMQ, store: redis.Redis, rng: random.Random) -> None:
    for _round in range(rounds(sample=2, soak=500)):
        store.flushall()
        ids = [f"job-{number}".encode() for number in range(400)]
        scores = {job: float(rng.randrange(20)) for job in ids}
        store.zadd(FAILED, scores)
        lasting = set(rng.sample(ids, 200))
        order, size = rng.choice(list(Order)), rng.randrange(20, 60)
        seen: list[bytes] = []
        cursor = ""
        while True:
            page = bullmq.jobs(QUEUE, [State.FAILED], size=size, order=order, cursor=cursor)
            seen += _ids(page)
            if not (cursor := page.next):
                break
            # Also those at the border, where the next page begins.
            gone = [job for job in (*rng.sample(ids, 20), *_ids(page)[-3:]) if job not in lasting]
            if gone:
                store.zrem(FAILED, *gone)
            store.zadd(FAILED, {f"new-{rng.random()}": float(rng.randrange(25)) for _ in range(7)})
        assert len(seen) == len(set(seen))
        assert lasting <= set(seen)


def test_completed_and_failed_are_merged_in_the_true_order_of_their_end(bullmq: BullMQ, store: redis.Redis) -> None:
    finished = {f"{state}-{number}": 1_700_000_000_000 + number // 3 for state in FINISHED for number in range(200)}
    for state in FINISHED:
        mine = {job: score for job, score in finished.items() if job.startswith(state)}
        store.zadd(f"bull:list:{state}", mine)
    for order in Order:
        pages = _walk(bullmq, FINISHED, order)
        assert [len(page) for page in pages] == [20] * 20
        seen = [job.decode() for page in pages for job in page]
        assert len(set(seen)) == 400
        moments = [finished[job] for job in seen]
        assert moments == sorted(moments, reverse=order is Order.NEWEST)
        back = [job.decode() for page in _walk_back(bullmq, FINISHED, order) for job in page]
        assert set(back) == set(seen)
    page = bullmq.jobs(QUEUE, FINISHED, size=20)
    assert page.total == 400
    assert {row.state for row in page.rows} == set(FINISHED)


def test_the_first_page_is_whole_when_one_comes_back_to_it(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "list", failed=50)
    second = bullmq.jobs(QUEUE, [State.FAILED], cursor=bullmq.jobs(QUEUE, [State.FAILED], size=20).next, size=20)
    store.zrem(FAILED, "50", "49", "48")
    first = bullmq.jobs(QUEUE, [State.FAILED], cursor=second.previous, size=20)
    assert _ids(first) == [str(number).encode() for number in range(47, 27, -1)]
    assert first.previous == ""


def test_lists_say_that_their_places_move_and_sets_that_they_do_not(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "list", waiting=1, failed=1, active=1, delayed=1)
    stable = {state: bullmq.jobs(QUEUE, [state]).stable for state in State}
    assert [state for state in State if not stable[state]] == [State.WAITING, State.ACTIVE]


def test_waiting_runs_through_the_wait_list_and_then_the_paused_list(bullmq: BullMQ, store: redis.Redis) -> None:
    store.rpush("bull:list:wait", *[f"w{number}" for number in range(30)])
    store.rpush("bull:list:paused", *[f"p{number}" for number in range(30)])
    newest = [f"w{number}".encode() for number in range(30)] + [f"p{number}".encode() for number in range(30)]
    for size in (20, 50):
        assert [job for page in _walk(bullmq, [State.WAITING], Order.NEWEST, size) for job in page] == newest
        assert [job for page in _walk(bullmq, [State.WAITING], Order.OLDEST, size) for job in page] == newest[::-1]


def test_markers_of_4x_are_neither_listed_nor_counted(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "list", waiting=3, version="bullmq:4.18.3")
    store.rpush("bull:list:wait", "0:1700000000000")
    store.lpush("bull:list:active", "0:0")
    page = bullmq.jobs(QUEUE, [State.WAITING])
    assert (_ids(page), page.total) == ([b"3", b"2", b"1"], 3)
    counts = bullmq.counts([QUEUE])[QUEUE]
    assert (counts[State.WAITING], counts[State.ACTIVE]) == (3, 0)
    assert counts.oldest is not None
    assert counts.oldest.created_ms == int(store.hget("bull:list:1", "timestamp") or 0)
    store.delete("bull:list:wait")
    store.rpush("bull:list:wait", "0:0")
    assert bullmq.counts([QUEUE])[QUEUE][State.WAITING] == 0
    assert bullmq.jobs(QUEUE, [State.WAITING]).total == 0


def test_prioritized_jobs_are_listed_in_the_order_in_which_they_run(bullmq: BullMQ, store: redis.Redis) -> None:
    for job, priority, counter in (("c", 3, 1), ("a2", 1, 3), ("b", 2, 2), ("a1", 1, 1)):
        seed_job(store, QUEUE, job, priority=priority)
        store.zadd("bull:list:prioritized", {job: priority * 2**32 + counter})
    assert _ids(bullmq.jobs(QUEUE, [State.PRIORITIZED], order=Order.OLDEST)) == [b"a1", b"a2", b"b", b"c"]
    assert _ids(bullmq.jobs(QUEUE, [State.PRIORITIZED])) == [b"c", b"b", b"a2", b"a1"]


def test_an_id_whose_hash_is_gone_is_a_row_that_says_so(bullmq: BullMQ, store: redis.Redis) -> None:
    seed_queue(store, "list", failed=3)
    store.delete("bull:list:2")
    assert [row.missing for row in bullmq.jobs(QUEUE, [State.FAILED]).rows] == [False, True, False]


def test_a_name_filter_finds_any_part_in_any_case_and_takes_signs_literally(bullmq: BullMQ, store: redis.Redis) -> None:
    for number, name in enumerate(("Send Mail", "render", "mail-SEND[*?]", "Überweisung")):
        seed_job(store, QUEUE, str(number), name=name)
        store.zadd(FAILED, {str(number): number})

    def found(name: str) -> list[bytes]:
        return _ids(bullmq.jobs(QUEUE, [State.FAILED], name=name, order=Order.OLDEST))

    assert found("send") == [b"0", b"2"]
    assert found("[*?]") == [b"2"]
    assert found("ÜBER") == [b"3"]
    assert found(".*") == []


@pytest.mark.parametrize("state", [State.FAILED, State.WAITING])
def test_a_name_filter_looks_at_ten_thousand_jobs_and_goes_on_from_there(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands, state: State
) -> None:
    seed_state(store, "list", state, 25_000, names=["common"])
    rare = [b"1", b"12000", b"24990"]
    for job in rare:
        store.hset(b"bull:list:" + job, "name", "rare")
    found, looked, cursor = [], [], ""
    for _call in range(10):
        with redis_commands(max=10 * 11 + 2):
            page = bullmq.jobs(QUEUE, [state], name="rare", order=Order.OLDEST, cursor=cursor)
        found += _ids(page)
        looked.append((page.scanned, page.exhausted))
        if not (cursor := page.next):
            break
    assert found == rare
    assert looked == [(10_000, False), (10_000, False), (5_000, True)]
    assert page.total == 25_000


@pytest.mark.parametrize("state", [State.FAILED, State.WAITING])
def test_filtered_pages_hold_every_match_once_and_lead_back(bullmq: BullMQ, store: redis.Redis, state: State) -> None:
    seed_state(store, "list", state, 3_000, names=["a", "b", "c", "d", "e", "f", "wanted"])
    pages = _walk(bullmq, [state], Order.NEWEST, size=50, name="wanted")
    seen = [job for page in pages for job in page]
    assert len(seen) == len(set(seen)) == 3_000 // 7
    assert {len(page) for page in pages[:-1]} == {50}
    first = bullmq.jobs(QUEUE, [state], size=50, name="wanted")
    second = bullmq.jobs(QUEUE, [state], size=50, name="wanted", cursor=first.next)
    assert _ids(bullmq.jobs(QUEUE, [state], size=50, name="wanted", cursor=second.previous)) == _ids(first)


def test_a_page_costs_two_calls_wherever_it_lies(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_queue(store, "list", waiting=5_000, failed=5_000, completed=100)
    for states in ([State.WAITING], [State.FAILED], FINISHED):
        cursor = ""
        for _page in range(3):
            with redis_commands(max=3):
                page = bullmq.jobs(QUEUE, states, size=200, cursor=cursor)
            assert len(page.rows) == 200
            cursor = page.next


@pytest.mark.parametrize("cursor", ["x", "!", "WzBd", "~", "WzAsIigxIiwiYSIsMV0", "é", "W1tbW1s" * 2000])
def test_a_cursor_that_is_not_ours_is_refused(bullmq: BullMQ, cursor: str) -> None:
    for state in (State.FAILED, State.WAITING):
        with pytest.raises(BadInput):
            bullmq.jobs(QUEUE, [state], cursor=cursor)


def test_a_page_beyond_200_jobs_and_other_mixtures_of_states_are_refused(bullmq: BullMQ) -> None:
    with pytest.raises(LimitExceeded):
        bullmq.jobs(QUEUE, [State.FAILED], size=201)
    for states in ([State.WAITING, State.ACTIVE], [State.FAILED, State.DELAYED], []):
        with pytest.raises(BadInput):
            bullmq.jobs(QUEUE, states)


def test_a_cursor_beyond_the_end_gives_an_empty_page_with_a_way_back(bullmq: BullMQ, store: redis.Redis) -> None:
    for state, key in ((State.FAILED, "failed"), (State.WAITING, "wait")):
        seed_state(store, "list", state, 30)
        cursor = bullmq.jobs(QUEUE, [state], size=20, order=Order.OLDEST).next
        if key == "wait":
            store.ltrim("bull:list:wait", -5, -1)
        else:
            store.zremrangebyrank(FAILED, 5, -1)
        page = bullmq.jobs(QUEUE, [state], size=20, order=Order.OLDEST, cursor=cursor)
        assert (page.rows, page.next) == ([], "")
        back = bullmq.jobs(QUEUE, [state], size=20, order=Order.OLDEST, cursor=page.previous)
        assert len(back.rows) == 5
