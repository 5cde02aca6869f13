"""What the parts of a replay need of a run: a plan in the hands of one worker, see `queues.replay.run`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from queues.backend import Actions, Backend, Events, Failures
from queues.models import Replay
from queues.replay.terms import Terms
from queues.sendings import Replays


class Reader(Backend, Events, Failures, Protocol):
    """What reads queues, failed jobs and letters."""


class Sender(Actions, Replays, Protocol):
    """What lists members, copies jobs and looks at them."""


class Hands(Protocol):
    """A run. `saving` writes values of the plan under its lease, in one transaction with what is written within."""

    @property
    def replay(self) -> Replay: ...

    @property
    def terms(self) -> Terms: ...

    @property
    def reader(self) -> Reader: ...

    @property
    def actions(self) -> Sender: ...

    def saving(self, **values: object) -> AbstractContextManager[None]: ...

    def alive(self) -> None:
        """Show that we live, now and then in what takes longer. LeaseLost where another has taken over."""
