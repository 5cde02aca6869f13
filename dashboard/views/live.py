"""`/live/` asked for as a page: what comes here lost its way to the socket, most often in a proxy."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

_SAID = (
    "This is the address of the WebSocket. Who reads this in answer to a WebSocket has a proxy in between that does not"
    " pass the headers Upgrade and Connection: pages poll instead of being live. See docs/deployment.md.\n"
)


@login_not_required
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """Open to all, and the same for all. The reason stands in the log, once for each attempt."""
    reason = "Upgrade Required"
    if "Sec-WebSocket-Key" in request.headers:
        reason = "The proxy did not pass Upgrade and Connection, so pages poll"
    return HttpResponse(
        _SAID, status=426, reason=reason, content_type="text/plain; charset=utf-8", headers={"Upgrade": "websocket"}
    )
