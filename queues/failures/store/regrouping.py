"""Moving what is indexed to signatures of the version in force: nothing is counted anew, and no address is lost.

A new signature goes into the group of the first old one whose failures have it. What an old signature holds follows
the heir that was named for it first, strand by strand; single failures are moved only where theirs is another. A group
that is left without signatures is merged into that of the heir, so its notes and its address live on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import F, QuerySet

from queues.failures import merging
from queues.failures.splitting import digest_of
from queues.failures.store import aging, kinds, lives, rows, samples, signing
from queues.failures.store.making import Wanted
from queues.failures.store.places import Place, Places
from queues.failures.store.samples import Samples
from queues.failures.store.strands import Strands
from queues.failures.store.tally import Tally, write
from queues.failures.store.term import Term
from queues.failures.types import VERSION, Found
from queues.failures.windows import MINUTES
from queues.models import Failure, FailureGroup, FailureHour, FailureSample, FailureSignature, FailureStrand

NEXT = "next"  # in the parts of an old signature: the digest of its heir
ROWS = 2_000  # failures that one transaction moves from strand to strand
_COUNTS = ("total", "present", "h1", "h3", "h24", "d3", "d7")


@dataclass(frozen=True, slots=True)
class Old:
    """A failure under an old signature, and what its job says now."""

    id: int
    strand: int
    signature: int
    at_ms: int
    present: bool
    found: Found


class Regrouper:
    """For the store of one source. All that writes is called within its `writing`."""

    def __init__(self, term: Term, places: Places, strands: Strands, kept: Samples) -> None:
        self._term, self._places, self._strands, self._samples = term, places, strands, kept

    def old(self, *, after: int = 0, most: int = 100) -> Sequence[FailureSignature]:
        """Signatures of older versions behind a key, in the order of their keys."""
        return list(_old(self._term.source).filter(pk__gt=after).select_related("parent").order_by("pk")[:most])

    def strands(self) -> Mapping[int, int]:
        """Their strands, each with its signature."""
        ours = FailureStrand.objects.filter(signature__in=_old(self._term.source))
        return dict(ours.values_list("pk", "signature_id"))

    def place(self, queue: int) -> Place | None:
        return self._places.by_pk(queue)

    def name_heir(self, old: FailureSignature, place: Place, found: Found) -> None:
        """Failures of an old signature are like this one, as far as is known: what is gone goes where this goes."""
        if old.parts.get("shape") == kinds.SHAPE:
            return
        heir = self._heir(old, place, found)
        _name(old, heir)
        if old.parent is not None and heir.parent is not None:
            _name(old.parent, heir.parent)

    def move(self, place: Place, moved: Sequence[Old]) -> set[str]:
        """Put failures of one queue where they belong by what they say now; slugs of groups that changed by it."""
        signatures = _old(self._term.source).select_related("parent").in_bulk({each.signature for each in moved})
        heirs: dict[tuple[int, str], FailureSignature] = {}
        away: list[Old] = []
        for each in moved:
            old = signatures.get(each.signature)
            if old is None or old.parts.get("shape") == kinds.SHAPE:
                continue  # somebody split or deleted it meanwhile; or it holds what is not told apart
            key = (old.pk, each.found.signature.digest)
            if key not in heirs:
                if NEXT not in old.parts:
                    self.name_heir(old, place, each.found)
                heirs[key] = self._heir(old, place, each.found)
            heir = heirs[key]
            if heir.digest != old.parts.get(NEXT) or (heir.split_by and not old.split_by):
                away.append(each)
        return self._away(place, away)

    def settle(self, pk: int) -> tuple[bool, set[str]]:
        """Let what is left of an old signature follow its heir; whether that is all, and slugs of groups that changed.

        One that has none, as nothing is known of what its failures said, stays as it is.
        """
        old = _old(self._term.source).select_related("group").filter(pk=pk).first()
        if old is None:
            return True, set()
        self._samples.forget()
        heir = self._named(old)
        if heir is None:
            FailureSignature.objects.filter(pk=pk).update(version=VERSION)
            return True, set()
        for strand in old.strands.all():
            if not _follow(strand, heir):
                return False, set()
        _inherit(old, heir)
        return True, _close(old, heir)

    def _away(self, place: Place, away: Sequence[Old]) -> set[str]:
        tally = Tally()
        by_strand: dict[int, list[Old]] = {}
        strands = self._strands.of(self._term.source_pk, place, [each.found for each in away])
        for each, strand in zip(away, strands, strict=True):
            by_strand.setdefault(strand, []).append(each)
        for strand, some in by_strand.items():
            for part in rows.parts([each.id for each in some]):
                Failure.objects.filter(pk__in=part).update(strand_id=strand)
            for each in some:
                tally.take(each.strand, each.at_ms)
                tally.add(strand, each.at_ms)
                tally.presence(each.strand, -int(each.present))
                tally.presence(strand, int(each.present))
        return lives.slugs(write(tally, self._term.windows_ms)) if away else set()

    def _named(self, old: FailureSignature) -> FailureSignature | None:
        ours = FailureSignature.objects.filter(source_id=old.source_id, version=VERSION).select_related("group")
        named = old.parts.get(NEXT)
        return (ours.filter(digest=named).first() if named else None) or ours.filter(digest=old.digest).first()

    def _heir(self, old: FailureSignature, place: Place, found: Found) -> FailureSignature:
        """The signature in force of a failure that has this old one; made in the old one's group where it is new."""
        root = old.parent or old
        heir = self._adopted(root, place, found, Wanted(VERSION, found.signature.digest), root.split_by)
        if old.parent is None or not heir.split_by or heir.split_by != root.split_by:
            return heir
        digest = digest_of(heir.digest, heir.split_by, old.value)
        return self._adopted(old, place, found, Wanted(VERSION, digest, heir, old.value), "")

    def _adopted(
        self, old: FailureSignature, place: Place, found: Found, wanted: Wanted, split_by: str
    ) -> FailureSignature:
        heir, made = FailureSignature.objects.select_related("group").get_or_create(
            source_id=self._term.source_pk,
            version=wanted.version,
            digest=wanted.digest,
            defaults={
                "group_id": old.group_id,
                "parts": signing.parts_of(found.signature, place.ref),
                "split_by": split_by,
                "parent": wanted.parent,
                "value": wanted.value,
                "placed_by": old.placed_by,
            },
        )
        if not made and heir.group_id != old.group_id and _is_younger(heir.group, old.group_id):
            _take_in(heir.group, old.group_id)
            heir.refresh_from_db()
        return heir


