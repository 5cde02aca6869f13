"""The system page: every source's server, our own processes' cost, scans, pins and trying again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import requires
from dashboard.http import page
from queues import cost, discovery, outages, readings
from queues.errors import NotFound, QueueError, Unreachable
from queues.readings import SourceStatus
from queues.registry import backend, configured
from queues.types import Health, QueueRef


@dataclass(frozen=True)
class SourceView:
    """A source on the page: live health, or the last one known with its time."""

    status: SourceStatus
    address: str
    health: Health | None
    health_at: datetime | None
    error: QueueError | None
    commands_per_second: float | None

    @property
    def live(self) -> bool:
        return self.error is None


@require_safe
def system(request: HttpRequest) -> HttpResponse:
    """Each source's server and what we cost it; the database's clock beside ours."""
    sources = [config.name for config in configured()]
    with ThreadPoolExecutor(max(1, min(8, len(sources)))) as pool:
        answers = dict(zip(sources, pool.map(_health, sources), strict=True))
    for name, answer in answers.items():
        if isinstance(answer, Health):
            outages.note_success(name, readings.now())
        elif isinstance(answer, Unreachable):
            outages.failed(name, answer, 0.0)
    views = [_view(status, answers[status.name]) for status in readings.status()]
    context = {
        "sources": views,
        "database": connection.vendor,
        "database_offset_ms": _database_offset_ms(),
        "read_at": readings.now(),
    }
    return page(request, "system/system.html", context)


def _health(name: str) -> Health | QueueError:
    try:
        return backend(name).health()
    except QueueError as error:
        return error


def _view(status: SourceStatus, answer: Health | QueueError) -> SourceView:
    error = answer if isinstance(answer, QueueError) else None
    health, health_at = (None, None) if error else (answer, readings.now())
    if error and (last := readings.health(status.name)):
        health, health_at = last
    rate = cost.commands_per_second(status.name)
    assert health is None or isinstance(health, Health)
    return SourceView(status, backend(status.name).address, health, health_at, error, rate)


def _database_offset_ms() -> float | None:
    """The database's clock minus ours, to half the time that asking takes; None where it is a file of ours."""
    if connection.vendor != "postgresql":
        return None
    before = readings.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        theirs: datetime = cursor.fetchone()[0]
    after = readings.now()
    return (theirs - (before + (after - before) / 2)).total_seconds() * 1000


@require_POST
@requires("operator")
def scan(request: HttpRequest, source: str) -> HttpResponse:
    """Look for queues now instead of at the next round."""
    _configured(source)
    if discovery.request_scan(source):
        messages.success(request, _("Mirante looks for queues in %(source)s now.") % {"source": source})
    else:
        messages.warning(
            request,
            _("The scan of %(source)s is noted, but no worker could be told; it starts with the next round.")
            % {"source": source},
        )
    return redirect("overview" if request.POST.get("from") == "overview" else "system")


@require_POST
@requires("operator")
def pin(request: HttpRequest, source: str) -> HttpResponse:
    """Pin a queue by the name and prefix that somebody typed."""
    _configured(source)
    name, prefix = request.POST.get("name", "").strip(), request.POST.get("prefix", "").strip() or "bull"
    if not name or ":" in name:
        messages.error(request, _("Type the queue’s name as the producer gives it; it cannot be empty or hold “:”."))
        return redirect("system")
    ref = QueueRef(source, prefix.encode(), name.encode())
    discovery.pin(source, ref.slug)
    messages.success(request, _("%(queue)s is pinned.") % {"queue": ref.label})
    return redirect("queue", source, ref.slug)


@require_POST
@requires("viewer")
def try_now(request: HttpRequest, source: str) -> HttpResponse:
    """Ask a source that did not answer once more, now."""
    _configured(source)
    outages.forget(source)
    return redirect("overview")


def _configured(source: str) -> None:
    if source not in {config.name for config in configured()}:
        raise NotFound(_("No source is called “%(source)s”.") % {"source": source})
