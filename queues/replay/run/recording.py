"""What came of rows, written down: each row, the plan's counts, its chart, and who may be sent because of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from django.db import connection

from queues.actions import BATCH
from queues.models import Replay, ReplayJob
from queues.names import show_controls
from queues.replay import chains, originals, spans
from queues.replay.naming import job_id
from queues.replay.originals import KEPT, REMOVED, goes_at_once
from queues.replay.run import facts
from queues.replay.run.calls import Came
from queues.replay.run.rows import goes_to
from queues.replay.run.run import Run
from queues.replay.terms import Originals, Terms
from queues.replay.types import Acts, Place
from queues.sendings import Conflict, Fate

NOTE = 1_000  # characters

# What was sent is safe, and needs nothing else any more; or it has come to another end.
_SAFE = frozenset({Fate.WAITING, Fate.RUNNING, Fate.RETRYING, Fate.COMPLETED})
_OVER = frozenset({Fate.FAILED, Fate.GONE, Fate.UNKNOWN})

Values = tuple[str | int | bytes | None, ...]

_SENT = "UPDATE {table} SET place = %s, made = %s, sent_ms = %s, was = %s, original = %s WHERE id = %s"
_NOTED = "UPDATE {table} SET note = %s WHERE id = %s"
_REFUSED = "UPDATE {table} SET place = %s, conflict = %s, note = %s WHERE id = %s"


def record(run: Run, came: Sequence[Came]) -> None:
    """Write what came of rows, all of it in one transaction. Some 30 ms for a thousand."""
    if not came:
        return
    plan, now = run.replay, round(run.clock.now_ms)
    sent = [each for each in came if each.sent]
    refused = [each for each in came if not each.sent]
    removing = [each.row.pk for each in sent if not each.away and goes_at_once(each.row, run.terms)]
    if removing:
        run.facts[facts.ORIGINALS] = [*run.facts.get(facts.ORIGINALS, ()), *removing]
    counts = {
        "sent": plan.sent + len(sent),
        "refused": plan.refused + len(refused),
        "to_send": max(0, plan.to_send - len(came)),
    }
    with run.saving(**counts):
        _write(_SENT, [_sent_values(each, run.terms, now) for each in sent])
        _write(_NOTED, [(_note(each.note), each.row.pk) for each in sent if each.note])
        if refused:
            plans = _plans(refused)
            _write(_REFUSED, [_refused_values(each, plans) for each in refused])
            chains.let_go(plan, [each.row.pk for each in refused])
        for span, number in Counter((each.at_ms or now) // spans.SPAN_MS for each in sent).items():
            spans.add(plan, span, sent=number)


def remove_due(run: Run) -> None:
    """Remove the originals that are due, as the facts name them, and that did not go with what was sent for them.

    That of a job that has failed again by now is kept: it may be all that is left, where what posted it once more found
    its id taken. One of which nobody knows that yet stays due. Two calls for every thousand of a queue, and a
    transaction; none where none are due. May be interrupted anywhere and called again.
    """
    due, later = run.facts.get(facts.ORIGINALS, []), list[int]()
    while due:
        some, due = due[:BATCH], due[BATCH:]
        rows = list(ReplayJob.objects.filter(replay=run.replay.pk, pk__in=some, original=""))
        fates = _fates(run, rows)
        words = dict.fromkeys((pk for pk, fate in fates.items() if fate in _OVER), KEPT)
        safe = [pk for pk, fate in fates.items() if fate in _SAFE]
        words |= originals.remove(run, ReplayJob.objects.filter(pk__in=safe)) if safe else {}
        later += fates.keys() - words.keys()
        run.facts[facts.ORIGINALS] = [*later, *due]
        if words:
            with run.saving():
                originals.note(words)


def _fates(run: Run, rows: Sequence[ReplayJob]) -> Mapping[int, Fate]:
    """How what was sent for rows stands, by their keys. NONE: it is gone, and how it ended is not known yet."""
    ended = {row.pk: Fate(row.fate) for row in rows if row.ended_ms is not None}
    fates = dict(ended)
    by_queue: dict[int, list[ReplayJob]] = {}
    for row in rows:
        if row.pk not in ended:
            by_queue.setdefault(goes_to(row), []).append(row)
    for queue, some in by_queue.items():
        told = run.actions.standings(run.ref(queue), [job_id(row.made or row.job) for row in some])
        fates |= {row.pk: each.fate for row, each in zip(some, told, strict=True)}
    return {pk: Fate.NONE if fate is Fate.GONE and pk not in ended else fate for pk, fate in fates.items()}


def _sent_values(each: Came, terms: Terms, now: int) -> Values:
    kept = terms.originals is Originals.KEEP and (each.row.acts == Acts.COPY or bool(each.row.letter))
    gone = each.away and goes_at_once(each.row, terms)
    original = KEPT if kept else REMOVED if gone else ""
    return Place.SENT.value, each.made, each.at_ms or now, each.was, original, each.row.pk


def _refused_values(each: Came, plans: Mapping[str, str]) -> Values:
    note = _note(each.note or plans.get(each.plan, ""))
    return Place.REFUSED.value, each.conflict.value, note, each.row.pk


def _note(text: str) -> str:
    return show_controls(text[:NOTE])


def _plans(refused: Sequence[Came]) -> Mapping[str, str]:
    """What people call the plans that had sent these, by their tokens."""
    tokens = {each.plan for each in refused if each.conflict is Conflict.SENT_BEFORE and each.plan}
    return {plan.token: str(plan) for plan in Replay.objects.filter(token__in=tokens).only("token")} if tokens else {}


def _write(statement: str, rows: Sequence[Values]) -> None:
    if rows:
        table = connection.ops.quote_name(ReplayJob._meta.db_table)
        with connection.cursor() as cursor:
            cursor.executemany(statement.format(table=table), rows)
