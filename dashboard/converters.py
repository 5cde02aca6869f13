"""Path segments that name sources, queues and jobs by their exact bytes (see `queues.names`)."""

from __future__ import annotations

from queues.names import decode_part, encode_part
from queues.types import QueueRef


class SourceConverter:
    regex = "[a-z0-9][a-z0-9_-]*"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class QueueConverter:
    """A queue's slug. Only the canonical form matches, so that a queue has one address."""

    regex = "[A-Za-z0-9._@:~-]+"

    def to_python(self, value: str) -> str:
        QueueRef.from_slug("", value)
        return value

    def to_url(self, value: str) -> str:
        return value


class JobConverter:
    """A job id, or the name of one of its fields, as exact bytes."""

    regex = "[A-Za-z0-9._@:~-]+"

    def to_python(self, value: str) -> bytes:
        return decode_part(value, colon=True)

    def to_url(self, value: bytes | str) -> str:
        return value if isinstance(value, str) else encode_part(value, colon=True)


class GroupConverter:
    """The slug of a group of failures: hex digits, which no other word of an address below `failures/` is made of."""

    regex = "[0-9a-f]{4,20}(?:-[0-9]{1,6})?"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
