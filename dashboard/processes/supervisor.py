"""Starts the programs in stages, shows their output, restarts what crashes, and ends all of them in order."""

from __future__ import annotations

import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType

from dashboard.processes.child import Child, Program
from dashboard.processes.console import Console

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Policy:
    """In seconds, except `crashes`. The graces of all stages together stay well under 15 s."""

    crashes: int = 5
    healthy_after: float = 60.0
    first_backoff: float = 0.5
    longest_backoff: float = 8.0
    start_within: float = 300.0
    grace: float = 7.0
    last_grace: float = 4.0


class Supervisor:
    """`announce` is called once, when every program is ready."""

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        console: Console,
        announce: Callable[[], None],
        policy: Policy | None = None,
    ) -> None:
        self._children = [Child(program) for program in programs]
        self._console = console
        self._announce = announce
        self._policy = policy or Policy()
        self._announced = False
        self._stop_requests = 0
        self._begun = time.monotonic()

    def run(self) -> int:
        """Until a signal (0) or until something crashes over and over (1). Must be called in the main thread."""
        before = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        try:
            culprit = self._watch()
        finally:
            self._end_all()
            for number, handler in before.items():
                signal.signal(number, handler)
        if culprit is None:
            self._console.say("stopped")
            return 0
        self._report(culprit)
        return 1

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stop_requests += 1

    def _watch(self) -> Child | None:
        """The child because of which all must stop; None when somebody asked to stop."""
        while not self._stop_requests and not self._console.broken:
            for child in self._children:
                if child.exit_code() is not None and self._has_crashed(child):
                    return child
            late = self._start_what_is_due()
            if late is not None:
                return late
            self._pass_on_output(0.2)
        return None

    def _start_what_is_due(self) -> Child | None:
        waiting = [child for child in self._children if not child.ready.is_set()]
        stage = min((child.program.stage for child in waiting), default=None)
        now = time.monotonic()
        for child in self._children:
            reached = stage is None or child.program.stage <= stage
            if reached and child.start_at is not None and now >= child.start_at and not self._started(child):
                return child
        if not waiting and not self._announced:
            self._announced = True
            self._announce()
        if waiting and not self._announced and now - self._begun > self._policy.start_within:
            self._console.say(f"{waiting[0].name} is not ready after {self._policy.start_within:.0f} s")
            return waiting[0]
        return None

    def _started(self, child: Child) -> bool:
        """False when the machine does not let it start: a full disk, no memory for another process."""
        try:
            child.start()
        except OSError as error:
            self._console.say(f"{child.name} cannot be started: {error}")
            return False
        return True

    def _has_crashed(self, child: Child) -> bool:
        """Plan a restart of a child that has ended; True when it has had enough of them."""
        code = child.exit_code()
        child.kill_group()
        self._drain(child)
        if time.monotonic() - child.started_at >= self._policy.healthy_after:
            child.failures = 0
        child.failures += 1
        child.forget()
        if child.failures >= self._policy.crashes:
            self._console.say(f"{child.name} {_ending(code)}, {child.failures} times in a row: stopping")
            return True
        for line in child.last_lines:
            if not child.program.shows(line):
                self._console.line(child.name, line)
        pause = min(self._policy.first_backoff * 2 ** (child.failures - 1), self._policy.longest_backoff)
        self._console.say(f"{child.name} {_ending(code)}: starting it again in {pause:g} s")
        child.start_at = time.monotonic() + pause
        return False

    def _pass_on_output(self, seconds: float) -> None:
        talking = {number: child for child in self._children if (number := child.output()) is not None}
        if not talking:
            time.sleep(seconds)
            return
        # Without a limit on descriptors, unlike select().
        poll = select.poll()
        for number in talking:
            poll.register(number, select.POLLIN)
        for number, _event in poll.poll(seconds * 1000):
            self._show(talking[number])

    def _show(self, child: Child) -> bool:
        lines = child.read()
        for line in filter(child.program.shows, lines):
            self._console.line(child.name, line)
        return bool(lines)

    def _drain(self, child: Child) -> None:
        while child.output() is not None and self._show(child):
            pass

    def _end_all(self) -> None:
        stages = sorted({child.program.stage for child in self._children}, reverse=True)
        for stage in stages:
            grace = self._policy.last_grace if stage == stages[-1] and len(stages) > 1 else self._policy.grace
            self._end([child for child in self._children if child.program.stage == stage and child.process], grace)

    def _end(self, children: list[Child], grace: float) -> None:
        for child in children:
            child.signal(signal.SIGTERM)
        deadline = time.monotonic() + grace
        asked = self._stop_requests
        while any(child.exit_code() is None for child in children) and time.monotonic() < deadline:
            # Somebody is in a hurry.
            if self._stop_requests > max(asked, 1):
                break
            self._pass_on_output(0.05)
        for child in children:
            if child.exit_code() is None:
                self._console.say(f"{child.name} did not stop within {grace:g} s: killed")
            child.kill_group()
        for child in children:
            if child.process:
                child.process.wait()
            self._drain(child)
            child.forget()

    def _report(self, culprit: Child) -> None:
        self._console.say(f"all is stopped, because {culprit.name} cannot run. Its last lines:")
        for line in culprit.last_lines:
            self._console.line(culprit.name, line)


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
