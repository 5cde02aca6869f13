"""The list of groups: one page of it in order, sums over all that match, how many there are of each life and class."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, IntegerField, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from queues.failures.find.filters import Filters, Sorting, SortKey
from queues.failures.find.known import Known, known
from queues.failures.find.rows import SPARK_HOURS, Growth, GrowthWord, Row, Windows, growth
from queues.failures.find.scan import Sums, narrowed, scan
from queues.failures.find.tally import Tallies, Tally, tally
from queues.failures.types import UNSOLVED, Life
from queues.failures.windows import WINDOWS
from queues.models import FailureGroup, FailureHour, FailureStrand, Indexing, Queue
from queues.quantities import HOUR
from queues.types import QueueRef

PAGE = 50  # rows
NAMED = 3  # queues of a row that are named
MOST_NAMES = 500  # that are offered to filter by
HANDFUL = 5  # failures of an hour
EXPORTED = 500  # rows that an export reads at a time

Place = tuple[float, ...]
Left = Mapping[str, object]
_Names = Mapping[int, tuple[str, int]]  # a job name and how many there are, by the group's key
_Rules = Mapping[tuple[int, str], str]  # by the group's key and the class


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list. `totals` and what follows are of all that match: `matching` groups, on `pages` pages.

    `lives` and `kinds` count groups of each life and class with the other filters as they are, for the filter bar.
    `transient_h1` of the last hour's failures are transient; `top_h1` fell into the one group that has most of them,
    `hit` groups have any. `fresh` groups were first seen within 24 hours, the oldest of them at `fresh_ms`.
    """

    rows: Sequence[Row]
    page: int
    pages: int
    matching: int
    totals: Windows
    lives: Mapping[str, int]
    kinds: Mapping[str, int]
    transient_h1: int
    permanent_h1: int
    top_h1: int
    hit: int
    fresh: int
    fresh_ms: int | None
    back: int
    known: Known


def groups(filters: Filters, sorting: Sorting | None = None, page: int = 1) -> Listing:
    """One page of the groups that match. About eight queries: two over all that match, the others for the page's rows.

    A page beyond the last is the last.
    """
    standing = known(filters.sources)
    left = narrowed(filters)
    found = scan(filters, left)
    chosen = _ordered([each for each in found if _matches(each, filters)], sorting or Sorting(), standing)
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(max(page, 1), pages)
    shown = chosen[(page - 1) * PAGE : page * PAGE]
    return listing(tally(found, standing.now_ms), filters, standing, _rows(shown, left, standing), page)


