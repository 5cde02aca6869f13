"""The rules that are built in, laid out so that the first that matches is found without trying each pattern."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from queues.failures.classes.matching import BuiltIn, Said, anywhere, whole

GRAM = 4  # characters by which patterns are looked up
Numbered = Sequence[tuple[int, str]]  # patterns, each with the number of its rule


class Needles:
    """Patterns that are looked up by four characters of theirs: only those that the text has too are compared.

    There are about a thousand, and a text of 300 characters has none of most of them.
    """

    def __init__(self, patterns: Numbered, fits: Callable[[str, str], bool]) -> None:
        self._fits = fits
        self._short: list[tuple[int, str]] = []
        self._by_gram: dict[str, list[tuple[int, str]]] = defaultdict(list)
        often = Counter(gram for _, pattern in patterns for gram in _grams(_longest(pattern)))
        for number, pattern in patterns:
            grams = _grams(_longest(pattern))
            mine = self._by_gram[min(sorted(grams), key=often.__getitem__)] if grams else self._short
            mine.append((number, pattern))

    def first(self, text: str, below: int) -> int:
        """The lowest number of a rule, under `below`, that has a pattern which fits; else `below`."""
        best = below
        for gram in self._by_gram.keys() & _grams(text):
            for number, pattern in self._by_gram[gram]:
                if number < best and self._fits(pattern, text):
                    best = number
        for number, pattern in self._short:
            if number < best and self._fits(pattern, text):
                best = number
        return best


@dataclass(frozen=True, slots=True)
class Table:
    rules: Sequence[BuiltIn]
    exact: dict[tuple[str, str], int]  # what it is of and the text: the number of the first rule that has it
    classes: Needles
    codes: Needles
    messages: Needles

    def first(self, thrown: Said) -> BuiltIn | None:
        """The first rule that matches; None without one. The same as asking each rule in its order."""
        none = len(self.rules)
        told = (
            *(("shapes", thrown.shape), ("texts", thrown.message), ("classes", thrown.error_class)),
            *(("codes", code) for code in thrown.codes),
        )
        best = min(self.exact.get(each, none) for each in told)
        best = self.classes.first(thrown.error_class, best) if thrown.error_class else best
        for code in thrown.codes:
            best = self.codes.first(code, best)
        best = self.messages.first(thrown.message, best)
        return self.rules[best] if best < none else None


def table(rules: Sequence[BuiltIn]) -> Table:
    """Made once."""
    exact: dict[tuple[str, str], int] = {}
    for number, rule in enumerate(rules):
        for part in ("shapes", "texts", "classes", "codes"):
            for text in getattr(rule, part):
                exact.setdefault((part, text), number)
    return Table(
        rules,
        exact,
        Needles([each for each in _of(rules, "classes") if "*" in each[1]], whole),
        Needles([each for each in _of(rules, "codes") if "*" in each[1]], whole),
        Needles(_of(rules, "messages"), anywhere),
    )


def _of(rules: Sequence[BuiltIn], part: str) -> Numbered:
    return [(number, text) for number, rule in enumerate(rules) for text in getattr(rule, part)]


def _longest(pattern: str) -> str:
    return max(pattern.split("*"), key=len)


def _grams(text: str) -> set[str]:
    return {text[at : at + GRAM] for at in range(len(text) - GRAM + 1)}
