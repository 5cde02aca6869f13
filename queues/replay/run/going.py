"""A plan that sends: one tick after the other, each with what may stop it, what holds it, and a batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from queues.actions import BATCH
from queues.models import ReplayJob
from queues.replay import chains
from queues.replay.pacing import Pacer
from queues.replay.run import canary, facts
from queues.replay.run.calls import Came
from queues.replay.run.climbing import Climb
from queues.replay.run.ending import all_sent
from queues.replay.run.looks import SENDING_S, WAITING_S, Looks
from queues.replay.run.rows import goes_to
from queues.replay.run.run import Run
from queues.replay.run.sending import Sending
from queues.replay.run.stopping import failing, hold, holds, idle, newest_end, stop
from queues.replay.run.targets import READ_EVERY_S, Target, Targets
from queues.replay.terms import KeyFailed
from queues.replay.types import Phase, Stop
from queues.replay.watching import unended

HOURS_S = 10.0  # between two looks at the clock on the wall
LEAST_S = 0.1  # between two looks while a job waits for the one before it


@dataclass
class Going:
    """Phases CANARY and RUNNING. `paced`: it sends a few jobs at a time, as a pace lets it."""

    run: Run
    paced: bool = False
    _sending: Sending = field(init=False)
    _pacer: Pacer = field(init=False)
    _looks: Looks = field(init=False)
    _targets: Targets = field(init=False)
    _climb: Climb = field(init=False)

    def __post_init__(self) -> None:
        run = self.run
        self._sending, self._targets = Sending(run, self._note), Targets(run)
        self._looks = Looks(run, SENDING_S, SENDING_S)
        self._pacer = Pacer.of(run.facts.get(facts.PACE, {}), run.clock.now_ms)
        self._climb = Climb(run)
        self._gone_on()

    def step(self) -> float:
        """A tick; gives after how many seconds the next makes sense. Raises what the backend raises."""
        pace = self._climb.pace()
        self.paced = pace is not None
        number = self._pacer.due(pace, self.run.terms.jitter, self.run.clock.now_ms)
        # What is due by the pace goes first, as long as looking is not late: then nobody waits for a look.
        looks = self._looks.is_late or (not self._looks.wait_s and not number)
        if looks and self._looked():
            return 0.0
        if number == 0:
            return min(self._pacer.wait_ms(pace, self.run.clock.now_ms) / 1000.0, self._looks.wait_s)
        rows = self._sending.next(BATCH if number is None else number, canary=self.run.phase is Phase.CANARY)
        if not rows:
            return self._nothing_ready()
        self._looks.least_s = self._looks.most_s = SENDING_S
        targets = self._targets.of({goes_to(row) for row in rows})
        if self._stopped_by(targets):
            return 0.0
        why, told = holds(self.run, targets, self.run.clock.now_ms)
        hold(self.run, why, told)
        if why is not Stop.NONE:
            self.run.facts[facts.RESTED] = True
            return HOURS_S if why is Stop.HOURS else READ_EVERY_S
        self._sending.send(self._fitting(rows, targets), ahead=self._ahead)
        return 0.0

    def rest(self) -> None:
        """Write down what is pending."""
        self._sending.rest()
        self._looks.rest()

    def close(self) -> None:
        """What is left to do on the server, once all is written down."""
        self._sending.close()

    @property
    def _ahead(self) -> bool:
        """Whether the next batch may be sent before it is known what came of this one."""
        run = self.run
        unpaced = not self.paced and run.terms.depth_max is None
        return unpaced and run.phase is Phase.RUNNING and run.replay.down_since is None

    def _looked(self) -> bool:
        """Look at what became of what was sent; gives whether the plan is in another phase because of it."""
        # Nothing may be under way meanwhile: how a job ended that is not written down as sent would not be understood.
        self._sending.rest()
        self._looks.look()
        self._targets.refresh()
        if self.run.phase is Phase.CANARY:
            return self._judged()
        told = failing(self.run)
        return told is not None and stop(self.run, Stop.FAILING, told)

    def _judged(self) -> bool:
        """Whether the canary has moved the plan to another phase."""
        moved = canary.judge(self.run)
        if moved:
            self._looks.at_once()  # what failed again in the canary counts for the rest, too
        return moved

    def _nothing_ready(self) -> float:
        """All is sent that could be: of the canary, of the plan, or but for those that wait for others."""
        run = self.run
        self._sending.rest()
        if run.phase is Phase.CANARY:
            if run.facts.get(facts.CANARY_AT) is None:
                canary.sent(run)
            if self._judged():
                return 0.0
        elif not chains.are_held(run):
            return all_sent(run)
        elif not unended(run.replay):
            if not chains.free(run):
                stop(run, Stop.BLOCKED, {"number": chains.blocked(run)})
            return 0.0
        run.facts[facts.RESTED] = True
        self._looks.least_s, self._looks.most_s = LEAST_S, WAITING_S
        if self._stopped_by(self._targets.of(chains.awaited(run))):
            return 0.0
        return self._looks.wait_s

    def _stopped_by(self, targets: Sequence[Target]) -> bool:
        found = idle(self.run, targets, self.run.clock.now_ms)
        if found is None:
            return False
        why, told = found
        self._sending.rest()
        return stop(self.run, why, told)

    def _fitting(self, rows: Sequence[ReplayJob], targets: Sequence[Target]) -> Sequence[ReplayJob]:
        """The first of some rows, so that no target gets deeper than it may be."""
        most = self.run.terms.depth_max
        if most is None:
            return rows
        room = {each.key: math.inf if each.depth is None else most - each.depth for each in targets}
        for number, row in enumerate(rows):
            room[goes_to(row)] -= 1
            if room[goes_to(row)] < 0:
                return rows[: max(1, number)]
        return rows

    def _note(self, came: Sequence[Came]) -> None:
        """So many were sent just now: known to the pace before it is written down."""
        sent = [each for each in came if each.sent]
        at = self.run.clock.hear(max((each.at_ms or 0 for each in sent), default=0))
        self._pacer.sent(len(sent), at)
        self.run.facts[facts.PACE] = self._pacer.kept()
        for each in sent:
            self._targets.sent(goes_to(each.row), 1)

    def _gone_on(self) -> None:
        """A person let it go on: what had failed by then was seen, and the time in between is no climbing."""
        run = self.run
        if facts.HALTED not in run.facts:
            return
        why = run.facts.pop(facts.HALTED)
        run.facts |= {facts.FRESH: newest_end(run), facts.RESTED: True, facts.IDLE: {}}
        if why in (Stop.FAILING, Stop.CANARY):
            run.facts[facts.CLIMB] = 0.0  # gently
        with run.saving():
            if run.terms.key_failed is KeyFailed.GO_ON:
                chains.release_ended(run)
