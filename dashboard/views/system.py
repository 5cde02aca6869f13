"""The system page: every source's server, our own processes' cost, scans, pins and trying again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.contrib import messages
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import record, requires, requires_right, safe_next
from dashboard.http import page
from queues import cost, discovery, followed, outages, readings, tasks
from queues.errors import QueueError
from queues.failures.standing import Kept, Standing, kept, standings
from queues.followed import Followed
from queues.health import Health
from queues.readings import SourceStatus
from queues.registry import backend, configured
from queues.sources import ask_all
from queues.types import Capability, QueueRef


@dataclass(frozen=True)
class SourceView:
    """A source on the page: live health, or the last one known with its time."""

    status: SourceStatus
    address: str
    health: Health | None
    health_at: datetime | None
    error: QueueError | None
    commands_per_second: float | None
    followed: Followed
    index: Standing | None = None  # None: its failures cannot be indexed
    kept: Kept = field(default_factory=Kept)

    @property
    def live(self) -> bool:
        return self.error is None

    @property
    def refused(self) -> bool:
        """Whether it answers and does not let us read."""
        return not self.live and self.status.down_since is None


@require_safe
def system(request: HttpRequest) -> HttpResponse:
    """Each source's server and what we cost it; the database's clock beside ours."""
    names = [config.name for config in configured()]
    answers = ask_all(names, lambda reader: reader.health())
    rates = cost.commands_per_second(names)
    details = followed.details(names)
    sources = [
        _view(status, answers[status.name], rates[status.name], details[status.name]) for status in readings.status()
    ]
    sources = _indexed(sources)
    context = {
        "sources": sources,
        "database": connection.vendor,
        "database_offset_ms": _database_offset_ms(),
        # The oldest of what is shown: of a server that is down, that is its last reading.
        "read_at": min((view.health_at for view in sources if view.health_at), default=timezone.now()),
    }
    return page(request, "system/system.html", context)


def _view(status: SourceStatus, answer: Health | QueueError, rate: float | None, details: Followed) -> SourceView:
    address = backend(status.name).address
    if isinstance(answer, Health):
        refusal = QueueError(status.error) if status.error and status.down_since is None else None
        return SourceView(status, address, answer, timezone.now(), refusal, rate, details)
    health, health_at = readings.health(status.name) or (None, None)
    return SourceView(status, address, health, health_at, answer, rate, details)


def _indexed(sources: Sequence[SourceView]) -> list[SourceView]:
    """With how the index of the failures of each stands. Four queries."""
    names = [each.status.name for each in sources if Capability.FAILURES in backend(each.status.name).capabilities]
    stand, held = standings(names), kept(names)
    return [
        replace(each, index=stand.get(each.status.name), kept=held.get(each.status.name, each.kept)) for each in sources
    ]


def _database_offset_ms() -> float | None:
    """The database's clock minus ours, to half the time that asking takes; None where it is a file of ours."""
    if connection.vendor != "postgresql":
        return None
    before = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        theirs: datetime = cursor.fetchone()[0]
    after = timezone.now()
    return (theirs - (before + (after - before) / 2)).total_seconds() * 1000


@require_POST
@requires_right("scan")
def scan(request: HttpRequest, source: str) -> HttpResponse:
    """Look for queues now instead of at the next round."""
    backend(source)
    record(request, "scan", source=source)
    if tasks.request_scan(source):
        messages.success(request, _("Mirante looks for queues in %(source)s now.") % {"source": source})
    else:
        messages.warning(
            request,
            _("The scan of %(source)s is noted, but no worker could be told; it starts with the next round.")
            % {"source": source},
        )
    return _back(request)


@require_POST
@requires_right("pin")
def pin(request: HttpRequest, source: str) -> HttpResponse:
    """Pin a queue by the name and prefix that somebody typed."""
    backend(source)
    name, prefix = request.POST.get("name", "").strip(), request.POST.get("prefix", "").strip() or "bull"
    if not name or ":" in name:
        messages.error(request, _("Type the queue’s name as the producer gives it; it cannot be empty or hold “:”."))
        return redirect("system")
    ref = QueueRef(source, prefix.encode(), name.encode())
    with transaction.atomic():
        discovery.pin(source, ref.slug)
        record(request, "pin", queue=ref)
    messages.success(request, _("%(queue)s is pinned.") % {"queue": ref.label})
    return redirect("queue", source, ref.slug)


@require_POST
@requires("viewer")
def try_now(request: HttpRequest, source: str) -> HttpResponse:
    """Ask a source that did not answer once more, now, for all processes, and go back to where that was wished."""
    outages.forget(source)
    answer = ask_all([source], lambda reader: reader.health())[source]
    if isinstance(answer, Health):
        messages.success(request, _("%(source)s answers.") % {"source": source})
    else:
        messages.warning(request, _("%(source)s still cannot be read.") % {"source": source})
    return _back(request)


def _back(request: HttpRequest) -> HttpResponse:
    """To the page that the form stood on."""
    return redirect(safe_next(request.POST.get("next", "")) or "system")
