"""Copies of removed jobs: made before, confirmed after, bounded, and restored once."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from queues import audit, operations, outages, registry, retention, undo
from queues.actions import Below, NewJob, Outcome, Result, Stored, Target
from queues.audit import Actor, Asked, Status
from queues.errors import NotFound, OutOfMemory, Unsure, WrongState
from queues.models import AuditEntry, RemovedJob
from queues.operations.copying import copy_of
from queues.quantities import now_ms
from queues.types import JobRef, QueueRef, State
from tests.queues.fakes import ScriptedActions

pytestmark = pytest.mark.django_db(transaction=True)

SHOP = QueueRef("main", b"bull", b"shop")
ANNA = Asked(Actor("anna", "operator"))


def job(number: int, data: bytes = b"{}", **fields: bytes) -> Stored:
    named = {name.encode(): value for name, value in fields.items()}
    return Stored({b"name": b"mail", b"data": data, b"opts": b"{}", b"timestamp": b"1000"} | named, [b"line"])


def remove(*ids: bytes, state: State | None = State.FAILED) -> AuditEntry:
    return operations.remove(ANNA, SHOP, [Target(one) for one in ids], state=state, children=False)


def restorable(entry: AuditEntry) -> int:
    """How many jobs that an action removed can be restored."""
    return undo.kept(entry=entry).filter(restored_at__isnull=True).count()


@given(st.dictionaries(st.binary(max_size=20), st.binary(max_size=200)), st.lists(st.binary(max_size=50)))
def test_a_copy_comes_back_to_the_byte(fields: dict[bytes, bytes], logs: list[bytes]) -> None:
    assert undo.unpack(undo.pack(Stored(fields, logs))) == Stored(fields, logs)


def test_a_removed_job_is_kept_with_what_it_was(acted: ScriptedActions) -> None:
    acted.jobs[b"7"] = job(7, b'{"password": "hunter2"}')
    entry = remove(b"7")
    copy = RemovedJob.objects.get()
    assert undo.unpack(bytes(copy.stored)) == acted.jobs[b"7"]
    assert (copy.source, copy.queue, copy.job, copy.name, copy.state) == ("main", "shop", "7", "mail", "failed")
    assert copy.removed_at is not None
    assert timedelta(hours=23) < copy.expires_at - timezone.now() <= timedelta(hours=24)
    assert restorable(entry) == 1
    assert list(undo.kept(SHOP)) == list(undo.kept(entry=entry)) == [copy]
    assert not undo.kept(QueueRef("main", b"bull", b"mail"))
    assert "hunter2" not in json.dumps([entry.parameters, entry.exceptions])


def test_the_copy_is_there_before_the_removal(acted: ScriptedActions) -> None:
    acted.jobs[b"7"] = job(7)

    def look(queue: QueueRef, targets: Sequence[Target], **named: object) -> list[Result]:
        assert RemovedJob.objects.get().removed_at is None
        return [Result(b"7", Outcome.DONE)]

    acted.answers["remove"] = look
    assert remove(b"7").status == Status.DONE


def test_of_jobs_that_stayed_no_copy_is_kept(acted: ScriptedActions) -> None:
    acted.jobs |= {b"1": job(1), b"2": job(2), b"3": job(3)}
    acted.answers["remove"] = [
        Result(b"1", Outcome.DONE),
        Result(b"2", Outcome.LOCKED),
        Result(b"3", Outcome.SCHEDULED),
    ]
    entry = remove(b"1", b"2", b"3")
    assert [copy.job for copy in undo.kept(SHOP)] == ["1"]
    assert restorable(entry) == 1


def test_when_nothing_was_removed_nothing_is_kept(acted: ScriptedActions) -> None:
    acted.jobs[b"1"] = job(1)
    acted.answers["remove"] = OutOfMemory("full")
    with pytest.raises(OutOfMemory):
        remove(b"1")
    assert not RemovedJob.objects.exists()


def test_when_the_answer_is_lost_copies_stay_of_what_may_be_gone(acted: ScriptedActions) -> None:
    acted.jobs |= {b"1": job(1), b"2": job(2), b"3": job(3)}
    known = [Result(b"1", Outcome.DONE), Result(b"2", Outcome.LOCKED)]
    acted.answers["remove"] = Unsure("The answer was lost.", source="main", results=known)
    with pytest.raises(Unsure):
        remove(b"1", b"2", b"3")
    assert {copy.job: bool(copy.removed_at) for copy in RemovedJob.objects.all()} == {"1": True, "3": False}
    assert [copy.job for copy in undo.kept(SHOP)] == ["1"]
    RemovedJob.objects.update(copied_at=timezone.now() - timedelta(minutes=2))
    assert {copy.job for copy in undo.kept(SHOP)} == {"1", "3"}


def test_a_removal_that_is_tried_again_keeps_one_copy_of_a_job(acted: ScriptedActions) -> None:
    acted.jobs |= {b"1": job(1), b"2": job(2)}
    entry = AuditEntry.objects.create(action="remove")
    actions = registry.actions("main")
    with pytest.raises(Unsure), undo.kept_back(entry, SHOP, actions, [b"1", b"2"], None):
        raise Unsure("The answer was lost.", source="main")
    del acted.jobs[b"1"]  # it was removed
    with undo.kept_back(entry, SHOP, actions, [b"1", b"2"], None) as settle:
        assert settle([Result(b"1", Outcome.GONE), Result(b"2", Outcome.DONE)]) == 1
    assert {copy.job: bool(copy.removed_at) for copy in RemovedJob.objects.all()} == {"1": False, "2": True}


def test_a_job_that_was_not_removed_after_all_is_not_made_twice(acted: ScriptedActions) -> None:
    acted.jobs[b"1"] = job(1)
    acted.answers["remove"] = Unsure("The answer was lost.", source="main")
    with pytest.raises(Unsure):
        remove(b"1")
    outages.forget("main")
    with pytest.raises(WrongState, match="still there"):
        operations.restore(ANNA, RemovedJob.objects.get())
    assert [verb for verb, _positional, _named in acted.calls] == ["remove"]


def test_with_undo_off_nothing_is_kept(acted: ScriptedActions, settings: Settings) -> None:
    settings.MIRANTE_UNDO_HOURS = 0
    acted.jobs[b"1"] = job(1)
    entry = remove(b"1")
    assert not RemovedJob.objects.exists()
    assert restorable(entry) == 0


def test_what_goes_along_with_a_job_is_kept_too(acted: ScriptedActions) -> None:
    depot = QueueRef("main", b"bull", b"depot")
    acted.jobs |= {b"1": job(1), b"c1": job(2), b"c2": job(3, delay=b"60000"), b"2": job(4), b"d": job(5)}
    trees = {b"1": [JobRef(depot, b"c1"), JobRef(depot, b"c2")], b"2": [JobRef(depot, b"d")]}
    acted.answers["below"] = lambda ref: [Below(each, ended=False, locked=False) for each in trees[ref.id]]
    acted.answers["remove"] = [Result(b"1", Outcome.DONE, removed=2), Result(b"2", Outcome.LOCKED)]
    entry = operations.remove(ANNA, SHOP, [Target(b"1"), Target(b"2")], state=State.FAILED, children=True)
    assert {(copy.queue, copy.job): copy.state for copy in undo.kept(entry=entry)} == {
        ("shop", "1"): "failed",
        ("depot", "c1"): "",
        ("depot", "c2"): "delayed",
    }
    assert not entry.note
    assert RemovedJob.objects.count() == 3, "of what stayed no copy is kept"


def test_a_child_that_was_picked_too_has_one_copy_and_goes_with_its_parent(acted: ScriptedActions) -> None:
    acted.jobs |= {b"1": job(1), b"2": job(2)}
    tree = {b"1": [Below(JobRef(SHOP, b"2"), ended=False, locked=False)], b"2": []}
    acted.answers["below"] = lambda ref: tree[ref.id]
    acted.answers["remove"] = [Result(b"1", Outcome.DONE, removed=1), Result(b"2", Outcome.GONE)]
    operations.remove(ANNA, SHOP, [Target(b"1"), Target(b"2")], state=State.FAILED, children=True)
    assert sorted(copy.job for copy in undo.kept(SHOP)) == ["1", "2"]


def test_a_child_of_which_no_copy_fits_is_told(acted: ScriptedActions) -> None:
    acted.jobs |= {b"1": job(1), b"2": job(2, noise(1_200_000))}
    acted.answers["below"] = [Below(JobRef(SHOP, b"2"), ended=False, locked=False)]
    acted.answers["remove"] = [Result(b"1", Outcome.DONE, removed=1)]
    entry = operations.remove(ANNA, SHOP, [Target(b"1")], state=State.FAILED, children=True)
    assert entry.note == "Of 1 removed job no copy is kept."


def noise(size: int, seed: int = 1) -> bytes:
    """What does not get smaller."""
    return random.Random(seed).randbytes(size)


def test_a_job_that_is_too_large_is_removed_without_a_copy(acted: ScriptedActions) -> None:
    acted.jobs |= {b"1": job(1, noise(undo.JOB_MAX + 1)), b"2": job(2)}
    entry = remove(b"1", b"2")
    assert entry.outcomes == {"done": 2}
    assert [copy.job for copy in undo.kept(SHOP)] == ["2"]
    assert audit.in_words(entry) == "Removed 2 jobs. Of 1 removed job no copy is kept."


def test_a_single_action_takes_no_more_than_its_share(acted: ScriptedActions, settings: Settings) -> None:
    settings.MIRANTE_UNDO_MB = 1
    acted.jobs |= {b"%d" % number: job(number, noise(100_000, number)) for number in range(5)}
    entry = remove(*acted.jobs)
    assert restorable(entry) == 2


def test_jobs_are_no_longer_read_when_the_share_of_an_action_is_used_up(
    acted: ScriptedActions, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MIRANTE_UNDO_MB = 1
    acted.jobs |= {
        b"%d" % number: job(number, noise(1_000 if number < 300 else 1_500, number)) for number in range(700)
    }
    read: list[bytes] = []
    plain = acted.stored

    def counted(queue: QueueRef, ids: Sequence[bytes], *, most: int) -> Mapping[bytes, Stored]:
        read.extend(ids)
        return plain(queue, ids, most=most)

    monkeypatch.setattr(acted, "stored", counted)
    entry = remove(*acted.jobs)
    assert entry.outcomes == {"done": 700}
    assert 200 < restorable(entry) < 300
    assert len(read) == 300


def test_the_oldest_copies_make_room(acted: ScriptedActions, settings: Settings) -> None:
    settings.MIRANTE_UNDO_MB = 1
    for number in range(12):
        acted.jobs[b"%d" % number] = job(number, noise(100_000, number))
        remove(b"%d" % number)
    assert [copy.job for copy in undo.kept(SHOP)] == [str(number) for number in range(11, 1, -1)]


def test_copies_go_when_their_time_is_over(acted: ScriptedActions) -> None:
    acted.jobs |= {b"1": job(1), b"2": job(2)}
    entry = remove(b"1", b"2")
    RemovedJob.objects.filter(job="1").update(expires_at=timezone.now() - timedelta(seconds=1))
    assert restorable(entry) == 1
    expired = RemovedJob.objects.get(job="1")
    with pytest.raises(NotFound):
        operations.restore(ANNA, expired)
    assert retention.forget_old_entries() == 1
    assert RemovedJob.objects.get().job == "2"


def test_a_copy_outlives_the_entry_of_its_removal(acted: ScriptedActions) -> None:
    acted.jobs[b"1"] = job(1)
    remove(b"1").delete()
    assert RemovedJob.objects.get().entry is None


def test_a_job_is_restored_as_a_new_one_and_only_once(acted: ScriptedActions) -> None:
    acted.jobs[b"7"] = job(7, b'{"a" : 1.0}', attemptsMade=b"3", returnvalue=b"1", priority=b"4")
    removed = remove(b"7")
    acted.jobs.clear()
    copy = undo.kept(entry=removed).get()
    entry = operations.restore(ANNA, copy)
    _verb, (queue, new), named = acted.calls[-1]
    assert queue == SHOP
    assert (new.name, new.data, new.id) == (b"mail", b'{"a" : 1.0}', b"")  # its old number is not used again
    assert json.loads(new.opts) == {"priority": 4}
    assert (audit.made(entry), entry.jobs) == ("100", ["7"])
    assert audit.in_words(entry) == "Restored job 7 as job 100"
    copy.refresh_from_db()
    assert (copy.restored_as, bytes(copy.stored)) == ("100", b"")
    assert restorable(removed) == 0
    assert ":" not in named["token"]
    with pytest.raises(WrongState, match="restored already, as job 100"):
        operations.restore(ANNA, copy)
    assert AuditEntry.objects.latest("pk").status == Status.REFUSED
    assert len(acted.calls) == 2


def test_an_id_that_somebody_chose_is_kept_where_it_is_free(acted: ScriptedActions) -> None:
    acted.jobs |= {b"order-1": job(1), b"order-2": job(2)}
    remove(b"order-1", b"order-2")
    acted.jobs.clear()
    first, second = undo.kept().order_by("pk")
    assert audit.made(operations.restore(ANNA, first)) == "order-1"

    def taken(queue: QueueRef, new: NewJob, *, token: str) -> Result:
        return Result(b"", Outcome.ALREADY) if new.id else Result(b"", Outcome.DONE, made=b"101")

    acted.answers["add"] = taken
    entry = operations.restore(ANNA, second)
    assert audit.made(entry) == "101"
    assert len({named["token"] for verb, _positional, named in acted.calls if verb == "add"}) == 3


def test_a_restoring_whose_answer_was_lost_adds_no_second_job(acted: ScriptedActions) -> None:
    acted.jobs[b"7"] = job(7)
    remove(b"7")
    acted.jobs.clear()
    copy = undo.kept().get()
    acted.answers["add"] = Unsure("The answer was lost.", source="main")
    with pytest.raises(Unsure):
        operations.restore(ANNA, copy)
    outages.forget("main")
    acted.answers["add"] = Result(b"", Outcome.ALREADY, made=b"100")  # as the token was used before
    entry = operations.restore(ANNA, copy)
    assert (entry.outcomes, audit.made(entry)) == ({"done": 1}, "100")
    first, second = (named["token"] for verb, _positional, named in acted.calls if verb == "add")
    assert first == second
    copy.refresh_from_db()
    assert copy.restored_as == "100"


def test_two_who_restore_at_once_make_one_job(acted: ScriptedActions) -> None:
    acted.jobs[b"7"] = job(7)
    remove(b"7")
    acted.jobs.clear()
    copy = undo.kept().get()

    def meanwhile(queue: QueueRef, new: NewJob, *, token: str) -> Result:
        RemovedJob.objects.update(restored_at=timezone.now(), restored_as="100")
        return Result(b"", Outcome.ALREADY, made=b"100")

    acted.answers["add"] = meanwhile
    entry = operations.restore(ANNA, copy)
    assert (entry.outcomes, audit.made(entry)) == ({"already": 1}, "100")
    assert audit.in_words(entry) == "Job 7 was restored already, as job 100"


def test_a_deduplication_id_that_is_taken_by_now_stops_it(acted: ScriptedActions) -> None:
    acted.jobs[b"7"] = job(7, opts=b'{"de":{"id":"order-1"}}')
    remove(b"7")
    acted.jobs.clear()
    acted.answers["add"] = Result(b"", Outcome.CHANGED, State.WAITING, made=b"8")
    entry = operations.restore(ANNA, undo.kept().get())
    assert audit.made(entry) == ""
    assert audit.in_words(entry) == "Job 7 was not restored. Another job has its deduplication id by now."
    assert undo.kept().get().restored_at is None


def test_a_delayed_job_is_due_when_it_was_and_another_at_once() -> None:
    now = now_ms()
    stored = job(1, timestamp=b"%d" % (now - 1_000), delay=b"60000", opts=b'{"delay":60000,"attempts":2}')
    assert json.loads(copy_of(stored, state=State.DELAYED, now_ms=now).opts) == {"delay": 59_000, "attempts": 2}
    assert json.loads(copy_of(stored, state=State.DELAYED, now_ms=now + 99_000).opts) == {"attempts": 2}
    assert json.loads(copy_of(stored, state=State.FAILED, now_ms=now).opts) == {"attempts": 2}
    later = job(1, timestamp=b"1000", delay=b"5000", opts=b'{"delay":60000}')  # changed, or a retry's
    assert json.loads(copy_of(later, state=State.DELAYED, now_ms=now).opts) == {"delay": 5_000}


@pytest.mark.parametrize("opts", [b"", b"[]", b"nonsense", b"[" * 100_000])
def test_options_that_are_none_become_none(opts: bytes) -> None:
    assert json.loads(copy_of(job(1, opts=opts), state=State.WAITING).opts) == {}
