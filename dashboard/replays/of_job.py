"""What replays know of one job: for its page, and for the page that stands where it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from dashboard.replays.ledger import TONES, is_exact
from queues.replay import of_job as known
from queues.replay.ledger_rows import Row
from queues.replay.originals import REMOVED
from queues.types import JobRef


@dataclass(frozen=True, slots=True)
class Line:
    """A replay that sent a job, as the page of `job` tells it."""

    job: JobRef
    replay: int
    row: Row

    @property
    def tone(self) -> tuple[str, str]:
        """The colour and the glyph of what became of it."""
        return TONES[self.row.fate]

    @property
    def made_from(self) -> JobRef | None:
        """The job or letter that it was sent for, where it is a new one."""
        return None if self.row.job == self.job else self.row.job

    @property
    def sent_as(self) -> JobRef | None:
        """The job that was sent for it, where that is a new one."""
        return None if self.row.made == self.job else self.row.made

    @property
    def away(self) -> bool:
        """Whether the plan removed it, as another was sent for it."""
        return self.row.job == self.job and self.row.original == REMOVED

    @property
    def other_url(self) -> str:
        """Where the other job is, "" where there is none or its id is not known in full."""
        other = self.made_from or self.sent_as
        if other is None or not is_exact(other):
            return ""
        return reverse("job", args=[other.queue.source, other.queue.slug, other.slug])

    @property
    def ledger_url(self) -> str:
        """Its line in the ledger."""
        query = urlencode({"text": self.row.job.slug[:200]})
        return f"{reverse('replay-jobs', args=[self.replay])}?{query}"


def of_job(job: JobRef) -> Sequence[Line]:
    """The newest replays that sent this job or that it was made by, at most five. One query where there are none."""
    return [Line(job, sent.replay, sent.row) for sent in known.of_job(job)]
