"""Jobs picked from a list: what is asked before something is done to them, and doing it."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from dashboard.access import actor_of, by_action, requires_right, safe_next
from dashboard.actions import doing, subject
from dashboard.actions.forms import ActionForm
from dashboard.actions.questions import form_of
from dashboard.actions.subject import QueueSubject
from dashboard.http import page
from dashboard.selection import Picked, question
from dashboard.selection.question import typed_name
from queues import operations, readings
from queues.actions import Action
from queues.audit import Asked
from queues.errors import BadInput
from queues.models import AuditEntry
from queues.types import QueueRef


@require_POST
@requires_right(by_action)
def ask(request: HttpRequest, source: str, queue: str, action: str) -> HttpResponse:
    """The question with fresh numbers. Changes nothing; POST, because what is picked may be long."""
    verb, picked = _asked(request, source, queue, action)
    about = subject.of_queue(picked.queue, verb)
    form = form_of(verb)(name=typed_name(verb, picked, about.info.counts))
    return _page(request, verb, picked, about, form, status=422 if picked.empty else 200)


@require_POST
@requires_right(by_action)
def act(request: HttpRequest, source: str, queue: str, action: str) -> HttpResponse:
    """Do it: a few jobs at once and back to the list, many in the background with a page of their own."""
    verb, picked = _asked(request, source, queue, action)
    # Read only where the form needs it: what is asked for during an outage stands in the log all the same.
    counted = verb is Action.REMOVE and picked.targets is None
    counts = subject.of_queue(picked.queue, verb).info.counts if counted else None
    form = form_of(verb)(request.POST, name=typed_name(verb, picked, counts))
    if picked.empty or not form.is_valid():
        return _page(request, verb, picked, subject.of_queue(picked.queue, verb), form, status=422)
    asked = Asked(actor_of(request), key=form.cleaned_data["key"], reason=form.cleaned_data["reason"])
    if picked.targets is not None and len(picked.targets) <= operations.INLINE:
        entry = doing.to_jobs(asked, verb, picked.queue, picked.targets, state=picked.state, told=form.arguments())
        if picked.group:
            AuditEntry.objects.filter(pk=entry.pk, group=None).update(group=picked.group)
        return redirect(_done(_back(request, picked), entry))
    entry = operations.start_bulk(
        asked,
        picked.queue,
        verb,
        picked.targets,
        state=picked.state,
        name=picked.name,
        expected=picked.expected,
        until_ms=_servers_clock(picked),
        parameters=form.arguments(),
        group=picked.group,
        which=picked.which,
    )
    return redirect("audit-entry", entry.pk)


def _asked(request: HttpRequest, source: str, queue: str, action: str) -> tuple[Action, Picked]:
    picked = Picked.read(QueueRef.from_slug(source, queue), request.POST)
    if action not in picked.verbs:
        raise BadInput(_("This cannot be done to jobs of this state."))
    return Action(action), picked


def _servers_clock(picked: Picked) -> int:
    """The moment as the server's clock had it, as far as its distance from ours is known."""
    known = readings.health(picked.queue.source)
    offset = known[0].clock_offset_ms if known else None
    return picked.until_ms + round(offset or 0)


def _page(
    request: HttpRequest, verb: Action, picked: Picked, about: QueueSubject, form: ActionForm, *, status: int
) -> HttpResponse:
    act = reverse("act-bulk", args=[picked.queue.source, picked.queue.slug, verb.value])
    asked = question(verb, picked, about, form, act=act, back=_back(request, picked))
    return page(request, "actions/ask.html", {"ask": asked, "ref": picked.queue}, fragments=("ask",), status=status)


def _back(request: HttpRequest, picked: Picked) -> str:
    """The list as it was left."""
    queue = reverse("queue", args=[picked.queue.source, picked.queue.slug])
    return safe_next(request.POST.get("next", "")) or f"{queue}?{urlencode({'state': picked.list_state})}"


def _done(back: str, entry: AuditEntry) -> str:
    """The address with `done` in its query."""
    parts = urlsplit(back)
    kept = [pair for pair in parts.query.split("&") if pair and not pair.startswith("done=")]
    return parts._replace(query="&".join([*kept, f"done={entry.pk}"])).geturl()
