"""A plan of which all is sent: what was sent is awaited, then it ends, and its entry in the log of actions with it.

One that was cancelled has ended before: what runs is left alone, and awaited in the same way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.audit.clean import line
from queues.audit.types import Status
from queues.models import AuditEntry, Replay, ReplayJob
from queues.quantities import number as figure
from queues.replay.originals import REMOVED
from queues.replay.run import facts
from queues.replay.run.looks import LONG_S, SENDING_S, Looks
from queues.replay.run.recording import remove_due
from queues.replay.run.run import Run
from queues.replay.types import ENDED, Acts, Phase, Place, Told
from queues.replay.watching import unended, unexplained
from queues.sendings import Fate

LONGEST = timedelta(hours=24)  # that what was sent is awaited
EXPLAINED_S = 15.0  # that the index of failures is waited for
AWAITING = "awaiting"  # `Replay.step` of a plan that was cancelled, while what it had sent is awaited
TIDYING = "receipts"  # `Replay.step` of a plan that ended, and whose receipts are still to be dropped


def all_sent(run: Run) -> float:
    """There is nothing left to send."""
    run.move(Phase.ENDING, Told.ALL_SENT, {"number": run.replay.sent}, sent_at=timezone.now(), holding="")
    return 0.0


@dataclass
class Ending:
    """Phase ENDING, and step AWAITING. At most a day: what has not ended by then is left as it is.

    Until then the originals of copies go as they were to, once these have completed.
    """

    run: Run
    _looks: Looks = field(init=False)

    def __post_init__(self) -> None:
        self._looks = Looks(self.run, SENDING_S, LONG_S)

    def step(self) -> float:
        """A look; gives after how many seconds the next makes sense. Raises what the backend raises."""
        if wait := self._looks.wait_s:
            return wait
        self._looks.look()
        remove_due(self.run)
        if is_overdue(self.run.replay) or (not unended(self.run.replay) and self._is_explained()):
            finish(self.run)
            return 0.0
        return self._looks.wait_s

    def rest(self) -> None:
        self._looks.rest()

    def close(self) -> None:
        """There is nothing left to do on the server."""

    def _is_explained(self) -> bool:
        """Whether the index knows of every failure again, or has had its time."""
        if not unexplained(self.run.replay):
            return True
        since = self.run.facts.setdefault(facts.OVER_AT, time.time())
        return time.time() - float(since) > EXPLAINED_S


def is_overdue(plan: Replay) -> bool:
    """Whether what was sent was awaited long enough: since all was, or nothing more was to be."""
    since = plan.ended_at or plan.sent_at
    return since is not None and timezone.now() - since > LONGEST


def awaits(plan: Replay) -> bool:
    """Whether nothing is done but to await what was sent."""
    return plan.phase == Phase.ENDING or (plan.phase in ENDED and plan.step == AWAITING)


def finish(run: Run) -> None:
    """Done, whatever the jobs came to. A few queries."""
    plan = run.replay
    step = TIDYING if leaves_receipts(plan) else ""
    if plan.phase in ENDED:
        with run.saving(step=step, down_since=None):
            _amend(plan)
        return
    told = {"completed": plan.completed, "failed": plan.failed, "other": plan.other}
    values = {"ended_at": timezone.now(), "step": step, "down_since": None}
    run.move(Phase.DONE, Told.DONE, told, also=lambda: complete(plan, Status.DONE), **values)


def leaves_receipts(plan: Replay) -> bool:
    """Whether receipts of copies are left, whose originals are gone: nobody could send these again."""
    copies = ReplayJob.objects.filter(replay=plan.pk, place=Place.SENT, acts=Acts.COPY, original=REMOVED)
    return plan.sent > 0 and copies.exists()


def complete(plan: Replay, status: Status) -> None:
    """Complete the entry of the start, as far as it is not: with an outcome for each job, and a sentence.

    Within the transaction that ends the plan.
    """
    outcomes, now = _outcomes(plan), timezone.now()
    if plan.entry_id is None:
        return
    for entry in AuditEntry.objects.filter(pk=plan.entry_id, status=Status.RUNNING):
        AuditEntry.objects.filter(pk=entry.pk, status=Status.RUNNING).update(
            status=status,
            outcomes={name: count for name, count in outcomes.items() if count},
            note=line(_note(plan), 2_000),
            ended_at=now,
            duration_ms=max(0, round((now - entry.at).total_seconds() * 1000)),
        )


def _amend(plan: Replay) -> None:
    """Say in the entry of the start what became of the rest, too."""
    told = {name: count for name, count in _outcomes(plan).items() if count}
    if plan.entry_id is None:
        return
    entries = AuditEntry.objects.filter(pk=plan.entry_id, status=Status.STOPPED)
    entries.update(outcomes=told, note=line(_note(plan), 2_000))


def _outcomes(plan: Replay) -> dict[str, int]:
    sent = ReplayJob.objects.filter(replay=plan.pk, place=Place.SENT)
    gone = sent.filter(fate=Fate.GONE).count()
    return {
        "completed": plan.completed,
        "failed": plan.failed,
        "gone": gone,
        "unknown": plan.other - gone,
        "under-way": plan.sent - plan.completed - plan.failed - plan.other,
        "left-out": plan.left_out,
        "refused": plan.refused,
        "back": plan.back,
    }


def _note(plan: Replay) -> str:
    """What it came to, in a sentence; “R-12: 2,095 jobs were sent; 2,086 completed, 9 failed again.”"""
    sent = ngettext("%(count)s job was sent", "%(count)s jobs were sent", plan.sent) % {"count": figure(plan.sent)}
    figures = {
        _("%(count)s completed"): plan.completed,
        _("%(count)s failed again"): plan.failed,
        _("of %(count)s it is not known how they ended"): plan.other,
        _("%(count)s were refused"): plan.refused,
        _("%(count)s were not sent"): plan.back,
    }
    parts = [text % {"count": figure(count)} for text, count in figures.items() if count]
    told = _("%(plan)s: %(sent)s; %(parts)s.") if parts else _("%(plan)s: %(sent)s.")
    return told % {"plan": plan, "sent": sent, "parts": ", ".join(parts)}
