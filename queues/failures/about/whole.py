"""A group with its signatures and strands, and what they add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from queues.failures.store.ids import id_of, linked
from queues.failures.types import Kind
from queues.models import Failure, FailureGroup, FailureSignature, FailureStrand, Indexing
from queues.types import JobRef, QueueRef

MOST_STRANDS = 2_000  # of one group that a page adds up


@dataclass(frozen=True, slots=True)
class Lane:
    """A queue with what a group has in it."""

    queue: QueueRef
    pk: int
    h1: int
    present: int
    total: int


@dataclass(frozen=True, slots=True)
class Whole:
    """A group. `indexing` None: its source was never indexed. Its counts are those that the list of groups has."""

    group: FailureGroup
    signatures: Sequence[FailureSignature]
    strands: Sequence[FailureStrand]
    lanes: Sequence[Lane]  # the busiest first
    indexing: Indexing | None
    newest: JobRef | None  # the last of its jobs that is there

    @property
    def source(self) -> str:
        return self.group.source.name

    @property
    def h1(self) -> int:
        return sum(strand.h1 for strand in self.strands)

    @property
    def present(self) -> int:
        return sum(strand.present for strand in self.strands)

    @property
    def usual(self) -> float | None:
        """How many failures this hour had on the days before; None while no strand has seen them."""
        known = [strand.usual for strand in self.strands if strand.usual is not None]
        return sum(known) if known else None

    @property
    def growth(self) -> float | None:
        """The last hour against the usual one; None where there is nothing to compare with."""
        usual = self.usual
        return self.h1 / usual if usual else None

    @property
    def kind(self) -> Kind:
        """By hand, else that of most failures."""
        if self.group.kind_set:
            return Kind.of(self.group.kind_set)
        return self.kinds[0][0] if self.kinds else Kind.UNKNOWN

    @property
    def kinds(self) -> Sequence[tuple[Kind, str]]:
        """The classes of its strands by rule, that of most failures first: one, unless rules tell them apart."""
        counted: Counter[tuple[str, str]] = Counter()
        for strand in self.strands:
            counted[strand.kind, strand.rule] += strand.total
        return [(Kind.of(kind), rule) for (kind, rule), _ in counted.most_common()]

    @property
    def strand_keys(self) -> Sequence[int]:
        return [strand.pk for strand in self.strands]


def whole(group: FailureGroup) -> Whole:
    """All of a group but its failures. Five queries, whatever it counts."""
    signatures = list(group.signatures.order_by("pk"))
    strands = list(group.strands.select_related("queue").order_by("-last_ms", "pk")[:MOST_STRANDS])
    return Whole(
        group,
        signatures,
        strands,
        lanes(group.source.name, strands),
        Indexing.objects.filter(source_id=group.source_id).first(),
        _newest(group.source.name, strands),
    )


def lanes(source: str, strands: Iterable[FailureStrand]) -> Sequence[Lane]:
    """The strands of each queue added up."""
    found: dict[int, list[FailureStrand]] = {}
    for strand in strands:
        found.setdefault(strand.queue_id, []).append(strand)
    made = [
        Lane(
            QueueRef.from_slug(source, mine[0].queue.slug),
            pk,
            sum(strand.h1 for strand in mine),
            sum(strand.present for strand in mine),
            sum(strand.total for strand in mine),
        )
        for pk, mine in found.items()
    ]
    return sorted(made, key=lambda lane: (-lane.h1, -lane.total, lane.queue.label))


def _newest(source: str, strands: Sequence[FailureStrand]) -> JobRef | None:
    """The newest job in the failed set. One query by the index of each of the strands that failed last."""
    queues: Mapping[int, FailureStrand] = {strand.pk: strand for strand in strands if strand.present}
    for strand in list(queues.values())[:5]:
        found = Failure.objects.filter(strand=strand, in_set=True).order_by("-at_ms").first()
        if found:
            return job_of(QueueRef.from_slug(source, strand.queue.slug), found.job)
    return None


def job_of(queue: QueueRef, slug: str) -> JobRef | None:
    """A job by its id as the index keeps it; None for one whose id was too long to be kept."""
    return JobRef(queue, id_of(slug)) if linked(slug) else None
