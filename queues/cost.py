"""What we ask of a monitored server: commands a second that all our processes send to it together.

Each process adds what it has sent since its last report to a row of the database that all share, at
most every ten seconds. The worker reports with every regular reading, so silence means unknown.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence

from django.db import DatabaseError, transaction
from django.db.models import F, Min, Sum

from queues.models import Cost
from queues.passing import short_wait
from queues.registry import made

SLOT_S = 10
WINDOW = 6  # slots that a figure is the mean of: one minute
KEEP = 360  # slots kept: one hour

logger = logging.getLogger(__name__)


class _Reported:
    """What this process has reported so far."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.at = time.monotonic()
        self.sent: dict[str, int] = {}


_reported = _Reported()


def report(*, now: bool = False, silent_too: bool = False) -> None:
    """Add this process's commands to the shared tally: at most every 10 s, unless `now`.

    `silent_too` writes a row for a source to which nothing was sent as well: the worker does, as its
    sign that somebody counts. A figure that cannot be written is reported next time.
    """
    if not _reported.lock.acquire(blocking=now):
        return
    try:
        if now or time.monotonic() - _reported.at >= SLOT_S:
            _reported.at = time.monotonic()
            _write(silent_too=silent_too)
    finally:
        _reported.lock.release()


def commands_per_second(sources: Sequence[str]) -> Mapping[str, float | None]:
    """The mean of the last minute as reported, for all processes; None when nobody reported in it. One query.

    Right to about ten seconds: what a process sends after its last report counts with its next one.
    """
    slot = _slot()
    recent = Cost.objects.filter(source__in=sources, slot__gte=slot - WINDOW, slot__lt=slot)
    sums = recent.values_list("source").annotate(Min("slot"), Sum("commands"))
    known = {source: commands / (SLOT_S * (slot - first)) for source, first, commands in sums}
    return {source: known.get(source) for source in sources}


def prune() -> None:
    """Drop what is older than an hour."""
    Cost.objects.filter(slot__lt=_slot() - KEEP).delete()


def _write(*, silent_too: bool) -> None:
    sent: dict[str, int] = {}
    for name, reader in made():
        sent[name] = sent.get(name, 0) + reader.commands_sent
    grown = {name: _grown(_reported.sent.get(name, 0), total) for name, total in sent.items()}
    news = {name: commands for name, commands in grown.items() if commands or silent_too}
    if not news:
        return
    try:
        with short_wait(), transaction.atomic():
            for name, commands in news.items():
                _add(name, commands)
    except DatabaseError as error:
        logger.warning("The number of commands sent could not be written: %s", error)
    else:
        _reported.sent.update(sent)


def _add(source: str, commands: int) -> None:
    row, _ = Cost.objects.get_or_create(source=source, slot=_slot())
    Cost.objects.filter(pk=row.pk).update(commands=F("commands") + commands)


def _grown(before: int, total: int) -> int:
    """What came on top of `before`; a counter that began anew (after a fork) counts whole."""
    return total - before if total >= before else total


def _slot() -> int:
    return int(time.time()) // SLOT_S
