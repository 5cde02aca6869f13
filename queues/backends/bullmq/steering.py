"""How a queue is let run: paused, limited, its deduplication; and what cannot be done to it."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _

from queues.actions import Action, Outcome, Result, Step
from queues.backends.bullmq.counts import major
from queues.backends.bullmq.replies import Reply, array, blob, integer
from queues.backends.bullmq.rights import refusal
from queues.backends.bullmq.writer import STATES, Writer
from queues.errors import BadInput, NotPermitted
from queues.text import text
from queues.types import QueueRef

MERGED = 5_000  # ids that one script moves between `wait` and `paused`
MOST_JOBS = 1_000_000_000
LONGEST_MS = 366 * 24 * 3_600_000
ON_4 = frozenset({Action.RETRY, Action.PROMOTE, Action.REMOVE})
KNOWN_MAJOR = 6


def unable(writer: Writer, queue: QueueRef) -> Mapping[Action, str]:
    try:
        four, version, *strange = array(writer.asked("unable", queue))
    except NotPermitted as error:  # no scripts for our user: no action either
        return dict.fromkeys(Action, str(error))
    named = text(blob(version) or b"", cap=100).value
    if strange:
        return dict.fromkeys(Action, _strange(strange))
    if (major(named) or 0) > KNOWN_MAJOR:
        told = _("%(version)s works on this queue, which is newer than what can be written here without danger.")
        return dict.fromkeys(Action, told % {"version": named})
    return {action: on_4() for action in Action if action not in ON_4} if four else {}


def on_4() -> str:
    return _("BullMQ 4 works on this queue: only retrying, promoting and removing is possible there.")


def read_only(writer: Writer, queue: QueueRef) -> str:
    return refusal(writer.connection, queue)


def release_deduplication(writer: Writer, queue: QueueRef, deduplication_id: bytes) -> Result:
    """Workers keep ids of jobs that end; what they could not keep, and ids with a time to live, are released here."""
    reply, _ms = writer.timed("release_deduplication", queue, deduplication_id)
    word, holder, state, waiting = array(reply, 4)
    outcome, kind = _outcome(word), STATES.get(_word(state))
    why = on_4() if outcome is Outcome.UNSUPPORTED else ""
    if outcome is Outcome.WRONG_STATE:
        why = _("The job that holds it has not ended.")
    if outcome is Outcome.DONE and integer(waiting):
        why = _("The job that was to follow its holder is kept: it runs after the next job of this id has ended.")
    return Result(blob(holder) or b"", outcome, state=kind, why=why)


def pause(writer: Writer, queue: QueueRef) -> Step:
    return _step(writer.timed("pause", queue, MERGED)[0])


def resume(writer: Writer, queue: QueueRef) -> Step:
    """Where one of both lists has at most `MERGED` jobs, one script does it all, and nothing can come between.

    Else a resume by 5.x between two steps destroys what is still in `wait`, as it would have without us; each step
    makes that less.
    """
    return _step(writer.timed("resume", queue, MERGED)[0])


def concurrency(writer: Writer, queue: QueueRef, most: int | None) -> Result:
    if most is not None and not 1 <= most <= MOST_JOBS:
        raise BadInput(_("How many jobs may be active at once is a whole number from 1 on."))
    return _result(writer.timed("concurrency", queue, "" if most is None else most)[0])


def rate_limit(writer: Writer, queue: QueueRef, most: int | None, duration_ms: int) -> Result:
    if most is None:
        return _result(writer.timed("rate_limit", queue, "", "")[0])
    if not 1 <= most <= MOST_JOBS:
        raise BadInput(_("How many jobs may start is a whole number from 1 on."))
    if not 1 <= duration_ms <= LONGEST_MS:
        raise BadInput(_("The span of a rate limit is from 1 ms to 366 days."))
    return _result(writer.timed("rate_limit", queue, most, duration_ms)[0])


def release_limit(writer: Writer, queue: QueueRef) -> Result:
    """Workers that were told of the limit sleep on until it would have ended, but for 30 s at most by default."""
    return _result(writer.timed("release_limit", queue)[0])


def _step(reply: Reply) -> Step:
    word = blob(reply) or b""
    if word == b"more":
        return Step(0, cursor="more")
    result = _result(reply)
    if result.outcome is Outcome.DONE:
        return Step(1)
    return Step(0, kept={result.outcome: 1}, exceptions=(result,) if result.why else ())


def _result(reply: Reply) -> Result:
    outcome = _outcome(reply)
    return Result(b"", outcome, why=on_4() if outcome is Outcome.UNSUPPORTED else "")


def _outcome(reply: Reply) -> Outcome:
    return Outcome(_word(reply))


def _word(reply: Reply) -> str:
    return (blob(reply) or b"").decode("ascii")


def _strange(found: list[Reply]) -> str:
    name, kind = (_word(part) for part in found[:2])
    told = _("The key “%(key)s” of this queue is of the type “%(type)s”, which BullMQ does not make.")
    return told % {"key": name, "type": kind}
