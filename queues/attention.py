"""Which queues need eyes, and why, judged from their keys at one moment and from the last minutes. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.events import EventKind
from queues.facts import Fact, Level, Why
from queues.failures.letters import is_letters
from queues.history import KINDS, History
from queues.quantities import number, spelled
from queues.readings import QueueReading, SourceReading
from queues.types import Counts, Oldest, QueueRef, State

OLD_MS = 15 * 60 * 1000  # a job that waits for longer than this needs eyes
EYES = 3
URGENT = (Level.CRIT, Level.WARN)  # what needs eyes
FAILING_MINUTES, FAILING_LEAST, FAILING_SHARE = 5, 5, 0.2
STALLED_MINUTES = 10


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a queue: its facts, gravest first, and its place among others.

    `rank` sorts the most urgent first and does not change as the clock runs within a minute, so that pages of a
    sorted list fit together.
    """

    level: Level
    facts: tuple[Fact, ...]
    rank: tuple[int, int, int]

    @property
    def why(self) -> Why | None:
        return self.facts[0].why if self.facts else None

    @property
    def title(self) -> str:
        """The gravest fact in a few words; "" when there is nothing to say."""
        return self.facts[0].title if self.facts else ""

    @property
    def sentences(self) -> list[str]:
        return [fact.sentence for fact in self.facts]

    def holds(self, why: Why) -> bool:
        return any(fact.why is why for fact in self.facts)


@dataclass(frozen=True, slots=True)
class Eye:
    """A queue that needs eyes, for the top of the overview."""

    level: Level
    ref: QueueRef
    title: str
    sentence: str
    facts: tuple[Fact, ...] = ()


def judge(
    ref: QueueRef,
    counts: Counts | None,
    workers: int | None,
    at_ms: int,
    among: Collection[QueueRef] | None = None,
    *,
    gone: bool = False,
    history: History | None = None,
    upto: int = 0,
) -> Verdict:
    """Judge one queue as it was at `at_ms` (when the counts were read, milliseconds since 1970).

    `workers` is their number, None when nobody knows. `among` is as in `letters.origin_of`. `history` counts up to the
    whole minute `upto` and into the one that runs; None when nothing is known of the last hour.

    A queue fails fast when at least 5 jobs failed in the last 5 minutes and these are at least a fifth of those that
    finished. It stalls when a job stalled in the last 10 minutes. The last of these minutes is the one that runs, and
    minutes that are unknown add nothing: both are lower bounds. A paused queue or one of dead letters does neither.
    """
    if gone or (counts is not None and not counts.exists):
        facts = [Fact(Why.GONE, Level.QUIET)]
    elif counts is None:
        facts = [Fact(Why.UNREAD, Level.UNKNOWN)]
    elif is_letters(ref, among):
        facts = [*_parked(counts), *_letters(counts), *_odd(counts)]
    else:
        failing, stalled = _lately(history, upto) if history and not counts.paused else ([], [])
        pressing = [*_parked(counts), *failing, *_waiting(counts, workers, at_ms), *_active(counts, workers), *stalled]
        facts = [*pressing, *_odd(counts), *_known(counts)]
    facts.sort(key=lambda fact: _GRAVITY[fact.level])
    level = facts[0].level if facts else Level.OK
    return Verdict(level, tuple(facts), (_GRAVITY[level], *_place(level, facts, counts)))


def judge_reading(
    reading: QueueReading,
    at_ms: int,
    among: Collection[QueueRef] | None = None,
    history: History | None = None,
    upto: int = 0,
) -> Verdict:
    """`judge` for a queue out of a reading."""
    gone = reading.gone_since is not None
    return judge(reading.ref, reading.counts, reading.workers, at_ms, among, gone=gone, history=history, upto=upto)


def needs_eyes(judged: Sequence[tuple[QueueRef, Verdict]], *, most: int = EYES) -> Sequence[Eye]:
    """The most urgent queues, in words."""
    urgent = ((ref, verdict) for ref, verdict in judged if verdict.level in URGENT)
    first = nsmallest(most, urgent, key=lambda each: (each[1].rank, each[0].source, each[0].prefix, each[0].name))
    return [Eye(v.level, ref, f"{ref.label}: {v.title}", " ".join(v.sentences), v.facts) for ref, v in first]


