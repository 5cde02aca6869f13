"""The groups to which most failures of a queue belong: what a line on other pages says of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, OuterRef, Q, Subquery, Sum

from queues.failures.types import UNSOLVED, Kind
from queues.failures.windows import since
from queues.models import FailureStrand, Letter, Queue
from queues.types import QueueRef

NEWEST = 50  # letters of a queue by which it is judged


@dataclass(frozen=True, slots=True)
class Top:
    """A group with how many failures it has in a queue: since `since_ms`, or among its `among` newest letters."""

    slug: str
    title: str
    count: int
    kind: Kind | None = None
    since_ms: int | None = None
    among: int = 0


def lately(queues: Collection[QueueRef]) -> Mapping[QueueRef, Sequence[Top]]:
    """The open groups that failed in the last hour in each of these queues, the worst first. One query."""
    if not queues:
        return {}
    rows = FailureStrand.objects.filter(_these(queues), h1__gt=0, group__life__in=UNSOLVED, group__merged_into=None)
    names = ("queue__source__name", "queue__slug", "group__slug", "group__title", "group__kind_set", "kind")
    until = "queue__source__indexing__windows_ms"
    counted = rows.values(*names, until).annotate(n=Sum("h1")).order_by().values_list(*names, until, "n")
    sums: dict[tuple[QueueRef, str], list[tuple[int, str, str, int | None]]] = defaultdict(list)
    for source, slug, group, title, by_hand, kind, upto, n in counted:
        sums[QueueRef.from_slug(source, slug), group].append((n, title, by_hand or kind, upto))
    found: dict[QueueRef, list[Top]] = defaultdict(list)
    for (ref, group), parts in sums.items():
        _n, title, kind, upto = max(parts, key=lambda part: part[0])
        begin = since("h1", upto) if upto else None
        found[ref].append(Top(group, title, sum(part[0] for part in parts), Kind.of(kind), begin))
    return {ref: sorted(tops, key=lambda top: (-top.count, top.slug)) for ref, tops in found.items()}


def of_letters(queues: Collection[QueueRef]) -> Mapping[QueueRef, Top]:
    """The group of most of the 50 newest letters of each of these queues. Two queries, some 10 ms for 100 queues."""
    if not queues:
        return {}
    newest = Letter.objects.filter(queue=OuterRef("pk")).order_by("-pk").values("pk")
    known = Queue.objects.filter(_these(queues, ""), letters__isnull=False).distinct()
    bounds = known.annotate(oldest=Subquery(newest[NEWEST - 1 : NEWEST])).values_list("pk", "oldest")
    which = [Q(queue=pk, pk__gte=oldest or 0) for pk, oldest in bounds]
    if not which:
        return {}
    names = ("queue__source__name", "queue__slug", "failure__strand__group__slug", "failure__strand__group__title")
    rows = Letter.objects.filter(_any(which)).values(*names).annotate(n=Count("pk")).order_by()
    sums: dict[QueueRef, list[tuple[int, str, str]]] = defaultdict(list)
    for source, slug, group, title, n in rows.values_list(*names, "n"):
        sums[QueueRef.from_slug(source, slug)].append((n, group, title))
    return {ref: _top(groups) for ref, groups in sums.items()}


def _top(groups: Sequence[tuple[int, str, str]]) -> Top:
    count, slug, title = max(groups)
    return Top(slug, title, count, among=sum(group[0] for group in groups))


def _these(queues: Collection[QueueRef], to: str = "queue__") -> Q:
    """These queues, by source: so that each is looked up in an index."""
    slugs: dict[str, list[str]] = defaultdict(list)
    for ref in queues:
        slugs[ref.source].append(ref.slug)
    return _any([Q(**{f"{to}source__name": source, f"{to}slug__in": many}) for source, many in slugs.items()])


def _any(parts: Sequence[Q]) -> Q:
    found = Q()
    for part in parts:
        found |= part
    return found
