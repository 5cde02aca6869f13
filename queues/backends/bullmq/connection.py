"""The connections to one monitored server: pooled, bounded in time, counted, and honest about failure."""

# mypy: allow-untyped-calls

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from django.utils.translation import gettext as _
from hiredis import pack_command
from redis.connection import AbstractConnection, BlockingConnectionPool, SSLConnection, parse_url
from redis.exceptions import ConnectionError as LostConnection
from redis.exceptions import NoScriptError, RedisError, ResponseError

from queues.backends.bullmq.faults import refused, unreachable, unsure
from queues.backends.bullmq.heads import read_head
from queues.backends.bullmq.replies import Command, Part, Reply, blob, count
from queues.backends.bullmq.scripts import with_text
from queues.errors import BadInput, Unreachable
from queues.registry import SourceConfig

CONNECT_TIMEOUT_S = 1.5
READ_TIMEOUT_S = 5.0
CONNECTIONS = 16
CLIENT_NAME = "mirante"  # no colon: nobody takes it for a worker's


class Connection:
    """Sends commands to one server and gives back what it said. Safe to share between threads.

    A connect takes at most 1.5 s, so does each answer to our greeting (TLS, login), and any other reply
    at most 5 s. A connection that turns out to be stale is replaced once and the commands are sent again,
    which is right as long as they only read. For those that write there is `once`: nothing is sent again, and what
    may have been done although no answer came is `Unsure`.
    """

    def __init__(self, config: SourceConfig, *, connections: int = CONNECTIONS, once: bool = False) -> None:
        self.source = config.name
        self._once = once
        options = _options(config)
        self.address = _address(options)
        self._pool = BlockingConnectionPool(max_connections=connections, timeout=READ_TIMEOUT_S, **options)
        self._lock = threading.Lock()
        self._sent = 0

    @property
    def commands_sent(self) -> int:
        """How many commands were sent since this object was made."""
        return self._sent

    def call(self, *command: Part) -> Reply:
        """One command. Raises a QueueError for anything that the server refuses."""
        reply = self.run([command])[0]
        if isinstance(reply, ResponseError):
            raise refused(reply, command, source=self.source, address=self.address)
        return reply

    def run(self, commands: Sequence[Command], *, tolerant: bool = False, reading: bool = False) -> list[Reply]:
        """Many commands in one pipeline, with a reply for each.

        A key of the wrong type costs its own command only: the error stands in its place. Any other
        refusal is raised, unless `tolerant`. Raises Unreachable when the server does not answer, or says
        that it cannot answer anything now. `reading`: the commands change nothing, whatever `once` says of others.
        """
        if not commands:
            return []
        once = self._once and not reading
        replies = self._exchange(commands, _read, once=once)
        unseen = [number for number, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if unseen:
            again = self._exchange([with_text(commands[number]) for number in unseen], _read, once=once)
            for number, reply in zip(unseen, again, strict=True):
                replies[number] = reply
        for command, reply in zip(commands, replies, strict=True):
            if isinstance(reply, ResponseError) and not _wrong_type(reply):
                error = refused(reply, command, source=self.source, address=self.address)
                if not tolerant or isinstance(error, Unreachable):
                    raise error
        return replies

    def head(self, command: Command, most: int) -> tuple[bytes, int] | None:
        """The first `most` bytes of a string that may be long, and its size; None where there is none.

        It travels whole, but takes no memory here.
        """
        [reply] = self._exchange([command], partial(read_head, most=most), once=False)
        if isinstance(reply, ResponseError) and not _wrong_type(reply):
            raise refused(reply, command, source=self.source, address=self.address)
        if not isinstance(reply, list):
            return None
        size, beginning = reply
        return blob(beginning) or b"", count(size)

    def close(self) -> None:
        """Close all connections; the next call opens new ones."""
        self._pool.disconnect()

    def _exchange(
        self, commands: Sequence[Command], read: Callable[[AbstractConnection], Reply], *, once: bool
    ) -> list[Reply]:
        connecting = True
        for last in (once, True):
            try:
                # The pool looks whether the other side has closed it, so what is stale is seldom found out by sending.
                link = cast(AbstractConnection, self._pool.get_connection())
                connecting = False
                return self._talk(link, commands, read)
            except (RedisError, OSError) as error:
                if connecting or last or type(error) is not LostConnection:
                    told = unreachable(error, source=self.source, address=self.address, connecting=connecting)
                    raise (unsure(told) if once and not connecting else told) from error
        raise AssertionError("unreachable")

    def _talk(
        self, link: AbstractConnection, commands: Sequence[Command], read: Callable[[AbstractConnection], Reply]
    ) -> list[Reply]:
        with self._lock:
            self._sent += len(commands)
        try:
            # One write for all: redis-py's own packing costs three times the CPU of hiredis's for thousands of keys.
            link.send_packed_command([b"".join(_pack(command) for command in commands)])
            return [read(link) for _ in commands]
        except BaseException:
            link.disconnect()  # unread replies must not meet the next command
            raise
        finally:
            self._pool.release(link)


def _pack(command: Command) -> bytes:
    return cast(bytes, pack_command(command))  # type: ignore[arg-type]  # its stub knows tuples of one part only


def _read(link: AbstractConnection) -> Reply:
    try:
        return cast(Reply, link.read_response())
    except ResponseError as error:
        return error


def _wrong_type(error: ResponseError) -> bool:
    return "WRONGTYPE" in str(error)


def _options(config: SourceConfig) -> dict[str, object]:
    try:
        options: dict[str, object] = dict(parse_url(config.url))
    except ValueError:
        raise BadInput(_("The address of the source “%(source)s” cannot be read.") % {"source": config.name}) from None
    options |= {
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_timeout": CONNECT_TIMEOUT_S,  # until we have been greeted
        "socket_keepalive": True,
        "protocol": 2,
        "driver_info": None,
        "redis_connect_func": _greet,
    }
    if config.ca_file and options.get("connection_class") is SSLConnection:
        options["ssl_ca_certs"] = config.ca_file
    if "path" in options:
        options.pop("socket_keepalive")
    return options


def _greet(link: AbstractConnection) -> None:
    """Log in, choose the database, and say who we are where the server permits that."""
    link.on_connect_check_health(check_health=False)
    link.send_command("CLIENT", "SETNAME", CLIENT_NAME, check_health=False)
    try:
        link.read_response()
    except ResponseError:
        pass
    link.update_current_socket_timeout(READ_TIMEOUT_S)


def _address(options: dict[str, object]) -> str:
    database = options.get("db") or 0
    if path := options.get("path"):
        return f"{path}/{database}"
    host = str(options.get("host") or "localhost")
    return f"{f'[{host}]' if ':' in host else host}:{options.get('port') or 6379}/{database}"
