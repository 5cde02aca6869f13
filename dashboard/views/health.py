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
    """Open to all, so it says nothing but names and times: no address, no error text."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        known = {source.name: source for source in Source.objects.only("name", "ok_at", "down_since")}
    except Error as error:
        # For the log only: the text may name a host or a user, and this page is open to all.
        log.warning("the database cannot be used: %s: %s", type(error).__name__, str(error).partition("\n")[0])
        return JsonResponse({"status": "unavailable", "database": "unavailable"}, status=503)
    sources = [_report(config.name, known.get(config.name)) for config in configured()]
    return JsonResponse({"status": "ok", "database": "ok", "sources": sources})


def _report(name: str, source: Source | None) -> dict[str, object]:
    """The last known state, without asking the source. `reachable` is null before the first answer."""
    if source is None or (source.ok_at is None and source.down_since is None):
        return {"name": name, "reachable": None, "down_since": None, "ok_at": None}
    return {
        "name": name,
        "reachable": source.down_since is None,
        "down_since": source.down_since,
        "ok_at": source.ok_at,
    }
