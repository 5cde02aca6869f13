"""What is read about jobs that are to be sent, or were: what stands in the way, and how they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from queues.actions import NewJob, Outcome, Target
from queues.backends.bullmq import newjobs
from queues.backends.bullmq.replays import conflict_of, ensure_few, shown, state_shown
from queues.backends.bullmq.replies import Part, Reply, array, blob, blobs, integer, moment
from queues.backends.bullmq.thrown import score_ms
from queues.backends.bullmq.writer import Writer, answers
from queues.errors import BadInput
from queues.quantities import LARGEST
from queues.sendings import Conflict, Fate, Looked, Standing
from queues.types import QueueRef, State

_FATES: Mapping[bytes, Fate] = {
    b"completed": Fate.COMPLETED,
    b"failed": Fate.FAILED,
    b"active": Fate.RUNNING,
    b"waiting-children": Fate.RUNNING,  # a worker has begun it and put it there
    b"waiting": Fate.WAITING,
    b"prioritized": Fate.WAITING,
    b"delayed": Fate.WAITING,
    b"gone": Fate.GONE,
}


def look(writer: Writer, queue: QueueRef, targets: Sequence[Target], *, state: State) -> list[Looked]:
    """See `queues.sendings.Replays.look`. Some 10 µs of the server for each, in scripts of 8 ms."""
    ensure_few(targets)
    rows = [(target.id, target.seen) for target in targets]
    told = _asked(writer, "look", queue, (state.value,), rows)
    ended = state in (State.FAILED, State.COMPLETED)
    return [_looked(target.id, answer, ended=ended) for target, answer in zip(targets, told, strict=True)]


def look_copies(writer: Writer, queue: QueueRef, copies: Sequence[NewJob]) -> list[Looked]:
    """See `queues.sendings.Replays.look_copies`. Data is not looked at; options that BullMQ refuses are REFUSED."""
    ensure_few(copies)
    found: dict[int, Looked] = {}
    rows: dict[int, Sequence[Part]] = {}
    for number, job in enumerate(copies):
        try:
            asked = newjobs.checked(replace(job, data=b"null"))
            rows[number] = (asked.id, asked.deduplication)
        except BadInput as error:
            found[number] = Looked(job.id, Conflict.REFUSED, str(error))
    told = _asked(writer, "look_copies", queue, (), list(rows.values()))
    for number, answer in zip(rows, told, strict=True):
        found[number] = _in_the_way(copies[number].id, answer)
    return [found[number] for number in range(len(copies))]


def standings(writer: Writer, queue: QueueRef, ids: Sequence[bytes]) -> list[Standing]:
    """See `queues.sendings.Replays.standings`. Some 5 µs of the server for each, and 2 ms for lists of 10,000."""
    ensure_few(ids)
    told = _asked(writer, "standings", queue, (), [(one,) for one in ids])
    return [_standing(answer) for answer in told]


def _asked(
    writer: Writer, name: str, queue: QueueRef, arguments: Sequence[Part], rows: Sequence[Sequence[Part]]
) -> list[list[Reply]]:
    """What a script that reads says of each row, in as many calls as it takes."""
    told: list[list[Reply]] = []
    while len(told) < len(rows):
        part = rows[len(told) :]
        flat = [piece for row in part for piece in row]
        told += map(array, answers(writer.asked(name, queue, *arguments, *flat), most=len(part)))
    return told


def _looked(job: bytes, answer: Sequence[Reply], *, ended: bool) -> Looked:
    word, where, code, named, name, created, score, made, most = blobs(list(answer))
    conflict = conflict_of(Outcome(word.decode("ascii")), code) if word else Conflict.NONE
    return Looked(
        job,
        conflict,
        state_shown(where) if conflict is Conflict.LEFT else shown(named),
        name=name,
        created_ms=moment(created),
        failed_ms=score_ms(score) if ended and score else None,
        attempts_made=_number(made),
        attempts_max=_number(most),
    )


def _in_the_way(job: bytes, answer: Sequence[Reply]) -> Looked:
    code, named = blobs(list(answer))
    return Looked(job, conflict_of(Outcome.UNSUPPORTED, code) if code else Conflict.NONE, shown(named))


def _standing(answer: Sequence[Reply]) -> Standing:
    state, score, made, again = answer
    fate = _FATES[blob(state) or b""]
    if again == 1 and fate is Fate.WAITING:
        fate = Fate.RETRYING
    ended = fate in (Fate.COMPLETED, Fate.FAILED)
    return Standing(fate, score_ms(blob(score) or b"0") if ended else None, _number(blob(made) or b""))


def _number(raw: bytes) -> int | None:
    value = integer(raw)
    return value if value is not None and 0 <= value <= LARGEST else None
