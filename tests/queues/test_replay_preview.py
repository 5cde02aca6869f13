"""What a draft would do by its terms, before it does anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from queues.history import KINDS, MINUTE_MS, History, dump
from queues.models import FailureGroup, Following, Replay, ReplayJob, Snapshot, Source, Stream
from queues.quantities import now_ms
from queues.replay.freezing import counting
from queues.replay.preview import Effect, Found, Further, overtaking, preview
from queues.replay.preview.targets import effect
from queues.replay.terms import Ordering, Terms
from queues.replay.types import Acts, Choice, Phase
from queues.sendings import Conflict
from queues.snapshots import dump_counts
from queues.types import Counts, Oldest, QueueRef, State
from tests.queues.fakes import EMPTY
from tests.queues.replaying import DEAD, QUIET, SHOP, a_plan, a_queue

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("main")]


def counted(plan: Replay, **more: object) -> Replay:
    """As freezing leaves it."""
    plan.frozen = counting.counted(plan.pk, plan.frozen) | more
    plan.save()
    return plan


def a_draft(number: int = 20) -> Replay:
    return a_plan(jobs=[b"%d" % each for each in range(number)])


def by_conflict(found: list[Found]) -> Mapping[str, tuple[int, str, int]]:
    return {each.conflict: (each.number, each.choice, len(each.examples)) for each in found}


def test_conflicts_are_told_with_what_is_done_about_them() -> None:
    plan = a_draft()
    plan.jobs.filter(job__in=["0", "1", "2", "3"]).update(conflict="twin", note="newer")
    plan.jobs.filter(job="4").update(conflict="left", note="waiting")
    plan.jobs.filter(job="5").update(conflict="parent-gone")
    plan.jobs.filter(job="6").update(conflict="no-key")
    shown = preview(counted(plan), replace(QUIET, key="a"))
    assert (shown.number, shown.to_send, shown.left_out) == (20, 14, 6)
    assert by_conflict(list(shown.conflicts)) == {
        "twin": (4, Choice.SKIP, 3), "left": (1, Choice.SKIP, 1), "parent-gone": (1, Choice.SEND, 1),
        "no-key": (1, Choice.SKIP, 1),
    }  # fmt: skip
    twin, *_rest = shown.conflicts
    assert [(each.job and each.job.id, each.note) for each in twin.examples] == [
        (b"0", "newer"), (b"1", "newer"), (b"2", "newer"),
    ]  # fmt: skip
    assert list(twin.possible) == [Choice.SKIP, Choice.SEND]
    assert [list(each.possible) for each in shown.conflicts if each.conflict == "left"] == [[Choice.SKIP]]
    bold = preview(plan, replace(QUIET, choices={Conflict.TWIN: Choice.SEND}))
    assert bold.to_send == 19, "where no order by key is kept, no key is missed"
    assert "no-key" not in by_conflict(list(bold.conflicts))


def test_times_are_those_of_jobs_that_are_sent() -> None:
    plan = a_draft()
    plan.jobs.filter(job="0").update(conflict="gone")
    plan.jobs.filter(job="19").update(permanent=True)
    shown = preview(counted(plan), QUIET)
    assert (shown.oldest_ms, shown.newest_ms) == (1_001, 1_019)
    assert (shown.first_failed_ms, shown.last_failed_ms) == (2_001, 2_019)
    assert (shown.permanent.permanent, shown.permanent.of) == (1, 19)
    without = preview(plan, replace(QUIET, without_permanent=True))
    assert (without.to_send, without.newest_ms) == (18, 1_018)
    assert (without.permanent.permanent, without.permanent.of) == (1, 19)


@pytest.mark.parametrize(
    ("order", "expected"),
    [(Ordering.ORIGINAL, [2, 3, 4, 5, 6]), (Ordering.NEWEST, [19, 18, 17, 16, 15]), (Ordering.SAT, [2, 3, 4, 5, 6])],
)
def test_the_first_to_go_are_those_of_the_order(order: Ordering, expected: list[int]) -> None:
    plan = a_draft()
    plan.jobs.filter(job__in=["0", "1"]).update(conflict="gone")
    shown = preview(counted(plan), replace(QUIET, order=order))
    assert [int(each.row.job) for each in shown.sample] == expected


@pytest.mark.parametrize("order", Ordering)
def test_the_first_of_very_many_are_found_without_looking_at_all(
    order: Ordering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MANY", 10)
    monkeypatch.setattr(counting, "FIRSTS", 7)
    plan = a_draft()
    plan.jobs.filter(job__in=["0", "19"]).update(conflict="gone")
    plan.jobs.filter(job__in=["1", "2", "17", "18"]).update(conflict="twin")
    shown = {choice: preview(counted(plan), replace(QUIET, order=order, choices={Conflict.TWIN: choice}))
             for choice in Choice}  # fmt: skip
    newest = order is Ordering.NEWEST
    for choice, expected in ((Choice.SEND, 1), (Choice.SKIP, 3)):
        first = [19 - expected - each if newest else expected + each for each in range(5)]
        assert [int(each.row.job) for each in shown[choice].sample] == first
    assert order is Ordering.SAT or len(plan.frozen["first"][order]) == 7


def test_it_counts_the_values_of_a_key_of_which_an_earlier_job_is_left_out_and_a_later_one_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of five values of four jobs each, all added in the same millisecond: what is equal goes by how it was written."""
    terms = replace(QUIET, key="customer.id")
    plan = a_draft()
    jobs = list(plan.jobs.order_by("pk"))
    for at, job in enumerate(jobs):
        job.key, job.created_ms, job.failed_ms = at // 4, 1_000, 1_000 + at
        left_out = at in (0, 5, 11, 16, 17, 18, 19)  # the first; one between; the last; all
        job.conflict, job.permanent = ("twin", False) if left_out else ("", at == 12)
        job.save()
    plan.frozen = counting.counted(plan.pk, {}, terms.key)
    assert preview(plan, terms).overtaken == 2
    assert preview(plan, replace(terms, without_permanent=True)).overtaken == 3
    assert preview(plan, replace(terms, order=Ordering.NEWEST)).overtaken == 2, "the last goes first there"
    assert preview(plan, replace(terms, choices={Conflict.TWIN: Choice.SEND})).overtaken == 0
    assert preview(plan, replace(terms, key="other")).overtaken == 0
    monkeypatch.setattr(overtaking, "MOST", 10)
    assert preview(plan, terms).overtaken is None


