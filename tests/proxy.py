"""A reverse proxy between a browser and a server of a test, that may be set up as badly as proxies are."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

ENDS_WITHIN_S = 15.0
_UPGRADE = re.compile(rb"\r\n(?:upgrade|connection):[^\r]*", re.IGNORECASE)
_502 = (
    b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 11\r\nConnection: close\r\n\r\n<h1>502</h1"
)


class Proxy:
    """Passes each request on over a connection of its own. What it does wrong may be changed while it runs."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._server = (parts.hostname or "", parts.port or 80)
        self._loop = asyncio.new_event_loop()
        self._sockets: set[asyncio.StreamWriter] = set()  # of browsers, as far as they hold a web socket
        self._all: set[asyncio.StreamWriter] = set()
        self.url = ""
        self.upgrade = True  # False: the headers that ask for a web socket are dropped
        self.refused = ""  # requests whose path begins so are answered with 502
        self.held = False  # nothing passes, and nothing is closed either
        self.refusals = 0

    def cut(self) -> None:
        """Break all web sockets that are open, as a proxy does whose time for them is over."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(ENDS_WITHIN_S)

    async def _cut(self) -> None:
        for writer in self._sockets:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._all.add(writer)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if self.refused and head.split(b" ")[1].startswith(self.refused.encode()):
                self.refusals += 1
                writer.write(_502)
            else:
                await self._pass(head, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # one of both has left, or the test ends
        finally:
            self._sockets.discard(writer)
            self._close(writer)

    def _close(self, writer: asyncio.StreamWriter) -> None:
        self._all.discard(writer)
        writer.transport.abort() if self._ending.is_set() else writer.close()

    async def _pass(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.upgrade and b"upgrade: websocket" in head.lower():
            self._sockets.add(writer)
        else:
            head = _UPGRADE.sub(b"", head)[:-2] + b"Connection: close\r\n\r\n"
        from_server, to_server = await asyncio.open_connection(*self._server)
        self._all.add(to_server)
        to_server.write(head)
        both = [asyncio.ensure_future(self._pump(*ends)) for ends in ((reader, to_server), (from_server, writer))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait(both[1:], timeout=1)  # a browser that has said all still waits for the answer
        finally:
            for pump in both:
                pump.cancel()
            self._close(to_server)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                while self.held:
                    await asyncio.sleep(0.02)
                writer.write(data)
                await writer.drain()

    async def _run(self, started: threading.Event) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = "http://{}:{}".format(*server.sockets[0].getsockname())
        self._ending = asyncio.Event()
        started.set()
        await self._ending.wait()
        server.close()
        ours = asyncio.all_tasks() - {asyncio.current_task()}
        for task in ours:
            task.cancel()
        await asyncio.gather(*ours, return_exceptions=True)
        for writer in self._all:
            writer.transport.abort()
        await asyncio.sleep(0.1)  # what was broken off is closed in the loop's next rounds

    def _end(self) -> None:
        self._ending.set()


@contextmanager
def proxy(server: str) -> Iterator[Proxy]:
    """A proxy before the server at this address, in a thread of its own."""
    made, started = Proxy(server), threading.Event()
    thread = threading.Thread(target=lambda: made._loop.run_until_complete(made._run(started)))
    thread.start()
    assert started.wait(ENDS_WITHIN_S)
    try:
        yield made
    finally:
        made._loop.call_soon_threadsafe(made._end)
        thread.join(ENDS_WITHIN_S)
        made._loop.close()
