"""The canary: a few jobs spread over the set go first, and a person or its outcome says whether the rest follows."""

from __future__ import annotations

import time

from django.utils import timezone

from queues.replay.run import facts
from queues.replay.run.run import Run
from queues.replay.run.stopping import stop
from queues.replay.types import Phase, Stop, Told
from queues.replay.watching import Canary, canary_standing


def sent(run: Run) -> None:
    """All of it was sent: from now on it is awaited."""
    number = canary_standing(run.replay).sent
    run.facts[facts.CANARY_AT] = time.time()
    with run.saving():
        run.tell(Told.CANARY_SENT, {"number": number})


def judge(run: Run) -> bool:
    """Whether the plan is in another phase now: stopped, gone on, or waiting for a person. A query.

    Too many that failed again stop it at once, while others still run. One of which nothing could be sent says
    nothing: then a person decides.
    """
    at = run.facts.get(facts.CANARY_AT)
    standing, limit = canary_standing(run.replay), run.terms.canary_failed
    told = {"ended": standing.ended, "failed": standing.failed, "limit": limit, "number": standing.sent}
    if standing.failed > limit:
        return stop(run, Stop.CANARY, told)
    if at is None:
        return False
    if standing.ended >= standing.sent > 0:
        return _passed(run, told)
    if not standing.sent or time.time() - at > run.terms.canary_wait_s:
        return _late(run, standing)
    return False


def _passed(run: Run, told: dict[str, int]) -> bool:
    run.facts[facts.CLIMB] = 0.0
    return run.move(Phase.RUNNING, Told.CANARY_PASSED, told, rest_at=timezone.now())


def _late(run: Run, standing: Canary) -> bool:
    told = {"ended": standing.ended, "number": standing.sent, "failed": standing.failed}
    run.facts[facts.HALTED] = ""
    return run.move(Phase.DECIDING, Told.CANARY_LATE, told, holding="")
