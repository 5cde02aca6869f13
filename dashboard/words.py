"""Numbers, sizes, durations and states in words, as every page writes them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from queues.types import State

NONE = "–"  # what stands for an unknown

STATE_WORDS = {
    State.WAITING: pgettext_lazy("state", "Waiting"),
    State.PRIORITIZED: pgettext_lazy("state", "Prioritized"),
    State.ACTIVE: pgettext_lazy("state", "Active"),
    State.DELAYED: pgettext_lazy("state", "Delayed"),
    State.WAITING_CHILDREN: pgettext_lazy("state", "Waiting for children"),
    State.COMPLETED: pgettext_lazy("state", "Completed"),
    State.FAILED: pgettext_lazy("state", "Failed"),
}

DELAY_WORDS = {
    "schedule": _("next run of a schedule"),
    "backoff": _("retry in backoff"),
    "step": _("moved itself"),
    "scheduled": _("scheduled"),
}

STRETCH_WORDS = {
    "waiting": pgettext_lazy("stretch", "waiting"),
    "active": pgettext_lazy("stretch", "running"),
    "delayed": pgettext_lazy("stretch", "delayed"),
    "unknown": pgettext_lazy("stretch", "not known"),
}


def number(value: int | None) -> str:
    """1234567 as 1,234,567; an unknown as a dash."""
    return NONE if value is None else f"{value:,}"


def size(count: int | None) -> str:
    """Bytes in words: 2.1 KB. Powers of 1,024."""
    if count is None:
        return NONE
    if count < 1024:
        return f"{count} B"
    power = min(int(math.log(count + 0.5, 1024)), 4)
    return f"{count / 1024**power:,.1f} {('KB', 'MB', 'GB', 'TB')[power - 1]}"


def duration(ms: float | None) -> str:
    """Milliseconds in the two largest units that matter: 380 ms, 48.2 s, 4 m 33 s, 2 h 04 m, 6 d 4 h."""
    if ms is None:
        return NONE
    if ms < 0:
        return "−" + duration(-ms)
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = int(seconds + 0.5)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} m"
    return f"{whole // 86400:,} d {whole % 86400 // 3600} h"


def instant(ms: float | None) -> datetime | None:
    """Milliseconds since 1970 as an aware datetime; None when there is no such day (hostile values)."""
    if ms is None:
        return None
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def now_ms() -> float:
    return datetime.now(UTC).timestamp() * 1000
