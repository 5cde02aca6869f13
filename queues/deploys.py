"""Versions that went live, as people and pipelines tell: what changed before failures began."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q
from django.utils.translation import gettext as _

from queues.errors import BadInput
from queues.models import Deploy
from queues.names import show_controls
from queues.quantities import LAST_MS, MINUTE, now_ms

VERSION = 200  # characters
MOST = 500  # of one answer
AHEAD = 5 * MINUTE  # by which the clock of whoever tells may differ from ours


def record(version: str, at_ms: int | None = None, source: str = "", by: str = "") -> Deploy:
    """Keep that a version went live at `at_ms` (now when None); `source` empty: everywhere.

    BadInput without a version, for a moment to come, or one before 1970. Telling the same once more adds nothing.
    """
    told, now = " ".join(show_controls(version, keep="").split()), now_ms()
    at = now if at_ms is None else at_ms
    if not told:
        raise BadInput(_("Say which version went live."))
    if len(told) > VERSION:
        raise BadInput(_("A version has at most %(most)d characters.") % {"most": VERSION})
    if not 0 < at <= min(now + AHEAD, LAST_MS):
        raise BadInput(_("A deploy has been: it lies between 1970 and now."))
    return Deploy.objects.get_or_create(version=told, at_ms=at, source=source, defaults={"told_by": by[:150]})[0]


def between(begin_ms: int, end_ms: int, source: str) -> Sequence[Deploy]:
    """What went live on a source or everywhere from `begin_ms` on and before `end_ms`, the first first; at most 500."""
    found = Deploy.objects.filter(Q(source=source) | Q(source=""), at_ms__gte=begin_ms, at_ms__lt=end_ms)
    return list(found.order_by("at_ms", "pk")[:MOST])


def newest(sources: Sequence[str], number: int = 5) -> Sequence[Deploy]:
    """What went live last on any of these sources or everywhere, the newest first."""
    return list(Deploy.objects.filter(source__in=[*sources, ""]).order_by("-at_ms", "-pk")[:number])
