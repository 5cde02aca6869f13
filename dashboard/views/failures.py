"""The list of groups of failures: what broke, since when, how fast it grows, whether a retry can help; its exports."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from dashboard import export
from dashboard.access import actor_of
from dashboard.failures import exported, sums
from dashboard.failures.columns import columns, kinds, least, states
from dashboard.failures.deploys import DeployForm
from dashboard.failures.keys import Sight, Since
from dashboard.failures.lines import MINOR, WINDOW_WORDS, Line
from dashboard.failures.query import FailuresQuery
from dashboard.failures.rising import rising
from dashboard.http import page
from queues import audit, deploys
from queues.failures import find
from queues.quantities import instant, now_ms
from queues.registry import configured

UNKNOWN = ("unread", "never", "reading")  # why there is no row, though something may have failed


@require_safe
def failures(request: HttpRequest) -> HttpResponse:
    """One page of the groups that the query string means, the worst first, with what all of them come to."""
    query = _query(request)
    read_ms, newest = now_ms(), find.newest()
    found = find.groups(query.filters, query.sorting, query.page)
    sight = Sight.of(query)
    since = Since(sight.where, newest, read_ms // 1000)
    context = {
        **listing(query, found, sight),
        "deploy_form": DeployForm(query.sources),
        "read_ms": read_ms,
        "since": since,
        "news": sums.news(since, 0, 0),
    }
    return page(request, "failures/list.html", context)


def listing(query: FailuresQuery, found: find.Listing, sight: Sight) -> dict[str, object]:
    """What the page needs, but for its forms."""
    sources = query.sources
    queues = find.queues_of(sources)
    none = "" if found.rows else nothing(query, found)
    live = sums.drawn(found, sight, unread=none in UNKNOWN)
    return {
        "query": query,
        "found": found,
        "known": found.known,
        "lines": [Line(row, query.within) for row in found.rows],
        "columns": columns(query.sorting, found.known.at_least),
        "least": least(found.known.at_least),
        "sight": sight,
        "live": live,
        "states": states(sight, found),
        "kinds": kinds(sight, found),
        "totals": [(name, head, MINOR.get(name, ""), live[name]) for name, (head, _when) in WINDOW_WORDS.items()],
        "none": none,
        "bare": none not in ("", "filter", "calm"),
        "read_at": _as_of(found.known),
        "queues": queues,
        "unknown_queue": bool(query.queue) and query.filters.queue not in {ref.slug for ref in queues},
        "names": find.names_of(sources),
        "several": len(sources) > 1,
        "kept": settings.MIRANTE_FAILURES_DAYS,
        "most": exported.MOST_GROUPS,
        "deploys": deploys.newest(sources),
        "rising": rising(found),
    }


def _as_of(known: find.Known) -> datetime | None:
    """When the oldest of what is shown was right."""
    return instant(min((each.at_ms for each in known.standings.values() if each.at_ms is not None), default=None))


def nothing(query: FailuresQuery, found: find.Listing) -> str:
    """Why there is no row: the filter, all is settled, the index, or nothing failed. One query."""
    if find.any_groups(query.sources):
        return "filter" if query.filtered else "calm"
    known = found.known
    if known.blind or known.silent:
        return "unread"
    if len(known.never) == len(known.standings):
        return "never"
    return "reading" if known.scanning else "nothing"


@require_safe
def export_csv(request: HttpRequest) -> StreamingHttpResponse:
    return _export(request, "csv")


@require_safe
def export_jsonl(request: HttpRequest) -> StreamingHttpResponse:
    return _export(request, "jsonl")


def _export(request: HttpRequest, ending: str) -> StreamingHttpResponse:
    """All groups that the query string means, in its order. That they were taken is an entry of the log."""
    query = _query(request)
    facts = {**query.as_parameters, "format": ending}
    audit.record(actor_of(request), exported.EXPORT, source=query.source, parameters=facts)
    rows = exported.written(find.each(query.filters, query.sorting), ending)
    return export.answer(request, rows, ending, name="failures", broken=exported.broken(), what="failures")


def _query(request: HttpRequest) -> FailuresQuery:
    return FailuresQuery(request.GET, [source.name for source in configured()])
