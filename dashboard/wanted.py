"""What a refused request was about, for the log of actions: which jobs, or all that match, and the reason given."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest, QueryDict, UnreadablePostError
from django.http.multipartparser import MultiPartParserError

from queues.audit.log import JOBS_KEPT
from queues.names import decode_part, encode_part
from queues.operations.background import selection
from queues.types import State

NAME = 500  # characters of a name to filter by


def of(request: HttpRequest) -> dict[str, Any]:
    """Keywords for `audit.refused`. Whatever was sent, it does not raise."""
    try:
        sent = request.POST
    except (BadRequest, SuspiciousOperation, UnreadablePostError, MultiPartParserError):
        return {}
    told: dict[str, Any] = {"reason": sent.get("reason", "")[:500]}
    if request.resolver_match and request.resolver_match.url_name in ("ask-bulk", "act-bulk"):
        told |= _jobs(sent)
    return told


def _jobs(sent: QueryDict) -> dict[str, Any]:
    state = sent.get("state", "")
    if sent.get("all") != "1":
        picked = list(dict.fromkeys(sent.getlist("job")))
        slugs = [value.partition(" ")[0] for value in picked[:JOBS_KEPT]]
        return {"jobs": [slug for slug in slugs if _is_slug(slug)], "asked": len(picked)}
    if state not in set(State):
        return {}
    expected = sent.get("expected", "")
    number = int(expected) if expected.isascii() and expected.isdigit() and len(expected) < 13 else None
    return {"selection": selection(State(state), sent.get("name", "").strip()[:NAME]), "asked": number}


def _is_slug(text: str) -> bool:
    try:
        return encode_part(decode_part(text, colon=True), colon=True) == text
    except ValueError:
        return False
