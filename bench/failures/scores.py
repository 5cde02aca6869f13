"""How well signatures and built-in classes agree with what a person says of the corpus."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple

from queues.failures.types import Kind, Signature, Verdict

if TYPE_CHECKING:
    from bench.failures.corpus import Entry

F1 = 0.97  # aims on the part that nothing is tuned on
ACCURACY = 0.95


class Judged(NamedTuple):
    """An error of the corpus, and what the product made of it."""

    entry: Entry
    signature: Signature
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of errors: `both` by person and product are of one group, `ours` by the product, `theirs` by the person."""

    both: int
    ours: int
    theirs: int

    @property
    def precision(self) -> float:
        return self.both / self.ours if self.ours else 1.0

    @property
    def recall(self) -> float:
        return self.both / self.theirs if self.theirs else 1.0

    @property
    def f1(self) -> float:
        total = self.ours + self.theirs
        return 2 * self.both / total if total else 1.0


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one part. `torn`: groups with more than one signature; `thrown_together`: signatures with several groups."""

    judged: Sequence[Judged]
    pairs: Pairs
    accuracy: float
    torn: Sequence[str]
    thrown_together: Sequence[str]
    misjudged: Sequence[str]

    @property
    def groups(self) -> int:
        return len({one.entry.group for one in self.judged})

    @property
    def wrong(self) -> Sequence[str]:
        """A line for each thing that is wrong."""
        return [*self.torn, *self.thrown_together, *self.misjudged]


def judge(entries: Iterable[Entry]) -> list[Judged]:
    """Signatures and built-in classes of these errors; the database is not asked for rules of users."""
    from queues.failures.classes import Rules
    from queues.failures.signature import of

    rules = Rules()
    made = [(entry, of(entry.thrown)) for entry in entries]
    return [
        Judged(entry, mark, rules.verdict(mark, name=entry.thrown.name, queue_slug="jobs", source="main"))
        for entry, mark in made
    ]


def score(judged: Sequence[Judged]) -> Scores:
    """Compares each error with each other, within and across families."""
    right = sum(one.verdict.kind == one.entry.kind for one in judged)
    return Scores(
        judged,
        pairs(judged),
        right / len(judged) if judged else 1.0,
        _torn(judged),
        _thrown_together(judged),
        [_misjudged(one) for one in judged if one.verdict.kind != one.entry.kind],
    )


def pairs(judged: Sequence[Judged]) -> Pairs:
    """Counts pairs by the sizes of groups; linear."""
    return Pairs(
        _within((one.entry.group, one.signature.digest) for one in judged),
        _within(one.signature.digest for one in judged),
        _within(one.entry.group for one in judged),
    )


def confusion(judged: Sequence[Judged]) -> Counter[tuple[Kind, Kind]]:
    """How often (a person's class, ours)."""
    return Counter((one.entry.kind, one.verdict.kind) for one in judged)


def _within(names: Iterable[object]) -> int:
    return sum(comb(size, 2) for size in Counter(names).values())


def _torn(judged: Sequence[Judged]) -> list[str]:
    by_group: dict[str, dict[str, Judged]] = defaultdict(dict)
    for one in judged:
        by_group[one.entry.group].setdefault(one.signature.digest, one)
    return [
        f"torn: {group}: {_difference(first.signature, second.signature)}"
        for group, found in by_group.items()
        for first, second in list(combinations(found.values(), 2))[:1]
    ]


def _thrown_together(judged: Sequence[Judged]) -> list[str]:
    by_digest: dict[str, dict[str, Judged]] = defaultdict(dict)
    for one in judged:
        by_digest[one.signature.digest].setdefault(one.entry.group, one)
    return [
        f"thrown together: {', '.join(found)}: {_said(next(iter(found.values())).signature)}"
        for found in by_digest.values()
        if len(found) > 1
    ]


def _misjudged(one: Judged) -> str:
    rule = one.verdict.rule or "no rule"
    return f"misjudged: {one.entry.id}: {one.entry.kind}, not {one.verdict.kind} by {rule}: {_said(one.signature)}"


def _difference(first: Signature, second: Signature) -> str:
    parts = ("shape", "error_class", "code", "message", "place")
    found = [(part, getattr(first, part), getattr(second, part)) for part in parts]
    return "; ".join(f"{part} {one[:120]!r} and {two[:120]!r}" for part, one, two in found if one != two)


def _said(signature: Signature) -> str:
    return f"{signature.error_class} {signature.code} {signature.message[:120]!r} at {signature.place}"
