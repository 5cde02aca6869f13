"""Jobs that go, and what hangs on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from django.utils.translation import gettext as _

from queues.actions import BATCH, BELOW, Outcome, Result, Target
from queues.backends.bullmq import places
from queues.backends.bullmq.replies import Reply, array, blob, integer
from queues.backends.bullmq.writer import STATES, Writer, answers, result
from queues.errors import LimitExceeded, QueueError, Unsure
from queues.text import text
from queues.types import JobRef, QueueRef, State

LONG = 5_000  # entries of lists that a script looks through for each job; those of longer ones are found beforehand
AT_ONCE = 150  # jobs of a long list in one script: one pass takes them all out, so few of them would not be quicker
ROUNDS = 4  # how often jobs are looked for whose place has moved; then a script looks through the list
AGAIN, TREE = b"again", b"tree"  # what the script says of those for which something else has to be done
NOWHERE, NOT_SOUGHT = b"-", b"?"  # what it is told of their places
_IN_LISTS = (None, State.WAITING)
_WALK, _CHILDREN = b"0", 100


def remove(
    writer: Writer, queue: QueueRef, targets: Sequence[Target], *, state: State | None, children: bool
) -> list[Result]:
    """See `queues.backend.Actions.remove`.

    What stands in lists of 5,000 and more is looked for beforehand by plain reads, 10,000 entries each; 150 jobs
    then cost one pass over the list, from its nearer end (about 8 ms in the middle of a million). A tree is one script,
    since it goes whole or not at all: with jobs that wait among a million others it holds the server for up to 0.2 s.
    """
    if len(targets) > BATCH:
        raise LimitExceeded(_("At most %(limit)d jobs can be removed at once.") % {"limit": BATCH})
    removal = _Removal(writer, queue, targets, state.value if state else "", children=children)
    if state in _IN_LISTS and places.waiting(writer.connection, queue) > LONG:
        _from_long_lists(removal, sought=state is not None)
    else:
        removal.ask(range(len(targets)), {}, b"")
    removal.take_trees()
    return removal.results


def remove_children(writer: Writer, job: JobRef) -> Result:
    """See `queues.backend.Actions.remove_children`. A script for every 100 children or so."""
    walk, went, dead, stays = _WALK, 0, 0, b""
    while True:
        reply, _ms = writer.timed("remove_children", job.queue, job.id, walk, _CHILDREN)
        if isinstance(reply, bytes):
            why = _("BullMQ 4 cannot do this.") if reply == b"unsupported" else ""
            return Result(job.id, Outcome(reply.decode()), why=why)
        at, some, gone, kept = array(reply, 4)
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


class _Removal:
    """The script for jobs of one queue, called for as many at a time as their lists permit."""

    def __init__(
        self, writer: Writer, queue: QueueRef, targets: Sequence[Target], wanted: str, *, children: bool
    ) -> None:
        self.writer, self.queue, self.targets, self.wanted, self.children = writer, queue, targets, wanted, children
        self.answers: dict[int, Result] = {}  # by the number of the target
        self.trees: list[int] = []  # those with something below them

    @property
    def results(self) -> list[Result]:
        """What is known of the targets in their order, up to the first of which nothing is."""
        numbers = takewhile(self.answers.__contains__, range(len(self.targets)))
        return [self.answers[number] for number in numbers]

    def ask(self, numbers: Sequence[int], hints: Mapping[bytes, bytes], otherwise: bytes) -> list[int]:
        """Removes these; `hints` = where each is in a list, `otherwise` = what is said of those without.

        Gives back the numbers of those that have to be looked for (again).
        """
        quick, pace, again, at = bool(hints or otherwise), self.writer.pace("remove"), list[int](), 0
        while at < len(numbers):
            part = numbers[at : at + (AT_ONCE if quick else pace.size)]
            targets = [self.targets[number] for number in part]
            flat = [piece for one in targets for piece in (one.id, one.seen, hints.get(one.id, otherwise))]
            reply, ms = self._send(flat)
            answered = answers(reply, most=len(part))
            if not quick:
                pace.took(len(answered), ms)
            for number, one, told in zip(part, targets, answered, strict=False):
                if (said := array(told)[0]) in (AGAIN, TREE):
                    (again if said == AGAIN else self.trees).append(number)
                else:
                    self.answers[number] = result(one, told)
            at += len(answered)
        return again

    def _send(self, flat: Sequence[bytes]) -> tuple[Reply, float]:
        try:
            return self.writer.timed("remove", self.queue, self.wanted, int(self.children), *flat)
        except QueueError as error:
            if not self.answers:
                raise
            raise self._partly(error) from error

    def _partly(self, error: QueueError) -> Unsure:
        return Unsure(str(error), source=self.writer.connection.source, results=self.results)

    def take_trees(self) -> None:
        """Removes what has something below it."""
        targets = [self.targets[number] for number in self.trees]
        try:
            told = self.writer.batch("remove_tree", self.queue, targets, self.wanted, read=_tree_result)
        except QueueError as error:
            known = [one for one in getattr(error, "results", ()) if isinstance(one, Result)]
            self.answers |= dict(zip(self.trees, known, strict=False))
            if not self.answers:
                raise
            raise self._partly(error) from error
        self.answers |= dict(zip(self.trees, told, strict=True))


def _from_long_lists(removal: _Removal, *, sought: bool) -> None:
    """The same where a look through the lists for each job would hold the server for long.

    `sought` = they are in a list if anywhere; else those are told first that are in none.
    """
    left: Sequence[int] = range(len(removal.targets))
    if not sought:
        left = removal.ask(left, {}, NOT_SOUGHT)
    for _round in range(ROUNDS):
        if left:
            ids = {number: removal.targets[number].id for number in left}
            found = places.locate(removal.writer.connection, removal.queue, {*ids.values()})
            # Those farthest from the tail first: what goes before them would move the others' places.
            ordered = sorted(left, key=lambda number: places.distance(found.get(ids[number])), reverse=True)
            left = removal.ask(ordered, found, NOWHERE)
    if left:
        removal.ask(left, {}, b"")


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