def test_a_job_that_nobody_can_name_has_no_link() -> None:
    plan = a_draft(1)
    plan.jobs.update(job="~." + "a" * 64, conflict="refused", note="long")
    (found,) = preview(counted(plan), QUIET).conflicts
    assert (found.examples[0].job, found.examples[0].note) == (None, "long")


def test_groups_have_their_shares_also_when_they_were_merged_since() -> None:
    plan = a_draft(6)
    source = Source.objects.get(name="main")
    one, two, three = (
        FailureGroup.objects.create(source=source, slug=slug, title=slug, first_ms=0, last_ms=0) for slug in "abc"
    )
    for job, group in zip("01234", (one, two, three, three, three), strict=True):
        plan.jobs.filter(job=job).update(group=group)
    counted(plan)
    FailureGroup.objects.filter(pk=one.pk).update(merged_into=two)
    FailureGroup.objects.filter(pk=three.pk).delete()
    shown = preview(plan, QUIET)
    assert [(each.group, each.number) for each in shown.groups] == [(None, 4), (two, 2)]
    assert shown.more_groups == 0


def test_attempts_that_are_left_are_told_for_both_choices() -> None:
    plan = counted(a_draft(), kept={"1": 14, "3": 6}, reset={"3": 20})
    shown = preview(plan, QUIET)
    assert list(shown.kept) == [Further(1, 14), Further(3, 6)]
    assert list(shown.reset) == [Further(3, 20)]


def test_letters_and_copies_are_counted() -> None:
    plan = a_plan(jobs=[b"a", b"b"], ref=DEAD, target=SHOP, acts=Acts.COPY, state=State.WAITING)
    plan.jobs.filter(job="b").update(conflict="unmapped", target=None)
    shown = preview(counted(plan), QUIET)
    assert shown.letters == 1
    assert [(each.queue, each.jobs, each.copies) for each in shown.targets] == [(SHOP, 1, 1)]


def known(ref: QueueRef, counts: Counts, *, workers: int | None = 2) -> None:
    source = a_queue(ref).source
    values = {"counts": dump_counts([(ref.slug, counts, workers)]), "taken_at": timezone.now()}
    Snapshot.objects.update_or_create(source=source, defaults=values)


def finishing(ref: QueueRef, completed: int, failed: int, *, minutes: int = 61, known: int = 61) -> None:
    """So many a minute, over the last minutes, of which the last ones are known."""
    now = now_ms()
    upto = now // MINUTE_MS - 1
    counts = {minute: [completed, failed, *[0] * (len(KINDS) - 2)] for minute in range(upto - minutes + 1, upto + 1)}
    history = dump(History(upto - known + 1, counts, set()))
    Stream.objects.create(queue=a_queue(ref), history=history)
    Following.objects.create(source=a_queue(ref).source, covered_ms=now, beat_at=timezone.now())


def test_targets_are_told_as_they_were_last_read() -> None:
    plan = a_draft()
    oldest = Oldest(5_000, at_least=False, since_ms=6_000)
    known(SHOP, Counts({**EMPTY, State.WAITING: 7}, True, oldest=oldest, version="bullmq:4.18.3", rate_max=10,
                       rate_duration_ms=1_000))  # fmt: skip
    (found,) = preview(counted(plan), QUIET).targets
    assert (found.queue, found.jobs, found.workers, found.paused, found.backlog) == (SHOP, 20, 2, True, 7)
    assert (found.rate_max, found.rate_duration_ms, found.oldest_ms) == (10, 1_000, 6_000)
    assert found.version == "bullmq:4.18.3"
    assert not found.too_old, "what is retried in place is no copy"
    assert found.read_at
    plan.jobs.update(acts=Acts.COPY)
    (found,) = preview(counted(plan), QUIET).targets
    assert found.too_old