def _name(old: FailureSignature, heir: FailureSignature) -> None:
    if NEXT not in old.parts and heir.pk != old.pk:
        old.parts = {**old.parts, NEXT: heir.digest}
        FailureSignature.objects.filter(pk=old.pk).update(parts=old.parts)


def _old(source: str) -> QuerySet[FailureSignature]:
    return FailureSignature.objects.filter(source__name=source, version__lt=VERSION)


def _is_younger(group: FailureGroup, than: int) -> bool:
    """Whether a group was made by failures that came before the old ones were regrouped: nobody knows it yet."""
    if group.pk < than or group.signatures.filter(version__lt=VERSION).exists():
        return False
    return aging.untouched().filter(pk=group.pk, merged_into=None).exists()


def _take_in(group: FailureGroup, into: int) -> None:
    merging.absorb(FailureGroup.objects.get(pk=into), [group])


def _follow(strand: FailureStrand, heir: FailureSignature) -> bool:
    """A strand becomes one of the heir, or goes into the one that the heir has there. False where more is left."""
    there = FailureStrand.objects.filter(signature=heir, queue_id=strand.queue_id, name=strand.name).first()
    if there is None:
        FailureStrand.objects.filter(pk=strand.pk).update(signature=heir, group_id=heir.group_id)
        return True
    some = list(Failure.objects.filter(strand=strand).values_list("pk", flat=True)[:ROWS])
    for part in rows.parts(some):
        Failure.objects.filter(pk__in=part).update(strand=there)
    if len(some) == ROWS:
        return False
    _join_hours(strand.pk, there.pk)
    changes = {name: F(name) + getattr(strand, name) for name in _COUNTS}
    ends = {"first_ms": min(strand.first_ms, there.first_ms), "last_ms": max(strand.last_ms, there.last_ms)}
    usual = None if there.usual is None or strand.usual is None else there.usual + strand.usual
    FailureStrand.objects.filter(pk=there.pk).update(**changes, **ends, usual=usual)
    strand.delete()
    return True


def _join_hours(strand: int, into: int) -> None:
    """Add the hours of a strand to those of another. Some 700 rows at most, for a month."""
    there = {hour.hour: hour for hour in FailureHour.objects.filter(strand_id=into)}
    changed = []
    for hour in FailureHour.objects.filter(strand_id=strand):
        ours = there.get(hour.hour)
        if ours is not None:
            ours.count += hour.count
            ours.minutes = _sum_of(ours.minutes, hour.minutes)
            changed.append(ours)
    FailureHour.objects.bulk_update(changed, ["count", "minutes"], batch_size=200)
    FailureHour.objects.filter(strand_id=strand).exclude(hour__in=list(there)).update(strand_id=into)
    FailureHour.objects.filter(strand_id=strand).delete()


def _sum_of(one: bytes | memoryview | None, other: bytes | memoryview | None) -> bytes | None:
    """Of minutes that are not all known, none are."""
    if one is None or other is None:
        return None
    pairs = zip(MINUTES.unpack(bytes(one)), MINUTES.unpack(bytes(other)), strict=True)
    return MINUTES.pack(*(min(2**32 - 1, first + second) for first, second in pairs))


def _inherit(old: FailureSignature, heir: FailureSignature) -> None:
    """Samples and children."""
    FailureSample.objects.filter(signature=old).update(signature=heir)
    ours = list(FailureSample.objects.filter(signature=heir).order_by("at_ms", "pk").values_list("pk", flat=True))
    over = ours[1 : 1 + max(0, len(ours) - samples.MOST)]
    FailureSample.objects.filter(pk__in=over).delete()
    FailureSignature.objects.filter(parent=old).update(parent=heir)


def _close(old: FailureSignature, heir: FailureSignature) -> set[str]:
    """Delete the old signature; its group is merged into the heir's where nothing is left of it."""
    group, into = old.group, heir.group
    old.delete()
    if group.pk == into.pk:
        return {into.slug}
    if group.signatures.exists():
        merging.recount(group)
        merging.recount(into)
    elif group.merged_into_id is None:
        merging.absorb(into, [group])
    return {group.slug, into.slug}
