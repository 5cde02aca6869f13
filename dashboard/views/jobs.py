"""The page of one job, its log pages, and the download of a field's exact bytes."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from dashboard.access import record, requires
from dashboard.http import page
from dashboard.jobs import LOGS, LOGS_ALONE, JobView, fitted_logs, log_context
from dashboard.live.job_feed import happened
from queues import followed, notables, outages
from queues.errors import BadInput
from queues.names import visible
from queues.quantities import now_ms
from queues.types import JobRef, LogPage, QueueRef


@require_safe
def job(request: HttpRequest, source: str, queue: str, job: bytes) -> HttpResponse:
    """Everything about one job."""
    ref = JobRef(QueueRef.from_slug(source, queue), job)
    kept = notables.of_job(ref)
    after = followed.last_id(ref.queue)
    with outages.watched(source) as reader:
        found = reader.job(ref)
        logs = reader.logs(ref) if found.logs_count else LogPage((), 1, 0)
    context = {
        "ref": ref,
        "queue": ref.queue,
        "source": source,
        "job": found,
        "view": JobView(found, now_ms(), kept),
        "happened": happened(kept, found),
        "after": after,
        **log_context(fitted_logs(logs, LOGS)),
        **_read_now(),
    }
    return page(request, "jobs/job.html", context)


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
@requires("admin")
def field(request: HttpRequest, source: str, queue: str, job: bytes, field: bytes) -> HttpResponse:
    """The exact bytes of one field, secrets included, as a file that no browser will run."""
    ref = JobRef(QueueRef.from_slug(source, queue), job)
    with outages.watched(source) as reader:
        raw = reader.body(ref, field)
    record(request, "downloaded the exact bytes", queue=f"{source}/{queue}", job=ref.slug, field=visible(field))
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
