"""Writing down what was learnt: fates, counts, the chart, what may be sent next, and how far was read, all at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from django.db import connection
from django.db.models import F
from django.utils import timezone

from queues.models import Replay, ReplayLine, ReplayQueue
from queues.quantities import now_ms
from queues.replay import chains, spans
from queues.replay.hands import Hands
from queues.replay.types import Told
from queues.replay.watching.learnt import End, Learnt, fates
from queues.replay.watching.streams import Gap, Stream
from queues.sendings import Fate

AHEAD_MS = 60_000  # that the clock of a worker may be ahead of ours on the chart
ONE_LINE = timedelta(minutes=1)  # in which losses of one queue are one line

_END = "UPDATE queues_replayjob SET fate = %s, ended_ms = %s WHERE id = %s AND place = 'sent' AND ended_ms IS NULL"
_STATE = "UPDATE queues_replayjob SET fate = %s, tries = %s WHERE id = %s AND place = 'sent' AND ended_ms IS NULL"


class Overtaken(Exception):
    """Rows are not as we know them: nothing of it is written, and they are to be read anew."""


def write(run: Hands, learnt: Learnt, streams: Iterable[Stream]) -> None:
    """All of it in one transaction. Overtaken where somebody else has written ends meanwhile."""
    ends = list(learnt.ends.values())
    counted = fates(ends)
    with run.saving(**_counts(run.replay, counted)):
        _ends(ends)
        _states(learnt)
        _spans(run.replay, ends)
        chains.release(run.replay, run.terms, {pk: end.fate for pk, end in learnt.ends.items()})
        for stream, gap in learnt.gaps:
            _lost(run.replay, stream, gap)
        for stream in streams:
            ReplayQueue.objects.filter(pk=stream.pk).update(position=stream.position, added=stream.added)
    for stream in streams:
        stream.stored = stream.position


def _counts(replay: Replay, counted: Mapping[Fate, int]) -> dict[str, int]:
    """The counts of the plan as they are with these ends."""
    completed, failed = counted.get(Fate.COMPLETED, 0), counted.get(Fate.FAILED, 0)
    more = {"completed": completed, "failed": failed, "other": sum(counted.values()) - completed - failed}
    return {name: getattr(replay, name) + number for name, number in more.items() if number}


def _ends(ends: Sequence[End]) -> None:
    if not ends:
        return
    with connection.cursor() as cursor:
        cursor.executemany(_END, [(end.fate.value, end.ended_ms, end.job.way.pk) for end in ends])
        if cursor.rowcount != len(ends):
            raise Overtaken


def _states(learnt: Learnt) -> None:
    rows = [(now.fate.value, now.tries, pk) for pk, now in learnt.states.items() if pk not in learnt.ends]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_STATE, rows)


def _spans(replay: Replay, ends: Sequence[End]) -> None:
    """Add to the chart. What a worker's odd clock tells stands between its sending and now."""
    latest = now_ms() + AHEAD_MS
    counted: dict[int, Counter[Fate]] = defaultdict(Counter)
    for end in ends:
        if end.fate in (Fate.COMPLETED, Fate.FAILED):
            counted[max(end.job.way.sent_ms, min(end.ended_ms, latest)) // spans.SPAN_MS][end.fate] += 1
    for span, more in sorted(counted.items()):
        spans.add(replay, span, completed=more[Fate.COMPLETED], failed=more[Fate.FAILED])


def _lost(replay: Replay, stream: Stream, gap: Gap) -> None:
    """Count what was lost, and say so: within a minute once for a queue, with all of it."""
    ReplayQueue.objects.filter(pk=stream.pk).update(lost=F("lost") + (gap.number or 1))
    facts = {"queue": stream.ref.slug, "number": gap.number, "until_ms": stream.blind_ms}
    recent = ReplayLine.objects.filter(replay=replay, kind=Told.BLIND, at__gte=timezone.now() - ONE_LINE)
    line = next((line for line in recent.order_by("-pk")[:20] if line.facts.get("queue") == stream.ref.slug), None)
    if line is None:
        ReplayLine.objects.create(replay=replay, kind=Told.BLIND, facts=facts)
        return
    before = line.facts.get("number")
    if before is None or gap.number is None:
        facts["number"] = None
    else:
        facts["number"] = before + gap.number
    ReplayLine.objects.filter(pk=line.pk).update(facts=facts)
