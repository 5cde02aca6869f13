"""All plans as a list, and the ledger of one: a row for each of its jobs, and as files."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe


@require_safe
def replays(request: HttpRequest) -> HttpResponse:
    """One page of plans, the newest first."""
    raise NotImplementedError


@require_safe
def jobs(request: HttpRequest, pk: int) -> HttpResponse:
    """The ledger of a plan."""
    raise NotImplementedError


@require_safe
def jobs_csv(request: HttpRequest, pk: int) -> HttpResponseBase:
    raise NotImplementedError


@require_safe
def jobs_jsonl(request: HttpRequest, pk: int) -> HttpResponseBase:
    raise NotImplementedError
