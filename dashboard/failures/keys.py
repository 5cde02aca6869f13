"""The ids of what is live on pages of failures: what a page shows, and by which a drawer knows what to draw.

A page sends them as its rows; the parts of one are called `<key>-<name>`. `fg-<slug>` is a group in the list,
`fp-<slug>` the figures on its page, `fc-<slug>.<span>` its chart; `fs..` are the sums of a list, `fn..` what is new
since it was read. What begins with `fx` is of a list narrowed by more than life and class: nobody draws it, the page
reads itself anew when `fx-beat` says that something changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.failures.query import KINDS, STATES, FailuresQuery
from dashboard.summary import scope
from queues.failures.about import Span
from queues.failures.find import Filters
from queues.registry import configured

BEAT = "fx"
_WIDE = {"state", "class", "source"}  # filters whose sums are drawn
_SIGHT = re.compile(r"fs((?:-[0-9]{1,2})*)\.([a-z]+)\.([a-z]+)")
_NEWS = re.compile(r"fn((?:-[0-9]{1,2})*)\.([0-9]{1,15})\.([0-9]{1,12})")
_CHART = re.compile(r"fc-([^.]{1,24})\.([0-9a-z]{1,4})")


@dataclass(frozen=True, slots=True)
class Sight:
    """What the sums of a list are of. `where` says which sources, as `dashboard.summary.scope` does."""

    where: str = ""
    state: str = ""
    kind: str = ""
    narrowed: bool = False

    @classmethod
    def of(cls, query: FailuresQuery) -> Sight:
        return cls(scope(query.filters.sources), query.state, query.kind, bool(query.as_parameters.keys() - _WIDE))

    @classmethod
    def parse(cls, key: str) -> Sight | None:
        """The inverse of `key`; None for any other text."""
        found = _SIGHT.fullmatch(key)
        if not found:
            return None
        where, state, kind = found[1], found[2].replace("open", ""), found[3].replace("any", "")
        return cls(where, state, kind) if state in STATES and kind in KINDS else None

    @property
    def key(self) -> str:
        return BEAT if self.narrowed else f"fs{self.where}.{self.state or 'open'}.{self.kind or 'any'}"

    @property
    def filters(self) -> Filters:
        """The life and class that it shows."""
        return Filters(sources_of(self.where), lives=STATES[self.state][0], kind=KINDS[self.kind][0])

    @property
    def filtered(self) -> bool:
        """Whether anything is left out but what is ignored or resolved."""
        return self.narrowed or bool(self.where or self.kind) or self.state not in ("", "all")


@dataclass(frozen=True, slots=True)
class Since:
    """Up to where a list knew groups when it was read: the key of the newest one, and seconds since 1970."""

    where: str
    newest: int
    read_s: int

    @classmethod
    def parse(cls, key: str) -> Since | None:
        found = _NEWS.fullmatch(key)
        return cls(found[1], int(found[2]), int(found[3])) if found else None

    @property
    def key(self) -> str:
        return f"fn{self.where}.{self.newest}.{self.read_s}"


def row(slug: str, *, narrowed: bool = False) -> str:
    """A group in the list, whose counts may be those of a queue or a job name alone."""
    return f"fx-{slug}" if narrowed else f"fg-{slug}"


def page(slug: str) -> str:
    """The figures on the page of a group."""
    return f"fp-{slug}"


def chart(slug: str, span: Span) -> str:
    return f"fc-{slug}.{span}"


def charted(key: str) -> tuple[str, Span] | None:
    """The group and the span of a chart; None for any other text."""
    found = _CHART.fullmatch(key)
    return (found[1], Span(found[2])) if found and found[2] in set(Span) else None


def sources_of(where: str) -> Sequence[str]:
    """The inverse of `summary.scope`; none for what it never gives."""
    every = [config.name for config in configured()]
    numbers = [int(number) for number in where.split("-")[1:]]
    if not where:
        return every
    return [every[number] for number in numbers] if all(number < len(every) for number in numbers) else ()
