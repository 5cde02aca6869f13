"""Freezing that is killed between any two writings, loses its server, is overtaken, or finds everything gone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis

from queues import outages, registry
from queues.errors import Unreachable
from queues.failures.occurrences import Which
from queues.lease import LeaseLost
from queues.models import Failure, Replay
from queues.registry import SourceConfig
from queues.replay import freezing, making
from queues.replay.freezing import Freezing, Step, progress
from queues.replay.freezing.looking import Looking
from queues.replay.run import running
from queues.replay.run.run import Run
from queues.replay.terms import Ordering, Patch, PatchKind, Terms
from queues.replay.types import Phase
from queues.types import State
from tests.queues.indexing import fail, indexer, on_server, settle
from tests.queues.replaying import DEAD, OLGA, SHOP, FakeHands, Killed, a_plan, a_queue, freeze, hands, letter
from tests.valkey import StartRedis

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks")]

KEYED = replace(Terms(), key="order", order=Ordering.FAILURE)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many points at which to be killed."""
    monkeypatch.setattr("queues.replay.freezing.collecting.BATCH", 7)
    monkeypatch.setattr("queues.replay.freezing.items.read.__defaults__", (7,))


def content(plan: Replay) -> list[tuple[Any, ...]]:
    names = ("queue", "job", "seen", "acts", "target", "letter", "conflict", "failed_ms", "key", "group", "permanent")
    return sorted(plan.jobs.values_list(*names), key=str)


def a_state() -> Replay:
    return making.of_state(OLGA, SHOP, State.FAILED)


def a_group() -> Replay:
    strand = Failure.objects.filter(queue__slug="shop").first()
    assert strand
    return making.of_group(OLGA, strand.strand.group, Which())


def dead_letters() -> Replay:
    return making.of_letters(OLGA, DEAD)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("wish", [a_state, a_group, dead_letters])
def test_a_plan_that_is_killed_between_any_two_writings_is_the_same_in_the_end(
    valkey: redis.Redis, wish: Callable[[], Replay]
) -> None:
    fail(valkey, SHOP, *range(30), reason="card declined")
    scores = on_server(valkey, SHOP)
    for number in range(20, 40):
        letter(valkey, f"L{number}", of=number, at=scores.get(b"%d" % number, 5_000))
    a_queue(SHOP), a_queue(DEAD)
    settle(indexer())
    whole = wish()
    Replay.objects.filter(pk=whole.pk).update(terms=KEYED.kept())
    whole = freeze(whole)
    plan = wish()
    Replay.objects.filter(pk=plan.pk).update(terms=KEYED.kept())
    for writing in range(1_000):
        run = hands(plan, killed_at=writing % 7)
        try:
            work = Freezing(run)
            while run.replay.phase == Phase.FREEZING:
                work.step()
            break
        except Killed:
            continue
    plan.refresh_from_db()
    assert plan.phase == Phase.DRAFT
    assert content(plan) == content(whole)
    keys: dict[str, object] = {"examples": {}, "kinds": []}  # of their own rows
    assert plan.frozen | keys == whole.frozen | keys
    assert (plan.total, plan.to_send, plan.left_out) == (whole.total, whole.to_send, whole.left_out)
    assert plan.total >= 20


@pytest.mark.usefixtures("small")
def test_how_far_it_is_can_be_seen(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, *range(20))
    plan = a_state()
    Replay.objects.filter(pk=plan.pk).update(terms=KEYED.kept())
    run = hands(plan)
    work, seen = Freezing(run), []
    while (told := progress(run.replay)) is not None:
        seen.append((told.step, told.done, told.total))
        work.step()
    assert seen[:3] == [(Step.COLLECTING, 0, 20), (Step.COLLECTING, 7, 20), (Step.COLLECTING, 14, 20)]
    assert (Step.LOOKING, 14, 20) in seen
    assert seen[-1] == (Step.READING, 20, 20)


