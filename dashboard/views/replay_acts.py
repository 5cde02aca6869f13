"""What people do to a replay: make a plan, keep its terms, start it, and steer it. POST only."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from dashboard.access import Right, actor_of, allowed, requires_right
from dashboard.http import page, status_of
from dashboard.replays import hidden
from dashboard.replays import plan as plans
from dashboard.replays.forms import ActForm, CancelForm, PaceForm
from dashboard.replays.making import made
from dashboard.replays.outcome import outcome
from dashboard.replays.terms_form import TermsForm
from dashboard.replays.terms_words import otherwise
from dashboard.views.replay import of, shown
from queues.audit import Asked
from queues.errors import QueueError
from queues.failures import life
from queues.models import AuditEntry, Replay
from queues.replay import steering
from queues.replay.checking import check
from queues.replay.fields import BadFields
from queues.replay.preview import preview
from queues.replay.terms import Terms
from queues.replay.types import Phase

Act = Callable[[Asked, Replay], AuditEntry]


@require_POST
@requires_right(Right.REPLAY)
def plan(request: HttpRequest) -> HttpResponse:
    """Make a plan of what a form names, and go to it. The same form sent again leads to the same plan."""
    return redirect("replay", made(actor_of(request), request.POST).pk)


@require_POST
@requires_right(Right.REPLAY)
def save(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep the terms of a draft; with `live` only show what they would come to, and keep nothing."""
    found = of(pk)
    if "live" in request.POST:
        return _live(request, found)
    return _kept(request, found, _("Kept. Nothing is sent before somebody starts it."))


