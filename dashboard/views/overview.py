"""The overview: all queues of all sources in one table, and what needs eyes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from dashboard import rows as table
from dashboard import summary
from dashboard.failures import links
from dashboard.http import asks_for, page
from dashboard.live import eyes
from dashboard.live.parts import row_key
from dashboard.queries import QueuesQuery
from queues import followed, listing, readings
from queues.listing import Sorting, SortKey
from queues.quantities import now_ms
from queues.registry import backend, configured
from queues.types import Capability, State

Placed = tuple[listing.Row, str, int]  # with the name of the group that begins with it, and its size
PAGE = 100  # rows at first, and with each step of scrolling


@dataclass(frozen=True)
class Column:
    """A head of the table; `next` is the order that a press on it gives."""

    label: object
    css: str = "r"
    sort: SortKey | None = None
    sorted: str = ""
    next: str = ""


HEADS = (
    (gettext_lazy("Queue"), "", SortKey.NAME),
    (gettext_lazy("Unfinished and failed, by state"), "lo-bar", None),
    *((table.label(state), f"r{table.MINOR.get(state, '')}", SortKey(state.value)) for state in State),
    (gettext_lazy("Workers"), "r", SortKey.WORKERS),
    (gettext_lazy("Oldest waiting"), "r", SortKey.OLDEST),
    (gettext_lazy("Finished, last 60 min"), "", None),
    (gettext_lazy("Last minute"), "r", None),
    (gettext_lazy("Failing, 1 h"), "r", None),
)


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """The first 100 queues with all sums, or the next 100 rows for a reader who scrolls."""
    sources = [config.name for config in configured()]
    query = QueuesQuery(request.GET, sources)
    asked = [query.source] if query.source else sources
    manned = any(Capability.WORKERS in backend(name).capabilities for name in asked)
    found = readings.read_all(asked)
    read_ms = now_ms()
    listed = listing.rows(found, read_ms, {name: followed.histories(name) for name in asked})
    chosen = listing.matching(listed, query.name)
    part, more, left = _grouped(chosen, query) if query.group else _paged(chosen, query)
    rows_alone = asks_for(request, "rows")
    strip = () if rows_alone else summary.eyes(listed)
    letters, failing = links.worst([row for row, _head, _size in part], strip)
    context: dict[str, object] = {
        "query": query,
        "rows": [
            replace(table.row(row, manned=manned), heading=head, members=size, top=letters.get(row.ref))
            for row, head, size in part
        ],
        "more": _more(request, more),
        "left": left,
        "columns": [column for column in _columns(query) if manned or column.sort is not SortKey.WORKERS],
        "manned": manned,
        "several": len(sources) > 1 and not query.source,
    }
    if rows_alone:
        return page(request, "overview/overview.html", context, fragments=("rows",))
    unread = [reading for reading in found if not reading.live]
    where = summary.scope(asked)
    context |= {
        "readings": found,
        "unread": unread,
        "eyes": summary.strip(strip, {**letters, **failing}),
        "eyes_changed": eyes.unchanged(where, [row_key(eye.ref) for eye in strip]),
        "lede": summary.lede(found, listed, where),
        "totals": summary.totals(listed, found, where, manned=manned),
        "watched": " ".join(asked),
        "read_ms": read_ms,
        "total": len(listed),
        "looking": any(reading.live and not reading.scan.finished_at for reading in found),
        "matching": len(chosen),
        "states": tuple(State),
        "stale_at": unread[0].read_at if len(unread) == len(found) and unread else None,
        "read_at": _read_at(found),
    }
    return page(request, "overview/overview.html", context)


def _paged(chosen: Sequence[listing.Row], query: QueuesQuery) -> tuple[list[Placed], str, int]:
    ordered = listing.sort(chosen, query.sorting)
    part = listing.page(ordered, query.sorting, after=query.after, size=PAGE)
    return [(row, "", 0) for row in part.rows], part.after, part.left


def _grouped(chosen: Sequence[listing.Row], query: QueuesQuery) -> tuple[list[Placed], str, int]:
    """Groups one after the other, in the order of their first rows; the cursor counts rows."""
    names = listing.groups([row.ref for row in chosen])
    grouped: dict[str, list[listing.Row]] = {}
    for row in listing.sort(chosen, query.sorting):
        grouped.setdefault(names[row.ref], []).append(row)
    heads = {id(members[0]): (name or _("no group"), len(members)) for name, members in grouped.items()}
    ordered = [row for members in grouped.values() for row in members]
    start = int(query.after) if query.after.isascii() and query.after.isdigit() else 0
    part = [(row, *heads.get(id(row), ("", 0))) for row in ordered[start : start + PAGE]]
    left = max(0, len(ordered) - start - len(part))
    return part, str(start + len(part)) if left else "", left


def _more(request: HttpRequest, after: str) -> str:
    if not after:
        return ""
    params = request.GET.copy()
    params["after"] = after
    return f"?{params.urlencode()}"


def _columns(query: QueuesQuery) -> list[Column]:
    return [Column(label, css, key, *_order(query.sorting, key)) for label, css, key in HEADS]


def _order(sorting: Sorting, key: SortKey | None) -> tuple[str, str]:
    """How a column is sorted now, for `aria-sort`, and what a press on it asks for: numbers from the top first."""
    if key is None:
        return "", ""
    first = Sorting(key, descending=key is not SortKey.NAME)
    now = ("descending" if sorting.descending else "ascending") if sorting.key is key else ""
    return now, str(Sorting(key, not sorting.descending)) if sorting.key is key else str(first)


def _read_at(found: Sequence[readings.SourceReading]) -> datetime | None:
    """The oldest of what is on the page."""
    return min((reading.read_at for reading in found if reading.read_at), default=None)
