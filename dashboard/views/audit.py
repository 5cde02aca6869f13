"""The log of actions: the table of all, one as a page with its progress, and exports. Nothing in it can be changed."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dashboard import trail
from dashboard.access import Right, actor_of, requires_right
from dashboard.http import page
from queues import audit, operations, undo
from queues.audit import Asked, Status
from queues.bulk.progress import progress as progress_of
from queues.models import AuditEntry, Bulk
from queues.registry import configured

CHUNK = 200  # entries that are sent at a time
RESTORABLE = 10  # removed jobs that the page of their removal names
SILENT = timedelta(seconds=20)  # without a sign of life of the worker, before the page says so

logger = logging.getLogger(__name__)


@require_safe
@requires_right(Right.AUDIT)
def log(request: HttpRequest) -> HttpResponse:
    """All entries, newest first, filtered as the query string says."""
    query = _query(request)
    found = audit.find(query.filters, older=query.older, newer=query.newer)
    context = {
        "query": query,
        "found": found,
        "lines": [trail.Line(entry) for entry in found.entries],
        "sources": [source.name for source in configured()],
        "kept": settings.MIRANTE_AUDIT_DAYS,
        "most": trail.MOST_EXPORTED,
    }
    return page(request, "audit/log.html", context)


@require_safe
@requires_right(Right.AUDIT)
def entry(request: HttpRequest, pk: int) -> HttpResponse:
    """One action: who, when, what, and what came of it; while it runs, how far it is."""
    return page(request, "audit/entry.html", _context(_entry(pk)))


@require_safe
@requires_right(Right.AUDIT)
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """How far an action is, for the page to ask again and again."""
    return page(request, "audit/entry.html#progress", _context(_entry(pk)) | {"polled": True})


@require_POST
@requires_right(Right.STOP_BULK)
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask a running action to stop after its batch. One that has ended stays as it is."""
    found = _entry(pk)
    if found.status == Status.RUNNING:
        operations.stop(Asked(actor_of(request), reason=request.POST.get("reason", "")), found)
    return redirect("audit-entry", pk)


@require_safe
@requires_right(Right.EXPORT_AUDIT)
def export_csv(request: HttpRequest) -> StreamingHttpResponse:
    return _export(request, trail.as_csv, trail.broken_csv, "text/csv; charset=utf-8", "csv")


@require_safe
@requires_right(Right.EXPORT_AUDIT)
def export_jsonl(request: HttpRequest) -> StreamingHttpResponse:
    kind = "application/x-ndjson; charset=utf-8"
    return _export(request, trail.as_json_lines, trail.broken_json_lines, kind, "jsonl")


def _export(
    request: HttpRequest,
    write: Callable[[Iterable[AuditEntry]], Iterator[str]],
    broken: Callable[[], str],
    kind: str,
    ending: str,
) -> StreamingHttpResponse:
    """All entries that the filters mean, sent as they are read. That they were taken is an entry too."""
    query = _query(request)
    audit.record(actor_of(request), Right.EXPORT_AUDIT, parameters={**query.as_parameters, "format": ending})
    chunks = _chunks(write(audit.each(query.filters)), broken)
    first = [next(chunks, "")]  # read here: what keeps an export from beginning is answered by a page
    sent = _sent_async(first, chunks) if isinstance(request, ASGIRequest) else chain(first, chunks)
    response = StreamingHttpResponse(sent)
    response.headers["Content-Type"] = kind
    response.headers["Content-Disposition"] = f'attachment; filename="audit-{timezone.now():%Y-%m-%d}.{ending}"'
    return response


def _chunks(rows: Iterator[str], broken: Callable[[], str]) -> Iterator[str]:
    """Rows, some at a time. What goes wrong within the first chunk is raised; later it ends them with a line on it.

    By then the answer has begun: raised, it would leave the client waiting for an end that never comes.
    """
    part: list[str] = []
    begun = False
    try:
        for row in rows:
            part.append(row)
            if len(part) == CHUNK:
                yield "".join(part)
                part, begun = [], True
    except Exception:
        if not begun:
            raise
        logger.exception("An export of the audit log broke off.")
        part.append(broken())
    if part:
        yield "".join(part)


async def _sent_async(first: Sequence[str], chunks: Iterator[str]) -> AsyncIterator[str]:
    """Both without holding up the event loop while the database is read."""
    for chunk in first:
        yield chunk
    while chunk := await sync_to_async(lambda: next(chunks, ""))():
        yield chunk


def _query(request: HttpRequest) -> trail.AuditQuery:
    return trail.AuditQuery(request.GET, [source.name for source in configured()])


def _entry(pk: int) -> AuditEntry:
    return get_object_or_404(AuditEntry, pk=pk)


def _context(found: AuditEntry) -> dict[str, object]:
    running = found.status == Status.RUNNING
    return {
        "line": trail.Line(found),
        "entry": found,
        "parts": trail.parts(found),
        "exceptions": audit.exceptions(found),
        "running": running,
        "progress": progress_of(found) if running else None,
        "silent_since": _silent_since(found) if running else None,
        "removed": undo.kept(entry=found)[:RESTORABLE],
        "made": audit.made(found),
        "along": audit.took_along(found),
    }


def _silent_since(found: AuditEntry) -> datetime | None:
    """Since when nobody has shown to work on it; None while somebody has just done so."""
    beat = Bulk.objects.filter(entry=found).values_list("beat_at", flat=True).first() or found.at
    return beat if timezone.now() - beat > SILENT else None