def lede(readings: Sequence[SourceReading], judged: Sequence[tuple[QueueRef, Verdict]]) -> str:
    """The state of everything in one or two plain sentences, in the active language.

    Only what was read live is called well or in need; a last reading is called a last reading.
    """
    unread = [reading for reading in readings if not reading.live]
    if unread and len(readings) == 1:
        last = unread[0].read_at
        text = _("%(source)s cannot be read. This is its last reading.") if last else _("%(source)s cannot be read.")
        return text % {"source": unread[0].source}
    sentences = [_where(readings)]
    if unread:
        sentences.append(_unread(unread, len(readings)))
    dead = {reading.source for reading in unread}
    verdicts = [verdict for ref, verdict in judged if ref.source not in dead and verdict.why is not Why.GONE]
    if verdicts:
        sentences.append(_how_many(verdicts, all_read=not unread))
    return " ".join(sentences)


def _where(readings: Sequence[SourceReading]) -> str:
    total = sum(reading.known for reading in readings)
    if unsearched := [reading.source for reading in readings if reading.queue_total is None]:
        return _unsearched(unsearched, total)
    if len(readings) == 1:
        text = ngettext("%(n)s queue in %(source)s.", "%(n)s queues in %(source)s.", total)
        return text % {"n": number(total), "source": readings[0].source}
    text = ngettext("%(n)s queue in %(sources)s sources.", "%(n)s queues in %(sources)s sources.", total)
    return text % {"n": number(total), "sources": number(len(readings))}


def _unsearched(names: Sequence[str], known: int) -> str:
    """A number of queues is claimed only after a search that came to its end."""
    told = ngettext("%(names)s has not been searched yet.", "%(names)s have not been searched yet.", len(names))
    if known:
        told = ngettext(
            "%(names)s has not been searched to the end yet; queues known so far: %(n)s.",
            "%(names)s have not been searched to the end yet; queues known so far: %(n)s.",
            len(names),
        )
    return told % {"names": ", ".join(names), "n": number(known)}


def _unread(unread: Sequence[SourceReading], total: int) -> str:
    if len(unread) == total:
        return _("No source can be read; these are their last readings.")
    if len(unread) == 1:
        return _("%(source)s cannot be read; its rows are its last reading.") % {"source": unread[0].source}
    text = _("%(n)s of %(total)s sources cannot be read; their rows are their last readings.")
    return text % {"n": number(len(unread)), "total": number(total)}


def _how_many(verdicts: Sequence[Verdict], *, all_read: bool) -> str:
    eyes = sum(1 for verdict in verdicts if verdict.level in URGENT)
    unknown = sum(1 for verdict in verdicts if verdict.level is Level.UNKNOWN)
    failing = sum(1 for verdict in verdicts if verdict.level is Level.QUIET and verdict.holds(Why.FAILED))
    well = len(verdicts) - eyes - unknown - failing
    if not eyes and not unknown and not failing:
        return _("Nothing needs eyes.") if all_read else _("Of the others, nothing needs eyes.")
    parts = []
    if eyes:
        parts.append(ngettext("%(n)s needs eyes", "%(n)s need eyes", eyes) % {"n": spelled(eyes)})
    if unknown:
        parts.append(ngettext("%(n)s is unknown", "%(n)s are unknown", unknown) % {"n": spelled(unknown)})
    if failing:
        alone = ngettext("%(n)s holds failed jobs", "%(n)s hold failed jobs", failing)
        more = ngettext("%(n)s more holds failed jobs", "%(n)s more hold failed jobs", failing)
        parts.append((more if parts else alone) % {"n": spelled(failing)})
    if well:
        parts.append(ngettext("%(n)s is well", "%(n)s are well", well) % {"n": spelled(well)})
    sentence = "; ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}."


