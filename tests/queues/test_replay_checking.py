"""Terms that cannot be kept, and what is wrong with each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from queues.models import Queue, ReplayLimits
from queues.replay.checking import check, ensure
from queues.replay.fields import BadFields
from queues.replay.terms import AfterLoss, Hours, KeyFailed, Ordering, Originals, Patch, PatchKind, Terms
from queues.replay.types import Choice, From, Phase
from queues.sendings import Conflict
from queues.types import QueueRef
from tests.queues.replay_acts import ids
from tests.queues.replaying import QUIET, a_plan, a_queue

pytestmark = pytest.mark.django_db

MAILS = QueueRef("main", b"bull", b"mails")
NIGHTS = Hours("12345", "22:00", "06:30", "America/Sao_Paulo")
EVERYTHING = Terms(
    acts_copy=True,
    target="mails",
    reset=True,
    originals=Originals.KEEP,
    order=Ordering.NEWEST,
    key="customer.id",
    key_failed=KeyFailed.GO_ON,
    pace_from=0.5,
    pace_to=None,
    depth_max=100,
    age_max_s=None,
    hours=NIGHTS,
    canary=10,
    canary_failed=9,
    stop_percent=0,
    after_loss=AfterLoss.WAIT,
    without_permanent=True,
    choices={Conflict.TWIN: Choice.SEND},
    patch=Patch(PatchKind.MERGE, '{"a": null}'),
)


def wrong(number: int = 100, **values: Any) -> dict[str, str]:
    return dict(check(a_plan(Phase.DRAFT, ids(number)), replace(QUIET, **values)))


def test_what_a_person_may_want_is_kept_as_it_is() -> None:
    a_queue(MAILS)
    plan = a_plan(Phase.DRAFT, ids(10))
    for terms in (QUIET, EVERYTHING, Terms.suggested(10), Terms.suggested(20, letters=True)):
        assert check(plan, terms) == {}
        plan.terms = terms.kept()
        plan.save()
        plan.refresh_from_db()
        assert Terms.of(plan.terms) == terms


@pytest.mark.parametrize("number", [0, 1, 20, 21, 99, 100, 5_000])
def test_what_is_suggested_for_a_plan_can_be_kept(number: int) -> None:
    plan = a_plan(Phase.DRAFT, total=number, to_send=number)
    assert check(plan, Terms.suggested(number)) == {}


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({"pace_from": 0.0, "pace_to": 1.0}, "pace_from", "from 0.01 to 100,000"),
        ({"pace_from": 1.0, "pace_to": float("inf")}, "pace_to", "from 0.01"),
        ({"pace_from": float("nan"), "pace_to": 1.0}, "pace_from", "from 0.01"),
        ({"pace_from": None, "pace_to": 1.0}, "pace_from", "begins with"),
        ({"pace_from": 2.0, "pace_to": 1.0}, "pace_to", "slower than"),
        ({"double_s": 0}, "double_s", "from 1 to 86,400"),
        ({"jitter": 101}, "jitter", "from 0 to 100"),
        ({"depth_max": -1}, "depth_max", "Expected a number"),
        ({"age_max_s": 0}, "age_max_s", "Expected a number"),
        ({"canary": 101, "canary_failed": 2}, "canary", "only 100 jobs"),
        ({"canary": -1}, "canary", "Expected a number"),
        ({"canary": 5, "canary_failed": 5}, "canary_failed", "less than the canary"),
        ({"canary_wait_s": 0}, "canary_wait_s", "Expected a number"),
        ({"stop_percent": 101}, "stop_percent", "from 0 to 100"),
        ({"key": "a..b"}, "key", "path"),
        ({"key": " "}, "key", "path"),
        ({"target": "nowhere"}, "target", "No queue of this name"),
        ({"hours": replace(NIGHTS, days="")}, "hours", "days"),
        ({"hours": replace(NIGHTS, days="08")}, "hours", "days"),
        ({"hours": replace(NIGHTS, days="11")}, "hours", "days"),
        ({"hours": replace(NIGHTS, begin="24:00")}, "hours", "like 09:00"),
        ({"hours": replace(NIGHTS, until="9:00")}, "hours", "like 09:00"),
        ({"hours": replace(NIGHTS, begin="06:30")}, "hours", "equal times"),
        ({"hours": replace(NIGHTS, zone="Mars/Base")}, "hours", "no such time zone"),
        ({"hours": replace(NIGHTS, zone="../../etc/passwd")}, "hours", "no such time zone"),
        ({"hours": replace(NIGHTS, zone="")}, "hours", "no such time zone"),
        ({"hours": replace(NIGHTS, zone="America")}, "hours", "no such time zone"),
        ({"choices": {Conflict.GONE: Choice.SEND}}, "choices", "cannot be chosen"),
        ({"patch": Patch(PatchKind.MERGE, "{")}, "patch", ""),
        ({"patch": Patch(PatchKind.PATHS, "a..b = 1")}, "patch", ""),
        ({"patch": Patch(PatchKind.WHOLE)}, "patch", "one job"),
    ],
)
def test_what_cannot_be_kept_is_told_by_its_field(values: dict[str, Any], field: str, said: str) -> None:
    found = wrong(**values)
    assert list(found) == [field]
    assert said in found[field]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    plan = a_plan(Phase.DRAFT, ids(3))
    with pytest.raises(BadFields) as refused:
        ensure(plan, replace(QUIET, canary=4, jitter=101, double_s=0))
    assert set(refused.value.fields) == {"canary", "jitter", "double_s"}
    assert all(sentence in str(refused.value) for sentence in refused.value.fields.values())


def test_a_queue_that_is_gone_or_of_another_source_is_no_target() -> None:
    a_queue(QueueRef("other", b"bull", b"mails"))
    assert list(wrong(target="mails")) == ["target"]
    Queue.objects.filter(pk=a_queue(MAILS).pk).update(gone_since=timezone.now())
    assert list(wrong(target="mails")) == ["target"]
    Queue.objects.update(gone_since=None)
    assert wrong(target="mails") == {}


def test_other_data_as_a_whole_is_for_a_plan_of_one_edited_job() -> None:
    whole = replace(QUIET, patch=Patch(PatchKind.WHOLE))
    assert check(a_plan(Phase.DRAFT, ids(1), data=b"{}", made_from={"kind": From.JOB}), whole) == {}
    assert list(check(a_plan(Phase.DRAFT, ids(1), data=b"{}"), whole)) == ["patch"]


@pytest.mark.parametrize(("pace", "fine"), [(50.0, True), (50.5, False), (None, False)])
def test_no_pace_is_above_what_admins_allow(pace: float | None, fine: bool) -> None:
    ReplayLimits.objects.create(pk=1, fastest=50.0)
    found = wrong(pace_from=5.0, pace_to=pace)
    assert list(found) == ([] if fine else ["pace_to"])
    assert fine or "at most 50 jobs a second" in found["pace_to"]
