"""What people do to a replay: make a plan, keep its terms, start it, and steer it. POST only."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from dashboard.access import Right, requires_right


@require_POST
@requires_right(Right.REPLAY)
def plan(request: HttpRequest) -> HttpResponse:
    """Make a plan of what a form names, and go to it."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def save(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep the terms of a draft, or show what they would come to."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def look(request: HttpRequest, pk: int) -> HttpResponse:
    """Have a draft's jobs looked at anew."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def start(request: HttpRequest, pk: int) -> HttpResponse:
    """Start a draft, or have it wait for approval."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    """Start what somebody else asked for."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def refuse(request: HttpRequest, pk: int) -> HttpResponse:
    """Refuse it: it is a draft again."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def take_back(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a start back before the first job is sent."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    """Send no more for now."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def go_on(request: HttpRequest, pk: int) -> HttpResponse:
    """Let it go on."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def pace(request: HttpRequest, pk: int) -> HttpResponse:
    """Send faster or slower from now on."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Send no more, ever."""
    raise NotImplementedError


@require_POST
@requires_right(Right.REPLAY)
def discard(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a plan of which nothing was sent."""
    raise NotImplementedError