def test_a_server_that_goes_away_is_waited_for(start_redis: StartRedis, settings: Any) -> None:
    server = start_redis()
    settings.MIRANTE_SOURCES = (SourceConfig("main", server.url),)
    registry.forget()
    with server.client() as client:
        fail(client, SHOP, *range(1_500))
        plan = a_state()
        run = hands(plan)
        work = Freezing(run)
        while run.replay.step != Step.LOOKING:
            work.step()
        work.step()
        server.stop()
        with pytest.raises(Unreachable):
            work.step()
    assert run.replay.cursor, "what was looked at by then is kept"
    server.start()
    outages.forget("main")
    with server.client() as client:
        fail(client, SHOP, *range(1_000, 1_499))  # its data went with it; some have failed again
    plan = freeze(plan)
    assert plan.total == 1_500
    assert dict(plan.frozen["sums"] and _by_conflict(plan)) == {"": 1_000, "left": 499, "gone": 1}
    registry.forget()


def _by_conflict(plan: Replay) -> dict[str, int]:
    return {name: plan.jobs.filter(conflict=name).count() for name in ("", "left", "gone")}


def test_where_everything_was_flushed_nothing_is_sent(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, *range(5))
    letter(valkey, "L9", of=9)
    a_queue(SHOP)
    plan, dead = a_state(), dead_letters()
    plan = freeze(plan)
    assert plan.to_send == 5
    freezing.relook(plan)
    valkey.flushall()
    plan, dead = freeze(plan), freeze(dead)
    assert (plan.to_send, plan.left_out, dead.total) == (0, 5, 0)
    assert set(plan.jobs.values_list("conflict", flat=True)) == {"gone"}


