"""A web socket as a browser opens it, with little work: 500 of them share a machine with what is measured."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import struct
from collections.abc import AsyncIterator

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA
FINAL, MASKED = 0x80, 0x80


class Refused(Exception):
    """The server did not open the socket; its first line says why."""


class Closed(Exception):
    """The server closed the socket."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}".strip())
        self.code = code


class Socket:
    """Text in and out. Every message is received whole, however it was cut into frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int, path: str, cookie: str) -> Socket:
        """Sign in by the cookie and ask for a socket, from a page of the server itself."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        key = base64.b64encode(os.urandom(16)).decode()
        head = (
            f"GET {path} HTTP/1.1",
            f"Host: localhost:{port}",
            f"Origin: http://localhost:{port}",
            f"Cookie: {cookie}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
        )
        writer.write("\r\n".join((*head, "", "")).encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        proof = base64.b64encode(hashlib.sha1(key.encode() + MAGIC, usedforsecurity=False).digest())
        if b" 101 " not in answer.partition(b"\r\n")[0] or proof not in answer:
            writer.close()
            raise Refused(answer.partition(b"\r\n")[0].decode("latin-1"))
        return cls(reader, writer)

    def send(self, text: bytes) -> None:
        self._write(TEXT, text)

    async def messages(self) -> AsyncIterator[bytes]:
        """What the server says, until it raises Closed."""
        message = b""
        while True:
            kind, final, payload = await self._frame()
            if kind == CLOSE:
                self.close()
                code = struct.unpack("!H", payload[:2])[0] if payload else 1005
                raise Closed(code, payload[2:].decode("utf-8", "replace"))
            if kind == PING:
                self._write(PONG, payload)
            elif kind != PONG:
                message += payload
                if final:
                    yield message
                    message = b""

    def close(self) -> None:
        self._writer.close()

    async def _frame(self) -> tuple[int, bool, bytes]:
        try:
            first, second = await self._reader.readexactly(2)
            length = second & 0x7F
            if length == 126:
                (length,) = struct.unpack("!H", await self._reader.readexactly(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", await self._reader.readexactly(8))
            return first & 0x0F, bool(first & FINAL), await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Closed(1006, "the connection broke") from None

    def _write(self, kind: int, payload: bytes) -> None:
        # A mask of zeros is one too, and leaves the text as it is: no work for this side.
        size = len(payload)
        head = struct.pack("!BB", FINAL | kind, MASKED | size) if size < 126 else b""
        if not head:
            wide = "!BBH" if size < 1 << 16 else "!BBQ"
            head = struct.pack(wide, FINAL | kind, MASKED | (126 if size < 1 << 16 else 127), size)
        self._writer.write(head + b"\0\0\0\0" + payload)
