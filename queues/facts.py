"""The facts about a queue that somebody should know, and how they are said in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.quantities import duration, number


class Level(StrEnum):
    """How much a queue asks for, as `data-level` and the marks of the pages say it."""

    CRIT = "crit"
    WARN = "warn"
    UNKNOWN = "unknown"
    QUIET = "quiet"  # nothing to do, something to know
    OK = "ok"


class Why(StrEnum):
    """The fact behind a judgement."""

    PARKED = "parked"
    NO_WORKER = "no-worker"
    STRANDED = "stranded"
    OLD = "old"
    LETTERS = "letters"
    PAUSED = "paused"
    FAILED = "failed"
    GONE = "gone"
    UNREAD = "unread"
    ODD_KEYS = "odd-keys"
    FAILING = "failing"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is so: `number` jobs, out of `total` where that says more; `age_ms` of the oldest since
    `since_ms`, a lower bound when `at_least`.
    """

    why: Why
    level: Level
    number: int = 0
    age_ms: int | None = None
    at_least: bool = False
    since_ms: int | None = None
    total: int = 0

    @property
    def title(self) -> str:
        """A few words without the queue's name, in the active language. They do not change as the clock runs."""
        return _title(self)

    @property
    def sentence(self) -> str:
        """A whole sentence, in the active language, with the age in words."""
        return " ".join(filter(None, (self.said, self.aged % {"span": duration(self.age_ms, whole=True)})))

    @property
    def said(self) -> str:
        """The sentence without the age: like the title, it does not change as the clock runs."""
        return _said(self)

    @property
    def aged(self) -> str:
        """A sentence on the age with a place `%(span)s` for it; "" when it has none."""
        if self.age_ms is None:
            return ""
        if self.at_least:
            return _("The oldest was created at least %(span)s ago.")
        return _("The oldest was created %(span)s ago.")


def _title(fact: Fact) -> str:
    n = fact.number
    match fact.why:
        case Why.PARKED:
            text = ngettext("%(n)s job is parked", "%(n)s jobs are parked", n)
        case Why.NO_WORKER:
            text = ngettext("no worker for %(n)s waiting job", "no worker for %(n)s waiting jobs", n)
        case Why.STRANDED:
            text = ngettext("%(n)s active job without a worker", "%(n)s active jobs without a worker", n)
        case Why.OLD:
            text = ngettext("%(n)s job waits for too long", "%(n)s jobs wait, some for too long", n)
        case Why.LETTERS:
            text = ngettext("%(n)s dead letter", "%(n)s dead letters", n)
        case Why.PAUSED:
            text = ngettext("paused, %(n)s job waits", "paused, %(n)s jobs wait", n) if n else _("paused")
        case Why.FAILED:
            text = ngettext("%(n)s failed", "%(n)s failed", n)
        case Why.GONE:
            text = _("gone")
        case Why.UNREAD:
            text = _("not read yet")
        case Why.ODD_KEYS:
            text = ngettext("%(n)s state cannot be read", "%(n)s states cannot be read", n)
        case Why.FAILING:
            text = _("%(n)s of %(total)s failed in 5 min")
        case Why.STALLED:
            text = ngettext("%(n)s stall in 10 min", "%(n)s stalls in 10 min", n)
    return text % {"n": number(n), "total": number(fact.total)}


def _said(fact: Fact) -> str:
    n = fact.number
    match fact.why:
        case Why.PARKED:
            text = ngettext(
                "%(n)s job is parked in a “paused” list that no worker reads until the queue is resumed.",
                "%(n)s jobs are parked in a “paused” list that no worker reads until the queue is resumed.",
                n,
            )
        case Why.NO_WORKER:
            text = ngettext(
                "%(n)s job waits and no worker is connected.", "%(n)s jobs wait and no worker is connected.", n
            )
        case Why.STRANDED:
            text = ngettext(
                "%(n)s job is active, yet no worker is connected: it waits until one comes and finds it stalled.",
                "%(n)s jobs are active, yet no worker is connected: they wait until one comes and finds them stalled.",
                n,
            )
        case Why.OLD:
            text = ngettext("%(n)s job waits.", "%(n)s jobs wait.", n)
        case Why.LETTERS:
            text = ngettext("%(n)s dead letter waits for somebody.", "%(n)s dead letters wait for somebody.", n)
        case Why.PAUSED:
            text = _paused(n)
        case Why.FAILED:
            text = ngettext("%(n)s job has failed and is kept.", "%(n)s jobs have failed and are kept.", n)
        case Why.GONE:
            text = _("Not one key of this queue is left.")
        case Why.UNREAD:
            text = _("It has not been read yet.")
        case Why.ODD_KEYS:
            text = ngettext(
                "%(n)s state cannot be read: its key holds something that is not BullMQ’s.",
                "%(n)s states cannot be read: their keys hold something that is not BullMQ’s.",
                n,
            )
        case Why.FAILING:
            text = _("It fails fast: of %(total)s jobs that finished in the last 5 minutes, %(n)s failed.")
        case Why.STALLED:
            text = ngettext(
                "A job stalled in the last 10 minutes: its worker died, or was too busy to renew its lock.",
                "Jobs stalled %(n)s times in the last 10 minutes: workers died, or were too busy to renew the locks.",
                n,
            )
    return text % {"n": number(n), "total": number(fact.total)}


def _paused(n: int) -> str:
    if not n:
        return _("Paused.")
    return ngettext("Paused; %(n)s job waits until it is resumed.", "Paused; %(n)s jobs wait until it is resumed.", n)
