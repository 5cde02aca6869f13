"""Plans that are kept no longer: drafts that nobody touches, what was discarded, the ledgers of those that ended."""

from __future__ import annotations

import time
from datetime import timedelta

from django.db import models, transaction
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from queues import audit
from queues.audit.types import Actor
from queues.models import Replay, ReplayJob, ReplayLine, ReplayQueue, ReplaySpan
from queues.replay.steering.drafts import DISCARD, DISCARDED
from queues.replay.types import ENDED, Phase

DRAFT_DAYS = 7
FORGOTTEN = "forgotten"  # `Replay.step` of a plan that ended, and whose rows are deleted
DRAFTS = 100  # that are discarded in one go
PARTS: tuple[type[models.Model], ...] = (ReplayJob, ReplaySpan, ReplayLine, ReplayQueue)


def forget(days: int, batch: int, until: float) -> int:
    """Delete what is too old, `batch` rows in a transaction, until `until` (time.monotonic()); gives how many plans.

    A plan that ended `days` ago loses its rows (0: never); its summary stays as long as the log of actions has the
    entry of its start. A draft that nobody touched for a week is discarded.
    """
    _discard_idle()
    return _forget_discarded(batch, until) + (_forget_ended(days, batch, until) if days else 0)


def _discard_idle() -> None:
    """By nobody, and the log says so."""
    idle = Replay.objects.filter(phase=Phase.DRAFT, changed_at__lt=timezone.now() - timedelta(days=DRAFT_DAYS))
    for draft in idle.select_related("source", "group")[:DRAFTS]:
        with transaction.atomic():
            now = timezone.now()
            values = {"phase": Phase.CANCELLED, "step": DISCARDED, "ended_at": now, "changed_at": now}
            if idle.filter(pk=draft.pk).update(**values):  # nobody has touched it just now
                note = _("Nobody touched the draft for %(days)s days. Nothing was sent.") % {"days": DRAFT_DAYS}
                told = {"replay": draft.pk, "jobs": draft.total}
                by, source = Actor(""), draft.source.name
                audit.record(by, DISCARD, source=source, parameters=told, note=note, group=draft.group)


def _forget_discarded(batch: int, until: float) -> int:
    done = 0
    for plan in Replay.objects.filter(phase=Phase.CANCELLED, step=DISCARDED).order_by("pk"):
        if not _emptied(plan, batch, until):
            break
        plan.delete()
        done += 1
    return done


def _forget_ended(days: int, batch: int, until: float) -> int:
    ended = Replay.objects.filter(phase__in=ENDED).annotate(since=Coalesce("ended_at", "changed_at"))
    old = ended.filter(since__lt=timezone.now() - timedelta(days=days)).exclude(step=DISCARDED).order_by("pk")
    done = 0
    for plan in old.exclude(step=FORGOTTEN):
        if not _emptied(plan, batch, until):
            return done
        Replay.objects.filter(pk=plan.pk).update(step=FORGOTTEN, data=None, before=None)
        done += 1
    old.filter(step=FORGOTTEN, entry=None).delete()
    return done


def _emptied(plan: Replay, batch: int, until: float) -> bool:
    """Delete the rows of a plan; False where time was over before all were gone."""
    for part in PARTS:
        rows = part._default_manager.filter(replay=plan)
        while found := list(rows.values_list("pk", flat=True)[:batch]):
            if time.monotonic() > until:
                return False
            part._default_manager.filter(pk__in=found).delete()
    return True