def test_what_nobody_has_read_is_not_known() -> None:
    (found,) = preview(counted(a_draft()), QUIET).targets
    assert (found.workers, found.paused, found.backlog, found.oldest_ms, found.read_at) == (None,) * 5
    assert found.effect == Effect()


def test_live_traffic_is_told_what_the_pace_leaves_of_the_rate_limit() -> None:
    known(SHOP, Counts(EMPTY, False, rate_max=1_500, rate_duration_ms=60_000))
    finishing(SHOP, 140, 8)
    plan = counted(a_draft())
    (found,) = preview(plan, replace(QUIET, pace_from=5.0, pace_to=20.0)).targets
    assert found.effect == Effect(148.0, 1_500.0, 152.0, 0.0)
    (found,) = preview(plan, replace(QUIET, pace_from=60.0, pace_to=60.0)).targets
    assert found.effect.left_per_min == 0.0
    assert found.effect.longer_s is not None
    assert 0 < found.effect.longer_s < 1


@pytest.mark.parametrize(
    ("minutes", "known", "expected"),
    [
        (61, 61, (148.0, 5)),
        (6, 6, (148.0, 5)),
        (3, 61, (148.0, 2)),  # the first of them may not be whole
        (3, 3, (148.0, 2)),  # nor is it where its stream began in it
        (1, 61, (None, 0)),
        (0, 61, (0.0, 5)),  # quiet is known
        (0, 2, (0.0, 2)),
        (0, 0, (None, 0)),
    ],
)
def test_traffic_that_has_just_begun_is_not_taken_for_less_than_it_is(
    minutes: int, known: int, expected: tuple[float | None, int]
) -> None:
    finishing(SHOP, 140, 8, minutes=minutes, known=known)
    (found,) = preview(counted(a_draft()), QUIET).targets
    assert (found.effect.finished_per_min, found.over_min) == expected


def paced(pace: float | None) -> Terms:
    return replace(QUIET, pace_from=pace, pace_to=pace)


def test_how_much_longer_jobs_wait_is_told_only_where_it_can_be() -> None:
    assert effect(1_000, None, None, paced(5.0)) == Effect()
    assert effect(1_000, None, 600.0, paced(5.0)) == Effect(600.0)
    assert effect(1_000, None, 600.0, paced(None)) == Effect(600.0, longer_s=100.0)
    assert effect(1_000, None, 0.0, paced(None)) == Effect(0.0)
    assert effect(1_000, 600.0, None, paced(5.0)) == Effect(None, 600.0)
    assert effect(1_000, 600.0, 100.0, paced(None)) == Effect(100.0, 600.0, 0.0, 100.0)
    # 300 come and 100 are there of 600: 200 are left. Of 900: 400 a minute too many, for 1,000 / 900 of one.
    assert effect(1_000, 600.0, 100.0, paced(5.0)) == Effect(100.0, 600.0, 200.0, 0.0)
    found = effect(900, 600.0, 100.0, paced(15.0))
    assert (found.left_per_min, found.longer_s) == (0.0, 40.0)


def test_how_old_the_look_is_and_how_long_it_takes_are_told() -> None:
    plan = counted(a_draft(100))
    Replay.objects.filter(pk=plan.pk).update(looked_at=timezone.now() - timedelta(minutes=3))
    plan.refresh_from_db()
    shown = preview(plan, paced(10.0))
    assert shown.looked_ago_s is not None
    assert 179 < shown.looked_ago_s < 240
    assert shown.duration_s is not None
    assert 9 < shown.duration_s < 13
    assert preview(plan, QUIET).duration_s is None
    assert shown.later == 0


def test_a_plan_that_is_being_frozen_has_nothing_to_show_yet() -> None:
    shown = preview(a_plan(Phase.FREEZING), Terms())
    assert (shown.number, shown.to_send, shown.oldest_ms, shown.looked_ago_s) == (0, 0, None, None)
    assert not [*shown.sample, *shown.targets, *shown.conflicts, *shown.groups]


def test_a_preview_takes_few_queries_whatever_is_in_it() -> None:
    plan = a_draft(1)
    row = plan.jobs.get()
    for number, conflict in enumerate(Conflict):
        queue = a_queue(QueueRef("main", b"bull", b"q%d" % number))
        ReplayJob.objects.create(replay=plan, queue=queue, target=queue, job=row.job, conflict=conflict)
    counted(plan)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        preview(plan, Terms(choices=dict.fromkeys(Conflict, Choice.SEND)))
    assert len(queries) <= 14
