"""What failed jobs and letters say of themselves, read for the index: bounded, raw, whatever stands in their hashes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import TypeAlias, cast

from queues.backends.bullmq import fields
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.fields import Field
from queues.backends.bullmq.keys import base, key
from queues.backends.bullmq.replies import Command, Reply, array, blob, integer, strange
from queues.backends.bullmq.scripts import script
from queues.failed import DATA_CAP, NAME_CAP, REASON_CAP, STACK_CAP, FailedJob
from queues.quantities import LARGEST, LAST_MS
from queues.text import decoded
from queues.types import QueueRef

BATCH = 100  # jobs a script
BUDGET = 1024 * 1024  # bytes of fields that a script touches, unless one job alone has more
SMALLEST = -LARGEST - 1
LARGE = 32  # jobs of a page that are read although the budgets of its scripts did not last for them
TURNS = 4  # scripts of a pipeline over such jobs, each of some 10 ms: others are served in between only
_ESCAPE = 6  # bytes of the longest escape in JSON, \uffff

_Row: TypeAlias = tuple[
    bytes | None,
    bytes | None,
    bytes | None,
    int,
    bytes | None,
    int,
    bytes | None,
    bytes | None,
    bytes | None,
    bytes | None,
]
_DATA: Mapping[bytes, int] = {b"data": DATA_CAP}
_LIMITS = (BUDGET, NAME_CAP, REASON_CAP, STACK_CAP)


def read(connection: Connection, queue: QueueRef, ids: Sequence[bytes], *, ranked: bool) -> dict[bytes, FailedJob]:
    """Jobs by their ids, in their order; with `ranked` those that are in the failed set at this moment.

    One script for every 100, in one pipeline. Jobs for which their budgets did not last are asked for again, in
    smaller groups, so that no script holds the server for longer.
    """
    told = _told(connection, queue, ids, ranked=ranked, large=len(ids))
    return {id_: job for id_ in ids if (job := told[id_])}


def beginning(connection: Connection, queue: QueueRef, ids: Sequence[bytes]) -> tuple[dict[bytes, FailedJob], int]:
    """The first of these jobs, as far as they are in the failed set, and how many of the ids that covers.

    All of them, unless they are large: then fewer, so that the server is held for some 300 ms in turns of 40 at most.
    """
    told = _told(connection, queue, ids, ranked=True, large=LARGE)
    number = next((at for at, id_ in enumerate(ids) if id_ not in told), len(ids))
    return {id_: job for id_ in ids[:number] if (job := told[id_])}, number


def _told(
    connection: Connection, queue: QueueRef, ids: Sequence[bytes], *, ranked: bool, large: int
) -> dict[bytes, FailedJob | None]:
    """What is told of jobs; of those for which the budgets did not last, of the first `large` alone."""
    told: dict[bytes, FailedJob | None] = {}
    left, size, turns = list(ids), BATCH, -(-len(ids) // BATCH)
    while left:
        groups = [left[first : first + size] for first in range(0, len(left), size)]
        missing: list[bytes] = []
        fewest = size
        for first in range(0, len(groups), turns):
            turn = groups[first : first + turns]
            replies = connection.run([_command(queue, group, ranked=ranked) for group in turn])
            for group, reply in zip(turn, replies, strict=True):
                rows = array(reply)
                if not 0 < len(rows) <= len(group):
                    raise strange()
                told.update((id_, _job(id_, row)) for id_, row in zip(group, rows, strict=False))
                if len(rows) < len(group):
                    missing += group[len(rows) :]
                    fewest = min(fewest, len(rows))
        left, size, turns = missing[:large], fewest, TURNS
    return told


def data(connection: Connection, queue: QueueRef, ids: Sequence[bytes], *, most: int) -> dict[bytes, Field]:
    """The data of jobs, each at most its cap, until all hold `most` bytes; those without any are left out.

    One script for every 100, a short one for each that is longer than the cap; of over 1 MB one travels whole.
    """
    found: dict[bytes, Field] = {}
    held = 0
    for first in range(0, len(ids), BATCH):
        group = ids[first : first + BATCH]
        keys = [base(queue) + id_ for id_ in group]
        for id_, hash_key, each in zip(group, keys, fields.read(connection, keys, _DATA), strict=True):
            field = _whole(connection, hash_key, each)
            if field is None:
                continue
            held += len(field.raw)
            if held > most:
                return found
            found[id_] = field
    return found


def with_data(connection: Connection, queue: QueueRef, jobs: Mapping[bytes, FailedJob]) -> dict[bytes, FailedJob]:
    """The same jobs with their data."""
    told = data(connection, queue, list(jobs), most=len(jobs) * DATA_CAP)
    return {
        id_: replace(job, data=field.raw, data_size=field.size) if (field := told.get(id_)) else job
        for id_, job in jobs.items()
    }


def score_ms(score: bytes) -> int:
    """A score as whole milliseconds: rounded down, and beyond 64 bits the least or largest number of these."""
    if score.isdigit() and len(score) < 19:
        return int(score)
    value = float(score)
    if not math.isfinite(value):
        return LARGEST if value > 0 else SMALLEST
    return max(SMALLEST, min(LARGEST, math.floor(value)))


def stack(piece: bytes) -> bytes:
    """A string of JSON without its quotes, which may be cut anywhere: what it says. Empty where it is none."""
    cut = len(piece) >= STACK_CAP
    text, _odd = decoded(piece, cut=cut)
    for dropped in range(_ESCAPE if cut else 1):
        value = _unescaped(text[: len(text) - dropped])
        if value is not None:
            half = cut and "\ud800" <= value[-1:] <= "\udbff"  # of a character that takes two escapes
            return (value[:-1] if half else value).encode("utf-8", "surrogatepass")
    return b""


def _unescaped(text: str) -> str | None:
    try:
        value, end = scanstring(f'{text}"', 0, False)  # False: control characters may stand in it
    except ValueError:
        return None
    return cast(str, value) if end == len(text) + 1 else None


def _command(queue: QueueRef, group: Sequence[bytes], *, ranked: bool) -> Command:
    start = base(queue)
    keys = [start + id_ for id_ in group]
    if ranked:
        return script("failed").call([key(queue, b"failed"), *keys], 1, *_LIMITS, *group)
    return script("failed").call(keys, 0, *_LIMITS)


def _job(id_: bytes, row: Reply) -> FailedJob | None:
    """A row of `failed.lua`. This runs for every failed job there is."""
    if row is None:
        return None
    if len(found := array(row)) == 1:
        score = blob(found[0])
        return FailedJob(id_, None if score is None else score_ms(score), missing=True)
    # The script gives strings, numbers and nothing in these places: looking again at each would take half the time.
    score, name, reason, size, piece, stacks, worker, made, older, stamp = cast(_Row, found)
    return FailedJob(
        id=id_,
        score_ms=None if score is None else score_ms(score),
        name=name or b"",
        reason=reason if reason is not None or not size else b"",
        reason_size=size,
        stack=stack(piece) if piece else b"",
        stacks=stacks,
        worker=worker or b"",
        attempts=_number(made if made is not None else older),
        timestamp_ms=_moment(stamp),
    )


def _number(raw: bytes | None) -> int | None:
    value = integer(raw)
    return value if value is not None and 0 <= value <= LARGEST else None


def _moment(raw: bytes | None) -> int | None:
    value = integer(raw)
    return value if value is not None and 0 <= value <= LAST_MS else None


def _whole(connection: Connection, hash_key: bytes, found: fields.Hash) -> Field | None:
    """The data as far as its cap. None where there is none, or more than can be read."""
    table = dict(found.fields)
    fields.fetch(connection, hash_key, table, _DATA)
    field = table.get(b"data")
    return field if field and (field.raw or not field.size) else None
