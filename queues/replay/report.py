"""What a plan came to, summed up for the page and exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from queues.models import Replay
from queues.replay.types import Stop, Told
from queues.sendings import Conflict


@dataclass(frozen=True, slots=True)
class FailedAgain:
    """Jobs that failed again into one group. `slug` is "" while the index has not read them.

    `same` failed with the error that they had before; `last_ms` is when the last of them failed.
    """

    slug: str
    title: str
    number: int
    same: int
    last_ms: int | None

    @property
    def new(self) -> int:
        """How many failed with another error than before."""
        return self.number - self.same


@dataclass(frozen=True, slots=True)
class Refusal:
    """Jobs that were not sent for one reason; `note` is what the server said, for `Conflict.REFUSED`."""

    conflict: Conflict
    number: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the plan's feed."""

    at: datetime
    kind: Told | str
    who: str
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Report:
    """Numbers are of jobs. `sent` are those that stay sent: what was taken back is in `back`.

    `gone` were removed before they ended, what became of `unknown` nobody can tell; `under_way` have not ended.
    Of copies, so many originals were removed or kept. Durations are seconds: from the first job about to be sent to the
    last one sent, and to the end; None while that is not known. `pace` is jobs a second while there was something to
    send. `events_lost` events were trimmed before they were read.
    """

    total: int
    left_out: int
    refused: int
    back: int
    to_send: int
    sent: int
    completed: int
    failed: int
    gone: int
    unknown: int
    under_way: int
    running: int
    retrying: int
    not_sent: int
    taken_back: int
    removed: int
    kept: int
    left_out_by: Sequence[Refusal]
    refused_by: Sequence[Refusal]
    failed_again: Sequence[FailedAgain]
    sending_s: float | None
    lasted_s: float | None
    pace: float | None
    events_lost: int
    why: Stop
    lines: Sequence[Line]
    clean: bool


def report(replay: Replay) -> Report:
    """The report. About eight queries, by the rows of the plan: some 100 ms at 100,000 of them."""
    raise NotImplementedError
