"""What holds for every answer: it is not kept by caches, and a wrong method gets a page that says so."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase, HttpResponseNotAllowed

from dashboard.views.errors import method_not_allowed

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
