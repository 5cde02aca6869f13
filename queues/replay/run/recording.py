"""What came of rows, written down: each row, the plan's counts, its chart, and who may be sent because of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from django.db import connection

from queues.actions import BATCH
from queues.models import Replay, ReplayJob
from queues.names import show_controls
from queues.replay import chains, originals, spans
from queues.replay.originals import KEPT, when
from queues.replay.run import facts
from queues.replay.run.calls import Came
from queues.replay.run.run import Run
from queues.replay.terms import Originals, Terms
from queues.replay.types import Acts, Place
from queues.sendings import Conflict

NOTE = 1_000  # characters

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
    removing = [each.row.pk for each in sent if _is_removed_now(each.row, run.terms)]
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
    """Remove the originals that are due, as the facts name them; nothing where none are.

    A call for every thousand of a queue, and a transaction. May be interrupted anywhere and called again.
    """
    while due := run.facts.get(facts.ORIGINALS, []):
        some = due[:BATCH]
        words = originals.remove(run, ReplayJob.objects.filter(replay=run.replay.pk, pk__in=some, original=""))
        run.facts[facts.ORIGINALS] = due[len(some) :]
        with run.saving():
            originals.note(words)


def _is_removed_now(row: ReplayJob, terms: Terms) -> bool:
    """Whether the original of a copy, or the letter beside a job that is sent in place, goes as soon as that is sent.

    That of a copy whose data is edited stays until the copy has completed.
    """
    if terms.originals is Originals.KEEP:
        return False
    if row.acts == Acts.RETRY:
        return bool(row.letter)
    return when(terms) is Originals.WHEN_SENT


def _sent_values(each: Came, terms: Terms, now: int) -> Values:
    kept = terms.originals is Originals.KEEP and (each.row.acts == Acts.COPY or bool(each.row.letter))
    original = KEPT if kept else ""
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
