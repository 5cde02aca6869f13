"""Classes of what is indexed: decided anew for all strands, and what a rule would change, told before it is kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Sum

from queues.failures.classes.matching import Own
from queues.failures.classes.rules import Rules, forget
from queues.failures.types import Kind, Signature, Verdict
from queues.models import FailureSignature, FailureStrand

AT_ONCE = 500  # rows that one statement changes: the database has one writer, and others wait for it


@dataclass(frozen=True, slots=True)
class Move:
    """Strands of a group that a rule would move from a class to another; `failures` are those of 7 days."""

    slug: str
    title: str
    before: Kind
    after: Kind
    failures: int
    by_hand: Kind | None = None  # the group's class by hand, which holds on


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a rule would do. Numbers of failures are of 7 days and what is indexed now."""

    moves: Sequence[Move]  # most failures first
    strands: int = 0  # whose class would change
    groups: int = 0  # that it decides, moved or not
    failures: int = 0  # that it decides, moved or not

    @property
    def moved(self) -> int:
        return sum(move.failures for move in self.moves)


@dataclass(frozen=True, slots=True)
class Decided:
    """What a rule decides now: groups and failures of 7 days."""

    groups: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class _Strand:
    pk: int
    signature: int
    group: int
    slug: str
    title: str
    kind_set: str
    queue: str
    source: str
    name: str
    kind: str
    rule: str
    d7: int

    @property
    def by_hand(self) -> Kind | None:
        """The class of its group by hand."""
        return Kind.of(self.kind_set) if self.kind_set else None


def reclassify(source: str | None = None) -> int:
    """Decide the class of every strand anew, of one source or of all; how many changed. 15,000 take under a second.

    Each 500 rows are a transaction of their own. Run twice it changes nothing the second time.
    """
    forget()
    return _reclassify(Rules.current(), source)


def keep(source: str, seen: str) -> str:
    """Reclassify a source if the rules are others than `seen` tells; what tells them now. For the index, each minute.

    A strand that another process made by rules that it read a moment before they changed is put right by this.
    """
    rules = Rules.current()
    if rules.fingerprint != seen:
        _reclassify(rules, source)
    return rules.fingerprint


def dry_run(own: Own, source: str | None = None) -> DryRun:
    """What keeping this rule below the others would change. Nothing is written."""
    forget()
    rules = Rules((*Rules.current().own, own))
    moves: dict[tuple[int, Kind, Kind], int] = defaultdict(int)
    of: dict[int, _Strand] = {}
    groups: set[int] = set()
    failures = strands = 0
    for strand, verdict in _verdicts(rules, source):
        of[strand.group] = strand
        if verdict == Verdict(own.kind, own.title):
            groups.add(strand.group)
            failures += strand.d7
        if verdict.kind != strand.kind:
            strands += 1
            moves[strand.group, Kind.of(strand.kind), verdict.kind] += strand.d7
    told = [
        Move(of[group].slug, of[group].title, before, after, number, of[group].by_hand)
        for (group, before, after), number in moves.items()
    ]
    told.sort(key=lambda move: (-move.failures, move.slug))
    return DryRun(told, strands, len(groups), failures)


def decided() -> Mapping[str, Decided]:
    """What each rule, by its name, decides now: as the strands say; "" is what none decides."""
    rows = FailureStrand.objects.order_by().values_list("rule").annotate(Count("group", distinct=True), Sum("d7"))
    return {rule: Decided(groups, failures) for rule, groups, failures in rows}


def _reclassify(rules: Rules, source: str | None) -> int:
    changed: dict[Verdict, list[int]] = defaultdict(list)
    for strand, verdict in _verdicts(rules, source):
        if (verdict.kind, verdict.rule) != (strand.kind, strand.rule):
            changed[verdict].append(strand.pk)
    for verdict, keys in changed.items():
        for some in _some(keys):
            with transaction.atomic():
                rows = FailureStrand.objects.filter(pk__in=some)
                list(rows.select_for_update().order_by("pk").values_list("pk"))  # in the order in which the index does
                rows.update(kind=verdict.kind.value, rule=verdict.rule)
    return sum(map(len, changed.values()))


def _verdicts(rules: Rules, source: str | None) -> Iterator[tuple[_Strand, Verdict]]:
    signatures = FailureSignature.objects.filter(**({"source__name": source} if source else {}))
    parts = {pk: signature(each) for pk, each in signatures.values_list("pk", "parts")}
    strands = FailureStrand.objects.filter(**({"signature__source__name": source} if source else {}))
    rows = strands.values_list(
        *("pk", "signature_id", "group_id", "group__slug", "group__title", "group__kind_set"),
        *("queue__slug", "queue__source__name", "name", "kind", "rule", "d7"),
    )
    for row in rows.iterator(chunk_size=2_000):
        strand = _Strand(*row)
        known = parts.get(strand.signature)
        if known:
            yield (
                strand,
                rules.verdict(known, name=strand.name, queue_slug=strand.queue, source=strand.source),
            )


def signature(parts: Mapping[str, object]) -> Signature:
    """A signature out of what is kept of it, as far as rules look at it."""

    def text(name: str) -> str:
        return str(parts.get(name) or "")

    return Signature(
        version=0,
        digest=text("digest"),
        shape=text("shape"),
        error_class=text("error_class"),
        code=text("code"),
        message=text("message"),
        place=text("place"),
        place_kind=text("place_kind"),
        title=text("title"),
    )


def _some(keys: Sequence[int]) -> Iterable[Sequence[int]]:
    return (keys[at : at + AT_ONCE] for at in range(0, len(keys), AT_ONCE))
