"""What has become of a few jobs since they were retried at once: told below what came of the action."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import cast

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from queues import audit
from queues.actions import Action
from queues.audit import Status
from queues.errors import QueueError
from queues.models import AuditEntry
from queues.names import decode_part
from queues.operations.sending import writer
from queues.quantities import number
from queues.registry import backend
from queues.sendings import Fate, Replays
from queues.types import Capability, QueueRef

MOST = 20  # jobs whose fate is told; more are for a replay
LOOKS = 60  # at most, one each two seconds

_WORDS: dict[Fate, Promise] = {
    Fate.COMPLETED: ngettext_lazy("%(number)s completed", "%(number)s completed", "count"),
    Fate.FAILED: ngettext_lazy("%(number)s failed again", "%(number)s failed again", "count"),
    Fate.RETRYING: ngettext_lazy("%(number)s is retrying", "%(number)s are retrying", "count"),
    Fate.RUNNING: ngettext_lazy("%(number)s runs", "%(number)s run", "count"),
    Fate.WAITING: ngettext_lazy("%(number)s waits", "%(number)s wait", "count"),
    Fate.GONE: ngettext_lazy(
        "%(number)s is gone: removed as it ended, or by somebody",
        "%(number)s are gone: removed as they ended, or by somebody",
        "count",
    ),
    Fate.NONE: ngettext_lazy("of %(number)s nobody can tell yet", "of %(number)s nobody can tell yet", "count"),
}
_ENDS = (Fate.COMPLETED, Fate.FAILED, Fate.GONE)


@dataclass(frozen=True, slots=True)
class Since:
    """What has become of them, in words. `tone` is good, bad or empty; `ended`: nothing more is to be seen."""

    text: str
    tone: str
    ended: bool
    most: int = LOOKS


def told_of(entry: AuditEntry) -> bool:
    """Whether what became of the jobs of an action is told: at most twenty, retried at once."""
    return entry.action == Action.RETRY and entry.status == Status.DONE and 0 < len(entry.jobs) <= MOST


def looks(typed: str) -> int:
    """Which look a page asks for; the last where that is odd."""
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 4 else LOOKS


def since(entry: AuditEntry) -> Since:
    """How the retried jobs stand now. One short script; an outage is said, and no end."""
    ref = QueueRef.from_slug(entry.source, entry.queue)
    left = {each.slug for each in audit.exceptions(entry)}
    ids = [decode_part(slug, colon=True) for slug in entry.jobs if slug not in left]
    if not ids or Capability.REPLAYS not in backend(ref.source).capabilities:
        return Since("", "", ended=True)
    try:
        with writer(ref.source) as actions:
            standings = cast(Replays, actions).standings(ref, ids)
    except QueueError as error:
        return Since(str(error), "bad", ended=False)
    counted = Counter(standing.fate for standing in standings)
    parts = [words % {"count": n, "number": number(n)} for fate, words in _WORDS.items() if (n := counted[fate])]
    ended = all(fate in _ENDS for fate in counted)
    tone = "bad" if counted[Fate.FAILED] else "good" if ended else ""
    return Since(_("Since then: %(parts)s.") % {"parts": ", ".join(parts)}, tone, ended)
