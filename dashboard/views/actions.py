"""What is asked before something is done to a job or a queue, and doing it."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Right, actor_of, allowed, by_action, requires_right, safe_next
from dashboard.actions import doing, off, questions, subject
from dashboard.actions.ask import Ask
from dashboard.actions.forms import ActionForm, DataForm
from dashboard.actions.preview import preview
from dashboard.actions.subject import JobSubject, QueueSubject
from dashboard.actions.wording import job_title
from dashboard.http import page, status_of
from queues import audit, masking
from queues.actions import Action, Outcome
from queues.audit import Asked
from queues.errors import NotFound, QueueError, Unreachable, Unsure
from queues.models import AuditEntry
from queues.names import decode_part
from queues.payload import show
from queues.types import JobRef, QueueRef

WELL = frozenset({Outcome.DONE, Outcome.ALREADY})


@require_safe
@requires_right(by_action)
def ask_job(request: HttpRequest, source: str, queue: str, job: bytes, action: str) -> HttpResponse:
    """The question about a job, from a fresh reading."""
    verb, ref = _job_action(action), JobRef(QueueRef.from_slug(source, queue), job)
    about = subject.of_job(ref, verb)
    form = questions.job_form(verb, ref, about)
    asked = questions.job_ask(verb, ref, about, form)
    return _page(request, asked, ref, status=409 if asked.off else 200)


@require_safe
@requires_right(by_action)
def ask_queue(request: HttpRequest, source: str, queue: str, action: str) -> HttpResponse:
    """The question about a queue, from a fresh reading."""
    verb, ref = _queue_action(action), QueueRef.from_slug(source, queue)
    about = subject.of_queue(ref, verb)
    form = questions.queue_form(verb, ref, about, **_begins_with(request, verb))
    asked = questions.queue_ask(verb, ref, about, form, back=safe_next(request.GET.get("next", "")))
    return _page(request, asked, ref, status=409 if asked.off else 200)


@require_POST
@requires_right(by_action)
def act_job(request: HttpRequest, source: str, queue: str, job: bytes, action: str) -> HttpResponse:
    """Do it to a job, and back to its page; or the question again, with what is wrong."""
    verb, ref = _job_action(action), JobRef(QueueRef.from_slug(source, queue), job)
    needs_data = verb in (Action.EDIT, Action.DUPLICATE)
    about = _job_now(ref, verb) if needs_data else None
    form = questions.job_form(verb, ref, about, request.POST, may_drop=allowed(request.user, Right.REVEAL))
    if isinstance(form, DataForm):
        if about is None:
            return _job_again(request, verb, ref, form, _unread(), status=503)
        if form.changed:
            return _changed(request, verb, ref, about, form)
    if not form.is_valid():
        return _job_again(request, verb, ref, form, "", status=422)
    try:
        entry = doing.to_job(_asked(request, form), verb, ref, form)
    except QueueError as error:
        form.renew()
        return _job_again(request, verb, ref, form, _told(error), status=status_of(error))
    return _job_done(request, verb, ref, form, entry)


@require_POST
@requires_right(by_action)
def act_queue(request: HttpRequest, source: str, queue: str, action: str) -> HttpResponse:
    """Do it to a queue, and back to its page, or to that of what runs in the background."""
    verb, ref = _queue_action(action), QueueRef.from_slug(source, queue)
    form = questions.queue_form(verb, ref, None, request.POST)
    if not form.is_valid():
        return _queue_again(request, verb, ref, form, "", status=422)
    if verb is Action.CLEAN and request.POST.get("previewed") != questions.previewed(form):
        return _previewed(request, ref, form)
    try:
        entry = doing.to_queue(_asked(request, form), verb, ref, form)
    except QueueError as error:
        form.renew()
        return _queue_again(request, verb, ref, form, _told(error), status=status_of(error))
    if verb in doing.BACKGROUND:
        return redirect("audit-entry", entry.pk)
    if not set(audit.counts(entry)) <= WELL:
        form.renew()
        return _queue_again(request, verb, ref, form, audit.in_words(entry), status=409)
    return _back(safe_next(request.POST.get("next", "")) or reverse("queue", args=[source, queue]), entry)


def _job_action(action: str) -> Action:
    if action not in off.JOB_ACTIONS:
        raise Http404
    return Action(action)


def _queue_action(action: str) -> Action:
    if action not in off.QUEUE_ACTIONS:
        raise Http404
    return Action(action)


def _asked(request: HttpRequest, form: ActionForm) -> Asked:
    return Asked(actor_of(request), key=form.cleaned_data["key"], reason=form.cleaned_data["reason"])


def _begins_with(request: HttpRequest, verb: Action) -> dict[str, Any]:
    """What a link to a question fills in."""
    if verb is Action.RELEASE_DEDUPLICATION and request.GET.get("id"):
        return {"dedup": request.GET["id"][:2000]}
    if verb is Action.CLEAN and request.GET.get("state"):
        return {"state": request.GET["state"]}
    return {}


def _job_now(ref: JobRef, verb: Action) -> JobSubject | None:
    try:
        return subject.of_job(ref, verb)
    except Unreachable:
        return None


def _job_again(
    request: HttpRequest, verb: Action, ref: JobRef, form: ActionForm, error: str, *, status: int, anew: bool = False
) -> HttpResponse:
    """The question again, with all that was typed. `anew`: what it was about is over, so that it leads to a new one."""
    try:
        about = _job_now(ref, verb)
    except NotFound as gone:
        return _page(request, _closed(verb, ref, error or str(gone)), ref, status=status if error else 404)
    if about and about.twin and verb is Action.RETRY and "twins" not in form.fields:
        form = questions.job_form(verb, ref, about, request.POST)
        form.renew()
    asked = questions.job_ask(verb, ref, about, form, error=error)
    return _page(request, questions.anew(verb, ref, asked) if anew else asked, ref, status=status)


def _queue_again(
    request: HttpRequest, verb: Action, ref: QueueRef, form: ActionForm, error: str, *, status: int
) -> HttpResponse:
    back = safe_next(request.POST.get("next", ""))
    asked = questions.queue_ask(verb, ref, _queue_now(ref, verb), form, error=error, back=back)
    return _page(request, asked, ref, status=status)


def _queue_now(ref: QueueRef, verb: Action) -> QueueSubject | None:
    try:
        return subject.of_queue(ref, verb)
    except (Unreachable, NotFound):
        return None


def _closed(verb: Action, ref: JobRef, error: str) -> Ask:
    """A question that can no longer be put."""
    back = reverse("queue", args=[ref.queue.source, ref.queue.slug])
    return Ask(job_title(verb, ref), "", "", back, None, error=error)


def _changed(request: HttpRequest, verb: Action, ref: JobRef, about: JobSubject, form: DataForm) -> HttpResponse:
    """Somebody changed the data meanwhile: both are shown, and nothing is saved. What is so already is done."""
    if form.same and (entry := _last(request, verb, ref)):
        return _back(reverse("job", args=[ref.queue.source, ref.queue.slug, ref.id]), entry)
    form.over_theirs()
    error = _("Somebody changed the data since you opened it: nothing was saved. What is stored now stands below.")
    asked = questions.job_ask(verb, ref, about, form, error=error)
    theirs = about.job.data and show(about.job.data, masking.rules_for(ref.queue))
    return _page(request, asked, ref, status=409, theirs=theirs)


def _last(request: HttpRequest, verb: Action, ref: JobRef) -> AuditEntry | None:
    """What this person last did of this kind to this job: a form that is sent twice has done it already."""
    found = AuditEntry.objects.filter(
        who=request.user.get_username(), action=verb.value, source=ref.queue.source, queue=ref.queue.slug
    )
    return next((entry for entry in found.order_by("-pk")[:20] if ref.slug in entry.jobs), None)


def _previewed(request: HttpRequest, ref: QueueRef, form: ActionForm) -> HttpResponse:
    """What cleaning would remove, and the button that does it."""
    told = form.arguments()
    shown = preview(ref, told["state"], told["clock"], told["older_ms"])
    asked = questions.queue_ask(Action.CLEAN, ref, _queue_now(ref, Action.CLEAN), form, shown=shown)
    return _page(request, asked, ref)


def _job_done(request: HttpRequest, verb: Action, ref: JobRef, form: ActionForm, entry: AuditEntry) -> HttpResponse:
    found = audit.counts(entry)
    if not set(found) <= WELL:
        form.renew()
        anew = any(audit.is_back(entry, told) for told in audit.exceptions(entry))
        return _job_again(request, verb, ref, form, audit.in_words(entry), status=409, anew=anew)
    where = [ref.queue.source, ref.queue.slug]
    if verb is Action.REMOVE:
        state = f"?state={form.seen_state}" if form.seen_state else ""
        return _back(reverse("queue", args=where) + state, entry)
    made = audit.made(entry)
    target = decode_part(made, colon=True) if made else ref.id
    return _back(reverse("job", args=[*where, target]), entry)


def _back(address: str, entry: AuditEntry) -> HttpResponse:
    """To a page that tells what came of it."""
    return redirect(f"{address}{'&' if '?' in address else '?'}done={entry.pk}")


def _told(error: QueueError) -> str:
    if isinstance(error, Unsure):
        return _("%(error)s Look whether it was done before you ask for it again.") % {"error": error}
    return _("Nothing was done. %(error)s") % {"error": error}


def _unread() -> str:
    return _("Nothing was done: the source does not answer. What you typed is kept here.")


def _page(
    request: HttpRequest, asked: Ask, ref: QueueRef | JobRef, *, status: int = 200, **more: object
) -> HttpResponse:
    queue = ref.queue if isinstance(ref, JobRef) else ref
    context = {"ask": asked, "ref": queue, "source": queue.source, **more}
    if isinstance(ref, JobRef):
        context["job_ref"] = ref
    return page(request, "actions/ask.html", context, fragments=("ask",), status=status)
