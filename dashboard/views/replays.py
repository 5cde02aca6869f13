"""All plans as a list, and the ledger of one: a row for each of its jobs, as a page and as files."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from dashboard import export
from dashboard.access import actor_of
from dashboard.http import page
from dashboard.replays import exported, keys, lines
from dashboard.replays.ledger import LedgerQuery, ledger
from dashboard.replays.listing import ReplaysQuery, listing
from dashboard.views.replay import of
from dashboard.words import shown
from queues import audit
from queues.models import Replay
from queues.quantities import instant, now_ms
from queues.registry import configured
from queues.replay.forgetting import FORGOTTEN
from queues.replay.ledger import each
from queues.replay.types import ENDED


@require_safe
def replays(request: HttpRequest) -> HttpResponse:
    """One page of plans, the newest first."""
    sources = [source.name for source in configured()]
    query = ReplaysQuery(request.GET, sources, request.user.get_username())
    at_ms = now_ms()
    found = listing(query, at_ms)
    context = {
        "query": query,
        "found": found,
        "sources": sources,
        "since": keys.since(found.newest),
        "news": lines.news(found.newest, 0),
        "live_read_ms": str(at_ms),
        "read_at": instant(at_ms),
    }
    return page(request, "replays/list.html", context)


@require_safe
def jobs(request: HttpRequest, pk: int) -> HttpResponse:
    """A page of the ledger of a plan."""
    replay, query = of(pk), LedgerQuery(request.GET)
    at_ms = now_ms()
    context = {
        "replay": replay,
        "title": shown(replay.title, 120),
        "query": query,
        "found": ledger(replay, query),
        "ended": replay.phase in ENDED,
        "forgotten": replay.step == FORGOTTEN,
        "kept": settings.MIRANTE_REPLAYS_DAYS,
        "read_ms": at_ms,
    }
    return page(request, "replays/ledger.html", context)


@require_safe
def jobs_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export(request, of(pk), "csv")


@require_safe
def jobs_jsonl(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export(request, of(pk), "jsonl")


def _export(request: HttpRequest, replay: Replay, ending: str) -> StreamingHttpResponse:
    """All rows that the query string means. That they were taken is an entry of the log."""
    query = LedgerQuery(request.GET)
    facts: dict[str, object] = {"replay": replay.pk, **query.as_parameters, "format": ending}
    source = replay.source.name
    audit.record(actor_of(request), exported.EXPORT, source=source, parameters=facts, group=replay.group)
    rows = exported.written(replay, each(replay, query.filters), ending)
    name = f"replay-{replay.pk}"
    return export.answer(request, rows, ending, name=name, broken=exported.broken(), what="the ledger of a replay")
