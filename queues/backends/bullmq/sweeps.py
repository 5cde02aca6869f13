"""Removing without a list of jobs, step by step: all that wait, a state by age, a whole queue, old events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from queues.actions import CLOCKS, Clock, Outcome, Result, Step
from queues.backends.bullmq.cursoring import pack, unpack
from queues.backends.bullmq.keys import LISTS, ZSETS, key
from queues.backends.bullmq.replies import Part, Reply, array, blob, count, integer
from queues.backends.bullmq.writer import STATES, Writer
from queues.errors import BadInput, Unsupported, WrongState
from queues.types import QueueRef, State

_BOUNDS = 4  # marks of a drain: the heads of both lists, what is not reached in the second look at each
TRIMMED = 10_000  # events that one step drops at most
_LISTED = LISTS[State.WAITING][::-1]  # `paused` before `wait`: a resume puts the one where the other is looked at later


def drain(writer: Writer, queue: QueueRef, *, delayed: bool, until_ms: int, cursor: str) -> Step:
    """A step of `Actions.drain`: both lists from the tail up to what stood at their heads at first, the prioritized,
    the delayed where asked for, then both lists again for what a pause or resume has moved meanwhile.

    Jobs that were made since `until_ms` stay, at whichever end they were added. A parent that was waiting for a job
    that goes is told and goes on: it then waits itself, and if it does so here when its turn comes, it goes too.
    """
    phases: list[bytes] = [*_LISTED, ZSETS[State.PRIORITIZED]]
    phases += [ZSETS[State.DELAYED]] if delayed else []
    phases += _LISTED
    second = len(phases) - len(_LISTED)
    at, number, marks = unpack(cursor) if cursor else (0, 0, [*_heads(writer, queue), b"", b""])
    if at >= len(phases) or len(marks) not in (_BOUNDS, _BOUNDS + 2):
        raise BadInput(_("This is not where one of our walks has stopped."))
    bounds, behind = list(marks[:_BOUNDS]), marks[_BOUNDS:]
    if phases[at] in _LISTED:
        walk = _ListWalk(writer, queue, phases[at], until_ms, drain=True, bounds=bounds)
        step, number, above = walk.step(number, again=at >= second)
        ended = above is not None
        if at < second:
            bounds[len(_LISTED) + at] = above or b""
        behind = ()
    else:
        step, behind, ended = _over_set(writer, queue, phases[at], Clock.CREATED, until_ms, drain=True, behind=behind)
    if at >= second:  # these have been counted
        step = replace(step, kept={}, exceptions=())
    following = pack(at + 1, 0, *bounds) if ended else pack(at, number, *bounds, *behind)
    return replace(step, cursor=None if ended and at + 1 == len(phases) else following)


def clean(writer: Writer, queue: QueueRef, state: State, *, clock: Clock, before_ms: int, cursor: str) -> Step:
    """A step of `Actions.clean`. Jobs without a hash go by the clock of the set they are in; those of which no age is
    known are kept and counted, as gone or unsupported."""
    if clock not in CLOCKS.get(state, ()):
        raise BadInput(_("The age of these jobs is not counted so."))
    at, number, behind = unpack(cursor) if cursor else (0, 0, ())
    if state in ZSETS:
        step, behind, ended = _over_set(writer, queue, ZSETS[state], clock, before_ms, drain=False, behind=behind)
        return replace(step, cursor=None if ended else pack(0, 0, *behind))
    lists = _LISTED if state is State.WAITING else LISTS[state]
    if at >= len(lists):
        raise BadInput(_("This is not where one of our walks has stopped."))
    step, number, above = _ListWalk(writer, queue, lists[at], before_ms, drain=False).step(number, again=False)
    ended = above is not None
    following = pack(at + 1, 0) if ended else pack(at, number)
    return replace(step, cursor=None if ended and at + 1 == len(lists) else following)


def obliterate(writer: Writer, queue: QueueRef, *, force: bool, cursor: str) -> Step:
    """A step of `Actions.obliterate`. With `force`, active jobs go under their workers' hands, as BullMQ has it.

    All keys that its jobs and the queue itself name are gone then. What nothing names stays: hashes of jobs that were
    in no collection and deduplication keys of jobs that were gone before. Children in other queues stay and run;
    parents there go on where the last child they waited for is gone.
    """
    pace = writer.pace("obliterate")
    reply, ms = writer.timed("obliterate", queue, int(force), pace.size)
    done, told = array(_supported(reply), 2)
    pace.took(count(done), ms)
    if told == b"open":
        raise WrongState(_("The queue is not paused. Pause it first, so that no worker takes a job meanwhile."))
    if told == b"active":
        raise WrongState(_("Jobs of this queue are active. Wait for them, or go on in spite of them."))
    return Step(count(done), cursor=None if told == b"ended" else pack(0, 0))


def trim_events(writer: Writer, queue: QueueRef, *, keep: int) -> Step:
    """A step of `Actions.trim_events`: whole nodes of 100 entries or so, at most 10,000 entries."""
    if keep < 0:
        raise BadInput(_("Keep 0 events or more."))
    reply, _ms = writer.timed("trim_events", queue, keep, TRIMMED)
    done = count(_supported(reply))
    return Step(done, cursor=pack(0, 0) if done else None)


def _heads(writer: Writer, queue: QueueRef) -> list[bytes]:
    """What stands at the head of both lists: nothing that is added there later belongs to what is drained."""
    commands = [("LINDEX", key(queue, name), 0) for name in _LISTED]
    replies = writer.connection.run(commands, reading=True)
    return [blob(reply) or b"" for reply in replies]


@dataclass(frozen=True, slots=True)
class _ListWalk:
    """A walk over a list; `bounds` = the heads of both lists at first, then what is not reached in a second look."""

    writer: Writer
    queue: QueueRef
    name: bytes
    before_ms: int
    drain: bool
    bounds: Sequence[bytes] = ()

    def step(self, left: int, *, again: bool) -> tuple[Step, int, bytes | None]:
        """What went, how many are left at the tail, and at the end what a second look does not reach (else None)."""
        pace = self.writer.pace("sweep_list")
        how: list[Part] = [self.name, self.before_ms, int(self.drain), pace.size, left, int(again), *self.bounds]
        reply, ms = self.writer.timed("sweep_list", self.queue, *how)
        done, looked, kept, examples, now_left, ended, above = array(_supported(reply), 7)
        pace.took(count(looked), ms)
        return _step(done, kept, examples), count(now_left), (blob(above) or b"") if ended == 1 else None


def _over_set(
    writer: Writer,
    queue: QueueRef,
    name: bytes,
    clock: Clock,
    before_ms: int,
    *,
    drain: bool,
    behind: Sequence[bytes],
) -> tuple[Step, Sequence[bytes], bool]:
    """What went, behind which entry (score, id) the next step goes on, whether that was all."""
    pace = writer.pace("sweep_set")
    score, job_id = behind or (b"", b"")
    reply, ms = writer.timed("sweep_set", queue, name, clock.value, before_ms, int(drain), pace.size, score, job_id)
    done, looked, kept, examples, score_now, id_now, ended = array(_supported(reply), 7)
    pace.took(count(looked), ms)
    return _step(done, kept, examples), (blob(score_now) or b"", blob(id_now) or b""), ended == 1


def _step(done: Reply, kept: Reply, examples: Reply) -> Step:
    flat = array(kept)
    counts = {Outcome((blob(why) or b"").decode()): count(n) for why, n in zip(flat[::2], flat[1::2], strict=True)}
    return Step(count(done), counts, [_kept(array(one, 3)) for one in array(examples)])


def _kept(told: Sequence[Reply]) -> Result:
    job_id, why, detail = told
    kind = Outcome((blob(why) or b"").decode())
    state = STATES.get((blob(detail) or b"").decode("ascii", errors="replace"))
    lock_ms = integer(detail) if kind is Outcome.LOCKED else None
    return Result(blob(job_id) or b"", kind, state=state, lock_ms=lock_ms, why=_reason(kind))


def _reason(kind: Outcome) -> str:
    return _("When it was made cannot be read.") if kind is Outcome.UNSUPPORTED else ""


def _supported(reply: Reply) -> Reply:
    if reply == b"unsupported":
        raise Unsupported(_("BullMQ 4 works on this queue: here jobs can be removed singly only."))
    return reply
