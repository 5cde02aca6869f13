"""Serving under a sub-path, for pages and sockets, whether or not the proxy takes it off."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import pytest
from asgiref.typing import Scope
from channels.generic.websocket import WebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.testing import WebsocketCommunicator
from django.urls import get_script_prefix, path, reverse, set_script_prefix

from dashboard.subpath import SubPath
from tests.dashboard.started import Started, get


class Telling(WebsocketConsumer):
    """Says what `reverse` makes of a page's name, at once and when asked later."""

    def connect(self) -> None:
        self.accept()
        self.send(reverse("healthz"))

    def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        self.send(reverse("healthz"))


@pytest.fixture(autouse=True)
def prefix_of_this_test() -> Iterator[None]:
    before = get_script_prefix()
    yield
    set_script_prefix(before)


@pytest.mark.django_db  # Channels looks after the connections of its thread
@pytest.mark.parametrize(
    ("prefix", "asked"),
    [
        ("/mirante", "/mirante/live/"),
        ("/mirante", "/live/"),
        ("/a/b", "/a/b/live/"),
        ("/a/b", "/live/"),
        ("", "/live/"),
    ],
)
async def test_a_socket_is_found_and_its_consumer_links_with_the_prefix(prefix: str, asked: str) -> None:
    # The stubs know of views only.
    route = cast(Any, path("live/", cast(Any, Telling.as_asgi())))
    router = ProtocolTypeRouter({"websocket": URLRouter([route])})
    socket = WebsocketCommunicator(SubPath(router, prefix=prefix), asked)
    connected, _ = await socket.connect(timeout=30)
    assert connected
    assert await socket.receive_from(timeout=30) == f"{prefix}/healthz"
    await socket.send_to("again")
    assert await socket.receive_from(timeout=30) == f"{prefix}/healthz"
    await socket.disconnect(timeout=30)


@pytest.mark.parametrize(
    ("asked", "whole"),
    [
        ("/mirante/x", "/mirante/x"),
        ("/x", "/mirante/x"),
        ("/mirante", "/mirante"),
        ("/mirante2/x", "/mirante/mirante2/x"),
        ("/", "/mirante/"),
    ],
)
async def test_every_request_arrives_with_the_whole_path(asked: str, whole: str) -> None:
    seen: list[dict[str, Any]] = []

    async def application(scope: dict[str, Any], _receive: object, _send: object) -> None:
        seen.append(scope)

    served = SubPath(ProtocolTypeRouter({"http": application}), prefix="/mirante")
    await served(cast(Scope, {"type": "http", "path": asked}), cast(Any, None), cast(Any, None))
    assert (seen[0]["path"], seen[0]["root_path"]) == (whole, "/mirante")


def test_all_works_under_a_sub_path_behind_a_tls_proxy(tmp_path: Path) -> None:
    up = Started(tmp_path / "var", MIRANTE_BASE_URL="https://ops.example.com/mirante", MIRANTE_TRUST_PROXY="1")
    try:
        up.wait_for(r"Mirante is ready:  https://ops\.example\.com/mirante/ ")
        address = up.wait_for(r"\(here: (http://\S+)/mirante/\)").group(1)
        for before in ("/mirante", ""):
            # Past the proxy only health is told; whoever came without TLS is sent to it.
            assert get(f"{address}{before}/healthz", Host="localhost")[0] == 200
            status, _, headers = get(f"{address}{before}/login/", Host="ops.example.com")
            assert (status, headers["Location"]) == (301, "https://ops.example.com/mirante/login/")
            host = {"Host": "ops.example.com", "X-Forwarded-Proto": "https"}
            status, _, headers = get(f"{address}{before}/", **host)
            assert (status, unquote(headers["Location"])) == (302, "/mirante/login/?next=/mirante/")
            status, page, headers = get(f"{address}{before}/login/", **host)
            assert status == 200
            assert "Path=/mirante;" in headers["Set-Cookie"] + ";"
            links = set(re.findall(r'(?:href|src|action)="(/[^"]*)"', page))
            assert links
            assert all(link.startswith("/mirante/") for link in links), links
            files = [link for link in links if "/static/" in link]
            assert files
            for link in files:
                assert get(f"{address}{link.removeprefix('/mirante') if not before else link}", **host)[0] == 200
        up.stop()
    finally:
        up.clear()