def test_a_runner_that_was_overtaken_writes_nothing(valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(valkey, SHOP, *range(2_500))
    plan = a_state()
    lost: list[int] = []
    real = Looking.step

    def overtaken(looking: Any) -> bool:
        """Somebody takes the lease while the server is asked; that one comes to the end."""
        if not lost:
            lost.append(1)
            Replay.objects.filter(pk=plan.pk).update(holder="", epoch=50)
            assert running.run(plan.pk, 50, slice_s=60) is None, "a draft has to be started by somebody"
            with pytest.raises(LeaseLost):
                real(looking)
            raise LeaseLost
        return real(looking)

    monkeypatch.setattr(Looking, "step", overtaken)
    assert running.run(plan.pk, 0, slice_s=60) is None
    plan.refresh_from_db()
    assert (plan.phase, plan.total, plan.to_send) == (Phase.DRAFT, 2_500, 2_500)
    assert plan.frozen["kept"] == {"1": 2_500}
    assert plan.lines.count() == 1


# Data


def test_keys_are_what_stands_at_the_path_and_jobs_without_are_told(valkey: redis.Redis) -> None:
    data = {
        "a": '{"c": {"id": 1}}', "b": '{"c": {"id": 1.0}}', "c": '{"c":{"id":"1"}}', "d": '{"c": {"id": null}}',
        "e": '{"c": 5}', "f": "{no json", "g": '{"c":{"id":{"x":[1,2],"y":3}}}',
        "h": '{"c":{"id":{"y":3.0,"x":[1,2]}}}', "i": json.dumps({"pad": "x" * 40_000, "c": {"id": 1}}),
        "j": '{"c":{"id":"\\ud800"}}',
    }  # fmt: skip
    for job, raw in data.items():
        fail(valkey, SHOP, job, data=raw)
    plan = a_state()
    Replay.objects.filter(pk=plan.pk).update(terms=replace(Terms(), key="c.id").kept())
    plan = freeze(plan)
    keys = dict(plan.jobs.values_list("job", "key"))
    assert keys["a"] == keys["b"] == keys["i"] != keys["c"]
    assert keys["g"] == keys["h"]
    assert len({keys[job] for job in "acgj"} - {None}) == 4
    assert all(0 <= key < 2**63 for key in keys.values() if key is not None)
    assert {job for job, key in keys.items() if key is None} == {"d", "e", "f"}
    assert dict(plan.jobs.exclude(conflict="").values_list("job", "conflict")) == {
        "d": "no-key", "e": "no-key", "f": "damaged",
    }  # fmt: skip
    terms = replace(Terms(), key="pad")
    assert freezing.step_after(Terms.of(plan.terms), terms) is Step.READING
    Replay.objects.filter(pk=plan.pk).update(terms=terms.kept())
    plan.refresh_from_db()
    assert freezing.reread(plan)
    assert not freezing.reread(plan), "it is no draft any more"
    plan = freeze(plan)
    assert list(plan.jobs.exclude(key=None).values_list("job", flat=True)) == ["i"]


def test_an_edit_makes_copies_of_all_and_tells_which_it_does_not_fit(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, "fits", data='{"order": {"total": 5}}')
    fail(valkey, SHOP, "not", data='"a text"')
    letter(valkey, "L9", of=9, payload={"order": {"total": 7}})
    a_queue(SHOP)
    patch = Patch(PatchKind.PATHS, "order.total = 6")
    assert freezing.step_after(Terms(), replace(Terms(), patch=patch)) is Step.LOOKING
    for plan in (a_state(), dead_letters()):
        Replay.objects.filter(pk=plan.pk).update(terms=replace(Terms(), patch=patch, key="order.total").kept())
    plans = [freeze(plan) for plan in Replay.objects.order_by("pk")]
    rows = {row.job: row for plan in plans for row in plan.jobs.all()}
    assert {job: (row.acts, row.conflict) for job, row in rows.items()} == {
        "fits": ("copy", ""), "not": ("copy", "unfit"), "L9": ("copy", ""),
    }  # fmt: skip
    assert rows["not"].note
    assert rows["fits"].key == rows["L9"].key is not None, "order is kept by what is sent"


def test_terms_that_touch_neither_jobs_nor_data_need_no_second_look() -> None:
    for now in (
        replace(Terms(), order=Ordering.NEWEST),
        replace(Terms(), canary=3),
        replace(Terms(), without_permanent=True),
    ):
        assert freezing.step_after(Terms(), now) is None
    assert freezing.step_after(replace(Terms(), key="a"), Terms()) is None
    for now in (replace(Terms(), acts_copy=True), replace(Terms(), target="mail")):
        assert freezing.step_after(Terms(), now) is Step.LOOKING


@pytest.mark.parametrize("terms", [Terms(), KEYED])
def test_whoever_reads_large_letters_gives_signs_of_life_between_them(
    terms: Terms, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_queue()
    a_queue(DEAD)
    for number in range(5):
        letter(valkey, f"L{number}", of=number, payload={"order": number})
    plan = making.of_letters(OLGA, DEAD)
    Replay.objects.filter(pk=plan.pk).update(terms=terms.kept())
    signs: list[str] = []
    monkeypatch.setattr(FakeHands, "alive", lambda run: signs.append(run.replay.step))
    freeze(plan)
    assert signs.count(Step.LOOKING) >= 5
    assert signs.count(Step.READING) >= (5 if terms.key else 0)


def test_a_sign_of_life_is_written_now_and_then_and_tells_who_was_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = a_plan(Phase.FREEZING)
    lease = running._LEASES.take(plan.pk, plan.epoch)
    assert lease
    run = Run(Replay.objects.get(pk=plan.pk), lease)
    beats = run.replay.beats
    run.alive()
    assert Replay.objects.get(pk=plan.pk).beats == beats
    monkeypatch.setattr("queues.replay.run.run.ALIVE_S", 0.0)
    run.alive()
    assert Replay.objects.get(pk=plan.pk).beats == beats + 1
    Replay.objects.filter(pk=plan.pk).update(epoch=plan.epoch + 2)
    with pytest.raises(LeaseLost):
        run.alive()
