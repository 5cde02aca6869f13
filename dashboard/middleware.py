"""What holds for every answer: it is not kept by caches, and a wrong method gets a page that says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase, HttpResponseNotAllowed

from dashboard.views.errors import method_not_allowed
from queues import masking
from queues.types import QueueRef

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def no_store(get_response: GetResponse) -> GetResponse:
    """Pages show production data: no proxy keeps them, and "back" after signing out does not show them.

    Stands inside WhiteNoise, which answers for static files with headers of its own.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return middleware


class MaskingMiddleware:
    """What a page under a queue's address shows is hidden by the rules of that queue, its error pages included."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            return self.get_response(request)
        finally:
            masking.enter(None)

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: Mapping[str, Any]) -> None:
        if "source" in kwargs and "queue" in kwargs:
            masking.enter(QueueRef.from_slug(kwargs["source"], kwargs["queue"]))


def method_page(get_response: GetResponse) -> GetResponse:
    """Django answers a wrong method with an empty body."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not isinstance(response, HttpResponseNotAllowed) or response.content:
            return response
        page = method_not_allowed(request)
        page.headers["Allow"] = response.headers["Allow"]
        return page

    return middleware
