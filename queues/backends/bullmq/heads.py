"""The beginning of one long reply, taken from the socket: the rest of it passes through 64 KB of memory."""

# mypy: allow-untyped-calls

from __future__ import annotations

import socket
from typing import cast

from redis.connection import AbstractConnection
from redis.exceptions import ConnectionError as LostConnection
from redis.exceptions import InvalidResponse, ResponseError
from redis.exceptions import TimeoutError as TookTooLong

from queues.backends.bullmq.replies import Reply

_CHUNK = 64 * 1024
_LONGEST_LINE = 4096


def read_head(link: AbstractConnection, most: int) -> Reply:
    """The reply to come, which is a string: its size and the first `most` bytes of it; None where there is none.

    redis-py would collect all of it first, and a process keeps what it once needed. Nothing may have been read ahead.
    """
    stream = _Stream(cast(socket.socket, link._sock))
    line = stream.line()
    if line.startswith(b"-"):
        return ResponseError(line[1:].decode("utf-8", "replace"))
    if not line.startswith(b"$") or not line[1:].removeprefix(b"-").isdigit():
        raise InvalidResponse(line[:40])
    size = int(line[1:])
    return [size, stream.head(size, most)] if size >= 0 else None


class _Stream:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._room = memoryview(bytearray(_CHUNK))
        self._rest = b""

    def line(self) -> bytes:
        """The first line, without its end."""
        while b"\r\n" not in self._rest:
            if len(self._rest) > _LONGEST_LINE:
                raise InvalidResponse(self._rest[:40])
            self._rest += self._more(_LONGEST_LINE)
        line, _end, self._rest = self._rest.partition(b"\r\n")
        return line

    def head(self, size: int, most: int) -> bytes:
        """The first bytes of the string that follows. All of it is taken from the socket."""
        kept, left = bytearray(self._rest[: min(size, most)]), size + 2 - len(self._rest)
        while left > 0:
            came = self._more(left)
            left -= len(came)
            kept += came[: max(0, min(size, most) - len(kept))]
        if left < 0:
            raise InvalidResponse("more than was asked for")
        return bytes(kept)

    def _more(self, most: int) -> memoryview:
        try:
            length = self._sock.recv_into(self._room, min(most, _CHUNK))
        except TimeoutError as error:
            raise TookTooLong from error
        if not length:
            raise LostConnection("closed by the server")
        return self._room[:length]
