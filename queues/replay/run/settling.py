"""After a loss: what was sent and not written down is found by its receipts, before anything else is decided."""

from __future__ import annotations

from collections.abc import Sequence

from queues.actions import BATCH
from queues.models import ReplayJob
from queues.replay.naming import is_exact
from queues.replay.run import facts
from queues.replay.run.calls import receipt_of
from queues.replay.run.copying import copied_before
from queues.replay.run.rows import next_rows, parts
from queues.replay.run.run import Run
from queues.replay.run.sending import Sending
from queues.replay.types import Acts
from queues.sendings import Receipt

IN_DOUBT = 2 * BATCH  # rows: a batch that is sent while the one before is written down
TIMES = 3  # that rows are asked for: the last time none of them has left a receipt
AGAIN_S = 1.0


def settle(run: Run) -> float:
    """Write down what a lost worker had sent, or we ourselves before an answer was lost; nothing where neither was.

    Gives after how many seconds nothing more of it can reach the server: what is written down as not sent before that
    may be sent all the same. Rows are sent in their order, so those in doubt are the first that are ready. Sends
    nothing. A few calls for each thousand.
    """
    late_ms = run.facts.get(facts.LATE_MS)
    if not run.facts.get(facts.UNSETTLED) and late_ms is None:
        return 0.0
    left_ms = 0.0 if late_ms is None else max(0.0, late_ms - run.clock.now_ms)
    sending, whole = Sending(run), True
    if run.facts.get(facts.CANARY_AT) is None and run.replay.started_at is not None:
        whole = _ask(run, sending, canary=True)
    if run.replay.started_at is not None:
        whole = _ask(run, sending, canary=False) and whole
    if not whole:
        return AGAIN_S
    run.facts.pop(facts.UNSETTLED, None)
    if not left_ms:
        run.facts.pop(facts.LATE_MS, None)
    with run.saving():
        pass
    sending.close()
    return left_ms / 1000.0


def _ask(run: Run, sending: Sending, *, canary: bool) -> bool:
    """Have those answered for again that left a receipt of this plan; False where some still are not: it was too late.

    So it may be for as long as this slice, where the server's clock was put forward.
    """
    return any(not _asked(run, sending, next_rows(run, IN_DOUBT, canary=canary)) for _time in range(TIMES))


def _asked(run: Run, sending: Sending, rows: Sequence[ReplayJob]) -> int:
    """The same once; gives how many had left one."""
    number = 0
    for part in parts(run, [row for row in rows if is_exact(row.job)]):
        for first in range(0, len(part.rows), BATCH):
            ours = _ours(run, part.rows[first : first + BATCH])
            number += len(ours)
            if part.acts is Acts.COPY:
                # Not read again: of large ones that would take as long as it took whoever was lost.
                sending.found([copied_before(row, receipt_of(run, row), held) for row, held in ours])
            elif ours:
                sending.send([row for row, _held in ours])
    return number


def _ours(run: Run, rows: Sequence[ReplayJob]) -> list[tuple[ReplayJob, Receipt]]:
    """Those of some rows that left a receipt of this plan, with that: it lies beside what was sent again."""
    by_queue: dict[int, list[ReplayJob]] = {}
    for row in rows:
        by_queue.setdefault(row.queue_id, []).append(row)
    found: dict[int, Receipt] = {}
    for queue, some in by_queue.items():
        told = run.actions.receipts(run.ref(queue), [receipt_of(run, row) for row in some])
        found |= {row.pk: held for row, held in zip(some, told, strict=True) if held}
    token = run.replay.token
    return [(row, found[row.pk]) for row in rows if row.pk in found and found[row.pk].plan == token]
