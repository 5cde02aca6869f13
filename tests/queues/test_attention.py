"""What is said of a queue, judged from its keys."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from queues.attention import judge, lede, needs_eyes
from queues.events import EventKind
from queues.facts import Level, Why
from queues.failures.letters import origin_of, queue_for
from queues.history import History
from queues.readings import QueueReading, ScanState, SourceReading
from queues.types import Counts, Oldest, QueueRef, State
from tests.queues.fakes import EMPTY, counts, ref

NOW = 1_800_000_000_000
MINUTE = 60_000
UPTO = NOW // MINUTE - 1  # the last whole minute
ORDERS = ref("orders")


def old(minutes: int, *, at_least: bool = False) -> Oldest:
    return Oldest(NOW - minutes * MINUTE, at_least, NOW - minutes * MINUTE)


def test_a_backlog_without_a_worker_is_a_warning_and_after_a_quarter_of_an_hour_critical() -> None:
    young = judge(ORDERS, counts(waiting=3, prioritized=1, oldest=old(15)), 0, NOW)
    assert (young.level, young.why) == (Level.WARN, Why.NO_WORKER)
    assert young.sentences == ["4 jobs wait and no worker is connected. The oldest was created 15 min ago."]
    assert judge(ORDERS, counts(waiting=3, oldest=old(16)), 0, NOW).level is Level.CRIT


def test_missing_workers_are_not_claimed_where_nobody_knows_them() -> None:
    verdict = judge(ORDERS, counts(waiting=3, active=2, oldest=old(1)), None, NOW)
    assert (verdict.level, verdict.facts) == (Level.OK, ())


def test_a_job_that_waits_long_is_a_warning_also_with_workers_or_unknown_ones() -> None:
    for workers in (2, None):
        verdict = judge(ORDERS, counts(waiting=1300, oldest=old(41, at_least=True)), workers, NOW)
        assert (verdict.level, verdict.why) == (Level.WARN, Why.OLD)
        assert verdict.sentences == ["1,300 jobs wait. The oldest was created at least 41 min ago."]
    assert judge(ORDERS, counts(waiting=1300, oldest=old(15)), 2, NOW).level is Level.OK


def test_a_replayed_old_job_pages_nobody_by_its_creation() -> None:
    created = NOW - 3 * 24 * 60 * MINUTE
    replayed = counts(waiting=4, oldest=Oldest(created, at_least=False))
    assert judge(ORDERS, replayed, 2, NOW).level is Level.OK
    verdict = judge(ORDERS, replayed, 0, NOW)
    assert (verdict.level, verdict.why) == (Level.WARN, Why.NO_WORKER)
    assert verdict.sentences == ["4 jobs wait and no worker is connected. The oldest was created 3 d ago."]
    beside = counts(waiting=4, oldest=Oldest(created, at_least=False, since_ms=NOW - 20 * MINUTE))
    verdict = judge(ORDERS, beside, 2, NOW)
    assert (verdict.level, verdict.why) == (Level.WARN, Why.OLD)
    assert verdict.sentences == ["4 jobs wait. The oldest was created at least 20 min ago."]
    longer = judge(ORDERS, counts(waiting=1, oldest=old(60)), 2, NOW)
    assert longer.rank < verdict.rank < judge(ORDERS, replayed, 0, NOW).rank


def test_a_paused_queue_does_not_warn_of_workers_or_age() -> None:
    verdict = judge(ORDERS, counts(waiting=531, active=2, paused=True, oldest=old(9999)), 0, NOW)
    assert (verdict.level, verdict.why) == (Level.QUIET, Why.PAUSED)
    assert verdict.title == "paused, 531 jobs wait"


def test_jobs_parked_in_a_list_that_nobody_reads_are_critical_unless_the_queue_is_paused() -> None:
    verdict = judge(ORDERS, counts(waiting=12, parked=12), 3, NOW)
    assert (verdict.level, verdict.why) == (Level.CRIT, Why.PARKED)
    assert verdict.sentences == [
        "12 jobs are parked in a “paused” list that no worker reads until the queue is resumed."
    ]
    assert judge(ORDERS, counts(waiting=12, parked=12, paused=True), 3, NOW).level is Level.QUIET


def test_active_jobs_without_any_worker_are_a_warning() -> None:
    verdict = judge(ORDERS, counts(active=1), 0, NOW)
    assert (verdict.level, verdict.why) == (Level.WARN, Why.STRANDED)
    assert "1 job is active" in verdict.sentences[0]


def test_failed_jobs_alone_are_a_quiet_fact() -> None:
    verdict = judge(ORDERS, counts(failed=64), 1, NOW)
    assert (verdict.level, verdict.title) == (Level.QUIET, "64 failed")


@pytest.mark.parametrize("name", ["orders-failed", "orders-dlq", "orders-dead", "orders.failed", "orders_DLQ"])
def test_a_dead_letter_queue_warns_of_its_letters_and_never_of_workers_or_age(name: str) -> None:
    letters = ref(name)
    assert origin_of(letters, {ORDERS, letters}) == ORDERS
    verdict = judge(letters, counts(waiting=1906, oldest=old(9999)), 0, NOW, {ORDERS, letters})
    assert (verdict.level, verdict.why) == (Level.WARN, Why.LETTERS)
    assert verdict.sentences == ["1,906 dead letters wait for somebody."]
    assert judge(letters, counts(), 0, NOW, {ORDERS, letters}).level is Level.OK


def test_a_queue_called_failed_is_no_dead_letter_queue_when_its_origin_does_not_exist() -> None:
    alone = ref("login-failed")
    assert origin_of(alone, {alone}) is None
    assert judge(alone, counts(waiting=1), 0, NOW, {alone}).why is Why.NO_WORKER
    assert origin_of(ref("login-dlq"), {alone}) == ref("login")
    assert origin_of(ref("-failed")) is None
    assert origin_of(ref("failed")) is None


def test_the_dead_letter_queue_of_a_queue_has_the_same_prefix() -> None:
    here, elsewhere = ref("orders-failed"), QueueRef("main", b"other", b"orders-dlq")
    assert queue_for(ORDERS, {ORDERS, here, elsewhere}) == here
    assert queue_for(ORDERS, {ORDERS, elsewhere}) is None


def test_a_queue_without_keys_is_gone_and_one_without_counts_is_unknown() -> None:
    assert judge(ORDERS, Counts(EMPTY, paused=False, exists=False), 0, NOW).why is Why.GONE
    assert judge(ORDERS, counts(waiting=5), 0, NOW, gone=True).level is Level.QUIET
    assert judge(ORDERS, None, None, NOW).level is Level.UNKNOWN


def test_a_queue_with_a_state_that_cannot_be_read_is_never_called_well() -> None:
    odd = Counts({State.WAITING: 0}, paused=False)
    verdict = judge(ORDERS, odd, 1, NOW)
    assert (verdict.level, verdict.why) == (Level.UNKNOWN, Why.ODD_KEYS)
    assert verdict.title == "6 states cannot be read"
    assert judge(ref("orders-dlq"), odd, 1, NOW).level is Level.UNKNOWN


def test_the_most_urgent_come_first_and_three_need_eyes() -> None:
    judged = {
        "well": judge(ref("well"), counts(), 1, NOW),
        "paused": judge(ref("paused"), counts(paused=True), 1, NOW),
        "held": judge(ref("held"), counts(paused=True, waiting=7), 1, NOW),
        "failed": judge(ref("failed"), counts(failed=3), 1, NOW),
        "unread": judge(ref("unread"), None, None, NOW),
        "letters-dlq": judge(ref("letters-dlq"), counts(waiting=9), None, NOW),
        "slow": judge(ref("slow"), counts(waiting=1, oldest=old(20)), 1, NOW),
        "slower": judge(ref("slower"), counts(waiting=1, oldest=old(21)), 1, NOW),
        "dead": judge(ref("dead"), counts(waiting=1, oldest=old(20)), 0, NOW),
    }
    order = sorted(judged, key=lambda name: judged[name].rank)
    assert order == ["dead", "slower", "slow", "letters-dlq", "unread", "held", "failed", "paused", "well"]
    eyes = needs_eyes([(ref(name), verdict) for name, verdict in judged.items()])
    assert [eye.ref.label for eye in eyes] == ["dead", "slower", "slow"]
    assert eyes[0].title == "dead: no worker for 1 waiting job"


def test_the_rank_does_not_change_as_the_clock_runs() -> None:
    depth = counts(waiting=1, oldest=old(20))
    assert judge(ORDERS, depth, 0, NOW).rank == judge(ORDERS, depth, 0, NOW + 5 * MINUTE).rank


def reading(source: str, names: list[str], *, live: bool = True, searched: bool = True) -> SourceReading:
    queues = tuple(QueueReading(ref(name, source), counts(), 1) for name in names)
    at = datetime.now(UTC)
    return SourceReading(source, queues, live, at, scan=ScanState(finished_at=at if searched else None))


def test_the_lede_says_in_plain_words_how_many_need_eyes() -> None:
    well = (ORDERS, judge(ORDERS, counts(), 1, NOW))
    bad = (ORDERS, judge(ORDERS, counts(waiting=1), 0, NOW))
    unread = (ORDERS, judge(ORDERS, None, None, NOW))
    main = reading("main", ["a", "b", "c"])
    assert lede([main], [well, bad, well]) == "3 queues in main. One needs eyes; two are well."
    assert lede([main], [well] * 3) == "3 queues in main. Nothing needs eyes."
    assert lede([main], [bad, unread, bad]) == "3 queues in main. Two need eyes; one is unknown."
    assert lede([main, reading("other", ["a"])], [well] * 4) == "4 queues in 2 sources. Nothing needs eyes."
    assert lede([reading("main", [])], []) == "0 queues in main."


def test_queues_that_hold_failed_jobs_are_not_called_well() -> None:
    failing = (ref("a"), judge(ref("a"), counts(failed=3), 1, NOW))
    well = (ref("b"), judge(ref("b"), counts(), 1, NOW))
    main = reading("main", ["a", "b"])
    assert lede([main], [failing, well]) == "2 queues in main. One holds failed jobs; one is well."
    bad = (ORDERS, judge(ORDERS, counts(waiting=1), 0, NOW))
    assert "One needs eyes; one more holds failed jobs." in lede([main], [bad, failing])


def test_the_lede_claims_no_number_of_queues_before_a_search_has_come_to_its_end() -> None:
    well = (ORDERS, judge(ORDERS, counts(), 1, NOW))
    new = reading("main", [], searched=False)
    assert lede([new], []) == "main has not been searched yet."
    assert lede([reading("main", ["a"], searched=False)], [well]) == (
        "main has not been searched to the end yet; queues known so far: 1. Nothing needs eyes."
    )
    assert lede([new, reading("other", ["a"])], [well]) == (
        "main has not been searched to the end yet; queues known so far: 1. Nothing needs eyes."
    )
    assert lede([new, reading("other", [], searched=False)], []) == "main, other have not been searched yet."


def test_the_lede_never_calls_well_what_cannot_be_read() -> None:
    well = judge(ORDERS, counts(), 1, NOW)
    bad = judge(ORDERS, counts(waiting=1), 0, NOW)
    dead = reading("other", ["a"], live=False)
    assert lede([dead], [(ref("a", "other"), well)]) == "other cannot be read. This is its last reading."
    assert lede([reading("main", ["a"]), dead], [(ORDERS, well), (ref("a", "other"), bad)]) == (
        "2 queues in 2 sources. other cannot be read; its rows are its last reading. Of the others, nothing needs eyes."
    )
    assert lede([dead, dead], [(ref("a", "other"), well)]) == (
        "2 queues in 2 sources. No source can be read; these are their last readings."
    )


def lately(tallies: dict[int, dict[EventKind, int]], *, known_from: int = 0) -> History:
    """What happened so many minutes before the last whole one; -1 is the minute that runs."""
    history = History(known_from)
    history.add({UPTO - ago: tally for ago, tally in tallies.items()})
    return history


def why(history: History | None) -> list[Why]:
    verdict = judge(ORDERS, counts(), 1, NOW, history=history, upto=UPTO)
    return [fact.why for fact in verdict.facts if fact.level is Level.WARN]


def test_a_queue_fails_fast_from_five_failures_and_a_fifth_of_what_finished_in_five_minutes() -> None:
    failed = EventKind.FAILED
    assert why(lately({0: {failed: 5}})) == [Why.FAILING]
    assert why(lately({0: {failed: 4}})) == []
    assert why(lately({0: {failed: 5, EventKind.COMPLETED: 20}})) == [Why.FAILING]
    assert why(lately({0: {failed: 5, EventKind.COMPLETED: 21}})) == []
    assert why(lately({-1: {failed: 3}, 3: {failed: 2}})) == [Why.FAILING], "the running minute counts as one of five"
    assert why(lately({-1: {failed: 3}, 4: {failed: 2}})) == []
    verdict = judge(ORDERS, counts(), 1, NOW, history=lately({0: {failed: 6, EventKind.COMPLETED: 4}}), upto=UPTO)
    assert verdict.title == "6 of 10 failed in 5 min"
    assert verdict.sentences == ["It fails fast: of 10 jobs that finished in the last 5 minutes, 6 failed."]


def test_a_queue_with_a_stall_in_the_last_ten_minutes_is_a_warning() -> None:
    assert why(lately({-1: {EventKind.STALLED: 1}})) == [Why.STALLED]
    assert why(lately({8: {EventKind.STALLED: 1}})) == [Why.STALLED]
    assert why(lately({9: {EventKind.STALLED: 1}})) == []
    once, often = (
        judge(ORDERS, counts(), 1, NOW, history=lately({0: {EventKind.STALLED: n}}), upto=UPTO) for n in (1, 3)
    )
    assert once.title == "1 stall in 10 min"
    assert often.sentences[0].startswith("Jobs stalled 3 times in the last 10 minutes:")


def test_a_paused_queue_a_dead_letter_queue_and_unknown_minutes_are_not_said_to_fail() -> None:
    failing = lately({0: {EventKind.FAILED: 50, EventKind.STALLED: 5}})
    paused = judge(ORDERS, counts(paused=True), 1, NOW, history=failing, upto=UPTO)
    letters = judge(ref("orders-dlq"), counts(), 1, NOW, history=failing, upto=UPTO)
    assert (paused.level, letters.level) == (Level.QUIET, Level.OK)
    assert why(None) == []
    assert why(lately({}, known_from=UPTO + 5)) == []


def test_what_fails_fast_stands_above_what_waits_long_and_below_what_nobody_works_on() -> None:
    failing = judge(ORDERS, counts(), 1, NOW, history=lately({0: {EventKind.FAILED: 9}}), upto=UPTO)
    slow = judge(ORDERS, counts(waiting=1, oldest=old(20)), 1, NOW)
    dead = judge(ORDERS, counts(waiting=1, oldest=old(20)), 0, NOW)
    assert dead.rank < failing.rank < slow.rank


def test_titles_do_not_change_as_the_clock_runs() -> None:
    for workers in (0, 1):
        depth = counts(waiting=4, oldest=old(20))
        now, later = (judge(ORDERS, depth, workers, NOW + ms) for ms in (0, 7 * MINUTE))
        assert now.title == later.title
        assert now.facts[0].said == later.facts[0].said
        assert now.facts[0].since_ms == later.facts[0].since_ms == NOW - 20 * MINUTE
        assert now.sentences != later.sentences
