"""`/healthz`: whether this web process and its database work, and what was last known of the sources."""

from __future__ import annotations

import logging

from django.contrib.auth.decorators import login_not_required
from django.db import Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from queues.models import Source
from queues.registry import configured

log = logging.getLogger(__name__)


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Open to all, so it says nothing but names, times and a word for the reason: no address, no error text."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        known = {source.name: source for source in Source.objects.only("name", "ok_at", "down_since", "error")}
    except Error as error:
        # For the log only: the text may name a host or a user, and this page is open to all.
        log.warning("the database cannot be used: %s: %s", type(error).__name__, str(error).partition("\n")[0])
        return JsonResponse({"status": "unavailable", "database": "unavailable"}, status=503)
    sources = [_report(config.name, known.get(config.name)) for config in configured()]
    return JsonResponse({"status": "ok", "database": "ok", "sources": sources})


def _report(name: str, source: Source | None) -> dict[str, object]:
    """The last known state, without asking the source.

    `reachable` (it answers) and `readable` (it lets us read) are null before the first answer; `reason` says why it
    cannot be read: "unreachable" or "refused".
    """
    reason = _reason(source) if source else None
    asked = source is not None and (source.ok_at is not None or reason is not None)
    return {
        "name": name,
        "reachable": reason != "unreachable" if asked else None,
        "readable": reason is None if asked else None,
        "reason": reason,
        "down_since": source.down_since if source else None,
        "ok_at": source.ok_at if source else None,
    }


def _reason(source: Source) -> str | None:
    if source.down_since is not None:
        return "unreachable"
    return "refused" if source.error else None
