"""Template tags of what can be done: the bars of a job and of a queue, and what came of an action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template
from django.http import HttpRequest

from dashboard import fates
from dashboard.actions import bars
from dashboard.failures.links import OfJob
from queues import audit, undo
from queues.actions import Outcome
from queues.audit import Status
from queues.failures.types import Kind
from queues.models import AuditEntry, RemovedJob
from queues.names import decode_part
from queues.types import Job, JobRef, QueueInfo, QueueRef

register = template.Library()


@dataclass(frozen=True, slots=True)
class Told:
    """What came of an action: in words, and where to look. `tone` is good, bad or empty."""

    entry: AuditEntry
    text: str
    tone: str
    made: JobRef | None
    kept: RemovedJob | None
    since: fates.Since | None


@register.simple_tag(takes_context=True)
def job_bar(context: template.Context, ref: JobRef, job: Job, known: OfJob | None = None) -> bars.Bar:
    """The bar of a job for the reader of this page. `known` is what the index of failures knows of it."""
    request: HttpRequest = context["request"]
    permanent = known is not None and known.alike is not None and known.alike.told.kind is Kind.PERMANENT
    return bars.job_bar(request.user, ref, job, permanent=permanent)


@register.simple_tag(takes_context=True)
def queue_bar(context: template.Context, ref: QueueRef, info: QueueInfo, read_ms: int) -> bars.Bar:
    """The bar of a queue for the reader of this page."""
    request: HttpRequest = context["request"]
    return bars.queue_bar(request.user, ref, info, read_ms)


@register.simple_tag(takes_context=True)
def outcome(context: template.Context) -> Told | None:
    """What came of the action that `?done=` names; None without one. One or two queries then, and a short script."""
    request: HttpRequest | None = context.get("request")
    done = request.GET.get("done", "") if request else ""
    shell: Any = context.get("shell")
    if not (done.isascii() and done.isdigit() and len(done) < 19) or not (shell and shell.role):
        return None
    entry = AuditEntry.objects.filter(pk=int(done)).first()
    return None if entry is None else _told(entry)


def _told(entry: AuditEntry) -> Told:
    well = entry.status in (Status.DONE, Status.RUNNING, Status.STARTED) and not audit.exceptions(entry)
    tone = "good" if well and entry.status == Status.DONE else "" if well else "bad"
    kept = undo.kept(entry=entry).first() if audit.counts(entry).get(Outcome.DONE) else None
    since = fates.since(entry) if fates.told_of(entry) else None
    return Told(entry, audit.in_words(entry), tone, _made(entry), kept, since)


def _made(entry: AuditEntry) -> JobRef | None:
    made = audit.made(entry)
    if not made or not entry.queue:
        return None
    try:
        return JobRef(QueueRef.from_slug(entry.source, entry.queue), decode_part(made, colon=True))
    except ValueError:
        return None
