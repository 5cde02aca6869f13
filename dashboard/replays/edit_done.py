"""What was edited before it was sent, as the page of a plan that was started tells it: by the plan alone, no server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.replays import hidden
from dashboard.replays.edit import rules_of
from dashboard.replays.ledger import is_exact
from dashboard.words import shown
from queues.models import Replay
from queues.replay.ledger import page
from queues.replay.patching import Line, compared
from queues.replay.terms import PatchKind, Terms
from queues.types import JobRef

MOST = 100  # lines of a patch that are shown
WIDEST = 240  # characters of one


@dataclass(frozen=True, slots=True)
class EditDone:
    """An edit: of one job, by hand (`whole`), or by a patch, of which `patch` are the lines unless it is `sealed`.

    `job` is what was edited, `made` what was sent for it; None where that is not known, or not yet. `lines` are what
    differs; None: what it was before is not kept.
    """

    whole: bool
    by: str = ""
    letter: bool = False
    job: JobRef | None = None
    made: JobRef | None = None
    lines: Sequence[Line] | None = None
    patch: Sequence[str] = ()
    sealed: bool = False


def edit_done(replay: Replay, *, reveals: bool) -> EditDone | None:
    """What was edited; None where nothing was. Three queries, and some 0.5 s at most for the largest data.

    What is hidden is masked for everybody; who may not reveal it (`reveals`) is not told whether it differs either.
    """
    terms = Terms.of(replay.terms)
    if terms.patch is None:
        return None
    if terms.patch.kind is PatchKind.WHOLE:
        return _by_hand(replay, blind=not reveals)
    if not reveals and hidden.is_sealed(replay, terms):
        return EditDone(whole=False, sealed=True)
    return EditDone(whole=False, patch=[shown(line, WIDEST) for line in terms.patch.text.splitlines()[:MOST]])


def _by_hand(replay: Replay, *, blind: bool) -> EditDone:
    letter = bool(replay.made_from.get("letters"))
    row = next(iter(page(replay).rows), None)
    # A letter whose job is still failed stands beside that.
    job = (row.letter or row.job if letter else row.job) if row else None
    made = row.made if row and row.made not in (row.job, job) else None
    lines = None
    if row and job and replay.data is not None and replay.before is not None:
        lines = compared(bytes(replay.before), bytes(replay.data), rules_of(job.queue, row.target), blind=blind)
    return EditDone(
        whole=True,
        by=shown(replay.made_by, 60),
        letter=letter,
        job=job if job and is_exact(job) else None,
        made=made if made and is_exact(made) else None,
        lines=lines,
    )
