"""A web socket as a browser opens it, over the network: text frames both ways, and the code that ends it."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

PATIENCE_S = 60.0
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Closed(Exception):
    """The server has ended it; without a code when the connection just broke."""

    def __init__(self, code: int | None) -> None:
        super().__init__(str(code))
        self.code = code


class BrowserSocket:
    """An open socket, or `status` other than 101 when the server refused the handshake."""

    def __init__(self, url: str, session: str = "", *, origin: str = "", path: str = "/live/") -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname or "", parts.port or 80), timeout=PATIENCE_S)
        self._left = b""
        lines = (
            f"GET {path} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"Origin: {origin or url}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            "Sec-WebSocket-Version: 13",
            f"Cookie: {settings.SESSION_COOKIE_NAME}={session}",
        )
        self._socket.sendall("\r\n".join((*lines, "", "")).encode())
        while b"\r\n\r\n" not in self._left:
            self._more()
        head, _, self._left = self._left.partition(b"\r\n\r\n")
        self.status = int(head.split(b" ")[1])

    def send(self, value: object) -> None:
        self._write(TEXT, json.dumps(value).encode())

    def frame(self) -> dict[str, Any]:
        """The next frame, acknowledged. Raises Closed."""
        found: dict[str, Any] = json.loads(self.text())
        self.send({"ack": found["n"]})
        return found

    def text(self) -> str:
        while True:
            kind, payload = self._read()
            if kind == PING:
                self._write(PONG, payload)
            elif kind == CLOSE:
                raise Closed(struct.unpack(">H", payload[:2])[0] if payload else None)
            elif kind == TEXT:
                return payload.decode()

    def close_code(self) -> int | None:
        """The code with which the server ends it, whatever it says before.

        Nothing is acknowledged: a word to a server that is gone makes the kernel throw away what it had said.
        """
        try:
            while True:
                self.text()
        except Closed as closed:
            return closed.code
        except OSError:
            return None

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> tuple[int, bytes]:
        first, second = self._bytes(2)
        length = second & 127
        if length == 126:
            length = struct.unpack(">H", self._bytes(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self._bytes(8))[0]
        return first & 15, self._bytes(length)

    def _bytes(self, number: int) -> bytes:
        while len(self._left) < number:
            self._more()
        found, self._left = self._left[:number], self._left[number:]
        return found

    def _more(self) -> None:
        found = self._socket.recv(65_536)
        if not found:
            raise Closed(None)
        self._left += found

    def _write(self, kind: int, payload: bytes) -> None:
        assert len(payload) < 65_536
        short = len(payload) < 126
        length = bytes([128 | len(payload)]) if short else b"\xfe" + struct.pack(">H", len(payload))
        # A mask of zeros is as good as any other where nobody stands in between.
        self._socket.sendall(bytes([128 | kind]) + length + bytes(4) + payload)
