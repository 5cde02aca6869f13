"""Finds a port to listen on, and holds it."""

from __future__ import annotations

import errno
import ipaddress
import socket

_HOW_MANY = 1_000


class CannotListen(Exception):
    """The text says why, and what to change; `in_use` that another port might do."""

    def __init__(self, text: str, *, in_use: bool = False) -> None:
        super().__init__(text)
        self.in_use = in_use


def reachable(bind: str) -> str:
    """The address under which this machine reaches what listens on `bind`, which may stand for all addresses."""
    address = ipaddress.ip_address(bind)
    if not address.is_unspecified:
        return bind
    return "127.0.0.1" if address.version == 4 else "::1"


def web_socket(bind: str, port: int | None) -> socket.socket:
    """A socket that already listens; the web process inherits it, so that a restart loses no connection.

    Without a port, the first free one from 8000 upwards.
    """
    if port is not None:
        return _listening(bind, port)
    for candidate in range(8000, 8000 + _HOW_MANY):
        try:
            return _listening(bind, candidate)
        except CannotListen as error:
            if not error.in_use:
                raise
    raise CannotListen(f"PORT: no free port from 8000 to {8000 + _HOW_MANY - 1} on {bind}")


def free_port(first: int) -> int:
    """The first free port on 127.0.0.1 from `first` upwards. Nothing holds it: another program may be faster."""
    for candidate in range(first, first + _HOW_MANY):
        if is_free(candidate):
            return candidate
    raise CannotListen(f"no free port from {first} to {first + _HOW_MANY - 1} on 127.0.0.1 for the embedded Valkey")


def is_free(port: int) -> bool:
    """Whether a port on 127.0.0.1 could be listened at just now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen()
        except OSError:
            return False
        return True


def _listening(bind: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in bind else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((bind, port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise CannotListen(_why(bind, port, error), in_use=error.errno == errno.EADDRINUSE) from None
    return made


def _why(bind: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"PORT: {port} on {bind} is in use by another program; choose another, or leave PORT unset"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"BIND: expected an address of this machine, but {bind} is none"
    if error.errno == errno.EACCES:
        return f"PORT: {port} needs more rights than this user has; choose one above 1023"
    return f"BIND, PORT: cannot listen on {bind}:{port}: {error.strerror}"
