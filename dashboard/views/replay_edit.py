"""One job in an editor: its data is changed, looked at before and after, and sent again as a plan of one job."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from dashboard.access import Right, requires_right


@require_http_methods(["GET", "HEAD", "POST"])
@requires_right(Right.REPLAY)
def edit_replay(request: HttpRequest, source: str, queue: str, job: bytes) -> HttpResponse:
    """The editor; once it is sent, before and after of it, or the plan that sends the edited job."""
    raise NotImplementedError
