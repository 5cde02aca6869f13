"""Page or fragment, and errors of the domain turned into responses that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import Engine, RequestContext
from django.urls import reverse
from django_htmx.middleware import HtmxDetails

from dashboard.access import safe_next
from queues.errors import (
    BadInput,
    LimitExceeded,
    NotFound,
    NotPermitted,
    OutOfMemory,
    QueueError,
    ReadOnly,
    Unreachable,
    Unsupported,
    Unsure,
    WrongState,
)

STATUS: Mapping[type[QueueError], int] = {
    ReadOnly: 403,
    NotFound: 404,
    WrongState: 409,
    BadInput: 422,
    LimitExceeded: 422,
    Unsupported: 422,
    NotPermitted: 503,
    OutOfMemory: 503,
    Unreachable: 503,
}


def status_of(error: QueueError) -> int:
    """The status of an answer that says this."""
    return next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)


def page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, object],
    *,
    fragments: Collection[str] = (),
    status: int = 200,
) -> HttpResponse:
    """The whole page, or the one of its `fragments` that htmx asks for: a partial named like the target's id."""
    for name in fragments:
        if asks_for(request, name):
            template = f"{template}#{name}"
    return HttpResponse(_rendered(request, template, context), status=status)


def asks_for(request: HttpRequest, fragment: str) -> bool:
    """Whether htmx asks for this fragment alone. Its name is the target's id, or the beginning of it."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    if not htmx or htmx.boosted or not htmx.target:
        return False
    return htmx.target == fragment or htmx.target.startswith(f"{fragment}-")


def asks_for_part(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of a page, whichever."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and not htmx.boosted


def _rendered(request: HttpRequest, template: str, context: Mapping[str, object]) -> str:
    """What Django's `render` puts into a response, with the memory free at once.

    A context refers to itself: left alone, it keeps a job's megabytes until the garbage collector comes round.
    """
    made = RequestContext(request, dict(context))
    try:
        return Engine.get_default().get_template(template).render(made)
    finally:
        made.dicts.clear()


class QueueErrorMiddleware:
    """Turns a `QueueError` that a view lets pass into a page, or into a note for a fragment."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, QueueError):
            return None
        status = status_of(error)
        template = "errors/queue_error.html#note" if asks_for_part(request) else "errors/queue_error.html"
        sent = request.method == "POST"
        context = {
            "error": error,
            "status": status,
            "outage": isinstance(error, Unreachable),
            "unsure": isinstance(error, Unsure),
            "sent": sent,
            "again": _again(request) if sent else request.get_full_path(),
        }
        return render(request, template, context, status=status)


def _again(request: HttpRequest) -> str:
    """Where somebody goes after a form that came to nothing: its own address answers no GET."""
    return safe_next(request.POST.get("next", "")) or reverse("overview")
