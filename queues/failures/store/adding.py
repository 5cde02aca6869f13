"""Failures as they stand in a failed set or were told by events, each written and counted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from queues.failures.store import rows
from queues.failures.store.ids import kept
from queues.failures.store.places import Place
from queues.failures.store.rows import Row
from queues.failures.store.strands import Strands
from queues.failures.store.tally import Tally
from queues.failures.types import Found, How
from queues.models import Failure, Letter

NEAR_MS = 60_000  # so far the clocks of a worker, of the server and of who wrote a letter may differ


@dataclass(slots=True)
class Plan:
    """What a batch comes to. `new`: with the job as it is kept; `taken`: rows of letters that turn out to be these."""

    new: list[tuple[Found, str]] = field(default_factory=list)
    taken: list[tuple[Row, Found]] = field(default_factory=list)
    back: list[Row] = field(default_factory=list)  # in the set again
    left: list[Row] = field(default_factory=list)  # their jobs are in the set with another failure


def rounds(found: Sequence[Found]) -> list[list[Found]]:
    """The same failures, so that no round holds a job twice: each failure of a job after its older ones."""
    if len({each.job for each in found}) == len(found):
        return [list(found)]
    made: list[list[Found]] = []
    at: dict[bytes, int] = {}
    for each in sorted(found, key=lambda each: each.score_ms):
        number = at[each.job] = at.get(each.job, -1) + 1
        if number == len(made):
            made.append([])
        made[number].append(each)
    return made


def plan(queue_pk: int, found: Sequence[Found]) -> Plan:
    """Tell what is new among these, each of another job. One query, one more where letters wait for their failure."""
    named = [(each, kept(each.job)) for each in found]
    there = rows.of_jobs(queue_pk, [job for _each, job in named])
    posted = _posted(there)
    made = Plan()
    for each, job in named:
        known = there.get(job)
        if known is None:
            made.new.append((each, job))
        elif each.how is How.EVENT:
            if not any(_same_event(row, each) for row in known):
                made.new.append((each, job))
        else:
            _again(made, each, job, known, posted)
    return made


def _again(made: Plan, found: Found, job: str, known: Sequence[Row], posted: Mapping[int, int]) -> None:
    """A job that is in the set, and has failed before as far as is known."""
    same = next((row for row in known if row.score_ms == found.score_ms), None)
    same = same or next((row for row in known if _told_by_letter(row, found, posted)), None)
    if same is None:
        made.new.append((found, job))
    elif same.how == How.LETTER:
        made.taken.append((same, found))
    elif not same.in_set:
        made.back.append(same)
    made.left += [row for row in known if row.in_set and row is not same]


def _same_event(row: Row, found: Found) -> bool:
    """Whether an event tells what is known: of several events about one job each is a failure."""
    return row.score_ms == found.score_ms or (row.how != How.EVENT and _near(row, found))


def _near(row: Row, found: Found) -> bool:
    return abs(row.score_ms - found.score_ms) <= NEAR_MS


def _told_by_letter(row: Row, found: Found, posted: Mapping[int, int]) -> bool:
    """Whether a letter told of this failure before its job was seen in the set.

    One that does not say when it failed stands at the time of the letter: then any time before that will do.
    """
    if row.how != How.LETTER or row.in_set:
        return False
    if posted.get(row.id) == row.score_ms:
        return found.score_ms <= row.score_ms + NEAR_MS
    return _near(row, found)


def _posted(there: dict[str, list[Row]]) -> dict[int, int]:
    """When the letters were posted that failures were made of."""
    made = [row.id for known in there.values() for row in known if row.how == How.LETTER]
    found: dict[int, int] = {}
    for part in rows.parts(made):
        found.update(Letter.objects.filter(failure_id__in=part).values_list("failure_id", "at_ms"))
    return found


def carry_out(made: Plan, source_pk: int, place: Place, strands: Strands, tally: Tally) -> None:
    """Write what was planned, and add it to the tally."""
    ids = strands.of(source_pk, place, [found for found, _job in made.new])
    rows.insert(place.pk, ((found, job, strand) for (found, job), strand in zip(made.new, ids, strict=True)))
    came, present = tally.came, tally.present
    for (found, _job), strand in zip(made.new, ids, strict=True):
        times = came.get(strand)
        if times is None:
            times = came[strand] = []
        times.append(found.at_ms)
        if found.how is not How.EVENT:
            present[strand] = present.get(strand, 0) + 1
    _show(made.back, tally)
    hide(made.left, tally)
    _take(made, source_pk, place, strands, tally)


def _show(back: Sequence[Row], tally: Tally) -> None:
    rows.mark([row.id for row in back], in_set=True, present=True)
    for row in back:
        if not row.present:
            tally.presence(row.strand, 1)


def hide(left: Sequence[Row], tally: Tally) -> None:
    """Those are in the set no longer; present only where a letter tells of them."""
    left = list({row.id: row for row in left}.values())
    held = rows.held([row.id for row in left])
    rows.mark([row.id for row in left if row.id in held], in_set=False, present=True)
    rows.mark([row.id for row in left if row.id not in held], in_set=False, present=False)
    for row in left:
        if row.present and row.id not in held:
            tally.presence(row.strand, -1)


def _take(made: Plan, source_pk: int, place: Place, strands: Strands, tally: Tally) -> None:
    """What a letter told is this failure of the set, which knows more: it is counted there instead."""
    ids = strands.of(source_pk, place, [found for _row, found in made.taken])
    for (row, found), strand in zip(made.taken, ids, strict=True):
        Failure.objects.filter(pk=row.id).update(
            strand=strand,
            score_ms=found.score_ms,
            at_ms=found.at_ms,
            in_set=True,
            present=True,
            how=How.SET.value,
            worker=rows.worker(found.worker),
            attempts=found.attempts,
        )
        tally.take(row.strand, row.at_ms)
        tally.add(strand, found.at_ms)
        tally.presence(row.strand, -int(row.present))
        tally.presence(strand, 1)
