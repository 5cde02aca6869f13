"""What is shown when a request is refused or fails: a page, or a note where a fragment was asked for."""

from __future__ import annotations

import logging
import sys

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from dashboard.access import RoleNeeded, role_of
from dashboard.access import refuse as note_refusal
from dashboard.users import active_admins

log = logging.getLogger(__name__)

# Shown when even the error page fails, as it does while static files are not collected.
_LAST_RESORT = "<!doctype html><title>Mirante</title><h1>Mirante failed</h1><p>The log of the server says why."


def layout(request: HttpRequest) -> str:
    """The shell for those who may see it, the bare door for all others."""
    return "base.html" if role_of(request.user) else "account/door.html"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    # The request is not to be trusted, its host least of all: the page is made without it.
    return HttpResponse(render_to_string("errors/400.html"), status=400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    held = role_of(request.user)
    if held is None and request.user.is_authenticated:
        names = list(active_admins().order_by("username").values_list("username", flat=True)[:5])
        return _refuse(request, "errors/no_role.html", {"admins": names, "title": _("No role yet")}, 403)
    if isinstance(exception, RoleNeeded) and held:
        text = _("This needs the %(needed)s role; yours is %(held)s. An admin can change that.") % {
            "needed": exception.role.label,
            "held": held.label,
        }
    else:
        text = _("You may not do this.")
    return refuse(request, _("Not permitted"), text, 403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request, _("Not found"), _("There is no page at %(path)s.") % {"path": request.path[:300]}, 404)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    note_refusal(request, _("It came without the token of one of our pages."), csrf=reason)
    text = _(
        "Nothing was done. You signed in or out in another tab since this page was loaded, or the browser "
        "blocks cookies. Reload the page and try again."
    )
    return refuse(request, _("This page is out of date"), text, 403)


def method_not_allowed(request: HttpRequest) -> HttpResponse:
    text = _("This address takes actions from a form or shows a page, but not what was asked of it.")
    return refuse(request, _("Nothing was done"), text, 405)


def server_error(request: HttpRequest) -> HttpResponse:
    """Made without the request: what failed may be the session, the user or the database."""
    busy = _is_busy(sys.exception())
    template, status = ("errors/busy.html", 503) if busy else ("errors/500.html", 500)
    try:
        body: str = render_to_string(template)
    except Exception:
        # The outermost place there is: whatever else is wrong, the browser gets an answer.
        log.exception("the error page failed")
        body = _LAST_RESORT
    return HttpResponse(body, status=status)


def _is_busy(error: BaseException | None) -> bool:
    """SQLite has waited as long as it may for somebody else who writes."""
    return isinstance(error, OperationalError) and "locked" in str(error)


def refuse(request: HttpRequest, title: str, text: str, status: int) -> HttpResponse:
    """The page that says why nothing came or happened."""
    return _refuse(request, "errors/error.html", {"title": title, "text": text}, status)


def _refuse(request: HttpRequest, template: str, context: dict[str, object], status: int) -> HttpResponse:
    htmx = getattr(request, "htmx", None)
    if htmx and not htmx.boosted:
        return render(request, "errors/error.html#note", {"text": context["title"]} | context, status=status)
    return render(request, template, context | {"layout": layout(request)}, status=status)