def listing(tallies: Tallies, filters: Filters, standing: Known, rows: Sequence[Row] = (), page: int = 1) -> Listing:
    """What all groups that match come to, by the tallies of those that match all but the life and the class."""
    chosen = Tally()
    for (life, kind), each in tallies.items():
        if life in filters.lives and filters.kind in (None, kind):
            chosen.join(each)
    lives, kinds = Counter[str](), Counter[str]()
    for (life, kind), each in tallies.items():
        lives[life] += each.matching if filters.kind in (None, kind) else 0
        kinds[kind.value] += each.matching if life in filters.lives else 0
    return Listing(
        rows=rows,
        page=page,
        pages=max(1, -(-chosen.matching // PAGE)),
        matching=chosen.matching,
        totals=chosen.windows,
        lives=+lives,
        kinds=+kinds,
        transient_h1=chosen.transient_h1,
        permanent_h1=chosen.permanent_h1,
        top_h1=chosen.top_h1,
        hit=chosen.hit,
        fresh=chosen.fresh,
        fresh_ms=chosen.fresh_ms,
        back=chosen.back,
        known=standing,
    )


def each(filters: Filters, sorting: Sorting | None = None) -> Iterator[Row]:
    """All rows that match, in order, read some hundreds at a time."""
    standing, left = known(filters.sources), narrowed(filters)
    chosen = [each for each in scan(filters, left) if _matches(each, filters)]
    chosen = _ordered(chosen, sorting or Sorting(), standing)
    for start in range(0, len(chosen), EXPORTED):
        yield from _rows(chosen[start : start + EXPORTED], left, standing)


def any_groups(sources: Sequence[str]) -> bool:
    """Whether there is any group at all."""
    return FailureGroup.objects.filter(source__name__in=sources, merged_into=None).exists()


def queues_of(sources: Sequence[str]) -> Sequence[QueueRef]:
    """The queues in which anything failed, by label, to filter by."""
    rows = Queue.objects.filter(Exists(FailureStrand.objects.filter(queue=OuterRef("pk"))), source__name__in=sources)
    found = [QueueRef.from_slug(source, slug) for source, slug in rows.values_list("source__name", "slug")]
    return sorted(found, key=lambda ref: (ref.label, ref.source))


def names_of(sources: Sequence[str]) -> Sequence[str]:
    """The names of jobs that failed, at most 500 of them, to filter by."""
    rows = FailureStrand.objects.filter(queue__source__name__in=sources).exclude(name="")
    return list(rows.order_by("name").values_list("name", flat=True).distinct()[:MOST_NAMES])


def newest() -> int:
    """The key of the newest group there is, of whatever source; 0 without any. One query by the index."""
    return FailureGroup.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def open_groups(sources: Sequence[str]) -> int | None:
    """Groups of these sources that are open or regressed; None where none of the sources was ever indexed.

    One query, about a millisecond at 5,000 groups: every page asks it.
    """
    theirs = FailureGroup.objects.filter(source=OuterRef("source"), life__in=UNSOLVED, merged_into=None)
    counted = theirs.order_by().values("source").annotate(n=Count("pk")).values("n")
    number = Coalesce(Subquery(counted, output_field=IntegerField()), 0)
    found = Indexing.objects.filter(source__name__in=sources, since_ms__isnull=False).values_list(number, flat=True)
    numbers = list(found)
    return sum(numbers) if numbers else None


def _matches(sums: Sums, filters: Filters) -> bool:
    return sums.life in filters.lives and filters.kind in (None, sums.kind)


def _growth(sums: Sums, standing: Known) -> Growth:
    return growth(sums.life, sums.group_first_ms, sums.counts[0], sums.usual, standing.now_ms)


def _ordered(found: list[Sums], sorting: Sorting, standing: Known) -> list[Sums]:
    """In order; equal ones by counts, then the younger first."""

    def place(sums: Sums) -> Place:
        return (*_place(sums, sorting.key, standing), *sums.counts, sums.last_ms, sums.pk)

    return sorted(found, key=place, reverse=sorting.descending)


def _place(sums: Sums, key: SortKey, standing: Known) -> Place:
    """What a group is sorted by; higher is worse."""
    if key is SortKey.WORST:
        grown = _growth(sums, standing)
        # Of what is new or of unknown growth a handful rises; a stray one stands no higher than steady noise.
        unknown = grown.word is GrowthWord.NEW or sums.usual is None
        rising = sums.life == Life.REGRESSED or grown.fast or (unknown and sums.counts[0] >= HANDFUL)
        return (sums.life in UNSOLVED, sums.life == Life.IGNORED, rising)
    if key is SortKey.GROWTH:
        grown = _growth(sums, standing)
        return (grown.word is not None and sums.counts[0] > 0, grown.times or 0.0)
    if key is SortKey.LAST:
        return (sums.last_ms,)
    if key is SortKey.FIRST:
        return (sums.first_ms,)
    return (sums.counts[list(WINDOWS).index(key)],)


def _rows(shown: Sequence[Sums], left: Left, standing: Known) -> Sequence[Row]:
    """The rows of a page with their titles, queues, rules and hours. Four queries, whatever their number."""
    keys = [sums.pk for sums in shown]
    heads = {group.pk: group for group in FailureGroup.objects.filter(pk__in=keys).select_related("source")}
    parts = _Parts(_queues(left, keys), *_told(left, keys), _hours(left, keys, standing), _blank(standing))
    # One may have been deleted meanwhile.
    return [_row(sums, heads[sums.pk], parts, standing) for sums in shown if sums.pk in heads]


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is read for shown groups alone, by their keys in the database."""

    queues: Mapping[int, list[QueueRef]]
    names: _Names
    rules: _Rules
    hours: Mapping[int, Mapping[int, int]]
    blank: Mapping[int, int | None]


def _row(sums: Sums, head: FailureGroup, parts: _Parts, standing: Known) -> Row:
    queues, names = parts.queues[sums.pk], parts.names.get(sums.pk, ("", 0))
    upto = standing.windows.get(head.source.name, standing.now_ms // 60_000 * 60_000)
    return Row(
        slug=head.slug,
        title=head.title,
        source=head.source.name,
        life=Life(sums.life),
        kind=sums.kind,
        mixed=sums.mixed,
        by_hand=bool(sums.kind_set),
        counts=sums.windows,
        total=sums.total,
        present=sums.present,
        usual=sums.usual,
        growth=_growth(sums, standing),
        first_ms=sums.first_ms,
        last_ms=sums.last_ms,
        windows_ms=upto,
        regressed_ms=head.regressed_ms,
        owner=head.owner,
        queues=queues[:NAMED],
        queue_count=len(queues),
        name=names[0],
        name_count=names[1],
        rule="" if sums.kind_set else parts.rules.get((sums.pk, sums.kind), ""),
        hours=[parts.hours[sums.pk].get(hour, none) for hour, none in parts.blank.items()],
    )


def _queues(left: Left, keys: Sequence[int]) -> Mapping[int, list[QueueRef]]:
    rows = (
        FailureStrand.objects.filter(group__in=keys, **left)
        .values("group_id", "queue__source__name", "queue__slug")
        .annotate(n=Sum("total"))
        .order_by("group_id", "-n", "queue__slug")
        .values_list("group_id", "queue__source__name", "queue__slug")
    )
    found: dict[int, list[QueueRef]] = defaultdict(list)
    for pk, source, slug in rows:
        found[pk].append(QueueRef.from_slug(source, slug))
    return found


def _told(left: Left, keys: Sequence[int]) -> tuple[_Names, _Rules]:
    """The job name with the most failures of each group and how many it has, and what decided most of each class."""
    names: dict[int, Counter[str]] = defaultdict(Counter)
    rules: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    rows = FailureStrand.objects.filter(group__in=keys, **left).values("group_id", "name", "kind", "rule")
    counted = rows.annotate(n=Sum("total")).order_by("group_id", "name", "kind", "rule")
    for pk, name, kind, rule, n in counted.values_list("group_id", "name", "kind", "rule", "n"):
        rules[pk, kind][rule] += n
        if name:
            names[pk][name] += n
    most = {pk: (max(found, key=lambda name: (found[name], name)), len(found)) for pk, found in names.items()}
    return most, {key: max(found, key=lambda rule: (found[rule], rule)) for key, found in rules.items()}


def _hours(left: Left, keys: Sequence[int], standing: Known) -> Mapping[int, Mapping[int, int]]:
    first = standing.now_ms // HOUR - SPARK_HOURS + 1
    theirs = {"strand__group__in": keys, **{f"strand__{name}": value for name, value in left.items()}}
    rows = FailureHour.objects.filter(hour__gte=first, **theirs).values("strand__group_id", "hour")
    found: dict[int, dict[int, int]] = defaultdict(dict)
    for pk, hour, count in rows.annotate(n=Sum("count")).order_by().values_list("strand__group_id", "hour", "n"):
        found[pk][hour] = count
    return found


def _blank(standing: Known) -> Mapping[int, int | None]:
    """The last 48 hours without a failure. Where one may be missing that is unknown and not zero."""
    now = standing.now_ms // HOUR
    return {hour: 0 if standing.hour_known(hour) else None for hour in range(now - SPARK_HOURS + 1, now + 1)}
