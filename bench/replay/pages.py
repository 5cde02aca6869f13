"""Pages of one large plan through a web process, from its draft to its report; and the list of a thousand plans."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from django.db import connection
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from bench.measure import KB, MB, Series, in_turn, quantile, ratio, resident
from bench.replay.product import FREE, Fields, Product, form, reached
from bench.report import Row, Table, limited
from bench.stage import Stage
from queues.models import Replay, ReplayJob, ReplayLine, ReplaySpan
from queues.quantities import HOUR, now_ms
from queues.replay.spans import SPAN_MS
from queues.replay.terms import Terms
from queues.replay.types import Phase, Place, Told
from queues.sendings import Fate

PAGE_MS = 1_000.0
PLANS = 1_000
SLOW = replace(FREE, pace_from=5.0, pace_to=5.0)
LINES, SPANS = 200, 720  # of the feed, and of the chart: an hour
MINUTE = 60_000

# Half of a plan as if it had been sent: of each hundred 85 completed, 10 failed again, the others have not ended.
_HALF = """
UPDATE {table} SET place = 'sent', sent_ms = %s + id - %s,
  fate = CASE WHEN id %% 100 < 85 THEN 'completed' WHEN id %% 100 < 95 THEN 'failed' ELSE '' END,
  ended_ms = CASE WHEN id %% 100 < 95 THEN %s + id - %s END,
  again_id = CASE WHEN id %% 100 BETWEEN 85 AND 94 THEN group_id END
WHERE replay_id = %s AND id < %s AND place = 'ready'
"""


def measure(stage: Stage, made: Product, plan: Replay) -> Table:
    """One table; the plan is a draft, and has ended afterwards."""
    pages = _Pages(stage, made)
    path = reverse("replay", args=[plan.pk])
    size = len(made.person.gets(path)) / KB
    pages.read("its plan", path)
    typed = form(plan, replace(Terms(), canary=10))
    pages.time("what it would do by other terms", lambda: _live(made, plan, typed))
    _start(pages, made, plan)
    _half(plan)
    pages.read("while it runs, half of it sent", path)
    jobs = reverse("replay-jobs", args=[plan.pk])
    filters = {"": "", "of what was sent": "place=sent", "of what failed again": "fate=failed", "by text": "text=4711"}
    for what, query in {**filters, "under way": "fate=under-way"}.items():
        pages.read(f"its ledger{', ' * bool(what)}{what}", f"{jobs}?{query}")
    Replay.objects.filter(pk=plan.pk).update(phase=Phase.DONE, ended_at=timezone.now())
    pages.read("its report", path)
    _plans(plan, stage.sized(PLANS, 60))
    number = Replay.objects.count()
    pages.read(f"the list of {number:,} plans", reverse("replays"))
    rows = [
        *pages.rows,
        limited("size of its plan", size, "KB"),
        limited("memory of the web process afterwards", resident(made.web.process.pid) / MB, "MB"),
    ]
    note = "Through Daphne, one user. Floor: the page of one's account."
    return Table(f"Replay: pages of a plan of {plan.total:,} jobs", rows, (note,))


class _Pages:
    """Rows of pages, each timed in turn with the floor."""

    def __init__(self, stage: Stage, made: Product) -> None:
        self.rows: list[Row] = []
        self._rounds, self._person = stage.rounds, made.person

    def read(self, what: str, path: str) -> None:
        self.time(what, lambda: self._person.gets(path))

    def time(self, what: str, work: Callable[[], object]) -> None:
        floor = reverse("me")
        times = in_turn(self._rounds, page=work, floor=lambda: self._person.gets(floor))
        self.rows += _timed(what, times["page"], times["floor"])


def _timed(what: str, times: Series, floor: Series) -> list[Row]:
    met, aim = times.median <= PAGE_MS, f"at most {PAGE_MS:,.0f} ms"
    bare, share = f"{floor.median:.1f} ms", f"{ratio(times, floor):.1f}"
    longest = quantile(times.clock, 0.95)
    return [
        Row(f"{what}, p50", f"{times.median:.1f} ms", times.spread, bare, share, aim, met),
        Row("the same, p95", f"{longest:.1f} ms", aim=aim, met=longest <= PAGE_MS),
    ]


def _live(made: Product, plan: Replay, typed: Fields) -> None:
    status, _location, page = made.person.posts(reverse("replay-save", args=[plan.pk]), {**typed, "live": "1"})
    if status != 200:
        raise RuntimeError(f"{plan}: {status}\n{page[-3000:]}")


def _start(pages: _Pages, made: Product, plan: Replay) -> None:
    """How long the form of the start takes, and how long until the first job is sent; then the plan is paused."""
    began = made.starts(plan, SLOW)
    answered = time.time() - began
    running = reached(plan, Phase.RUNNING)
    assert running.started_at is not None
    first = running.started_at.timestamp() - began
    aim = f"at most {PAGE_MS:,.0f} ms"
    pages.rows += [
        Row("the form of its start is answered after", f"{answered * 1000:.1f} ms", aim=aim, met=answered <= 1),
        Row("from there until all is in order and the first job is sent", f"{first:.1f} s"),
    ]
    made.acts(plan, "pause")
    while Replay.objects.get(pk=plan.pk).holder:
        time.sleep(0.1)


def _half(plan: Replay) -> None:
    """Half of it as if it had been sent over the last hour, in the rows and in what is counted. Nobody runs it then."""
    now = now_ms()
    rows = ReplayJob.objects.filter(replay=plan)
    first = rows.order_by("pk").values_list("pk", flat=True)[0]
    values = [now - HOUR, first, now - HOUR + MINUTE, first, plan.pk, first + plan.total // 2]
    with connection.cursor() as cursor:
        cursor.execute(_HALF.format(table=ReplayJob._meta.db_table), values)
    sent = rows.filter(place=Place.SENT)
    fates = {"failed": sent.filter(fate=Fate.FAILED).count(), "completed": sent.filter(fate=Fate.COMPLETED).count()}
    number = sent.count()
    Replay.objects.filter(pk=plan.pk).update(
        phase=Phase.RUNNING, epoch=F("epoch") + 1, sent=number, to_send=plan.total - number, **fates
    )
    ReplayLine.objects.bulk_create(ReplayLine(replay=plan, kind=Told.CLIMBED, facts={"pace": 5}) for _ in range(LINES))
    at = now // SPAN_MS
    ReplaySpan.objects.bulk_create(
        ReplaySpan(replay=plan, span=at - ago, sent=100, completed=85, failed=10) for ago in range(10, SPANS)
    )


def _plans(plan: Replay, number: int) -> None:
    """So many plans in all, ended in one way or another."""
    phases = (Phase.DONE, Phase.CANCELLED, Phase.DRAFT, Phase.PAUSED, Phase.STOPPED)
    now = timezone.now()
    made = number - Replay.objects.count()
    Replay.objects.bulk_create(
        Replay(
            token=f"{each:032x}",
            source=plan.source,
            title=plan.title,
            made_from=plan.made_from,
            words=plan.words,
            made_by="olga",
            terms=plan.terms,
            phase=phases[each % len(phases)],
            frozen_ms=plan.frozen_ms,
            frozen=plan.frozen,
            started_at=now,
            total=1_000,
            sent=900,
            completed=800,
            failed=90,
            left_out=100,
        )
        for each in range(made)
    )
