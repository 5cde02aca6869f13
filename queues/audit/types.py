"""The nouns of the log of actions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    STARTED = "started"  # and not ended, or its process was lost
    RUNNING = "running"  # in the background
    DONE = "done"  # with an outcome for every job, whichever
    REFUSED = "refused"  # nothing was changed
    FAILED = "failed"  # by an error; what was done before it is in the outcomes
    STOPPED = "stopped"  # by a person, part of the way
    UNSURE = "unsure"  # the server's answer was lost


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: the user's name and role, and the address that the request came from."""

    name: str
    role: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """An action as it was asked for. `key` is that of the form: asked again with it, nothing is done again."""

    by: Actor
    key: str = ""
    reason: str = ""
