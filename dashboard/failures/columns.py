"""The heads of the list of groups, which sort it, and the choices above it with how many groups each would show."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.failures.keys import Sight
from dashboard.failures.lines import MINOR, WINDOW_WORDS
from dashboard.failures.query import KINDS, STATES
from dashboard.live.parts import part
from queues.failures.find import Listing, Sorting, SortKey
from queues.quantities import number


@dataclass(frozen=True, slots=True)
class Column:
    """A head; `next` is the order that a press on it asks for. `least`: its counts are lower bounds."""

    label: Promise
    css: str = ""
    sort: SortKey | None = None
    sorted: str = ""
    next: str = ""
    least: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of a segment: its value in the query string, its word, and how many groups it would show, as a part.

    `name` is that of the part, within those of the sums.
    """

    name: str
    value: str
    label: Promise
    shown: SafeString | str
    chosen: bool

    @property
    def id(self) -> str:
        """Of its link."""
        return self.name.replace(".", "-")


HEADS: Sequence[tuple[Promise, str, SortKey | None]] = (
    (_("Error"), "", None),
    (_("Class"), "", None),
    (_("State"), "", None),
    *((words[0], f"r {MINOR.get(name, '')}".strip(), SortKey(name)) for name, words in WINDOW_WORDS.items()),
    (_("48 h, hourly"), "", None),
    (_("Growth"), "r", SortKey.GROWTH),
    (_("First seen"), "r lo", SortKey.FIRST),
    (_("Last seen"), "r", SortKey.LAST),
)


def columns(sorting: Sorting, at_least: Collection[str]) -> Sequence[Column]:
    """The heads in the order of the cells."""
    return [Column(label, css, key, *_order(sorting, key), least=key in at_least) for label, css, key in HEADS]


def least(at_least: Collection[str]) -> str:
    """That counts of some windows may miss failures; "" where none can."""
    if not at_least:
        return ""
    if len(at_least) == len(WINDOW_WORDS):
        return gettext("All counts are at least so many: not every failure of that time was seen.")
    windows = ", ".join(str(words[0]) for name, words in WINDOW_WORDS.items() if name in at_least)
    return gettext("Counts of %(windows)s are at least so many: not every failure of that time was seen.") % {
        "windows": windows
    }


def _order(sorting: Sorting, key: SortKey | None) -> tuple[str, str]:
    """How a column is sorted now, for `aria-sort`, and what a press on it asks for: the highest and newest first."""
    if key is None:
        return "", ""
    if sorting.key is not key:
        return "", str(Sorting(key))
    return "descending" if sorting.descending else "ascending", str(Sorting(key, not sorting.descending))


def states(sight: Sight, found: Listing) -> Sequence[Choice]:
    """What can be chosen of lives."""
    return [
        _choice(sight, f"state.{value or 'open'}", value, words, sum(found.lives.get(life, 0) for life in lives))
        for value, (lives, words) in STATES.items()
    ]


def kinds(sight: Sight, found: Listing) -> Sequence[Choice]:
    """What can be chosen of classes; any needs no number, the states have it."""
    return [
        _choice(sight, f"class.{value or 'any'}", value, words, None if kind is None else found.kinds.get(kind, 0))
        for value, (kind, words) in KINDS.items()
    ]


def _choice(sight: Sight, name: str, value: str, words: Promise, count: int | None) -> Choice:
    shown = "" if count is None else part(f"{sight.key}-{name}", number(count))
    return Choice(name, value, words, shown, value == (sight.state if name.startswith("state") else sight.kind))
