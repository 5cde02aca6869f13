"""Groups of failures as files tell them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext

from dashboard import export
from dashboard.failures.lines import hidden
from queues.failures.find import Row
from queues.failures.windows import WINDOWS
from queues.quantities import instant

EXPORT = "export-failures"  # as the log of actions calls it
MOST_GROUPS = 100_000  # of one file

COLUMNS = (
    "group", "title", "source", "queues", "queue_count", "job_name", "job_names", "class", "class_mixed",
    "class_by_hand", "state", "h1", "h3", "h24", "d3", "d7", "counted_until", "total", "present", "usual_per_hour",
    "growth", "first_seen", "last_seen", "regressed_at", "owner",
)  # fmt: skip


def record(row: Row) -> dict[str, object]:
    """A group by the names of the columns. Moments are ISO 8601 in UTC; queues as in URLs, at most the first three."""
    grown = row.growth.word or row.growth.times
    return {
        "group": row.slug,
        "title": hidden(row.title),
        "source": row.source,
        "queues": [ref.slug for ref in row.queues],
        "queue_count": row.queue_count,
        "job_name": row.name,
        "job_names": row.name_count,
        "class": row.kind,
        "class_mixed": row.mixed,
        "class_by_hand": row.by_hand,
        "state": row.life,
        **{window: getattr(row.counts, window) for window in WINDOWS},
        "counted_until": moment(row.windows_ms),
        "total": row.total,
        "present": row.present,
        "usual_per_hour": row.usual,
        "growth": round(grown, 2) if isinstance(grown, float) else grown,
        "first_seen": moment(row.first_ms),
        "last_seen": moment(row.last_ms),
        "regressed_at": moment(row.regressed_ms),
        "owner": row.owner,
    }


def written(rows: Iterable[Row], ending: str) -> Iterator[str]:
    """The rows of a file that ends in `csv` or `jsonl`."""
    return export.written(ending, COLUMNS, map(record, rows), MOST_GROUPS, _cut)


def broken() -> str:
    """The last row of a file whose other groups could not be read."""
    return gettext("Cut here: the other groups could not be read. Export them again.")


def _cut() -> str:
    return gettext("Cut here: a file holds at most %(most)d groups. Narrow the filter for others.") % {
        "most": MOST_GROUPS
    }


def moment(ms: int | None) -> str | None:
    """ISO 8601 in UTC."""
    at = instant(ms)
    return None if at is None else at.isoformat(timespec="milliseconds")
