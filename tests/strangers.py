"""Servers that accept connections and are no Redis: silent ones, and ones with one answer to everything."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def parrot(reply: bytes, *, sound: bool = False) -> Iterator[int]:
    """The port of a server that gives `reply` to every command; to the greeting, too, unless it is `sound` there."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while command := self._command():
                greeting = command[0].upper() in (b"CLIENT", b"SELECT", b"AUTH") and command[1:2] != [b"LIST"]
                try:
                    self.wfile.write(b"+OK\r\n" if sound and greeting else reply)
                except OSError:
                    return

        def _command(self) -> list[bytes]:
            parts: list[bytes] = []
            try:
                for _part in range(int(self.rfile.readline()[1:] or 0)):
                    length = int(self.rfile.readline()[1:])
                    parts.append(self.rfile.read(length + 2)[:-2])
            except OSError:
                return []
            return parts

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]
