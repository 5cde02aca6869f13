"""The groups of one source held in memory, read anew as far as news say that they changed: for pages that are live."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from queues.failures.find.known import Known
from queues.failures.find.rows import Row, growth
from queues.failures.find.scan import Sums, summed
from queues.failures.find.tally import Tallies, Tallying
from queues.failures.merging import MERGE, SPLIT
from queues.failures.types import Life
from queues.models import AuditEntry, FailureGroup
from queues.quantities import MINUTE

MOST = 1_000  # slugs that are asked for by name; beyond, all groups are read


@dataclass(slots=True)
class Held:
    """`sums` by slug; None until all have been read once. For one thread at a time."""

    source: str
    sums: dict[str, Sums] | None = None
    regressed: dict[str, int] = field(default_factory=dict)  # when those that came back failed again
    totals: dict[str, int] = field(default_factory=dict)  # failures ever counted, as the row of the group has it
    _tallying: Tallying | None = None
    _gone: set[str] = field(default_factory=set)
    _entry: int | None = None  # the last of the audit log that was looked at

    def read(self, slugs: Collection[str] | None = None) -> None:
        """These groups, or all. Two queries; some 10 us a group."""
        if slugs is None or self.sums is None or len(slugs) > MOST:
            before = self.sums or {}
            self.regressed, self.totals = {}, {}
            self.sums = self._found(None)
            self._gone = (self._gone | before.keys()) - self.sums.keys()
            self._tallying = None
        elif slugs:
            self._move(slugs, self._found(slugs))

    def _move(self, slugs: Collection[str], found: Mapping[str, Sums]) -> None:
        kept = dict(self.sums or {})
        moved = [(kept.get(slug), found.get(slug)) for slug in slugs]
        for slug in slugs:
            if slug in found:
                kept[slug] = found[slug]
                self._gone.discard(slug)
            elif kept.pop(slug, None) is not None:
                self._gone.add(slug)
                self.regressed.pop(slug, None)
                self.totals.pop(slug, None)
        self.sums = kept
        if self._tallying:
            for before, after in moved:
                self._tallying.move(before, after, kept.values())

    def was(self, slug: str) -> bool:
        """Whether there was such a group, which is no more, or part of another now."""
        return slug in self._gone

    def changed_by_people(self) -> Collection[str] | None:
        """Slugs of groups that somebody has changed since the last call; None: any may have been. One short query.

        No news tell of it.
        """
        entries = AuditEntry.objects.exclude(group=None).order_by("-pk")
        if self._entry is None:
            self._entry = entries.values_list("pk", flat=True).first() or 0
            return ()
        found = list(entries.filter(pk__gt=self._entry).values_list("pk", "group__slug", "action")[:MOST])
        self._entry = max((pk for pk, _slug, _action in found), default=self._entry)
        moved = any(action in {MERGE, SPLIT} for _pk, _slug, action in found)
        return None if moved else {slug for _pk, slug, _action in found}

    def tallies(self, now_ms: int) -> Tallies:
        """What they come to. Some 3 us a group once a minute or when all were read, else 10 us for each that moved."""
        if self._tallying is None or now_ms - self._tallying.now_ms > MINUTE:
            self._tallying = Tallying((self.sums or {}).values(), now_ms)
        return self._tallying.copy()

    def row(self, slug: str, known: Known) -> Row | None:
        """A group as a list without narrowing filters shows it, but for its texts and hours; None: it is no more."""
        sums = (self.sums or {}).get(slug)
        if sums is None:
            return None
        return Row(
            slug=slug,
            title="",
            source=self.source,
            life=Life(sums.life),
            kind=sums.kind,
            mixed=sums.mixed,
            by_hand=bool(sums.kind_set),
            counts=sums.windows,
            total=self.totals.get(slug, sums.total),
            present=sums.present,
            usual=sums.usual,
            growth=growth(sums.life, sums.group_first_ms, sums.counts[0], sums.usual, known.now_ms),
            first_ms=sums.first_ms,
            last_ms=sums.last_ms,
            windows_ms=known.windows.get(self.source, known.now_ms),
        )

    def _found(self, slugs: Collection[str] | None) -> dict[str, Sums]:
        groups = FailureGroup.objects.filter(source__name=self.source, merged_into=None)
        if slugs is not None:
            groups = groups.filter(slug__in=slugs)
        rows: Sequence[tuple[str, int, str, str, int, int, int | None]] = list(
            groups.values_list("slug", "pk", "life", "kind_set", "first_ms", "total", "regressed_ms")
        )
        found = {row[1]: Sums(*row[1:5]) for row in rows}
        self._note(rows)
        left: Mapping[str, object] = {} if slugs is None else {"group__in": list(found)}
        kept = {sums.pk: sums for sums in summed(left, found)} if found else {}
        return {row[0]: kept[row[1]] for row in rows if row[1] in kept}

    def _note(self, rows: Sequence[tuple[str, int, str, str, int, int, int | None]]) -> None:
        for slug, _pk, life, _kind, _first, total, regressed in rows:
            self.totals[slug] = total
            if life == Life.REGRESSED and regressed is not None:
                self.regressed[slug] = regressed
            else:
                self.regressed.pop(slug, None)
