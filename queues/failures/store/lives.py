"""What failures do to the life of their groups, and groups that were ignored until now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db.models import Q

from queues.failures import life
from queues.failures.life import Conditions
from queues.failures.store.rows import parts
from queues.failures.store.tally import Moved
from queues.failures.types import Life
from queues.models import FailureGroup

_FIELDS = ("pk", "slug", "total", "life", "resolved_ms", "regressed_ms", "ignore_until", "ignore_total", "ignore_rate")


def seen(moved: Mapping[int, Moved], now: datetime) -> tuple[set[str], set[str]]:
    """Write how groups go on after what came to them; slugs of them all, and of those that regressed."""
    slugs: set[str] = set()
    fresh: set[str] = set()
    for pk, slug, total, conditions in _conditions(moved):
        slugs.add(slug)
        came = moved[pk].came
        if conditions.life is Life.OPEN or not came:
            continue
        change = life.seen(conditions, came, total=total, rate=_rate(pk, conditions), now=now)
        if change:
            FailureGroup.objects.filter(pk=pk).update(**change)
        if change.get("life") == Life.REGRESSED:
            fresh.add(slug)
    return slugs, fresh


def open_again(source_pk: int, now: datetime) -> set[str]:
    """Open the groups that were ignored until a time, count or rate that is reached; their slugs."""
    ours = FailureGroup.objects.filter(source_id=source_pk, life=Life.IGNORED, merged_into=None)
    limited = ours.filter(Q(ignore_until__isnull=False) | Q(ignore_total__isnull=False) | Q(ignore_rate__isnull=False))
    opened: set[str] = set()
    for pk, slug, total, conditions in _conditions(limited.values_list("pk", flat=True)):
        if life.over(conditions, total=total, rate=_rate(pk, conditions), now=now):
            FailureGroup.objects.filter(pk=pk).update(**life.opened(now))
            opened.add(slug)
    return opened


def slugs(groups: Iterable[int]) -> set[str]:
    """The slugs of groups, by their keys."""
    found: set[str] = set()
    for part in parts(sorted(groups)):
        found.update(FailureGroup.objects.filter(pk__in=part).values_list("slug", flat=True))
    return found


def _conditions(groups: Iterable[int]) -> Iterable[tuple[int, str, int, Conditions]]:
    for part in parts(sorted(groups)):
        for pk, slug, total, named, *rest in FailureGroup.objects.filter(pk__in=part).values_list(*_FIELDS):
            yield pk, slug, total, Conditions(Life(named), *rest)


def _rate(group: int, conditions: Conditions) -> int:
    """How many fell into the last hour, where that matters."""
    return 0 if conditions.ignore_rate is None else life.rate_of(group)
