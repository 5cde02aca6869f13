"""Jobs that were sent and that no worker has begun, taken back to where they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from queues.actions import Outcome, Result, Target
from queues.backends.bullmq.hinting import Hinted
from queues.backends.bullmq.replays import ensure_few
from queues.backends.bullmq.replies import Reply, array, blob, integer
from queues.backends.bullmq.writer import STATES, Writer
from queues.types import QueueRef

_WHY: Mapping[bytes, Promise] = {
    b"begun": gettext_lazy("A worker has begun it since it was sent."),
    b"moved": gettext_lazy("It no longer waits where it was sent."),
    b"long": gettext_lazy("What it had returned was too long to be kept, and so it cannot be as it was before."),
    b"unread": gettext_lazy("What was kept of it cannot be read."),
}


def take_back(writer: Writer, queue: QueueRef, jobs: Sequence[tuple[Target, bytes]]) -> list[Result]:
    """See `queues.sendings.Replays.take_back`. ALREADY where it is there by now, LOCKED where a worker holds it.

    Raises `Unsure` with the results so far. Lists of more than 5,000 entries are looked through by reads, from the
    newest entry on; 150 jobs of such a list then go in one script.
    """
    ensure_few(jobs)
    if not jobs:
        return []
    targets = [Target(target.id, was) for target, was in jobs]  # what is told of each job to the script
    taking = Hinted(writer, queue, "take_back", (), targets, _read)
    taking.ask(sought=False)
    return taking.results


def _read(target: Target, told: Reply) -> Result:
    word, detail, *more = array(told)
    outcome = Outcome((blob(word) or b"").decode("ascii"))
    why = _WHY.get(blob(more[0]) or b"", "") if more else ""
    return Result(
        target.id,
        outcome,
        state=STATES.get((blob(detail) or b"").decode("ascii", errors="replace")),
        lock_ms=integer(detail) if outcome is Outcome.LOCKED else None,
        why=str(why),
    )
