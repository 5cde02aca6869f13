"""The ledger of a plan as files tell it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext

from dashboard import export
from dashboard.replays.ledger import is_exact
from dashboard.replays.reasons import reason
from dashboard.words import shown
from queues import masking
from queues.models import Replay
from queues.names import show_controls
from queues.quantities import instant
from queues.redaction import Rules
from queues.replay.ledger import Row
from queues.replay.terms import Terms
from queues.types import JobRef, QueueRef

EXPORT = "export-replay"  # as the log of actions calls it
MOST = 1_000_000  # rows of one file
REMEMBERED = 10_000  # names and notes

COLUMNS = (
    "replay", "source", "queue", "job", "name", "acts", "target", "letter_queue", "letter", "place", "conflict",
    "reason", "note", "canary", "created_at", "failed_at", "group", "sent_at", "sent_queue", "sent_as", "outcome",
    "attempts_failed", "ended_at", "failed_again", "original", "order_key",
)  # fmt: skip


class Eyes:
    """Texts out of queues as `shown` gives them. Those of one queue recur: each is masked once, as long as the same
    rules hold.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[QueueRef | None, str], tuple[Rules, str]] = {}

    def shown(self, text: str, limit: int, queue: QueueRef | None = None) -> str:
        """By the rules of this queue; of None, by all."""
        rules = masking.rules_for(queue)
        known = self._known.get((queue, text))
        if known is None or known[0] is not rules:
            with masking.within(queue):
                known = rules, show_controls(shown(text, limit), keep="")
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[queue, text] = known
        return known[1]


def record(replay: str, terms: Terms, row: Row, eyes: Eyes) -> dict[str, object]:
    """A row by the names of the columns. Moments are ISO 8601 in UTC; queues and jobs as in URLs.

    `outcome` is empty for a job that was not sent, or of which nothing was heard yet. `reason` is in words.
    """
    job = named(row.job)
    return {
        "replay": replay,
        "source": row.job.queue.source,
        "queue": row.job.queue.slug,
        "job": job,
        "name": eyes.shown(row.name, 200, row.job.queue),
        "acts": row.acts,
        "target": row.target.slug if row.target else None,
        "letter_queue": row.letter.queue.slug if row.letter else None,
        "letter": named(row.letter) if row.letter else None,
        "place": row.place,
        "conflict": row.conflict or None,
        "reason": reason(row, terms) or None,
        "note": eyes.shown(row.note, 500) or None if row.note else None,
        "canary": row.canary,
        "created_at": moment(row.created_ms),
        "failed_at": moment(row.failed_ms),
        "group": row.group.slug if row.group else None,
        "sent_at": moment(row.sent_ms),
        "sent_queue": row.made.queue.slug if row.made else None,
        "sent_as": job if row.made is row.job else named(row.made) if row.made else None,
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


def written(replay: Replay, rows: Iterable[Row], ending: str) -> Iterator[str]:
    """The rows of a file that ends in `csv` or `jsonl`."""
    name, terms, eyes = str(replay), Terms.of(replay.terms), Eyes()
    return export.written(ending, COLUMNS, (record(name, terms, row, eyes) for row in rows), MOST, _cut)


def broken() -> str:
    """The last row of a file whose other rows could not be read."""
    return gettext("Cut here: the other jobs could not be read. Export them again.")


def _cut() -> str:
    return gettext("Cut here: a file holds at most %(most)d jobs. Narrow the filter for others.") % {"most": MOST}


def moment(ms: int | None) -> str | None:
    """ISO 8601 in UTC."""
    at = instant(ms)
    return None if at is None else at.isoformat(timespec="milliseconds")
