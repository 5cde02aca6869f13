"""The ledger of a plan as files tell it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext

from dashboard import export
from dashboard.replays.ledger import is_exact
from dashboard.words import shown
from queues import masking
from queues.names import show_controls
from queues.quantities import instant
from queues.replay.ledger import Row
from queues.types import JobRef

EXPORT = "export-replay"  # as the log of actions calls it
MOST = 1_000_000  # rows of one file

COLUMNS = (
    "replay", "source", "queue", "job", "name", "acts", "target", "letter_queue", "letter", "place", "conflict", "note",
    "canary", "created_at", "failed_at", "group", "sent_at", "sent_queue", "sent_as", "outcome", "attempts_failed",
    "ended_at", "failed_again", "original", "order_key",
)  # fmt: skip


def record(replay: str, row: Row) -> dict[str, object]:
    """A row by the names of the columns. Moments are ISO 8601 in UTC; queues and jobs as in URLs.

    `outcome` is empty for a job that was not sent, or of which nothing was heard yet.
    """
    with masking.within(row.job.queue):
        name = shown(row.name, 200)
    return {
        "replay": replay,
        "source": row.job.queue.source,
        "queue": row.job.queue.slug,
        "job": named(row.job),
        "name": show_controls(name, keep=""),
        "acts": row.acts,
        "target": row.target.slug if row.target else None,
        "letter_queue": row.letter.queue.slug if row.letter else None,
        "letter": named(row.letter) if row.letter else None,
        "place": row.place,
        "conflict": row.conflict or None,
        "note": show_controls(shown(row.note, 500), keep="") or None,
        "canary": row.canary,
        "created_at": moment(row.created_ms),
        "failed_at": moment(row.failed_ms),
        "group": row.group.slug if row.group else None,
        "sent_at": moment(row.sent_ms),
        "sent_queue": row.made.queue.slug if row.made else None,
        "sent_as": named(row.made) if row.made else None,
        "outcome": row.fate or None,
        "attempts_failed": row.tries,
        "ended_at": moment(row.ended_ms),
        "failed_again": row.again.slug if row.again else None,
        "original": row.original or None,
        "order_key": row.key or None,
    }


def named(job: JobRef) -> str:
    """A job as in URLs; one whose id is too long to be kept by what stands for it, which is no such name."""
    return job.slug if is_exact(job) else job.id.decode()


def written(replay: str, rows: Iterable[Row], ending: str) -> Iterator[str]:
    """The rows of a file that ends in `csv` or `jsonl`."""
    return export.written(ending, COLUMNS, (record(replay, row) for row in rows), MOST, _cut)


def broken() -> str:
    """The last row of a file whose other rows could not be read."""
    return gettext("Cut here: the other jobs could not be read. Export them again.")


def _cut() -> str:
    return gettext("Cut here: a file holds at most %(most)d jobs. Narrow the filter for others.") % {"most": MOST}


def moment(ms: int | None) -> str | None:
    """ISO 8601 in UTC."""
    at = instant(ms)
    return None if at is None else at.isoformat(timespec="milliseconds")
