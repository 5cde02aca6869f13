"""What to draw when news came faster than they are drawn: one news that says what both said."""

from __future__ import annotations

from dataclasses import replace

from queues.live import FailuresNews, JobNews, News, OverviewNews, QueueNews

SEEN = 40  # events of a queue that are kept to be shown; the others are in `total`
JOB_EVENTS = 200
PROGRESS = 200
GROUPS = 1_000  # of failures that are named


def merge(older: News | None, newer: News) -> News:
    """The two as one, bounded however many there were. Both are of the same topic."""
    match older, newer:
        case OverviewNews(), OverviewNews():
            if newer.whole:
                return newer
            rows = {row.ref: row for row in (*older.rows, *newer.rows)}
            return replace(newer, rows=tuple(rows.values()), whole=older.whole)
        case QueueNews(), QueueNews():
            return _queue(older, newer)
        case JobNews(), JobNews():
            return replace(newer, events=(*older.events, *newer.events)[-JOB_EVENTS:])
        case FailuresNews(), FailuresNews():
            groups = tuple(dict.fromkeys((*older.groups, *newer.groups)))
            whole = older.whole or newer.whole or len(groups) > GROUPS
            return replace(newer, groups=groups[-GROUPS:], fresh=older.fresh + newer.fresh, whole=whole)
    return newer


def _queue(older: QueueNews, newer: QueueNews) -> QueueNews:
    progress = {event.job: event for event in (*older.progress, *newer.progress)}
    return replace(
        newer,
        row=newer.row or older.row,
        events=(*older.events, *newer.events)[-SEEN:],
        total=older.total + newer.total,
        progress=tuple(progress.values())[-PROGRESS:],
    )
