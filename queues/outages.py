"""When a source stopped answering: written down once, kept while it lasts, cleared by the first answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q
from django.utils import timezone

from queues import cost
from queues.backend import Backend
from queues.errors import Unreachable
from queues.models import Source
from queues.names import show_controls
from queues.passing import in_passing
from queues.registry import backend

WRITE_EVERY = timedelta(seconds=5)  # later failures of one outage are written at most this often
LONGEST_HOLD_S = 10.0


@dataclass(frozen=True, slots=True)
class _Held:
    until: float  # time.monotonic()
    error: Unreachable


_held: dict[str, _Held] = {}
_lock = threading.Lock()


@contextmanager
def watched(name: str) -> Iterator[Backend]:
    """The backend of a source, with outages kept: `Unreachable` leaves it with `since` filled in.

    Costs one small query on success, a write only when an outage begins or ends. Raises at once while
    the source is being held (`refusal`). NotFound for a source that is not configured.
    """
    reader = backend(name)
    if held := refusal(name):
        raise held
    began = time.monotonic()
    try:
        yield reader
    except Unreachable as error:
        raise failed(name, error, time.monotonic() - began) from error
    else:
        note_success(name)
        cost.report()


@in_passing()
def note_success(name: str, answered_at: datetime | None = None) -> None:
    """The source has answered (at `answered_at`, else now). Writes only when an outage ends by it."""
    answered_at = answered_at or timezone.now()
    forget(name)
    # An answer that is older than the first failure after it proves nothing about now.
    ended = Source.objects.filter(name=name, down_since__lte=answered_at)
    if ended.exists():
        ended.update(down_since=None, tried_at=None, error="", tries=0, ok_at=answered_at)


@in_passing()
def note_refusal(name: str, error: str) -> None:
    """The source answers, but lets us read nothing: that ends an outage, and stays as its `error` without a time."""
    now = timezone.now()
    forget(name)
    _row(name)
    here = Source.objects.filter(Q(down_since__isnull=True) | Q(down_since__lte=now), name=name)
    here.update(down_since=None, tried_at=None, error=show_controls(error), tries=0)


@in_passing()
def note_readable(name: str) -> None:
    """What was refused before could be read just now."""
    Source.objects.filter(name=name, down_since__isnull=True).exclude(error="").update(error="")


def note_failure(name: str, error: str) -> datetime:
    """The source did not answer just now. Gives the time at which the outage began.

    The first failure after a success sets that time, whichever process sees it; later ones only
    renew the reason and the number of tries, at most every 5 s.
    While somebody else holds the database it stays unwritten, and is noted with the next try.
    """
    now = timezone.now()
    with in_passing():
        return _noted(name, show_controls(error), now)
    return Source.objects.filter(name=name).values_list("down_since", flat=True).first() or now


def _noted(name: str, text: str, now: datetime) -> datetime:
    source = _row(name)
    if source.down_since is None:
        first = Source.objects.filter(name=name, down_since__isnull=True)
        if first.update(down_since=now, tried_at=now, error=text, tries=1):
            return now
        source = _row(name)
    elif source.tried_at is None or source.tried_at < now - WRITE_EVERY:
        later = Source.objects.filter(name=name, down_since__isnull=False, tried_at__lt=now - WRITE_EVERY)
        later.update(tried_at=now, error=text, tries=F("tries") + 1)
    return source.down_since or now


def failed(name: str, error: Unreachable, took_s: float) -> Unreachable:
    """Note a failure that took `took_s` seconds to show; gives the error with `since` filled in."""
    told = Unreachable(str(error), source=name, since=note_failure(name, str(error)))
    with _lock:
        _held[name] = _Held(time.monotonic() + min(2 * took_s, LONGEST_HOLD_S), told)
    return told


def refusal(name: str) -> Unreachable | None:
    """The last failure as long as it stands for further tries: for twice the time it took to show, at most 10 s.

    So a server that swallows packets costs a page its timeout now and then, and not each time. It ends
    at once when any process has had an answer. A query only while a failure is kept.
    """
    with _lock:
        held = _held.get(name)
    if held is None or held.until <= time.monotonic():
        return None
    if not Source.objects.filter(name=name, down_since=held.error.since).exists():
        forget(name)
        return None
    return Unreachable(str(held.error), source=name, since=held.error.since)


def forget(name: str) -> None:
    """Try again at once, as after a success or when somebody presses “try now”."""
    with _lock:
        _held.pop(name, None)


def _row(name: str) -> Source:
    return Source.objects.only("down_since", "tried_at").get_or_create(name=name)[0]
