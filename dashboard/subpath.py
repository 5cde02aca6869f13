"""Serving under a sub-path such as /mirante, whether or not the proxy takes it off the paths it passes on."""

from __future__ import annotations

from typing import cast

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope, WebSocketScope
from channels.routing import ProtocolTypeRouter
from django.urls import set_script_prefix


class SubPath:
    """Makes every request look as if the proxy had left the prefix on, with `root_path` saying so.

    Django then builds links with it, and Channels' URLRouter, which looks at `root_path` only, takes it off again.
    A socket's consumers get the prefix for `reverse()`, as Django does it for requests only. A path that begins
    with the prefix is taken as whole: where a page of ours has the same name (`/queues`), the proxy must leave it on.
    """

    def __init__(self, application: ProtocolTypeRouter, *, prefix: str) -> None:
        self.application = application
        self.prefix = prefix

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if self.prefix and scope["type"] in {"http", "websocket"}:
            scope = self._whole(scope)
        if scope["type"] == "websocket":
            set_script_prefix(f"{self.prefix}/")
        await self.application(scope, receive, send)

    def _whole(self, scope: HTTPScope | WebSocketScope) -> Scope:
        path = scope["path"]
        if path != self.prefix and not path.startswith(f"{self.prefix}/"):
            path = self.prefix + path
        return cast("Scope", {**scope, "path": path, "root_path": self.prefix})
