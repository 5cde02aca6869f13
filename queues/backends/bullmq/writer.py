"""How our scripts that write are sent: never twice, in batches that hold the server shortly, timed by its clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from redis.exceptions import ResponseError

from queues.actions import BATCH, Outcome, Result, Target
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.faults import refused
from queues.backends.bullmq.keys import META, key
from queues.backends.bullmq.pace import Pace
from queues.backends.bullmq.replies import Command, Part, Reply, array, blob, integer, strange
from queues.backends.bullmq.rights import Rights
from queues.backends.bullmq.scripts import script, with_text
from queues.errors import LimitExceeded, QueueError, Unsure
from queues.types import QueueRef, State

# What scripts call a state, and what we do.
STATES = {state.value: state for state in State}


@dataclass(slots=True)
class Writer:
    """Sends scripts to one server. `connection` must be one that sends nothing twice (`once`)."""

    connection: Connection
    rights: Rights = field(init=False)
    _paces: dict[str, Pace] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _known: set[str] = field(default_factory=set)  # digests of scripts that the server has been told

    def __post_init__(self) -> None:
        self.rights = Rights(self.connection)

    def batch(
        self,
        name: str,
        queue: QueueRef,
        targets: Sequence[Target],
        *arguments: Part,
        read: Callable[[Target, Reply], Result] | None = None,
    ) -> list[Result]:
        """Call `lua/actions/<name>.lua` for all targets, in as many scripts as they take; a result for each.

        The script gets the queue's meta key, the arguments, then id and `seen` of each target, and gives back for each
        an array that `read` understands: the outcome and one detail, where nothing else is said. It may answer for the
        first of them only, where these were enough for one script. When the server is lost on the way, the error is
        `Unsure`, with the results so far.
        """
        if len(targets) > BATCH:
            raise LimitExceeded(_("This can be done to at most %(most)d jobs at once.") % {"most": BATCH})
        read, pace = read or result, self.pace(name)
        results: list[Result] = []
        at = 0
        while at < len(targets):
            part = targets[at : at + pace.size]
            flat = [piece for target in part for piece in (target.id, target.seen)]
            try:
                reply, ms = self.timed(name, queue, *arguments, *flat)
            except Unsure as error:
                raise Unsure(str(error), source=error.source, results=results) from error
            except QueueError as error:
                if not results:
                    raise
                raise Unsure(str(error), source=self.connection.source, results=results) from error
            answered = answers(reply, most=len(part))
            pace.took(len(answered), ms)
            results += [read(target, told) for target, told in zip(part, answered, strict=False)]
            at += len(answered)
        return results

    def timed(self, name: str, queue: QueueRef, *arguments: Part) -> tuple[Reply, float]:
        """One call of `lua/actions/<name>.lua`: its reply, and how many ms it held the server, by its own clock.

        ReadOnly before anything is sent, where the server would refuse it half-way.
        """
        self.rights.ensure(queue)
        wanted = script(f"actions/{name}")
        call = wanted.call([key(queue, META)], *arguments)
        if wanted.digest not in self._known:  # its text, so that it is timed: a server that lacks it is asked again
            call = with_text(call)
            self._known.add(wanted.digest)
        began = time.monotonic()
        # One at a time: the server does them one after another anyhow, and so lets others in between.
        with self._turn:
            before, reply, after = self.connection.run([("TIME",), call, ("TIME",)], tolerant=True)
        if isinstance(before, ResponseError) or isinstance(after, ResponseError):  # users may be forbidden to ask
            return self._told(call, reply), (time.monotonic() - began) * 1000
        return self._told(call, reply), _ms(after) - _ms(before)

    def asked(self, name: str, queue: QueueRef, *arguments: Part) -> Reply:
        """One call of a script that only reads: it may be sent again, and needs no right to write."""
        call = script(f"actions/{name}").call([key(queue, META)], *arguments)
        return self._told(call, self.connection.run([call], reading=True)[0])

    def _told(self, call: Command, reply: Reply) -> Reply:
        if isinstance(reply, ResponseError):
            raise refused(reply, call, source=self.connection.source, address=self.connection.address)
        return reply

    def pace(self, name: str) -> Pace:
        """How many jobs a step of this script takes."""
        return self._paces.setdefault(name, Pace())


def answers(reply: Reply, *, most: int) -> list[Reply]:
    """What a script said of its targets, or of the first of them."""
    told = array(reply)
    if not 1 <= len(told) <= most:
        raise strange()
    return told


def result(target: Target, told: Reply) -> Result:
    """An outcome and one detail: a state, the lock's remaining ms, or the id that was made."""
    outcome, detail, *_rest = array(told)
    kind = Outcome((blob(outcome) or b"").decode())
    text = (blob(detail) or b"").decode("ascii", errors="replace")
    return Result(
        target.id,
        kind,
        state=STATES.get(text),
        lock_ms=integer(detail) if kind is Outcome.LOCKED else None,
    )


def _ms(time: Reply) -> float:
    seconds, micros = array(time, 2)
    return (integer(seconds) or 0) * 1000 + (integer(micros) or 0) / 1000
