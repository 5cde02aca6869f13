"""Queues of dead letters: which there are, what each is for, and how its letters are read."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Right, actor_of, requires_right
from dashboard.http import page
from dashboard.letters import LettersForm, lines, look
from queues import audit, readings
from queues.errors import BadInput, NotFound
from queues.failures import letters as operations
from queues.types import QueueRef


@require_safe
def letters(request: HttpRequest) -> HttpResponse:
    return page(request, "letters/letters.html", {"lines": lines()})


@require_safe
def queue(request: HttpRequest, source: str, queue: QueueRef | str) -> HttpResponse:
    """One queue: its newest letters as they are read now, and the form."""
    ref = _ref(source, queue)
    told = operations.said(ref)
    return _page(request, ref, LettersForm.about(ref), told.mapping if told else {})


@requires_right(Right.MAPPINGS)
@require_POST
def say(request: HttpRequest, source: str, queue: QueueRef | str) -> HttpResponse:
    """Keep what the form says; with `preview` in it only show how letters would be read."""
    ref = _ref(source, queue)
    form = LettersForm(request.POST, queue=ref)
    if not form.is_valid():
        return _page(request, ref, form, {}, status=422)
    said = form.cleaned_data
    if "preview" in request.POST:
        return _page(request, ref, form, said["mapping"], preview=True)
    is_one = {"yes": True, "no": False}.get(said["is_one"])
    try:
        operations.say(
            audit.Asked(actor_of(request)), ref, is_one=is_one, origin=said["origin"], mapping=said["mapping"]
        )
    except BadInput as error:
        form.add_error(None, str(error))
        return _page(request, ref, form, {}, status=422)
    messages.success(request, _("Kept. Its letters are read anew now."))
    return redirect("letters-queue", source, ref.slug)


def _ref(source: str, queue: QueueRef | str) -> QueueRef:
    ref = QueueRef.from_slug(source, str(queue)) if isinstance(queue, str) else queue
    if ref not in readings.names(source):
        raise NotFound(_("This queue is not known."))
    return ref


def _page(
    request: HttpRequest,
    ref: QueueRef,
    form: LettersForm,
    mapping: Mapping[str, str],
    *,
    preview: bool = False,
    status: int = 200,
) -> HttpResponse:
    among = readings.names(ref.source)
    context = {
        "ref": ref,
        "form": form,
        "look": look(ref, mapping),
        "is_one": operations.is_letters(ref, among),
        "origin": operations.origin_of(ref, among),
        "said": operations.said(ref),
        "preview": preview,
    }
    return page(request, "letters/queue.html", context, status=status)
