"""When a plan stops by itself, and when it holds for a while."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from queues.models import ReplayJob
from queues.names import show_controls
from queues.replay.run import facts
from queues.replay.run.run import Run
from queues.replay.run.targets import Target
from queues.replay.terms import Hours
from queues.replay.types import Phase, Place, Stop, Told
from queues.replay.watching import last_ended
from queues.sendings import Fate

LAST = 100  # jobs that ended, of which too many must not fail again
ENOUGH = 20  # that have to have ended before their share says anything
IDLE_S = 20.0  # without a worker: a deploy may restart them all
ROOM = 0.9  # of the depth at which it holds: it goes on below
TELL_EVERY_S = 60.0  # that it holds is told no more often


def stop(run: Run, why: Stop, told: Mapping[str, object] | None = None, *, note: str = "") -> bool:
    """Stop until a person lets it go on; False where somebody was faster. Gives way to what people did meanwhile."""
    run.facts[facts.HALTED] = why
    text = show_controls(note)
    lines = {"why": why, **(told or {}), **({"note": text} if text else {})}
    return run.move(Phase.STOPPED, Told.STOPPED, lines, why=why, holding="", note=text)


def failing(run: Run) -> dict[str, object] | None:
    """The figures of too many failures again among the last that ended; None where there are few. A few short queries.

    Ends that a person has seen, before the plan was let go on, count no more.
    """
    limit = run.terms.stop_percent
    if limit is None or run.replay.completed + run.replay.failed < ENOUGH:
        return None
    lately = last_ended(run.replay, LAST, after_ms=run.facts.get(facts.FRESH) or 0)
    if lately.number < ENOUGH or lately.failed * 100 <= limit * lately.number:
        return None
    return {"failed": lately.failed, "number": lately.number, "limit": limit}


def newest_end(run: Run) -> int | None:
    """`ended_ms` of the job that ended last. Two short queries."""
    found: list[int] = []
    for fate in (Fate.COMPLETED, Fate.FAILED):
        rows = ReplayJob.objects.filter(replay=run.replay.pk, place=Place.SENT, fate=fate, ended_ms__isnull=False)
        newest = rows.order_by("-ended_ms").values_list("ended_ms", flat=True).first()
        found += [] if newest is None else [newest]
    return max(found, default=None)


def idle(run: Run, targets: Sequence[Target], now_ms: float) -> tuple[Stop, dict[str, object]] | None:
    """A target to which nothing may be sent: it is paused, or has had no worker for long."""
    for target in targets:
        if target.paused and run.terms.stop_paused:
            return Stop.PAUSED, {"queue": target.ref.label}
        idle = target.idle_since_ms
        if idle is not None and run.terms.stop_idle and now_ms - idle >= IDLE_S * 1000:
            return Stop.NO_WORKER, {"queue": target.ref.label, "seconds": round((now_ms - idle) / 1000)}
    return None


def holds(run: Run, targets: Sequence[Target], now_ms: float) -> tuple[Stop, dict[str, object]]:
    """Why nothing is sent for now, with its figures; NONE where something may be."""
    terms = run.terms
    if terms.hours is not None and not within(terms.hours, datetime.now(UTC)):
        return Stop.HOURS, {}
    most = terms.depth_max
    if most is not None:
        # Where it goes on a little below, it does not hold and go on with every job.
        above = int(most * ROOM) if run.replay.holding == Stop.DEPTH else most - 1
        deepest = max((target.depth for target in targets if target.depth is not None), default=0)
        if deepest > above:
            return Stop.DEPTH, {"backlog": deepest, "limit": most}
    if terms.age_max_s is not None:
        oldest = min((target.oldest_ms for target in targets if target.oldest_ms is not None), default=None)
        if oldest is not None and now_ms - oldest > terms.age_max_s * 1000:
            return Stop.AGE, {"age_s": round((now_ms - oldest) / 1000), "limit_s": terms.age_max_s}
    return Stop.NONE, {}


def hold(run: Run, why: Stop, told: Mapping[str, object]) -> None:
    """Write down that it holds, or (NONE) goes on; in the feed too, at most once a minute."""
    before = run.replay.holding
    if before == why:
        return
    begins = why is not Stop.NONE
    line: tuple[Told, dict[str, object]] | None
    said = run.facts.get(facts.SAID_HELD, False)
    at, now = run.facts.get(facts.TOLD_HELD), time.time()
    if begins and (said or at is None or now - at >= TELL_EVERY_S):
        run.facts |= {facts.TOLD_HELD: now, facts.SAID_HELD: True}
        line = Told.HELD, {"why": why, **told}
    else:
        run.facts[facts.SAID_HELD] = False
        line = (Told.FREE, {"why": before}) if said else None
    with run.saving(holding=why):
        if line is not None:
            run.tell(*line)


def within(hours: Hours, at: datetime) -> bool:
    """Whether jobs may be sent at a moment (aware). The clock of the zone counts, with its summer time."""
    local = at.astimezone(ZoneInfo(hours.zone))
    clock, today = local.strftime("%H:%M"), local.date()
    if hours.begin < hours.until:
        return str(today.isoweekday()) in hours.days and hours.begin <= clock < hours.until
    # Past midnight, on the day that began; the same time twice is a whole day.
    began = today if clock >= hours.begin else today - timedelta(days=1)
    return str(began.isoweekday()) in hours.days and (clock >= hours.begin or clock < hours.until)
