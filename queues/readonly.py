"""Why nothing may be written to a queue: by the settings, or because its server takes no writes from us."""

from __future__ import annotations

import threading
import time

from django.utils.translation import gettext as _

from queues.backend import Actions
from queues.registry import SourceConfig, config
from queues.types import QueueRef

KEPT_S = 60.0  # that writing is permitted
REFUSED_KEPT_S = 10.0  # that it is not: whoever mends it wants to see so
MOST_KEPT = 10_000

_probed: dict[tuple[SourceConfig, str], tuple[float, str]] = {}  # until when (time.monotonic()), and why
_lock = threading.Lock()


def by_setting(source: str) -> str:
    """Why the settings forbid writing to a source; "" when they do not. NotFound for one that is not configured."""
    if config(source).read_only:
        return _("The source “%(source)s” is read-only here (MIRANTE_READ_ONLY).") % {"source": source}
    return ""


def why(queue: QueueRef, actions: Actions) -> str:
    """The same for a queue, with its server asked when it was not in the last minute. One call that changes nothing."""
    if forbidden := by_setting(queue.source):
        return forbidden
    at = (config(queue.source), queue.slug)
    with _lock:
        until, told = _probed.get(at, (0.0, ""))
    if until > time.monotonic():
        return told
    told = actions.read_only(queue)
    with _lock:
        if len(_probed) >= MOST_KEPT:
            _probed.clear()
        _probed[at] = (time.monotonic() + (REFUSED_KEPT_S if told else KEPT_S), told)
    return told


def forget() -> None:
    """Ask anew, as after a server has refused a write, and for tests."""
    with _lock:
        _probed.clear()
