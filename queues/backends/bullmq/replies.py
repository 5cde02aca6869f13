"""What the server says, in the few shapes there are, and what of it can be used.

What users can put into a key never fails here; what only a stranger to the protocol would say is `Unsupported`.
"""

from __future__ import annotations

import math
from typing import TypeAlias, Union

from django.utils.translation import gettext as _
from redis.exceptions import ResponseError

from queues.errors import Unsupported
from queues.quantities import LAST_MS

Part: TypeAlias = bytes | str | int | float
Command: TypeAlias = tuple[Part, ...]
Reply: TypeAlias = Union[bytes, int, ResponseError, "list[Reply]", None]

_LONGEST_NUMBER = 24  # characters


def strange() -> Unsupported:
    """The error for a reply that no Redis gives to what was asked."""
    return Unsupported(_("What answers there does not speak like Redis."))


def array(reply: Reply, length: int | None = None) -> list[Reply]:
    """The members of an array (of this length) that Redis never fails to give. Unsupported for anything else."""
    if not isinstance(reply, list) or (length is not None and len(reply) != length):
        raise strange()
    return reply


def size(reply: Reply) -> int:
    """A number of things; none where the server refused to count. Unsupported for anything else."""
    if isinstance(reply, int):
        return reply
    if isinstance(reply, ResponseError):
        return 0
    raise strange()


def items(reply: Reply) -> list[Reply]:
    """The members of an array; none where the reply is something else."""
    return reply if isinstance(reply, list) else []


def blobs(reply: Reply) -> list[bytes]:
    """The strings of an array."""
    return [item for item in items(reply) if isinstance(item, bytes)]


def blob(reply: Reply) -> bytes | None:
    return reply if isinstance(reply, bytes) else None


def integer(reply: Reply) -> int | None:
    """A whole number, as the server's own or written in a string the way Lua and JavaScript write them."""
    if isinstance(reply, int):
        return reply
    if not isinstance(reply, bytes) or len(reply) > _LONGEST_NUMBER:
        return None
    try:
        return int(reply) if reply.lstrip(b"-").isdigit() else _whole(float(reply))
    except ValueError:
        return None


def moment(reply: Reply) -> int | None:
    """Milliseconds since 1970 that a calendar can show; None for anything else."""
    value = integer(reply)
    return value if value is not None and 0 <= value <= LAST_MS else None


def count(reply: Reply) -> int:
    """A number of things; none where the reply is something else."""
    return reply if isinstance(reply, int) else 0


def _whole(value: float) -> int | None:
    return int(value) if math.isfinite(value) and value == int(value) else None
