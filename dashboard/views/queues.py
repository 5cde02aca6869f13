"""The page of one queue: its states, a list of jobs, its facts and workers; pinning it."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard import feed
from dashboard.access import record, requires_right
from dashboard.columns import columns
from dashboard.failures.links import Beside, beside
from dashboard.http import page
from dashboard.queries import FINISHED, JobsQuery
from queues import attention, discovery, followed, notables, outages, readings
from queues.backend import Backend
from queues.errors import NotFound, Unreachable, Unsupported
from queues.failures import letters
from queues.history import MINUTE_MS, History
from queues.quantities import now_ms
from queues.types import Capability, JobPage, JobRef, QueueRef, State, Waits

TABS = tuple(State)
FEED = 30  # entries with which the feed opens


@require_safe
def queue(request: HttpRequest, source: str, queue: str) -> HttpResponse:
    """A page of jobs in one state, with the queue around it. During an outage: the last reading, marked."""
    ref = QueueRef.from_slug(source, queue)
    query = JobsQuery(request.GET)
    known = readings.of(ref)
    read_ms = now_ms()
    context: dict[str, object] = {"ref": ref, "query": query, "known": known, "source": source, "tabs": TABS}
    try:
        with outages.watched(source) as reader:
            # In this order: the last event's id must be older than the list of jobs, or what happened in between
            # would neither be in the list nor be told later. What is in both does no harm.
            info, workers = reader.queue(ref), reader.workers()
            query.open_on(info.counts)
            jobs = _jobs(reader, ref, query)
            waits = _waits(reader, query, jobs)
    except Unreachable as outage:
        return page(request, "queues/queue.html", context | {"outage": outage}, status=503)
    except NotFound as gone:
        if known is None:
            raise
        return page(request, "queues/queue.html", context | {"gone": gone}, status=404)
    among = readings.names(source)
    history, upto = followed.history(ref)
    held = workers.of(ref)
    number = None if held is None else len(held)
    shown = jobs if isinstance(jobs, JobPage) else None
    indexed = Capability.FAILURES in reader.capabilities
    known_of = beside(ref, query, shown, dead=letters.is_letters(ref, among)) if indexed else Beside()
    context |= {
        "info": info,
        "counts": info.counts,
        "jobs": shown,
        "indexed": indexed,
        "beside": known_of,
        "unreadable": jobs if isinstance(jobs, Unsupported) else None,
        "state": query.state,
        "list_state": FINISHED if query.together else query.state,
        "columns": columns(query, letters=known_of.letters is not None, classes=indexed),
        "worker_count": number,
        "workers": None if held is None else sorted(held, key=lambda worker: (worker.name, worker.address)),
        "workers_unknown_because": workers.unknown_because,
        "verdict": attention.judge(ref, info.counts, number, read_ms, among, history=history, upto=upto),
        "letters": letters.queue_for(ref, among),
        "origin": letters.origin_of(ref, among),
        "waits": waits,
        "read_at": timezone.now(),
        "read_ms": read_ms,
    }
    if Capability.EVENTS in reader.capabilities:
        context |= _events(reader, ref, history)
    return page(request, "queues/queue.html", context)


def _jobs(reader: Backend, ref: QueueRef, query: JobsQuery) -> JobPage | Unsupported:
    """The page of jobs that was asked for; the reason where another program keeps something else in its place."""
    try:
        return reader.jobs(ref, query.states, size=query.size, order=query.order, cursor=query.cursor, name=query.name)
    except Unsupported as reason:
        return reason


def _waits(reader: Backend, query: JobsQuery, jobs: JobPage | Unsupported) -> Mapping[JobRef, Waits]:
    """What the rows wait for, in the list of those that wait for children."""
    if query.state is not State.WAITING_CHILDREN or query.together or not isinstance(jobs, JobPage):
        return {}
    return reader.waits([row.ref for row in jobs.rows])


def _events(reader: Backend, ref: QueueRef, history: History | None) -> dict[str, object]:
    """What the feed opens with, since when it would have known of more, and which events were lost."""
    since = None if history is None else max(history.known_from * MINUTE_MS, now_ms() - notables.HOUR_MS)
    return {
        "feed": feed.with_names(reader, ref, notables.of(ref, FEED)),
        "filters": feed.FILTERS,
        "followed_since": since,
        "gaps": notables.gaps(ref),
    }


@require_POST
@requires_right("pin")
def pin(request: HttpRequest, source: str, queue: str) -> HttpResponse:
    """Keep a queue in the list even when a scan does not find it."""
    ref = QueueRef.from_slug(source, queue)
    with transaction.atomic():
        discovery.pin(source, ref.slug)
        record(request, "pin", queue=ref)
    messages.success(request, _("%(queue)s is pinned: it stays in the list also without keys.") % {"queue": ref.label})
    return redirect("queue", source, queue)


@require_POST
@requires_right("pin")
def unpin(request: HttpRequest, source: str, queue: str) -> HttpResponse:
    """Let a queue go when its keys go."""
    ref = QueueRef.from_slug(source, queue)
    with transaction.atomic():
        discovery.unpin(source, ref.slug)
        record(request, "unpin", queue=ref)
    messages.success(request, _("%(queue)s is no longer pinned.") % {"queue": ref.label})
    return redirect("queue", source, queue)
