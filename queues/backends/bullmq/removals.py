"""Jobs that go, and what hangs on them."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from queues.actions import BATCH, BELOW, Outcome, Result, Target
from queues.backends.bullmq.hinting import BLIND, LOOK, ROUNDS, Hinted, as_arguments, looked_for
from queues.backends.bullmq.replies import Part, Reply, array, blob, integer
from queues.backends.bullmq.writer import STATES, Writer, answers, result
from queues.errors import LimitExceeded, QueueError
from queues.text import text
from queues.types import JobRef, QueueRef, State

TREE = b"tree"  # what the script says of those that have something below them
_IN_LISTS = (None, State.WAITING)
_WALK, _CHILDREN = b"0", 100


def remove(
    writer: Writer, queue: QueueRef, targets: Sequence[Target], *, state: State | None, children: bool
) -> list[Result]:
    """See `queues.backend.Actions.remove`.

    What stands in lists of 5,000 and more is looked for beforehand by plain reads, 10,000 entries each; 150 jobs
    then cost one pass over the list, from its nearer end (about 8 ms in the middle of a million). A tree is one script,
    since it goes whole or not at all.
    """
    if len(targets) > BATCH:
        raise LimitExceeded(_("At most %(limit)d jobs can be removed at once.") % {"limit": BATCH})
    wanted = state.value if state else ""
    removal = Hinted(writer, queue, "remove", (wanted, int(children)), targets, _removed)
    if state in _IN_LISTS:
        removal.ask(sought=state is not None)
    else:
        removal.plainly()
    _take_trees(removal, wanted)
    return removal.results


def remove_children(writer: Writer, job: JobRef) -> Result:
    """See `queues.backend.Actions.remove_children`. A script for every 100 children or so."""
    walk, went, dead, stays, looks = _WALK, 0, 0, b"", 0
    hints: Sequence[Part] = as_arguments({})
    pace = writer.pace("remove_children")
    while True:
        reply, ms = writer.timed("remove_children", job.queue, job.id, walk, min(pace.size, _CHILDREN), *hints)
        if isinstance(reply, bytes):
            why = _("BullMQ 4 cannot do this.") if reply == b"unsupported" else ""
            return Result(job.id, Outcome(reply.decode()), why=why)
        if (told := array(reply))[0] == LOOK:
            looks += 1
            found = looked_for(writer.connection, job.queue.source, told[1])
            hints = BLIND if looks > ROUNDS else as_arguments(found)
            continue
        at, some, gone, kept = array(reply, 4)
        pace.took(max(1, (integer(some) or 0) + (integer(gone) or 0)), ms)
        hints, looks = as_arguments({}), 0
        walk, went, dead = blob(at) or _WALK, went + (integer(some) or 0), dead + (integer(gone) or 0)
        stays = blob(kept) or stays
        if walk == _WALK:
            return _children_result(job, went, dead, stays)


def _children_result(job: JobRef, went: int, dead: int, stays: bytes) -> Result:
    why = ""
    if stays:
        why = _("“%(child)s” stays: it has ended, or a worker holds it or a job below it.") % {"child": _shown(stays)}
    elif not went and not dead:
        why = _("It waits for no children.")
    return Result(job.id, Outcome.DONE if went or dead else Outcome.ALREADY, why=why, removed=went)


def _removed(target: Target, told: Reply) -> Result | None:
    return None if array(told)[0] == TREE else result(target, told)


def _take_trees(removal: Hinted, wanted: str) -> None:
    """Removes what has something below it. Several in one script while they are small."""
    writer, pace = removal.writer, removal.writer.pace("remove_tree")
    hints: Sequence[Part] = as_arguments({})
    looks, at = 0, 0
    while at < len(removal.aside):
        part = removal.aside[at : at + pace.size]
        targets = [removal.targets[number] for number in part]
        flat = [piece for one in targets for piece in (one.id, one.seen)]
        try:
            reply, ms = writer.timed("remove_tree", removal.queue, wanted, *hints, *flat)
            told = answers(reply, most=len(part))
            pace.took(len(told), ms)
            sought = array(told.pop())[1] if array(told[-1])[0] == LOOK else None
            removal.answers |= {
                number: _tree_result(one, said) for number, one, said in zip(part, targets, told, strict=False)
            }
            at, looks = at + len(told), 0 if told else looks
            hints = as_arguments({})
            if sought is not None:
                looks += 1
                found = looked_for(writer.connection, removal.queue.source, sought)
                hints = BLIND if looks > ROUNDS else as_arguments(found)
        except QueueError as error:
            if not removal.answers:
                raise
            raise removal.partly(error) from error


def _tree_result(target: Target, told: Reply) -> Result:
    outcome, detail, went, which = array(told, 4)
    kind, below = Outcome((blob(outcome) or b"").decode()), blob(which) or b""
    return Result(
        target.id,
        kind,
        state=None if below else STATES.get((blob(detail) or b"").decode("ascii", errors="replace")),
        lock_ms=integer(detail) if kind is Outcome.LOCKED else None,
        why=_why(kind, below),
        removed=integer(went) or 0,
    )


def _why(kind: Outcome, below: bytes) -> str:
    if kind is Outcome.UNSUPPORTED:
        return _("More than %(limit)d jobs hang below it: remove some of those first.") % {"limit": BELOW}
    said = {
        Outcome.LOCKED: _("“%(job)s” below it is held by a worker; nothing was removed."),
        Outcome.WRONG_STATE: _("“%(job)s” below it is active without a worker; nothing was removed."),
        Outcome.SCHEDULED: _("“%(job)s” below it is the next run of a scheduler; nothing was removed."),
    }
    return said[kind] % {"job": _shown(below)} if below and kind in said else ""


def _shown(job_key: bytes) -> str:
    return str(text(job_key, size=len(job_key), cap=200))
