"""What is forgotten: strands that lost all they had, and what is older than the settings keep."""

from __future__ import annotations

import time
from collections.abc import Iterable

from django.db.models import Exists, OuterRef, Q, QuerySet

from queues.failures.locking import beside_the_index
from queues.failures.store.tally import KEPT_HOURS
from queues.failures.types import Life
from queues.models import Failure, FailureGroup, FailureHour, FailureSignature, FailureStrand
from queues.quantities import DAY, HOUR

BATCH = 1_000  # rows in one transaction
WINDOWS_DAYS = 8  # for which hours are kept whatever the settings say: windows and what is usual come from them


def tidy(strands: Iterable[int]) -> set[int]:
    """Delete those of these strands that have no failure left, as all were told apart better; which they are.

    Their signatures and groups go along where nothing else is of them and nobody said anything about them.
    """
    empty = list(FailureStrand.objects.filter(pk__in=strands, total__lte=0, failures=None))
    if not empty:
        return set()
    gone = {strand.pk for strand in empty}
    FailureStrand.objects.filter(pk__in=gone).delete()
    bare = FailureSignature.objects.filter(pk__in={strand.signature_id for strand in empty}, placed_by="", split_by="")
    bare.filter(strands=None, children=None).delete()
    groups = {strand.group_id for strand in empty}
    untouched().filter(pk__in=groups, signatures=None, merged=None).delete()
    return gone


def forget_old(days: int, now_ms: int, until: float) -> int:
    """Delete what is older than that, in short transactions until `until` (monotonic, seconds); how many rows.

    Failures whose job and letters are gone, hours, and groups without any failure left about which nobody said
    anything. Groups that stay keep their totals and samples.
    """
    before = now_ms - days * DAY
    deleted = _failures(before, until) + _hours(min(before, now_ms - WINDOWS_DAYS * DAY), until)
    return deleted + _groups(before, until)


def forget_minutes(now_ms: int, until: float, first_hour: int | None = None) -> int | None:
    """Forget minutes that no window needs any more, of hours from `first_hour` on; up to which hour that is done."""
    end = now_ms // HOUR - KEPT_HOURS - 1
    kept = FailureHour.objects.filter(hour__lt=end, minutes__isnull=False)
    if first_hour is not None:
        kept = kept.filter(hour__gte=first_hour)
    while time.monotonic() < until:
        found = list(kept.values_list("pk", flat=True)[:BATCH])
        FailureHour.objects.filter(pk__in=found).update(minutes=None)
        if len(found) < BATCH:
            return end
    return first_hour


def untouched() -> QuerySet[FailureGroup]:
    """Groups about which nobody said anything: as Mirante itself made them."""
    return FailureGroup.objects.filter(
        Q(life=Life.OPEN) & Q(life_by="") & Q(owner="") & Q(runbook="") & Q(kind_set=""), notes=None, entries=None
    )


def _failures(before: int, until: float) -> int:
    deleted = 0
    while time.monotonic() < until:
        old = Failure.objects.filter(present=False, at_ms__lt=before).order_by("at_ms")
        found = list(old.values_list("pk", flat=True)[:BATCH])
        Failure.objects.filter(pk__in=found, present=False).delete()
        deleted += len(found)
        if len(found) < BATCH:
            break
    return deleted


def _hours(before: int, until: float) -> int:
    deleted = 0
    while time.monotonic() < until:
        old = FailureHour.objects.filter(hour__lt=before // HOUR).order_by("hour")
        found = list(old.values_list("pk", flat=True)[:BATCH])
        FailureHour.objects.filter(pk__in=found).delete()
        deleted += len(found)
        if len(found) < BATCH:
            break
    return deleted


def _groups(before: int, until: float) -> int:
    failures = Failure.objects.filter(strand__group=OuterRef("pk"))
    by_hand = FailureSignature.objects.filter(group=OuterRef("pk")).exclude(placed_by="", split_by="", parent=None)
    deleted = 0
    while time.monotonic() < until:
        old = untouched().filter(~Exists(failures), ~Exists(by_hand), last_ms__lt=before, merged_into=None, merged=None)
        found = dict(old.values_list("pk", "source_id")[: BATCH // 10])
        for source in set(found.values()):
            with beside_the_index(source):
                # Those that failed again since stay: while this goes on nothing is added to any.
                gone = list(old.filter(pk__in=found, source_id=source).values_list("pk", flat=True))
                FailureGroup.objects.filter(pk__in=gone).delete()
            deleted += len(gone)
        if len(found) < BATCH // 10:
            break
    return deleted
