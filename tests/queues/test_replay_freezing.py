"""The set of a plan: which jobs are in it, and what is found about each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import redis

from queues.actions import NewJob, Target
from queues.errors import BadInput, LimitExceeded
from queues.failures import merging
from queues.failures.occurrences import Where, Which
from queues.failures.types import Kind
from queues.models import AuditEntry, Failure, FailureGroup, FailureStrand, Replay, ReplayLimits
from queues.quantities import now_ms
from queues.registry import actions
from queues.replay import freezing, making
from queues.replay.freezing import Freezing, Step
from queues.replay.freezing.collecting import TOO_LONG
from queues.replay.freezing.letters import same
from queues.replay.naming import target_of
from queues.replay.receipts import receipt
from queues.replay.terms import Terms
from queues.replay.types import Acts, Phase, Place, Told
from queues.sendings import Conflict, Copy, Fate, Original, Replays
from queues.types import QueueRef, State
from tests.hostile import JOB_IDS
from tests.queues.indexing import fail, indexer, key, remove, retry, settle
from tests.queues.replaying import DEAD, OLGA, SHOP, a_plan, a_queue, freeze, hands, letter, rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks")]

MAIL = QueueRef("main", b"bull", b"mail")


def of_state(ref: QueueRef = SHOP, **given: str) -> Replay:
    return making.of_state(OLGA, ref, State.FAILED, **given)


def of_letters() -> Replay:
    a_queue(SHOP)
    return making.of_letters(OLGA, DEAD)


def told(plan: Replay) -> Mapping[str, str]:
    """What was found in the way of each job."""
    return dict(plan.jobs.values_list("job", "conflict"))


def indexed(*refs: QueueRef) -> FailureGroup:
    """The index has read all there is; gives the newest group."""
    for ref in refs:
        a_queue(ref)
    settle(indexer())
    return FailureGroup.objects.latest("pk")


# Which jobs


def test_all_failed_jobs_are_part_of_it_and_nothing_that_fails_later(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, *range(2_345))
    plan = of_state()
    fail(valkey, SHOP, "later", at=now_ms() + 5_000)
    plan = freeze(plan)
    assert plan.phase == Phase.DRAFT
    assert (plan.total, plan.to_send, plan.left_out) == (2_345, 2_345, 0)
    assert {row.job for row in rows(plan)} == {str(number) for number in range(2_345)}
    first = plan.jobs.get(job="7")
    score = int(valkey.zscore(key(SHOP, "failed"), "7") or 0)
    assert (first.acts, first.state, first.seen) == ("retry", "failed", str(score))
    assert (first.name, first.failed_ms, first.created_ms) == ("charge", score, score - 50)
    assert (first.target, first.place) == (a_queue(SHOP), Place.READY)
    assert [(line.kind, line.facts) for line in plan.lines.all()] == [(Told.FROZEN, {"number": 2_345})]


def test_jobs_whose_name_holds_something_are_found(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, 1, 2)
    fail(valkey, SHOP, 3, name="refund")
    assert told(freeze(of_state(name="FUND"))) == {"3": ""}


def test_completed_jobs_are_copied(valkey: redis.Redis) -> None:
    valkey.hset(key(SHOP, 5), mapping={"name": "a", "data": "{}", "opts": '{"attempts":4}', "timestamp": 7})
    valkey.zadd(key(SHOP, "completed"), {"5": 1_000})
    plan = freeze(making.of_state(OLGA, SHOP, State.COMPLETED))
    row = plan.jobs.get()
    assert (row.acts, row.state, row.target, row.conflict) == (Acts.COPY, "completed", a_queue(SHOP), "")
    assert plan.frozen["kept"] == plan.frozen["reset"] == {"4": 1}


def test_ids_and_names_of_any_bytes_come_through(valkey: redis.Redis) -> None:
    for number, job in enumerate(JOB_IDS):
        fields = {"name": b"\xff<b>" + job[:9], "data": "{}", "opts": "{}", "timestamp": 1_000 + number}
        valkey.hset(b"bull:shop:" + job, mapping=fields)  # type: ignore[arg-type]
        valkey.zadd("bull:shop:failed", {job: 2_000 + number})
    long = b"x" * 5_000
    valkey.hset(b"bull:shop:" + long, mapping={"name": "a", "data": "{}", "opts": "{}", "timestamp": 1})
    valkey.zadd("bull:shop:failed", {long: 1})
    plan = freeze(of_state())
    named = {target_of(row).id for row in rows(plan) if not row.job.startswith("~.")}
    assert named == set(JOB_IDS)
    assert not any(char in row.name for row in rows(plan) for char in "\x00\n\x1b")
    nameless = plan.jobs.get(job__startswith="~.")
    assert (nameless.conflict, nameless.note) == (Conflict.REFUSED, TOO_LONG)
    assert (plan.to_send, plan.left_out) == (len(JOB_IDS), 1)


def test_picked_jobs_are_the_ones_that_were_seen(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, "a", "b", "c", at=5_000)
    picked = [Target(b"a", b"5000"), Target(b"b", b"4000"), Target(b"x", b"1"), Target(b"c", b"\xff no score")]
    plan = making.of_jobs(OLGA, SHOP, State.FAILED, picked)
    assert told(freeze(plan)) == {"a": "", "b": Conflict.LEFT, "c": Conflict.LEFT, "x": Conflict.GONE}


def test_a_plan_of_more_jobs_than_admins_allow_is_not_frozen(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, *range(30))
    plan = of_state(name="charge")  # nobody knows how many these are
    ReplayLimits.objects.create(pk=1, largest=29)
    with pytest.raises(LimitExceeded, match="29"):
        freeze(plan)
    assert plan.jobs.count() == 0


# Groups of failures


def test_a_group_is_its_failed_jobs_and_letters_over_all_queues_as_they_were(valkey: redis.Redis) -> None:
    for ref in (SHOP, MAIL):
        fail(valkey, ref, *range(3), reason="card declined")
    letter(valkey, "L1", of=1, at=int(valkey.zscore(key(SHOP, "failed"), "1") or 0))
    letter(valkey, "L9", of=9)
    group = indexed(SHOP, MAIL, DEAD)
    while Failure.objects.exclude(strand__group=group).exists():
        merging.merge(OLGA, group, list(FailureGroup.objects.exclude(pk=group.pk).filter(merged_into=None)))
    plan = making.of_group(OLGA, group, Which())
    fail(valkey, SHOP, 77, reason="card declined")
    indexed(SHOP)
    plan = freeze(plan)
    found = {(row.queue.slug, row.job, row.acts, row.letter) for row in rows(plan)}
    assert found == {
        *(("mail", str(job), "retry", "") for job in range(3)),
        ("shop", "0", "retry", ""),
        ("shop", "1", "retry", "L1"),
        ("shop", "2", "retry", ""),
        ("shop-dlq", "L9", "copy", ""),
    }
    assert {row.group for row in rows(plan)} == {group}
    alone = plan.jobs.get(job="L9")
    assert (alone.target, alone.conflict, alone.seen) == (a_queue(SHOP), "", str(alone.created_ms))
    assert making.later(plan) == 1


def test_of_a_group_those_are_meant_that_the_list_had(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, *range(4), reason="card declined")
    fail(valkey, SHOP, 8, reason="card declined", name="refund")
    letter(valkey, "L9", of=9)
    indexed(SHOP, DEAD)
    group = Failure.objects.filter(job="8").get().strand.group
    assert told(freeze(making.of_group(OLGA, group, Which(name="refund", where=Where.SET)))) == {"8": ""}
    since = Failure.objects.get(job="2").at_ms
    plan = freeze(making.of_group(OLGA, group, Which(since_ms=since, queue="shop", name="charge")))
    assert told(plan) == {"2": "", "3": ""}


def test_groups_that_are_merged_meanwhile_are_no_part_of_it(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, 1, reason="card declined")
    fail(valkey, SHOP, 2, reason="connect ECONNREFUSED 10.0.0.12:5432")
    indexed(SHOP)
    one, other = (Failure.objects.get(job=job).strand.group for job in "12")
    plan = making.of_group(OLGA, one, Which())
    merging.merge(OLGA, other, [one])
    plan = freeze(plan)
    assert told(plan) == {"1": ""}
    assert plan.jobs.get().group == other, "it is of the group that it is part of by now"


def test_jobs_of_the_permanent_class_are_marked_by_the_rules_or_by_hand(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, 1, reason="card declined")
    fail(valkey, SHOP, 2, reason="connect ECONNREFUSED 10.0.0.12:5432")
    indexed(SHOP)
    FailureStrand.objects.update(kind=Kind.PERMANENT)
    FailureGroup.objects.filter(strands__failures__job="2").update(kind_set=Kind.TRANSIENT)
    plan = freeze(of_state())
    assert dict(plan.jobs.values_list("job", "permanent")) == {"1": True, "2": False}
    assert plan.permanent == 1


# Letters


def test_a_letter_whose_job_is_in_the_failed_set_is_that_job_with_the_letter_beside_it(valkey: redis.Redis) -> None:
    at = now_ms() - 1_000
    fail(valkey, SHOP, 41, at=at)
    letter(valkey, "L41", of=41, at=at + 800)
    letter(valkey, "L42", of=42, at=at)
    plan = freeze(of_letters())
    kept, copied = plan.jobs.get(job="41"), plan.jobs.get(job="L42")
    assert (kept.queue, kept.acts, kept.state, kept.seen) == (a_queue(SHOP), "retry", "failed", str(at))
    assert (kept.letter_queue, kept.letter, kept.name, kept.failed_ms) == (a_queue(DEAD), "L41", "charge", at)
    assert (copied.queue, copied.acts, copied.target, copied.failed_ms) == (a_queue(DEAD), "copy", a_queue(SHOP), at)
    assert plan.total == 2


@pytest.mark.parametrize("batch", [1, 1_000])
def test_of_several_letters_of_one_job_one_is_sent(
    valkey: redis.Redis, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.replay.freezing.items.read.__defaults__", (batch,))
    at = now_ms() - 500_000
    fail(valkey, SHOP, 41, at=at)
    for name, job, when in (
        ("A", 41, at),
        ("B", 41, at + 10),
        ("C", 41, at - 200_000),
        ("D", 42, at),
        ("E", 42, 9_000),
    ):
        letter(valkey, name, of=job, at=when)
    plan = freeze(of_letters())
    found = told(plan)
    assert found["41"] == "", "the job itself"
    assert sorted(found.values()) == ["", "", "double", "double", "double"]
    assert {name for name, conflict in found.items() if not conflict} - {"D", "E"} == {"41"}
    again = freeze_again(plan)
    assert told(again) == found, "looking again finds the same"


def freeze_again(plan: Replay) -> Replay:
    assert freezing.relook(plan)
    return freeze(plan)


def test_a_letter_of_an_earlier_failure_stays_where_its_job_failed_again_since(valkey: redis.Redis) -> None:
    at = now_ms() - 1_000_000
    fail(valkey, SHOP, 41, 42, at=at)
    letter(valkey, "early", of=41, at=at - 300_000)
    timeless = b'{"payload": {}, "error": "boom", "queue": "shop", "jobId": "42"}'
    letter(valkey, "timeless", at=at + 300_000, data=timeless)
    plan = freeze(of_letters())
    assert told(plan) == {"early": Conflict.DOUBLE, "42": ""}
    assert "failed again" in plan.jobs.get(job="early").note
    assert plan.jobs.get(job="42").letter == "timeless", "one without a time is about the failure before it"


def test_a_letter_that_does_not_tell_what_to_send_or_where_to_is_left_out(valkey: redis.Redis) -> None:
    letter(valkey, "nowhere", of=1, queue="gone")
    letter(valkey, "nothing", data=b'{"error": "boom", "stack": "Error: boom", "queue": "shop", "jobId": "9"}')
    letter(valkey, "broken", data=b"{no json")
    letter(valkey, "by-name", of=2, queue=None)
    letter(valkey, "itself", data=b'{"total": 5, "queue": "mail"}')
    a_queue(MAIL)
    plan = freeze(of_letters())
    assert told(plan) == {
        "nowhere": "unmapped", "nothing": "unmapped", "broken": "unmapped", "by-name": "", "itself": "",
    }  # fmt: skip
    assert "“gone”" in plan.jobs.get(job="nowhere").note
    assert plan.jobs.get(job="itself").target == a_queue(SHOP), "what it holds is data, and no letter"
    plan.terms = replace(Terms.of(plan.terms), target="mail").kept()
    plan.save()
    plan = freeze_again(plan)
    assert plan.jobs.get(job="nowhere").conflict == "", "somebody said where to"
    assert set(plan.jobs.filter(conflict="").values_list("target__slug", flat=True)) == {"mail"}


def test_letters_lie_in_every_list_of_their_queue(valkey: redis.Redis) -> None:
    for name, where in (("A", "wait"), ("B", "paused"), ("C", "prioritized"), ("D", "delayed")):
        letter(valkey, name, of=name)
        valkey.lrem(key(DEAD, "wait"), 0, name)
        if where in ("wait", "paused"):
            valkey.lpush(key(DEAD, where), name)
        else:
            valkey.zadd(key(DEAD, where), {name: 5 * 4096})
    assert told(freeze(of_letters())) == dict.fromkeys("ABCD", "")


def test_a_letter_whose_id_the_target_holds_still_says_so(valkey: redis.Redis) -> None:
    letter(valkey, "L1", of="order-1")
    valkey.hset(key(SHOP, "order-1"), mapping={"name": "x", "data": "{}", "opts": "{}", "timestamp": 1})
    valkey.zadd(key(SHOP, "completed"), {"order-1": 5})
    assert told(freeze(of_letters())) == {"L1": Conflict.ID_KEPT}


# What is in the way


def test_what_became_of_jobs_since_is_told(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, "here", "left", "gone", "again", at=now_ms() - 5_000)
    fail(valkey, SHOP, "twin", at=now_ms() - 5_000, deid="order", opts='{"de":{"id":"order"}}')
    valkey.set(key(SHOP, "de:order"), "newer")
    valkey.hset(key(SHOP, "newer"), mapping={"name": "x", "data": "{}", "opts": "{}", "timestamp": 1})
    valkey.lpush(key(SHOP, "wait"), "newer")
    plan = of_state()
    run = hands(plan)
    work = Freezing(run)
    while run.replay.step != Step.LOOKING:
        work.step()
    retry(valkey, SHOP, "left")
    remove(valkey, SHOP, "gone")
    valkey.zadd(key(SHOP, "failed"), {"again": now_ms() - 1_000})
    plan = freeze(plan)
    assert told(plan) == {"here": "", "left": "left", "gone": "gone", "again": "left", "twin": "twin"}
    assert plan.jobs.get(job="twin").note == "newer"
    assert (plan.to_send, plan.left_out) == (1, 4)
    examples = plan.frozen["examples"]
    assert {conflict: len(found) for conflict, found in examples.items()} == {"left": 2, "gone": 1, "twin": 1}


def test_jobs_that_another_plan_is_to_send_are_left_to_it(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, *"abcdef", at=1_000)
    a_plan(Phase.RUNNING, [b"a"])
    a_plan(Phase.RUNNING, [b"b"], place=Place.SENT)
    a_plan(Phase.DRAFT, [b"c"])  # nobody has started it
    a_plan(Phase.CANCELLED, [b"d"])
    a_plan(Phase.PAUSED, [b"e"], seen=b"999")  # another stay of the same job
    waiting = a_plan(Phase.WAITING, [b"f"])
    waiting.jobs.update(conflict=Conflict.LEFT)
    plan = freeze(of_state())
    assert told(plan) == {"a": "other-plan", "b": "other-plan", "c": "", "d": "", "e": "", "f": ""}
    assert plan.jobs.get(job="a").note.startswith("R-")


def test_copies_that_a_replay_has_sent_are_told_by_the_database_and_by_the_server(valkey: redis.Redis) -> None:
    at = now_ms() - 5_000
    for name in ("sent", "receipt", "fresh", "other", "newer"):
        letter(valkey, name, of=name, at=at)
    stay = str(at + 5).encode()
    a_plan(Phase.DONE, [b"sent"], ref=DEAD, seen=stay, acts=Acts.COPY, place=Place.SENT, sent=1)
    elsewhere = a_plan(Phase.DONE, [b"first", b"second"], ref=DEAD, seen=stay, acts=Acts.COPY, place=Place.SENT, sent=1)
    elsewhere.jobs.filter(job="first").update(same=same("shop", b"other"), sent_ms=at + 1_000, ended_ms=at + 2_000)
    elsewhere.jobs.filter(job="second").update(same=same("shop", b"newer"), sent_ms=at - 1_000, ended_ms=at - 500)
    sender: Replays = actions("main")  # type: ignore[assignment]
    original = Original(DEAD, Target(b"receipt", stay))
    copy = Copy(NewJob(b"x", b"{}"), receipt(DEAD, b"receipt", stay), original)
    sender.send_copies(SHOP, [copy], plan=elsewhere.token, new_ids=False)
    plan = freeze(of_letters())
    assert told(plan) == {
        "sent": "sent-before", "receipt": "sent-before", "fresh": "", "other": "sent-before", "newer": "",
    }  # fmt: skip
    assert plan.jobs.get(job="receipt").note == str(elsewhere)


# What failed again in another plan


def test_what_failed_again_in_a_plan_is_exactly_that_as_it_is_now(valkey: redis.Redis) -> None:
    """In place, as copies elsewhere, with a letter beside, as a letter alone, and what is gone since; nothing else."""
    fail(valkey, SHOP, *range(1, 7), reason="card declined")
    fail(valkey, MAIL, "c3", reason="card declined")
    scores = {job: int(valkey.zscore(key(SHOP, "failed"), job) or 0) for job in ("1", "5")}
    letter(valkey, "L1", of=1, at=scores["1"])
    letter(valkey, "L5", of=5, at=scores["5"])
    before = a_plan(Phase.DONE, [b"1", b"2", b"3", b"4", b"5", b"6"], place=Place.SENT, sent=6, failed=5)
    before.jobs.update(sent_ms=1_500, ended_ms=now_ms(), fate=Fate.FAILED)
    before.jobs.filter(job="2").update(fate=Fate.COMPLETED)
    before.jobs.filter(job="3").update(acts=Acts.COPY, target=a_queue(MAIL), made="c3")
    before.jobs.filter(job="6").update(ended_ms=now_ms() + 3_600_000)  # after the set is frozen
    indexed(SHOP, MAIL, DEAD)
    remove(valkey, SHOP, 4, 5)
    indexed(SHOP, MAIL, DEAD)
    plan = making.of_again(OLGA, before)
    assert (plan.words, plan.frozen["expected"]) == (f"4 jobs that failed again in {before}, shop", 4)
    plan = freeze(plan)
    told = {(row.queue.slug, row.job, row.acts, row.letter, row.conflict) for row in rows(plan)}
    assert told == {
        ("shop", "1", "retry", "L1", ""),
        ("mail", "c3", "retry", "", ""),
        ("shop", "4", "retry", "", Conflict.GONE),
        ("shop-dlq", "L5", "copy", "", ""),
    }
    assert plan.jobs.get(job="1").seen == str(scores["1"]), "this stay, not the one that was replayed"
    again = making.of_again(OLGA, plan_that_failed(plan))
    fail(valkey, SHOP, 1, at=now_ms())
    assert (freeze(again).jobs.get(job="1").conflict, making.later(again)) == ("", None)


def plan_that_failed(plan: Replay) -> Replay:
    """The same, once its first job has been sent and has failed a third time."""
    plan.jobs.filter(job="1").update(place=Place.SENT, sent_ms=1_700, ended_ms=1_900, fate=Fate.FAILED)
    Replay.objects.filter(pk=plan.pk).update(phase=Phase.DONE, sent=1, failed=1)
    return plan


def test_a_plan_of_nothing_that_failed_again_is_refused_and_the_log_says_so(valkey: redis.Redis) -> None:
    before = a_plan(Phase.DONE, [b"1"], place=Place.SENT)
    with pytest.raises(BadInput, match=str(before)):
        making.of_again(OLGA, before)
    assert AuditEntry.objects.get(action=making.PLAN).status == "refused"
