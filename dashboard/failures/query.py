"""What a query string asks of the list of groups. A value that is none of the allowed ones means the default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from dashboard.failures.words import KIND_WORDS, LIFE_WORDS
from dashboard.trail import slug_of
from dashboard.words import cut
from queues.errors import BadInput
from queues.failures.find import Filters, Sorting
from queues.failures.types import UNSOLVED, Kind, Life
from queues.names import show_controls
from queues.quantities import DAY, HOUR, now_ms

# How a choice of lives is called in the query string, and what it is for eyes.
STATES: Mapping[str, tuple[Sequence[Life], Promise]] = {
    "": (UNSOLVED, pgettext_lazy("failures", "open and regressed")),
    "ignored": ((Life.IGNORED,), LIFE_WORDS[Life.IGNORED]),
    "resolved": ((Life.RESOLVED,), LIFE_WORDS[Life.RESOLVED]),
    "all": (tuple(Life), pgettext_lazy("failures", "all")),
}
KINDS: Mapping[str, tuple[Kind | None, Promise]] = {
    "": (None, pgettext_lazy("failures", "any")),
    **{kind.value: (kind, words) for kind, words in KIND_WORDS.items()},
}
SEEN: Mapping[str, tuple[int, Promise]] = {
    "1h": (HOUR, _("in the last hour")),
    "24h": (DAY, _("in the last 24 h")),
    "7d": (7 * DAY, _("in the last 7 d")),
}
MOST_PAGES = 1_000_000


class FailuresQuery:
    """Which groups, in which order, from which page on. A bad moment is BadInput."""

    def __init__(self, params: QueryDict, sources: Sequence[str]) -> None:
        self.sources = sources
        self.state = _one_of(params.get("state", ""), STATES)
        self.kind = _one_of(params.get("class", ""), KINDS)
        self.source = params.get("source", "") if params.get("source") in sources else ""
        self.queue = typed(params, "queue", 2_000).strip()
        self.name = typed(params, "name", 2_000).strip()
        self.text = typed(params, "text", 300).strip()
        self.seen = _one_of(params.get("seen", ""), SEEN)
        self.since, self.until = params.get("since", ""), params.get("until", "")
        self.sorting = Sorting.parse(params.get("sort", ""))
        page = params.get("page", "")
        self.page = min(int(page[:9]), MOST_PAGES) if page.isascii() and page.isdigit() else 1
        self.filters = Filters(
            sources=[self.source] if self.source else sources,
            queue=slug_of(self.queue),
            name=self.name,
            text=self.text,
            since_ms=self._since_ms(),
            until_ms=moment_ms(self.until),
            lives=STATES[self.state][0],
            kind=KINDS[self.kind][0],
        )

    def _since_ms(self) -> int | None:
        if self.seen:
            return now_ms() - SEEN[self.seen][0]
        return moment_ms(self.since)

    @property
    def sort(self) -> str:
        return str(self.sorting.key)

    @property
    def filtered(self) -> bool:
        """Whether anything is left out but what is ignored or resolved."""
        return bool(self.state not in ("", "all") or self.as_parameters.keys() - {"state"})

    @property
    def said(self) -> Sequence[tuple[str, str]]:
        """The filters of the form that are set, for eyes: what each is of, and its value."""
        told = (
            (gettext("Source"), self.source),
            (gettext("Queue"), self.queue),
            (gettext("Job name"), self.name),
            (gettext("Error contains"), self.text),
            (gettext("Last seen"), str(SEEN[self.seen][1]) if self.seen else ""),
            (gettext("From, UTC"), self.since),
            (gettext("Until, UTC"), self.until),
        )
        return [(name, show_controls(cut(value, 60), keep="")) for name, value in told if value]

    @property
    def as_parameters(self) -> dict[str, str]:
        """The filters that are set, by their names in the query string."""
        named = ("state", "source", "queue", "name", "text", "seen", "since", "until")
        found = {name: str(getattr(self, name)) for name in named if getattr(self, name)}
        return found | ({"class": self.kind} if self.kind else {})

    @property
    def within(self) -> dict[str, str]:
        """What of it narrows the jobs of a group, for the links to them."""
        return {name: getattr(self, name) for name in ("queue", "name") if getattr(self, name)}

    @property
    def spans(self) -> Sequence[tuple[str, Promise]]:
        return [(word, words) for word, (_ms, words) in SEEN.items()]


def moment_ms(typed: str) -> int | None:
    """What `datetime-local` sends, taken as UTC; or whole milliseconds since 1970. None for nothing."""
    if not typed:
        return None
    if typed.isascii() and typed.isdigit() and len(typed) <= 15:
        return int(typed)
    try:
        found = datetime.fromisoformat(typed)
        at = found.replace(tzinfo=UTC) if found.tzinfo is None else found
        return int(at.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise BadInput(gettext("A moment is written like 2026-11-30T14:02; it is taken as UTC.")) from None


def _one_of(asked: str, allowed: Mapping[str, object]) -> str:
    return asked if asked in allowed else ""


def typed(params: QueryDict, name: str, most: int) -> str:
    """A text of a query string. PostgreSQL takes neither a NUL nor half a surrogate in one, not even to look for it."""
    text = params.get(name, "").replace("\x00", "\ufffd")[:most]
    return text.encode("utf-8", errors="replace").decode()
