"""The addresses of web sockets, below the sub-path."""

from __future__ import annotations

from typing import Any, cast

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope
from channels.routing import URLRouter
from django.urls import path, re_path


async def nowhere(_scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Refuses the handshake (403): without a last route, Channels answers a wrong address with 500 and a trace."""
    await receive()
    await send({"type": "websocket.close", "code": 1000, "reason": None})


def router(*routes: Any) -> URLRouter:
    """Finds the consumer of a socket. The routes are made with `path`, whose stubs know of views only."""
    return URLRouter([*routes, cast("Any", re_path(r"", cast("Any", nowhere)))])


def routes() -> list[Any]:
    """The sockets that there are."""
    from dashboard.consumers import LiveConsumer

    return [path("live/", cast("Any", LiveConsumer.as_asgi()))]
