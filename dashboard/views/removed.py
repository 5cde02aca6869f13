"""Jobs that were removed and can be brought back as new ones, for as long as their copies are kept."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard import trail
from dashboard.access import Right, actor_of, requires_right
from dashboard.http import page
from queues import audit, operations, undo
from queues.actions import Outcome
from queues.audit import Asked
from queues.audit.found import label
from queues.errors import NotFound, QueueError, WrongState
from queues.models import RemovedJob
from queues.quantities import number
from queues.registry import configured
from queues.types import QueueRef

PAGE = 50


@dataclass(frozen=True, slots=True)
class Kept:
    """A copy in the table."""

    removed: RemovedJob

    @property
    def ref(self) -> QueueRef | None:
        try:
            return QueueRef.from_slug(self.removed.source, self.removed.queue)
        except ValueError:
            return None

    @property
    def label(self) -> str:
        return label(self.removed.job)

    @property
    def new_label(self) -> str:
        return label(self.removed.restored_as)


@require_safe
@requires_right(Right.AUDIT)
def removed(request: HttpRequest) -> HttpResponse:
    """All copies that are kept, the last removed first; of one source, queue or action where the query string says so.

    What one action removed may be in several queues.
    """
    sources = [source.name for source in configured()]
    source = request.GET.get("source", "") if request.GET.get("source") in sources else ""
    queue = request.GET.get("queue", "").strip()[:2000]
    before = _number(request.GET.get("before", ""))
    action = _number(request.GET.get("action", ""))
    found = _kept(source, trail.slug_of(queue))
    if action:
        found = found.filter(entry=action)
    if before:
        found = found.filter(pk__lt=before)
    rows = list(found[: PAGE + 1])
    context = {
        "rows": [Kept(row) for row in rows[:PAGE]],
        "older": rows[PAGE - 1].pk if len(rows) > PAGE else "",
        "sources": sources,
        "source": source,
        "queue": queue,
        "action": action or "",
        "action_address": reverse("audit-entry", args=[action]) if action else "",
        "key": secrets.token_urlsafe(12),
        "restorable": [row.pk for row in rows[:PAGE] if not row.restored_at],
        "hours": settings.MIRANTE_UNDO_HOURS,
        "megabytes": settings.MIRANTE_UNDO_MB,
    }
    return page(request, "removed/removed.html", context)


@require_POST
@requires_right(Right.RESTORE)
def restore(request: HttpRequest, pk: int) -> HttpResponse:
    """Add a removed job to its queue again, as a new one; 409 where it was restored before."""
    copy = get_object_or_404(_kept(), pk=pk)
    asked = Asked(actor_of(request), key=request.POST.get("key", "")[:64], reason=request.POST.get("reason", "")[:500])
    entry = operations.restore(asked, copy)
    action = _number(request.POST.get("action", ""))
    where = {"action": action} if action else {"source": copy.source, "queue": copy.queue}
    return redirect(f"{reverse('removed')}?{urlencode({**where, 'done': entry.pk})}")


@require_POST
@requires_right(Right.RESTORE)
def restore_some(request: HttpRequest) -> HttpResponse:
    """Restore the copies that the form names, a page of them at most, each as an action of its own.

    Where that fails for all alike, as while Redis is away, it ends there; what came before stays restored.
    """
    wanted = _kept().filter(pk__in=[_number(pk) for pk in request.POST.getlist("copy")[:PAGE]])
    copies, key, done, broke = list(wanted.order_by("pk")), request.POST.get("key", "")[:40], 0, ""
    for copy in copies:
        try:
            entry = operations.restore(Asked(actor_of(request), key=f"restore-{copy.pk}-{key}"), copy)
        except (NotFound, WrongState):
            continue  # restored by somebody else, or too old by now
        except QueueError as error:
            broke = str(error)
            break
        done += audit.counts(entry).get(Outcome.DONE, 0)
    text = _("Restored %(done)s of %(asked)s jobs.") % {"done": number(done), "asked": number(len(copies))}
    tell = messages.success if done == len(copies) else messages.warning
    tell(request, f"{text} {broke}".strip())
    action = _number(request.POST.get("action", ""))
    return redirect(f"{reverse('removed')}?{urlencode({'action': action})}" if action else "removed")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _kept(source: str = "", queue: str = "") -> QuerySet[RemovedJob]:
    """Copies that can be restored or were. Their stored bytes stay where they are."""
    found = undo.kept()
    if source:
        found = found.filter(source=source)
    if queue:
        found = found.filter(queue=queue)
    return found.select_related("entry")