@require_POST
@requires_right(Right.REPLAY)
def look(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep the terms, and have all jobs of a draft looked at on the server anew."""
    return _kept(request, of(pk), "", steering.look_again)


@require_POST
@requires_right(Right.REPLAY)
def start(request: HttpRequest, pk: int) -> HttpResponse:
    """Start a draft by the terms that were sent, or have it wait for approval."""
    found = of(pk)
    form = plans.form_of(request, found)
    if not _valid(request, form, found):
        return shown(request, found, form=form, error=_wrong(), status=422)
    try:
        given = form.cleaned_data
        steering.start(_asked(request, form), found, form.terms, typed=given["sure"], was=given["was"])
    except QueueError as error:
        return _form_again(request, found, form, error)
    return redirect("replay", pk)


@require_POST
@requires_right(Right.REPLAY)
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    """Start what somebody else asked for, as it was when the page was read."""
    return _act(request, pk, lambda asked, found: steering.approve(asked, found, seen=_seen(request, found)))


@require_POST
@requires_right(Right.REPLAY)
def refuse(request: HttpRequest, pk: int) -> HttpResponse:
    """Refuse to approve: it is a draft again."""
    return _act(request, pk, steering.refuse)


@require_POST
@requires_right(Right.REPLAY)
def take_back(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a start back before the first job is sent: it is a draft again."""
    return _act(request, pk, steering.take_back, said=_("Taken back. Nothing was sent."))


@require_POST
@requires_right(Right.REPLAY)
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    """Send no more for now."""
    return _act(request, pk, steering.pause)


@require_POST
@requires_right(Right.REPLAY)
def go_on(request: HttpRequest, pk: int) -> HttpResponse:
    """Let it go on."""
    return _act(request, pk, steering.go_on)


@require_POST
@requires_right(Right.REPLAY)
def pace(request: HttpRequest, pk: int) -> HttpResponse:
    """Send faster or slower from now on."""
    found, form = of(pk), PaceForm(request.POST, auto_id="pace-%s")
    if not form.is_valid():
        return shown(request, found, error=_wrong(), status=422, pace_form=form)
    given = form.cleaned_data
    try:
        steering.change_pace(_asked(request, form), found, given["pace_from"], given["pace_to"], given["double_s"])
    except BadFields as error:
        for name, sentence in error.fields.items():
            form.add_error(name if name in form.fields else None, sentence)
        return shown(request, found, error=_wrong(), status=422, pace_form=form)
    except QueueError as error:
        return _again(request, found, error)
    return redirect("replay", pk)


@require_POST
@requires_right(Right.REPLAY)
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Send no more, ever."""
    form = CancelForm(request.POST)
    back = form.is_valid() and form.cleaned_data["take_back"]
    return _act(request, pk, lambda asked, found: steering.cancel(asked, found, take_back=back))


@require_POST
@requires_right(Right.REPLAY)
def discard(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a plan of which nothing was sent."""
    said = _("R-%(pk)s is discarded. Nothing of it was sent.") % {"pk": pk}
    return _act(request, pk, steering.discard, said=said, to="replays")


@require_POST
@requires_right(Right.FAILURES)
def resolve(request: HttpRequest, pk: int) -> HttpResponse:
    """Resolve the groups of failures that a clean outcome leaves, all of them; each as by its own page."""
    found, form = of(pk), ActForm(request.POST)
    if not form.is_valid():
        return shown(request, found, error=_told(form), status=422)
    groups = outcome(found).unsolved
    for group in groups:
        life.resolve(_asked(request, form), group)
    if groups:
        messages.success(request, _("Resolved. What fails again stands among the failures as regressed."))
    return redirect("replay", pk)


def _act(request: HttpRequest, pk: int, do: Act, *, said: str = "", to: str = "") -> HttpResponse:
    """Do it, and to the page that shows what came of it; or that page with why it was not done."""
    found, form = of(pk), ActForm(request.POST)
    if not form.is_valid():
        return shown(request, found, error=_told(form), status=422)
    try:
        do(_asked(request, form), found)
    except QueueError as error:
        return _again(request, found, error)
    if said:
        messages.success(request, said)
    return redirect(to) if to else redirect("replay", pk)


def _kept(request: HttpRequest, found: Replay, said: str, then: Callable[[Replay], None] | None = None) -> HttpResponse:
    """Keep the terms that were sent; or the form again, with what is wrong."""
    form = plans.form_of(request, found)
    if not _valid(request, form, found):
        return shown(request, found, form=form, error=_wrong(), status=422)
    try:
        steering.save(_asked(request, form), found, form.terms, was=form.cleaned_data["was"])
        if then and found.phase == Phase.DRAFT:
            then(found)
    except QueueError as error:
        return _form_again(request, found, form, error)
    if said:
        messages.success(request, said)
    return redirect("replay", found.pk)


def _live(request: HttpRequest, found: Replay) -> HttpResponse:
    """What the terms that are being typed would come to: nothing is kept."""
    form = plans.form_of(request, found)
    if not _valid(request, form, found):
        return page(request, "replays/plan.html#typing", {"form": form})
    context = plans.live(found, form.terms, preview(found, form.terms), reveals=allowed(request.user, Right.REVEAL))
    return page(request, "replays/plan.html#typed", {**context, "form": form})


def _valid(request: HttpRequest, form: TermsForm, found: Replay) -> bool:
    """Whether the terms can be kept, by who sends them; what is wrong stands at the fields."""
    if form.is_valid():
        barred = {} if allowed(request.user, Right.REVEAL) else hidden.wrong(found, form.terms)
        form.take({**barred, **check(found, form.terms)})
    return form.is_valid()


def _seen(request: HttpRequest, found: Replay) -> int | None:
    """The start that the page showed; 0, which is none, for a form that does not say it."""
    seen = request.POST.get("seen", "")
    if seen.isascii() and seen.isdigit() and len(seen) < 19:
        return int(seen)
    return 0 if found.entry_id else None


def _asked(request: HttpRequest, form: ActForm) -> Asked:
    return Asked(actor_of(request), key=form.cleaned_data["key"], reason=form.cleaned_data["reason"])


def _form_again(request: HttpRequest, found: Replay, form: TermsForm, error: QueueError) -> HttpResponse:
    """The form with all that was typed, and why nothing was done; where somebody has changed the plan meanwhile as it
    is by now, with what was chosen beside it.
    """
    if isinstance(error, BadFields):
        form.take(error.fields)
    found = of(found.pk)
    if isinstance(error, steering.ChangedMeanwhile) and found.phase == Phase.DRAFT:
        chosen = otherwise(form.terms, Terms.of(found.terms), found.source.name)
        return shown(request, found, error=str(error), status=status_of(error), chosen=chosen)
    form.renew(was=Terms.of(found.terms).stamp)
    return shown(request, found, form=form, error=str(error), status=status_of(error))


def _again(request: HttpRequest, found: Replay, error: QueueError) -> HttpResponse:
    return shown(request, of(found.pk), error=str(error), status=status_of(error))


def _told(form: ActForm) -> str:
    return " ".join(str(error) for errors in form.errors.values() for error in errors)


def _wrong() -> str:
    return _("Nothing was done: something below is not right yet.")
