"""Whether the server lets us write to a queue: asked before scripts write, for none may be refused half-way."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from redis.exceptions import ResponseError

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.faults import refused
from queues.backends.bullmq.keys import META, key
from queues.backends.bullmq.replies import array, blob
from queues.backends.bullmq.scripts import script
from queues.errors import NotPermitted, QueueError, ReadOnly
from queues.types import QueueRef

VALID_S = 60.0  # rights change seldom
MOST = 1_000  # queues to remember


def refusal(connection: Connection, queue: QueueRef) -> str:
    """Why our user may not write to this queue; "" when it may. One call that changes nothing."""
    call = script("actions/read_only").call([key(queue, META)])
    try:
        [reply] = connection.run([call], reading=True)
    except (NotPermitted, ReadOnly) as error:
        return _told(error)
    if reply is None:
        return ""
    command, said = (blob(part) or b"" for part in array(reply, 2))
    found = ResponseError(said.decode("utf-8", errors="replace"))
    return _told(refused(found, (command.decode("ascii"),), source=connection.source, address=connection.address))


def _told(error: QueueError) -> str:
    """A right that our user lacks is said as what follows from it."""
    if not isinstance(error, NotPermitted):
        return str(error)
    said = _("Nothing can be changed here: %(reason)s Whoever runs that server can give it the right to write.")
    return said % {"reason": error}


@dataclass(slots=True)
class Rights:
    """Remembers for a minute to which queues we may write."""

    connection: Connection
    _until: dict[QueueRef, float] = field(default_factory=dict)

    def ensure(self, queue: QueueRef) -> None:
        """ReadOnly, with the reason, where our user may not write to this queue. Mostly without asking the server."""
        now = time.monotonic()
        if self._until.get(queue, 0) > now:
            return
        if why := refusal(self.connection, queue):
            raise ReadOnly(why)
        if len(self._until) >= MOST:
            self._until.clear()
        self._until[queue] = now + VALID_S
