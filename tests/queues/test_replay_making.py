"""From a wish to a plan: once for each form, with its entry in the log, and refused where it must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
import redis
from django.db import IntegrityError
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from queues import audit, readonly, registry
from queues.actions import Target
from queues.audit.types import Asked, Status
from queues.errors import BadInput, LimitExceeded, NotFound, QueueError, ReadOnly, Unreachable, Unsupported
from queues.failures.occurrences import Where, Which
from queues.failures.standing import Index, standing
from queues.models import (
    AuditEntry,
    FailureGroup,
    IndexedQueue,
    Indexing,
    Replay,
    ReplayLimits,
)
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.replay import making
from queues.replay.making.behind import Behind
from queues.replay.making.wish import Wish
from queues.replay.terms import Originals, PatchKind, Terms
from queues.replay.types import From, Phase
from queues.types import Capability, JobRef, QueueRef, State
from tests.queues.fakes import FakeBackend
from tests.queues.indexing import fail, indexer, settle
from tests.queues.replaying import DEAD, OLGA, SHOP, a_queue, freeze, letter
from tests.valkey import StartRedis

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("source", "no_tasks")]

FORM = replace(OLGA, key="form-1", reason="the gateway is back")
ONE = [Target(b"1", b"1000")]
ODD = QueueRef("main", b"\xffpre", b"a b/<x>")


def a_group(client: redis.Redis, ref: QueueRef = SHOP, *, at: int | None = None) -> FailureGroup:
    fail(client, ref, *range(3), at=at, reason="card declined")
    a_queue(ref)
    settle(indexer())
    return FailureGroup.objects.get()


def test_a_plan_of_a_state_knows_what_is_needed_to_collect_it(valkey: redis.Redis) -> None:
    fail(valkey, SHOP, *range(40))
    before = now_ms()
    plan = making.of_state(FORM, SHOP, State.FAILED, name="")
    assert (plan.phase, plan.title, plan.made_by, plan.total) == (Phase.FREEZING, "shop", "olga", 0)
    assert plan.words == "all failed jobs of shop"
    assert plan.frozen_ms is not None
    assert abs(plan.frozen_ms - before) < 60_000
    assert Wish.of(plan.made_from) == Wish(From.STATE, "shop", State.FAILED)
    assert plan.frozen == {"expected": 40}
    assert Terms.of(plan.terms) == Terms.suggested(40)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.who, entry.queue, entry.status) == (making.PLAN, "olga", "shop", Status.DONE)
    assert (entry.asked, entry.selection, entry.reason) == (40, plan.words, "the gateway is back")
    assert entry.parameters == {"replay": plan.pk}


@pytest.mark.parametrize("name", ["", "charge", "a\u202eb<script>", "ü" * 400])
def test_wishes_are_kept_as_they_were(valkey: redis.Redis, name: str) -> None:
    targets = tuple(Target(job, b"17.5") for job in (b"\x00\xff", b"a b", b"x" * 3_000))
    for wish in (
        Wish(From.SELECTION, ODD.slug, State.COMPLETED, targets=targets),
        Wish(From.LETTERS, ODD.slug, State.WAITING, letters=True, name=name),
        Wish(From.STATE, ODD.slug, State.FAILED, name=name),
        Wish(From.GROUP, groups=(4, 5), upto=9, strands=(1, 2), which=Which(1, 2, "shop", name, "w", Where.SET)),
    ):
        plan = making.beginning.begin(making.beginning.Beginning(OLGA, "main", wish, "t" * 300, "w", Terms(), 1))
        plan.refresh_from_db()
        assert Wish.of(plan.made_from) == wish


def test_the_words_say_which_jobs_are_meant(valkey: redis.Redis) -> None:
    group = a_group(valkey, ODD)
    a_queue(SHOP)
    told = [
        making.of_jobs(OLGA, ODD, State.FAILED, ONE).words,
        making.of_jobs(OLGA, SHOP, State.COMPLETED, [*ONE, Target(b"2")]).words,
        making.of_jobs(OLGA, DEAD, State.WAITING, ONE).words,
        making.of_letters(OLGA, DEAD, name="pay").words,
        making.of_state(OLGA, DEAD, State.WAITING).words,
        making.of_state(OLGA, SHOP, State.FAILED, name="pay").words,
        making.of_group(OLGA, group, Which(name="charge")).words,
    ]
    assert told == [
        "failed job 1 of �pre:a b/<x>",
        "2 completed jobs of shop",
        "letter 1 of shop-dlq",
        "all letters in shop-dlq whose name holds “pay”",
        "all letters in shop-dlq",
        "all failed jobs of shop whose name holds “pay”",
        f"all failed jobs of the group “{group.title}” ({group.slug}), named “charge”",
    ]


def test_a_plan_of_a_group_knows_the_failures_of_now(valkey: redis.Redis) -> None:
    group = a_group(valkey)
    plan = making.of_group(FORM, group, Which(where=Where.SET))
    assert (plan.group, plan.title, plan.frozen["expected"]) == (group, group.title, 3)
    wish = Wish.of(plan.made_from)
    assert wish.which == Which(where=Where.SET)
    assert list(wish.strands) == list(group.strands.values_list("pk", flat=True))
    assert AuditEntry.objects.get().group == group


def test_an_edited_job_keeps_its_data_apart_and_the_log_shows_it_masked(valkey: redis.Redis) -> None:
    data = b'{"total": 12345678901234567890123, "password": "hunter2"}'
    plan = making.of_edited(OLGA, JobRef(SHOP, b"1"), State.FAILED, ONE[0], data)
    terms = Terms.of(plan.terms)
    assert terms.patch
    assert (terms.patch.kind, terms.originals, terms.canary) == (PatchKind.WHOLE, Originals.WHEN_DONE, 0)
    plan.refresh_from_db()
    assert bytes(plan.data or b"") == data
    assert "12345678901234567890123" in str(AuditEntry.objects.get().parameters)
    assert "hunter2" not in str(AuditEntry.objects.get().parameters)
    with pytest.raises(BadInput):
        making.of_edited(OLGA, JobRef(SHOP, b"1"), State.FAILED, ONE[0], b"{no json")


# The same form again


def test_a_form_that_is_sent_twice_makes_one_plan(valkey: redis.Redis) -> None:
    first = making.of_state(FORM, SHOP, State.FAILED)
    assert making.of_state(FORM, SHOP, State.FAILED) == first
    assert making.of_state(FORM, ODD, State.FAILED) != first
    assert making.of_state(replace(FORM, key="form-2"), SHOP, State.FAILED) != first
    assert making.of_state(replace(FORM, by=replace(OLGA.by, name="anna")), SHOP, State.FAILED) != first
    assert making.of_state(OLGA, SHOP, State.FAILED) != making.of_state(OLGA, SHOP, State.FAILED)
    assert Replay.objects.count() == AuditEntry.objects.count() == 6


def test_two_who_send_a_form_at_once_get_one_plan(valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    first = making.of_state(FORM, SHOP, State.FAILED)
    real, asked = audit.earlier, []

    def too_early(*given: object) -> AuditEntry | None:
        """The other has not committed yet when it is asked at first."""
        asked.append(1)
        return None if len(asked) == 1 else real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("queues.replay.making.beginning.audit.earlier", too_early)
    assert making.of_state(FORM, SHOP, State.FAILED) == first
    assert Replay.objects.count() == 1


def test_the_form_of_a_plan_that_was_discarded_makes_no_other(valkey: redis.Redis) -> None:
    making.of_state(FORM, SHOP, State.FAILED).delete()
    with pytest.raises(NotFound, match="discarded"):
        making.of_state(FORM, SHOP, State.FAILED)


def test_a_worker_is_woken_once_the_plan_is_written(
    valkey: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    woken: list[tuple[int, int]] = []
    monkeypatch.setattr("queues.tasks.wake_replay", lambda replay, epoch: woken.append((replay, epoch)))
    with django_capture_on_commit_callbacks(execute=True):
        plan = making.of_state(FORM, SHOP, State.FAILED)
        making.of_state(FORM, SHOP, State.FAILED)
        assert not woken
    assert woken == [(plan.pk, 0)]


def test_a_database_that_refuses_for_another_reason_is_not_taken_for_the_same_form(
    valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.replay.making.beginning.secrets.token_hex", lambda size: "same")
    making.of_state(OLGA, SHOP, State.FAILED)
    with pytest.raises(IntegrityError):
        making.of_state(OLGA, SHOP, State.FAILED)


# Refusals


REFUSED: Mapping[str, Callable[[], Replay]] = {
    "none": lambda: making.of_jobs(OLGA, SHOP, State.FAILED, []),
    "seen": lambda: making.of_jobs(OLGA, SHOP, State.FAILED, [Target(b"1", b"9" * 51)]),
    "waiting": lambda: making.of_jobs(OLGA, SHOP, State.WAITING, ONE),
    "active": lambda: making.of_jobs(OLGA, DEAD, State.ACTIVE, ONE),
    "no letters": lambda: making.of_letters(OLGA, SHOP),
    "delayed": lambda: making.of_state(OLGA, SHOP, State.DELAYED),
    "NUL": lambda: making.of_state(OLGA, SHOP, State.FAILED, name="a\x00"),
    "gone": lambda: making.of_group(OLGA, FailureGroup(slug="a", title="a"), Which(where=Where.GONE)),
}


@pytest.mark.parametrize("wish", REFUSED)
def test_what_no_form_of_ours_asks_for_is_refused(valkey: redis.Redis, wish: str) -> None:
    with pytest.raises(BadInput):
        REFUSED[wish]()
    assert not Replay.objects.exists()


def test_a_plan_of_more_jobs_than_admins_allow_is_refused_and_the_log_says_so(valkey: redis.Redis) -> None:
    ReplayLimits.objects.create(pk=1, largest=2)
    group = a_group(valkey)
    wishes: Sequence[Callable[[], Replay]] = (
        lambda: making.of_state(OLGA, SHOP, State.FAILED),
        lambda: making.of_jobs(OLGA, SHOP, State.FAILED, [Target(b"%d" % each) for each in range(3)]),
        lambda: making.of_group(OLGA, group, Which()),
    )
    for wish in wishes:
        with pytest.raises(LimitExceeded, match="2"):
            wish()
    assert not Replay.objects.exists()
    refused = AuditEntry.objects.filter(action=making.PLAN)
    assert {(entry.status, bool(entry.note), bool(entry.selection)) for entry in refused} == {("refused", True, True)}
    with pytest.raises(LimitExceeded):
        making.of_jobs(OLGA, SHOP, State.FAILED, [Target(b"%d" % each) for each in range(1_001)])


def test_a_source_that_is_read_only_is_not_planned_for(
    valkey: redis.Redis, source: SourceConfig, settings: Settings
) -> None:
    group = a_group(valkey)
    letter(valkey, "L1", of=1)
    settings.MIRANTE_SOURCES = (replace(source, read_only=True),)
    registry.forget()
    readonly.forget()
    wishes: Sequence[Callable[[], Replay]] = (
        lambda: making.of_state(OLGA, SHOP, State.FAILED),
        lambda: making.of_group(OLGA, group, Which()),
        lambda: making.of_letters(OLGA, DEAD),
    )
    for wish in wishes:
        with pytest.raises(ReadOnly):
            wish()
    assert AuditEntry.objects.filter(action=making.PLAN, status="refused").count() == 3


def test_a_source_that_is_away_cannot_be_planned_for(start_redis: StartRedis, settings: Settings) -> None:
    server = start_redis()
    settings.MIRANTE_SOURCES = (SourceConfig("main", server.url),)
    registry.forget()
    server.stop()
    with pytest.raises(Unreachable):
        making.of_state(OLGA, SHOP, State.FAILED)
    assert not Replay.objects.exists()
    registry.forget()


def test_a_backend_that_cannot_replay_says_so(main: FakeBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeBackend, "capabilities", frozenset(Capability) - {Capability.REPLAYS})
    with pytest.raises(Unsupported, match="main"):
        making.of_jobs(Asked(OLGA.by), SHOP, State.FAILED, ONE)


def test_every_refusal_has_a_text(valkey: redis.Redis) -> None:
    with pytest.raises(QueueError) as told:
        making.of_letters(OLGA, SHOP)
    assert "shop" in str(told.value)


# What comes later


def test_failures_that_come_later_are_counted_and_no_part_of_it(valkey: redis.Redis) -> None:
    a_queue(DEAD)
    group = a_group(valkey)
    letter(valkey, "L1", of=8, at=now_ms() - 90_000)
    of_group, of_state = making.of_group(OLGA, group, Which()), making.of_state(OLGA, SHOP, State.FAILED)
    picked, dead = making.of_jobs(OLGA, SHOP, State.FAILED, ONE), making.of_letters(OLGA, DEAD)
    assert [making.later(plan) for plan in (of_group, of_state, picked, dead)] == [0, 0, None, 0]
    soon = now_ms() + 30
    fail(valkey, SHOP, "n1", at=soon, reason="card declined")
    fail(valkey, SHOP, "n2", at=soon, reason="card declined", name="a new name")
    letter(valkey, "L2", of=9, at=soon)
    settle(indexer())
    assert [making.later(plan) for plan in (of_group, of_state, picked, dead)] == [2, 2, None, 1]


# What the index had not read


def test_a_plan_says_how_far_the_index_had_read_when_its_set_was_frozen(valkey: redis.Redis) -> None:
    unread = now_ms() - 5_000
    group = a_group(valkey, at=unread - 100)
    whole = making.of_group(OLGA, group, Which())
    assert making.Behind.of(whole.frozen.get("index")) is None
    fail(valkey, SHOP, "u1", at=unread, reason="card declined")
    fail(valkey, SHOP, "u2", at=unread + 900, reason="card declined")
    lacking = making.of_group(OLGA, group, Which())
    assert making.Behind.of(lacking.frozen["index"]) == Behind(Index.BEHIND, unread), (
        "whatever the index says of itself"
    )
    assert freeze(lacking).frozen["index"] == lacking.frozen["index"], "it is kept"
    settle(indexer(epoch=2))
    assert (making.missed(lacking), making.missed(whole)) == (2, 2)
    lacking.refresh_from_db()
    assert lacking.total == 3


def test_what_failed_a_moment_ago_is_no_reason_to_make_a_plan_again(valkey: redis.Redis) -> None:
    group = a_group(valkey)
    fail(valkey, SHOP, "u1", at=now_ms() + 500, reason="card declined")
    assert "index" not in making.of_group(OLGA, group, Which()).frozen


@pytest.mark.parametrize(
    ("stands", "word", "known"),
    [
        ({"behind_ms": 60_000}, Index.BEHIND, True),
        ({"why": "no password"}, Index.BLIND, True),
        ({"beat_at": timezone.now() - timedelta(minutes=3)}, Index.SILENT, True),
        ({"beat_at": None}, Index.NEVER, False),
    ],
)
def test_what_the_index_says_of_itself_is_kept_with_the_plan(
    valkey: redis.Redis, stands: dict[str, object], word: Index, known: bool
) -> None:
    group = a_group(valkey)
    Indexing.objects.update(**stands)
    before = standing("main").at_ms
    found = making.Behind.of(making.of_group(OLGA, group, Which()).frozen["index"])
    assert found is not None
    assert (found.index, found.read_ms is not None) == (word, known)
    assert found.read_ms == before


def test_while_queues_are_read_for_the_first_time_a_plan_keeps_how_many_had_been(valkey: redis.Redis) -> None:
    group = a_group(valkey)
    IndexedQueue.objects.update(scanning=True, scanned=8_667, expected=10_000)
    found = making.Behind.of(making.of_group(OLGA, group, Which()).frozen["index"])
    assert found == Behind(Index.READING, None, 8_667, 10_000)
