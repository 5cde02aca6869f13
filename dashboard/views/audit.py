"""The log of actions: the table of all, one as a page with its progress, and exports. Nothing in it can be changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dashboard import export, fates, trail
from dashboard.access import Right, actor_of, requires_right
from dashboard.http import page
from queues import audit, operations, undo
from queues.audit import Asked, Status
from queues.bulk.progress import progress as progress_of
from queues.models import AuditEntry, Bulk
from queues.registry import configured

RESTORABLE = 10  # removed jobs that the page of their removal names
SILENT = timedelta(seconds=20)  # without a sign of life of the worker, before the page says so


@require_safe
@requires_right(Right.AUDIT)
def log(request: HttpRequest) -> HttpResponse:
    """All entries, newest first, filtered as the query string says."""
    query = _query(request)
    found = audit.find(query.filters, older=query.older, newer=query.newer)
    lines = [trail.Line(entry) for entry in found.entries]
    context = {
        "query": query,
        "found": found,
        "lines": lines,
        "replays": trail.replays_of(lines),
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


@require_safe
@requires_right(Right.AUDIT)
def since(request: HttpRequest, pk: int) -> HttpResponse:
    """What has become of a few jobs since they were retried, for the page to ask again."""
    found = _entry(pk)
    if not fates.told_of(found):
        raise Http404
    told = {"entry": found, "since": fates.since(found), "looks": fates.looks(request.GET.get("looks", ""))}
    return page(request, "audit/fates.html", told)


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
    return _export(request, trail.as_csv, "csv")


@require_safe
@requires_right(Right.EXPORT_AUDIT)
def export_jsonl(request: HttpRequest) -> StreamingHttpResponse:
    return _export(request, trail.as_json_lines, "jsonl")


def _export(
    request: HttpRequest, write: Callable[[Iterable[AuditEntry]], Iterator[str]], ending: str
) -> StreamingHttpResponse:
    """All entries that the filters mean, sent as they are read. That they were taken is an entry too."""
    query = _query(request)
    audit.record(actor_of(request), Right.EXPORT_AUDIT, parameters={**query.as_parameters, "format": ending})
    rows = write(audit.each(query.filters))
    return export.answer(request, rows, ending, name="audit", broken=trail.broken_note(), what="the audit log")


def _query(request: HttpRequest) -> trail.AuditQuery:
    return trail.AuditQuery(request.GET, [source.name for source in configured()])


def _entry(pk: int) -> AuditEntry:
    return get_object_or_404(AuditEntry, pk=pk)


def _context(found: AuditEntry) -> dict[str, object]:
    running = found.status == Status.RUNNING
    line = trail.Line(found)
    return {
        "line": line,
        "replays": trail.replays_of([line]),
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
