"""Letters, and the failures they tell of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from queues.failures.store import rows
from queues.failures.store.adding import NEAR_MS
from queues.failures.store.ids import kept
from queues.failures.store.places import Place, Places
from queues.failures.store.rows import Row
from queues.failures.store.strands import Strands
from queues.failures.store.tally import Tally
from queues.failures.types import FoundLetter, How
from queues.models import Letter

UNMAPPED = 200  # characters of the names of parts that were not found


@dataclass(frozen=True, slots=True)
class _Posted:
    """A letter, where the job failed that it tells of, and the job as it is kept there."""

    letter: FoundLetter
    job: str
    place: Place
    of: str


@dataclass(frozen=True, slots=True)
class Made:
    """A letter that made a failure of a strand, which stands at a queue."""

    place: Place
    strand: int
    letter: FoundLetter


def post(
    place: Place, letters: Sequence[FoundLetter], places: Places, source_pk: int, strands: Strands, *, tally: Tally
) -> Sequence[Made]:
    """Write letters that are not known yet, and what they tell of. Some five queries for 1,000 of one origin.

    Gives those of which a failure was made.
    """
    fresh = _unknown(place, letters, tally)
    times: Counter[tuple[int, str]] = Counter()
    together: dict[tuple[int, int], list[_Posted]] = {}  # of one origin, each of another job
    for letter in fresh:
        origin = (places.by_pk(letter.origin) if letter.origin is not None else None) or place
        of = kept(letter.found.job)
        some = together.setdefault((times[origin.pk, of], origin.pk), [])
        some.append(_Posted(letter, kept(letter.job), origin, of))
        times[origin.pk, of] += 1
    made: list[Made] = []
    for _round, some in sorted(together.items()):
        made += _post(place, some, source_pk, strands, tally)
    return made


def withdraw(place: Place, jobs: Sequence[str], tally: Tally) -> None:
    """These letters are gone: what they told of is present only in the set, or by another letter."""
    for part in rows.parts(jobs):
        gone = Letter.objects.filter(queue_id=place.pk, job__in=part)
        failures = list(gone.values_list("failure_id", flat=True))
        gone.delete()
        left = [row for row in rows.by_id(set(failures)).values() if row.present and not row.in_set]
        held = rows.held([row.id for row in left])
        left = [row for row in left if row.id not in held]
        rows.mark([row.id for row in left], in_set=False, present=False)
        for row in left:
            tally.presence(row.strand, -1)


def _unknown(place: Place, letters: Sequence[FoundLetter], tally: Tally) -> list[FoundLetter]:
    """Those that are new. One whose id was used again, for another letter, takes the place of that."""
    known: dict[str, int] = {}
    named = {kept(letter.job): letter for letter in letters}
    for part in rows.parts(list(named)):
        found = Letter.objects.filter(queue_id=place.pk, job__in=part)
        known.update(found.values_list("job", "at_ms"))
    withdraw(place, [job for job, at in known.items() if at != named[job].at_ms], tally)
    return [letter for job, letter in named.items() if known.get(job) != letter.at_ms]


def _post(place: Place, posted: Sequence[_Posted], source_pk: int, strands: Strands, tally: Tally) -> Sequence[Made]:
    """Those of one origin, each telling of another job."""
    origin = posted[0].place
    there = rows.of_jobs(origin.pk, [each.of for each in posted])
    failures = {each.job: row for each in posted if (row := _told(there, each))}
    new = [each for each in posted if each.job not in failures]
    ids = _make(origin, new, source_pk, strands, tally)
    made = {(row.job, row.score_ms): row for row in _again(origin, new)}
    for each in posted:
        if each.job not in failures:
            failures[each.job] = made[each.of, each.letter.found.score_ms]
    _show({row.id: row for row in failures.values()}, tally)
    Letter.objects.bulk_create(
        Letter(
            queue_id=place.pk,
            job=each.job,
            failure_id=failures[each.job].id,
            at_ms=each.letter.at_ms,
            unmapped=rows.plain(",".join(each.letter.unmapped), UNMAPPED),
        )
        for each in posted
    )
    return [Made(origin, strand, each.letter) for each, strand in zip(new, ids, strict=True)]


def _told(there: Mapping[str, Sequence[Row]], posted: _Posted) -> Row | None:
    """The failure that a letter tells of: the nearest in time, or the last before a letter that says no time."""
    letter = posted.letter
    rows_ = there.get(posted.of, ())
    if letter.timed:
        at = letter.found.score_ms
        near = [row for row in rows_ if abs(row.score_ms - at) <= NEAR_MS]
        return min(near, key=lambda row: abs(row.score_ms - at), default=None)
    before = [row for row in rows_ if row.score_ms <= letter.at_ms + NEAR_MS]
    return max(before, key=lambda row: row.score_ms, default=None)


def _make(origin: Place, new: Sequence[_Posted], source_pk: int, strands: Strands, tally: Tally) -> Sequence[int]:
    """Failures of which only letters tell. Gives their strands."""
    found = [replace(each.letter.found, how=How.LETTER) for each in new]
    ids = strands.of(source_pk, origin, found)
    told = zip(found, new, ids, strict=True)
    rows.insert(origin.pk, [(each, posted.of, strand) for each, posted, strand in told])
    for each, strand in zip(found, ids, strict=True):
        tally.add(strand, each.at_ms)
        tally.presence(strand, 1)
    return ids


def _again(origin: Place, new: Sequence[_Posted]) -> list[Row]:
    """The rows that were made, with their keys."""
    if not new:
        return []
    return [row for some in rows.of_jobs(origin.pk, [each.of for each in new]).values() for row in some]


def _show(told: Mapping[int, Row], tally: Tally) -> None:
    hidden = [row for row in told.values() if not row.present]
    rows.mark([row.id for row in hidden if row.in_set], in_set=True, present=True)
    rows.mark([row.id for row in hidden if not row.in_set], in_set=False, present=True)
    for row in hidden:
        tally.presence(row.strand, 1)
