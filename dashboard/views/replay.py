"""One replay: its plan before it starts; while it runs, and when it has ended, the page of that."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe


@require_safe
def replay(request: HttpRequest, pk: int) -> HttpResponse:
    """The page of a replay, by its phase."""
    raise NotImplementedError
