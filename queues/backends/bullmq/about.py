"""What the page of one queue shows besides its jobs: limits, layout, its stream of events, what comes due."""

from __future__ import annotations

import time

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.backends.bullmq import counts
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.keys import base
from queues.backends.bullmq.replies import Reply, array, blob, count, integer
from queues.backends.bullmq.rows import run_at
from queues.backends.bullmq.scripts import script
from queues.errors import NotFound
from queues.types import Counts, Layout, QueueInfo, QueueRef

_SUFFIXES = (b"events", b"limiter", b"id", b"repeat", b"delayed", b"marker", b"wait", b"meta")
_LAYOUTS = {4: Layout.V4, 5: Layout.V5, 6: Layout.V6}
_BY_HAND = 2**53 - 1  # Worker.rateLimit writes this into the limiter (BullMQ: classes/worker)


def read(connection: Connection, queue: QueueRef) -> QueueInfo:
    """The figures of one queue in three calls. NotFound when no key of it is left."""
    depths = counts.read(connection, [queue])[queue]
    keys = [base(queue) + suffix for suffix in _SUFFIXES]
    [reply] = connection.run([script("about").call(keys, int(time.time() * 1000))])
    told = array(reply, 12)
    length, first, last, limiter_ms, limiter, job_id, schedulers, delayed, due, marker, old_marker, limit = told
    if not depths.exists and not (length or job_id or schedulers):
        raise NotFound(_("There is no queue %(queue)s: none of its keys is left.") % {"queue": queue.label[:200]})
    limited, window_note = _limited(limiter_ms, limiter, limit)
    return QueueInfo(
        counts=depths,
        layout=_LAYOUTS.get(counts.major(depths.version) or 0, Layout.UNKNOWN),
        version=depths.version,
        versions_note=_mixed(depths, marker=bool(marker), old_marker=bool(old_marker)),
        limited_for_ms=limited,
        events_length=count(length),
        first_event_ms=_moment(first),
        last_event_ms=_moment(last),
        last_event_id=_event_id(last),
        last_job_id=integer(job_id),
        schedulers=count(schedulers),
        next_delayed_ms=run_at(blob(delayed)),
        due_now=count(due),
        notes=tuple(note for note in (_parked(depths), window_note) if note),
    )


def _event_id(entry: Reply) -> str:
    return (blob(entry) or b"0-0").decode("ascii", errors="replace")


def _moment(entry: Reply) -> int | None:
    return integer((blob(entry) or b"").partition(b"-")[0])


def _limited(ttl: Reply, value: Reply, global_max: Reply) -> tuple[int | None, str]:
    """For how long the queue is rate limited. Meta holds the limit only where it is global."""
    used, most = integer(value), integer(global_max)
    if not isinstance(ttl, int) or ttl <= 0 or used is None:
        return None, ""
    if used >= _BY_HAND or (most is not None and used >= most):
        return ttl, ""
    if most is not None:
        return None, ""
    return None, _("A rate limit is in use, set by the workers: whether it is reached is not in the keys.")


def _mixed(depths: Counts, *, marker: bool, old_marker: bool) -> str:
    """A sentence where the version in meta and the keys contradict each other."""
    major = counts.major(depths.version)
    if major == 6 and depths.parked:
        return _("meta says %(version)s, but a paused list is left: 5.x or older has paused this queue.") % {
            "version": depths.version
        }
    if major == 4 and marker:
        return _("meta says %(version)s, but there is a marker key: 5.x or newer works on this queue too.") % {
            "version": depths.version
        }
    if major in (5, 6) and old_marker:
        return _("meta says %(version)s, but a marker of 4.x stands in the wait list: 4.x works on this queue too.") % {
            "version": depths.version
        }
    if not depths.version and depths.exists:
        return _("No version is written here: only Node's BullMQ writes one, Python's does not.")
    return ""


def _parked(depths: Counts) -> str:
    if not depths.parked:
        return ""
    return ngettext(
        "%(count)d waiting job is parked in a paused list: no worker takes it until the queue is resumed.",
        "%(count)d waiting jobs are parked in a paused list: no worker takes them until the queue is resumed.",
        depths.parked,
    ) % {"count": depths.parked}