_GRAVITY = {level: number for number, level in enumerate(Level)}
_LAST = 1 << 62  # after every time that is known
_FIRST = -1  # before every time
_COMPLETED, _FAILED, _STALLED = (
    KINDS.index(kind) for kind in (EventKind.COMPLETED, EventKind.FAILED, EventKind.STALLED)
)


def _parked(counts: Counts) -> list[Fact]:
    """A paused queue will read its parked jobs when it is resumed; one that is not paused never does."""
    return [Fact(Why.PARKED, Level.CRIT, counts.parked)] if counts.parked and not counts.paused else []


def _letters(counts: Counts) -> list[Fact]:
    held = counts.backlog + (counts[State.DELAYED] or 0) + (counts[State.FAILED] or 0)
    return [Fact(Why.LETTERS, Level.WARN, held)] if held else []


def _waiting(counts: Counts, workers: int | None, at_ms: int) -> list[Fact]:
    if counts.paused or not counts.backlog:
        return []
    age, at_least, old, since = _age(counts.oldest, at_ms) if counts.oldest else (None, False, False, None)
    if workers == 0:
        return [Fact(Why.NO_WORKER, Level.CRIT if old else Level.WARN, counts.backlog, age, at_least, since)]
    return [Fact(Why.OLD, Level.WARN, counts.backlog, age, at_least, since)] if old else []


def _age(oldest: Oldest, at_ms: int) -> tuple[int, bool, bool, int]:
    """The age of the oldest, whether that is a lower bound, whether something waits for too long, and since when.

    The last is told by jobs that have waited ever since alone: one that was replayed pages nobody by its creation.
    """
    since = oldest.created_ms if oldest.since_ms is None else oldest.since_ms
    age = max(at_ms - since, 0)
    return age, oldest.at_least or since != oldest.created_ms, oldest.since_ms is not None and age > OLD_MS, since


def _active(counts: Counts, workers: int | None) -> list[Fact]:
    if workers != 0 or counts.paused:
        return []
    stranded = counts[State.ACTIVE]
    return [Fact(Why.STRANDED, Level.WARN, stranded)] if stranded else []


def _lately(history: History, upto: int) -> tuple[list[Fact], list[Fact]]:
    """Whether it fails fast, and whether it stalls."""
    get, now = history.counts.get, upto + 1
    rows = [get(minute) for minute in range(now - STALLED_MINUTES + 1, now + 1)]
    newest = [row for row in rows[-FAILING_MINUTES:] if row]
    failed = sum([row[_FAILED] for row in newest])
    finished = failed + sum([row[_COMPLETED] for row in newest])
    stalled = sum([row[_STALLED] for row in rows if row])
    fast = failed >= FAILING_LEAST and failed >= FAILING_SHARE * finished
    return (
        [Fact(Why.FAILING, Level.WARN, failed, total=finished)] if fast else [],
        [Fact(Why.STALLED, Level.WARN, stalled)] if stalled else [],
    )


def _known(counts: Counts) -> list[Fact]:
    facts = [Fact(Why.PAUSED, Level.QUIET, counts.backlog)] if counts.paused else []
    if failed := counts[State.FAILED]:
        facts.append(Fact(Why.FAILED, Level.QUIET, failed))
    return facts


def _odd(counts: Counts) -> list[Fact]:
    """A queue with a state that cannot be read is never called well."""
    odd = len(State) - len(counts.by_state)
    return [Fact(Why.ODD_KEYS, Level.UNKNOWN, odd)] if odd else []


def _place(level: Level, facts: Sequence[Fact], counts: Counts | None) -> tuple[int, int]:
    """Within a level: what fails fast comes first, then who waits longest. Equals go by number, as quiet ones do."""
    number = sum(fact.number for fact in facts)
    if any(fact.why is Why.FAILING for fact in facts):
        return _FIRST, -number
    waits = any(fact.age_ms is not None for fact in facts) and counts is not None and counts.oldest is not None
    since = counts.oldest.since_ms if waits and counts and counts.oldest else None
    return _LAST if since is None else since, -number
