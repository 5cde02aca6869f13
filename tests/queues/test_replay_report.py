"""What a plan came to, summed up from its rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from queues.models import Failure, FailureGroup, FailureSignature, FailureStrand, Replay, ReplayLine, ReplayQueue
from queues.replay.report import FailedAgain, Refusal, report
from queues.replay.types import Acts, Phase, Place, Stop, Told
from queues.sendings import Conflict, Fate
from tests.queues.replaying import a_plan, a_queue

pytestmark = pytest.mark.django_db


def done(jobs: str, phase: Phase = Phase.DONE, **values: Any) -> Replay:
    """A plan of jobs that are called by one letter each, all sent; it sent for ten seconds and lasted twenty."""
    now = timezone.now()
    times = {"started_at": now - timedelta(seconds=20), "sent_at": now - timedelta(seconds=10), "ended_at": now}
    plan = a_plan(phase, [job.encode() for job in jobs], place=Place.SENT, **{"sent": len(jobs), **times, **values})
    plan.jobs.update(sent_ms=1_000)
    return plan


def ended(plan: Replay, jobs: str, fate: Fate, **values: Any) -> None:
    plan.jobs.filter(job__in=list(jobs)).update(fate=fate, ended_ms=2_000, **values)


def test_a_report_sums_up_what_became_of_all() -> None:
    plan = done("abcdef", Phase.CANCELLED, total=14, completed=1, failed=1, other=2, left_out=3, refused=2, back=3)
    ended(plan, "a", Fate.COMPLETED)
    ended(plan, "b", Fate.FAILED)
    ended(plan, "c", Fate.GONE)
    ended(plan, "d", Fate.UNKNOWN)
    taken = a_plan(jobs=[b"x", b"y", b"z"], place=Place.BACK)
    taken.jobs.filter(job="x").update(sent_ms=5)
    taken.jobs.update(replay=plan)
    found = report(plan)
    assert (found.sent, found.completed, found.failed, found.gone, found.unknown, found.under_way) == (6, 1, 1, 1, 1, 2)
    assert (found.left_out, found.refused, found.back, found.not_sent, found.taken_back) == (3, 2, 3, 2, 1)
    assert (found.sending_s, found.lasted_s, found.pace) == (10.0, 20.0, 0.6)
    assert (found.why, found.clean, found.forgotten) == (Stop.NONE, False, False)


def test_it_tells_into_which_groups_jobs_failed_again_and_how_many_with_the_error_of_before() -> None:
    plan = done("abcde", failed=5)
    same, new = a_group("same"), a_group("new")
    old = a_group("old", merged_into=same)
    ended(plan, "abcde", Fate.FAILED)
    plan.jobs.filter(job__in="ab").update(group=old, again=same)
    plan.jobs.filter(job="c").update(group=same, again=new, ended_ms=3_000)
    plan.jobs.filter(job="d").update(group=None, again=same)
    found = report(plan).failed_again
    assert found == [
        FailedAgain("same", "same", 3, 2, 2_000),
        FailedAgain("", "", 1, 0, 2_000),
        FailedAgain("new", "new", 1, 0, 3_000),
    ]
    assert [each.new for each in found] == [1, 1, 1]


def test_what_the_index_has_read_since_is_in_the_report() -> None:
    plan = done("a", failed=1)
    ended(plan, "a", Fate.FAILED)
    group, queue = a_group("late"), a_queue()
    signature = FailureSignature.objects.create(source=queue.source, group=group, version=1, digest="d")
    strand = FailureStrand.objects.create(signature=signature, group=group, queue=queue, first_ms=0, last_ms=0)
    plan.jobs.update(failed_ms=500)
    Failure.objects.create(queue=queue, strand=strand, job="a", at_ms=2_000, score_ms=2_000)
    [found] = report(plan).failed_again
    assert (found.slug, found.number) == ("late", 1)


def test_it_tells_why_jobs_were_not_sent_and_what_became_of_originals() -> None:
    plan = done("abcdefgh")
    plan.jobs.filter(job__in="ab").update(place=Place.LEFT_OUT, conflict=Conflict.TWIN)
    plan.jobs.filter(job="c").update(place=Place.LEFT_OUT, conflict=Conflict.NONE)
    plan.jobs.filter(job__in="de").update(place=Place.REFUSED, conflict=Conflict.REFUSED, note="too large")
    plan.jobs.filter(job="f").update(acts=Acts.COPY, original="removed")
    plan.jobs.filter(job="g").update(acts=Acts.COPY, original="")
    plan.jobs.filter(job="h").update(letter="l", original="removed")
    found = report(plan)
    assert found.left_out_by == [Refusal(Conflict.TWIN, 2), Refusal(Conflict.NONE, 1)]
    assert found.refused_by == [Refusal(Conflict.REFUSED, 2, "too large")]
    assert (found.removed, found.kept) == (2, 1)


@pytest.mark.parametrize(
    ("conflict", "values", "clean"),
    [
        (Conflict.LEFT, {}, True),
        (Conflict.SENT_BEFORE, {}, True),
        (Conflict.TWIN, {}, False),
        (Conflict.NONE, {}, False),
        (Conflict.LEFT, {"refused": 1}, False),
        (Conflict.LEFT, {"completed": 1, "failed": 1}, False),
        (Conflict.LEFT, {"phase": Phase.CANCELLED}, False),
        (Conflict.LEFT, {"sent": 0, "completed": 0}, False),
    ],
)
def test_an_outcome_is_clean_when_all_that_there_was_to_bring_back_has_completed(
    conflict: Conflict, values: dict[str, Any], clean: bool
) -> None:
    plan = done("abc", **{"sent": 2, "completed": 2, "left_out": 1, **values})
    plan.jobs.filter(job="c").update(place=Place.LEFT_OUT, conflict=conflict)
    assert report(plan).clean is clean


def test_the_feed_and_what_was_lost_are_part_of_it() -> None:
    plan = done("a", why="odd")
    ReplayLine.objects.create(replay=plan, kind=Told.STARTED, who="olga", facts={"number": 1})
    ReplayLine.objects.create(replay=plan, kind="of-later", facts={})
    ReplayQueue.objects.create(replay=plan, queue=a_queue(), lost=12)
    found = report(plan)
    assert [(line.kind, line.who, line.facts) for line in found.lines] == [
        (Told.STARTED, "olga", {"number": 1}),
        ("of-later", "", {}),
    ]
    assert (found.events_lost, found.why) == (12, Stop.NONE)


def test_a_plan_that_has_not_begun_or_whose_rows_are_forgotten_has_a_report_of_what_is_known() -> None:
    draft = report(a_plan(jobs=[b"a"]))
    assert (draft.sending_s, draft.lasted_s, draft.pace, draft.clean, draft.lines) == (None, None, None, False, [])
    plan = done("abc", completed=1, other=2, step="forgotten")
    plan.jobs.all().delete()
    found = report(plan)
    assert (found.forgotten, found.completed, found.gone, found.unknown, found.failed_again) == (True, 1, 0, 2, [])


def a_group(slug: str, *, merged_into: FailureGroup | None = None) -> FailureGroup:
    return FailureGroup.objects.create(
        source=a_queue().source, slug=slug, title=slug, first_ms=0, last_ms=0, merged_into=merged_into
    )
