"""Scripts for jobs in lists that are too long to be looked through: reads find the jobs, and hints tell where.

What has moved since then is looked for again, a few times; then a script looks through the list itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from queues.actions import Result, Target
from queues.backends.bullmq import places
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.replies import Part, Reply, array, blobs
from queues.backends.bullmq.writer import Writer, answers
from queues.errors import QueueError, Unsure
from queues.types import QueueRef

LONG = 5_000  # entries of lists that a script looks through for each job; those of longer ones are found beforehand
AT_ONCE = 150  # jobs of a long list in one script: one pass takes them all out, so few of them would not be quicker
ROUNDS = 4  # how often jobs are looked for whose place has moved; then a script looks through the list
AGAIN, LOOK = b"again", b"look"  # what a script says of those that have to be looked for
NOWHERE, NOT_SOUGHT = b"-", b"?"  # what it is told of their places
BLIND: Sequence[Part] = (-1,)  # in place of hints: the script is to look itself


@dataclass
class Hinted:
    """The script `name` for jobs of one queue, called for as many at a time as their lists permit.

    It gets `arguments`, then of each job its id, `seen` and hint. `read` gives what came of one; None where something
    else has to be done about it first, for which its number is kept `aside`.
    """

    writer: Writer
    queue: QueueRef
    name: str
    arguments: Sequence[Part]
    targets: Sequence[Target]
    read: Callable[[Target, Reply], Result | None]
    answers: dict[int, Result] = field(default_factory=dict)  # by the number of the target
    aside: list[int] = field(default_factory=list)

    @property
    def results(self) -> list[Result]:
        """What is known of the targets in their order, up to the first of which nothing is."""
        numbers = takewhile(self.answers.__contains__, range(len(self.targets)))
        return [self.answers[number] for number in numbers]

    def ask(self, *, sought: bool) -> None:
        """Act on all. `sought` = they are in a list if anywhere; else those are told first that are in none.

        Raises `Unsure` with the results so far, as `Writer.batch` does.
        """
        everyone = range(len(self.targets))
        if places.waiting(self.writer.connection, self.queue) <= LONG:
            self._some(everyone, {}, b"")
            return
        left: Sequence[int] = everyone if sought else self._some(everyone, {}, NOT_SOUGHT)
        for _round in range(ROUNDS):
            if left:
                ids = {number: self.targets[number].id for number in left}
                found = places.locate(self.writer.connection, self.queue, {*ids.values()})
                # Those farthest from the tail first: what goes before them would move the others' places.
                ordered = sorted(left, key=lambda number: places.distance(found.get(ids[number])), reverse=True)
                left = self._some(ordered, found, NOWHERE)
        if left:
            self._some(left, {}, b"")

    def plainly(self) -> None:
        """Act on all, which are in no list."""
        self._some(range(len(self.targets)), {}, b"")

    def _some(self, numbers: Sequence[int], hints: Mapping[bytes, bytes], otherwise: bytes) -> list[int]:
        """Act on these; `hints` = where each is in a list, `otherwise` = what is said of those without.

        Gives back the numbers of those that have to be looked for (again).
        """
        quick, pace, again, at = bool(hints or otherwise), self.writer.pace(self.name), list[int](), 0
        while at < len(numbers):
            part = numbers[at : at + (AT_ONCE if quick else pace.size)]
            targets = [self.targets[number] for number in part]
            flat = [piece for one in targets for piece in (one.id, one.seen, hints.get(one.id, otherwise))]
            reply, ms = self._send(flat)
            told = answers(reply, most=len(part))
            if not quick:
                pace.took(len(told), ms)
            for number, one, said in zip(part, targets, told, strict=False):
                if array(said)[0] == AGAIN:
                    again.append(number)
                elif (known := self.read(one, said)) is None:
                    self.aside.append(number)
                else:
                    self.answers[number] = known
            at += len(told)
        return again

    def _send(self, flat: Sequence[bytes]) -> tuple[Reply, float]:
        try:
            return self.writer.timed(self.name, self.queue, *self.arguments, *flat)
        except QueueError as error:
            if not self.answers:
                raise
            raise self.partly(error) from error

    def partly(self, error: QueueError) -> Unsure:
        """The same error, with what is known."""
        return Unsure(str(error), source=self.writer.connection.source, results=self.results)


def looked_for(connection: Connection, source: str, sought: Reply) -> dict[bytes, bytes]:
    """Hints, by the jobs' keys, for those that a script wants to have found: their prefixes and ids in turn."""
    flat, ids = blobs(sought), defaultdict[bytes, set[bytes]](set)
    for prefix, job_id in zip(flat[::2], flat[1::2], strict=True):
        ids[prefix].add(job_id)
    hints: dict[bytes, bytes] = {}
    for start, wanted in ids.items():
        prefix, _colon, name = start.removesuffix(b":").rpartition(b":")
        found = places.locate(connection, QueueRef(source, prefix, name), wanted)
        hints |= {start + one: found.get(one, NOWHERE) for one in wanted}
    return hints


def as_arguments(hints: Mapping[bytes, bytes]) -> Sequence[Part]:
    """Hints as scripts that remove trees take them."""
    return [len(hints), *(piece for pair in hints.items() for piece in pair)]
