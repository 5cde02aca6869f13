"""One job in an editor: its data is changed, looked at before and after, and sent again as a plan of one job."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Right, actor_of, allowed, requires_right
from dashboard.http import page, status_of
from dashboard.replays.edit import Editing, begun, editing, form_of, made_before, rules_of, seen_of
from dashboard.replays.edit_form import EditForm
from dashboard.replays.edit_words import said
from queues import audit
from queues.audit.types import Asked
from queues.errors import QueueError, Unreachable
from queues.payload import show
from queues.replay.making import PLAN
from queues.replay.patching import compared
from queues.types import Body, JobRef, QueueRef


@require_safe
@requires_right(Right.REPLAY)
def edit_replay(request: HttpRequest, source: str, queue: str, job: bytes) -> HttpResponse:
    """The editor, from a fresh reading."""
    ref = JobRef(QueueRef.from_slug(source, queue), job)
    found = editing(ref)
    return _page(request, ref, form_of(found), found, status=_off(found) if found.off else 200)


@require_POST
@requires_right(Right.REPLAY)
def send(request: HttpRequest, source: str, queue: str, job: bytes) -> HttpResponse:
    """Before and after of what was typed; once that was seen, the plan that sends the edited job."""
    ref = JobRef(QueueRef.from_slug(source, queue), job)
    asked = _asked(request)
    if before := made_before(asked, ref):
        return redirect("replay", before.pk)
    try:
        found = editing(ref)
    except Unreachable:
        kept = EditForm(request.POST, raw=None, rules=rules_of(ref.queue))
        return _page(request, ref, kept, None, error=_unread(), status=503)
    form = form_of(found, request.POST, may_drop=allowed(request.user, Right.REVEAL))
    if found.off:
        audit.refused(asked.by, PLAN, queue=ref.queue, jobs=[ref.slug], reason=asked.reason, note=found.off)
        return _page(request, ref, form, found, status=_off(found))
    if form.changed:
        return _changed(request, ref, form, found)
    if not form.is_valid():
        return _page(request, ref, form, found, status=422)
    if (form.seen_mark, form.seen_state) != (found.about.job.row.seen, found.about.state):
        form.seen_anew(seen_of(found), str(found.about.state))
        return _page(request, ref, form, found, error=_moved(), status=409)
    if not form.was_looked_at:
        return _looked(request, ref, form, found)
    return _begun(request, ref, form, found, asked)


def _looked(request: HttpRequest, ref: JobRef, form: EditForm, found: Editing) -> HttpResponse:
    """Before and after, and the button that sends it."""
    again = bool(form.data.get("looked"))
    form.look()
    before = found.new.data if found.new else b""
    lines = compared(before, form.cleaned_data["payload"], found.rules)
    return _page(request, ref, form, found, lines=lines, again=again)


def _begun(request: HttpRequest, ref: JobRef, form: EditForm, found: Editing, asked: Asked) -> HttpResponse:
    try:
        plan, why = begun(asked, found, form.seen_mark, form.cleaned_data["payload"])
    except QueueError as error:
        form.renew()
        return _page(request, ref, form, found, error=_told(error), status=status_of(error))
    if why:
        messages.warning(request, why)
    return redirect("replay", plan.pk)


def _changed(request: HttpRequest, ref: JobRef, form: EditForm, found: Editing) -> HttpResponse:
    """Somebody changed the data meanwhile: both are shown, and nothing is sent."""
    form.over_theirs()
    raw = found.new.data if found.new else b""
    error = _("Somebody changed the data since you opened it: nothing was sent. What is stored now stands below.")
    return _page(request, ref, form, found, error=error, status=409, theirs=show(Body(raw, len(raw)), found.rules))


def _page(
    request: HttpRequest,
    ref: JobRef,
    form: EditForm,
    found: Editing | None,
    *,
    error: str = "",
    status: int = 200,
    **more: object,
) -> HttpResponse:
    context: dict[str, object] = {
        "ref": ref,
        "queue": ref.queue,
        "source": ref.queue.source,
        "form": form,
        "found": found,
        "said": said(found) if found else None,
        "error": error,
        **more,
    }
    return page(request, "replays/edit.html", context, status=status)


def _asked(request: HttpRequest) -> Asked:
    sent = request.POST
    return Asked(actor_of(request), key=sent.get("key", "")[:64], reason=sent.get("reason", "")[:500])


def _off(found: Editing) -> int:
    return 403 if found.read_only else 409


def _told(error: QueueError) -> str:
    return _("Nothing was sent. %(error)s") % {"error": error}


def _unread() -> str:
    return _("Nothing was sent: the source does not answer. What you typed is kept here.")


def _moved() -> str:
    return _("The job has run since you opened it, and is here again: nothing was sent. Look at it anew.")
