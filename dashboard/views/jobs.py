"""The page of one job, its log pages, its hidden values shown once, and the download of a field's exact bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import record, requires_right
from dashboard.failures.links import OfJob, of_job
from dashboard.http import asks_for_part, page
from dashboard.jobs import LOGS, LOGS_ALONE, JobView, fitted_logs, hidden_in, log_context
from dashboard.live.job_feed import happened
from dashboard.replays.of_job import of_job as of_job_sent
from queues import followed, masking, notables, outages, readings
from queues.errors import BadInput, NotFound
from queues.events import Event
from queues.failures import letters
from queues.names import visible
from queues.quantities import now_ms
from queues.registry import backend
from queues.types import Capability, Job, JobRef, LogPage, QueueRef


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read for the page of a job."""

    ref: JobRef
    job: Job
    logs: LogPage
    kept: Sequence[Event]
    after: str


@require_safe
def job(request: HttpRequest, source: str, queue: str, job: bytes) -> HttpResponse:
    """Everything about one job; of one that is gone what replays know of it, if they do."""
    try:
        read = _read(source, queue, job)
    except NotFound as error:
        return _gone(request, JobRef(QueueRef.from_slug(source, queue), job), error)
    return page(request, "jobs/job.html", _context(read))


def _gone(request: HttpRequest, ref: JobRef, error: NotFound) -> HttpResponse:
    sends = of_job_sent(ref)
    if not sends or asks_for_part(request):
        raise error
    context = {"ref": ref, "queue": ref.queue, "source": ref.queue.source, "error": error, "sends": sends}
    return page(request, "jobs/gone.html", context, status=404)


@require_POST
@requires_right("reveal")
def reveal(request: HttpRequest, source: str, queue: str, job: bytes) -> HttpResponse:
    """The same with nothing hidden, once, as the answer itself: no address and no cache leads there again."""
    read = _read(source, queue, job)
    hidden = hidden_in(read.job, read.logs)
    note = _("Hidden values of job %(job)s were shown: %(fields)s") % {
        "job": read.ref.label,
        "fields": ", ".join(hidden),
    }
    record(request, "reveal", job=read.ref, note=note, hidden=hidden)
    with masking.revealing():
        return page(request, "jobs/job.html", _context(read) | {"revealed": True})


def _read(source: str, queue: str, job: bytes) -> _Read:
    ref = JobRef(QueueRef.from_slug(source, queue), job)
    kept = notables.of_job(ref)
    after = followed.last_id(ref.queue)
    with outages.watched(source) as reader:
        found = reader.job(ref)
        logs = reader.logs(ref) if found.logs_count else LogPage((), 1, 0)
    return _Read(ref, found, logs, kept, after)


def _context(read: _Read) -> dict[str, object]:
    """What the page of a job shows."""
    return {
        "ref": read.ref,
        "queue": read.ref.queue,
        "source": read.ref.queue.source,
        "job": read.job,
        "view": JobView(read.job, now_ms(), read.kept),
        "happened": happened(read.kept, read.job),
        "after": read.after,
        "known": _known(read),
        "sends": of_job_sent(read.ref),
        **log_context(fitted_logs(read.logs, LOGS)),
        **_read_now(),
    }


def _known(read: _Read) -> OfJob | None:
    """What the index of failures knows of it; None where that is nothing to ask."""
    queue = read.ref.queue
    if Capability.FAILURES not in backend(queue.source).capabilities:
        return None
    return of_job(read.job, dead=letters.is_letters(queue, readings.names(queue.source)))


@require_safe
def logs(request: HttpRequest, source: str, queue: str, job: bytes) -> HttpResponse:
    """One page of a job's log, as a page of its own or as the fragment of the job's page."""
    ref = JobRef(QueueRef.from_slug(source, queue), job)
    first = request.GET.get("first", "")
    if first and not (first.isascii() and first.isdigit() and len(first) < 10):
        raise BadInput(_("“first” is the number of a log line, from 1."))
    with outages.watched(source) as reader:
        lines = fitted_logs(reader.logs(ref, first=max(1, int(first)) if first else None), LOGS_ALONE)
    context = {"ref": ref, "queue": ref.queue, "source": source, **log_context(lines), **_read_now()}
    return page(request, "jobs/logs.html", context, fragments=("logs",))


@require_safe
@requires_right("reveal")
def field(request: HttpRequest, source: str, queue: str, job: bytes, field: bytes) -> HttpResponse:
    """The exact bytes of one field, secrets included, as a file that no browser will run."""
    ref = JobRef(QueueRef.from_slug(source, queue), job)
    with outages.watched(source) as reader:
        raw = reader.body(ref, field)
    note = _("%(field)s of job %(job)s was downloaded") % {"field": visible(field), "job": ref.label}
    record(request, "download", job=ref, note=note, field=visible(field), size=len(raw))
    response = HttpResponse(raw, content_type="application/octet-stream")
    response.headers["Content-Disposition"] = f'attachment; filename="{_filename(ref, field)}"'
    return response


def _read_now() -> dict[str, object]:
    now = timezone.now()
    return {"read_at": now, "read_ms": int(now.timestamp() * 1000)}


def _filename(ref: JobRef, field: bytes) -> str:
    parts = (ref.queue.slug, ref.slug, field.decode("ascii", errors="replace"))
    name = "-".join(parts)
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "_" for char in name)[:150]
