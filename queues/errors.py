"""What can go wrong while a queue is read or written, each with a text fit for a user."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime


class QueueError(Exception):
    """A failure that a page can show: `str(error)` says what happened and what to do.

    The text never holds a password: it is built from host, port and database number only.
    """


class Unreachable(QueueError):
    """The source does not answer. `since` is when that began, where it is known (aware, UTC)."""

    def __init__(self, message: str, *, source: str, since: datetime | None = None) -> None:
        super().__init__(message)
        self.source = source
        self.since = since


class Unsure(Unreachable):
    """The answer to a write was lost: it may have been done or not. Asking for the same again is safe.

    `results` are those that are known, in order: what had been answered before.
    """

    def __init__(
        self, message: str, *, source: str, since: datetime | None = None, results: Sequence[object] = ()
    ) -> None:
        super().__init__(message, source=source, since=since)
        self.results = results


class ReadOnly(QueueError):
    """No writing here: by the settings, or because the server takes no writes from us. The text says which."""


class NotFound(QueueError):
    """No such source, queue, job or field."""


class WrongState(QueueError):
    """The job or queue is not in the state that was asked for."""


class Unsupported(QueueError):
    """This backend, or this server, cannot do what was asked for; the text says why."""


class NotPermitted(QueueError):
    """The server forbids a command to our user (ACL, managed Redis)."""


class OutOfMemory(QueueError):
    """The server has no memory left and refuses what needs some."""


class LimitExceeded(QueueError):
    """The request asks for more than one call may read or write; the text names the limit."""


class BadInput(QueueError):
    """A value given by the user cannot be used; the text says what was expected."""
