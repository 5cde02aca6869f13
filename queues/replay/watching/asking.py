"""How what was sent stands, by the rows: for whoever decides whether a plan goes on."""

from __future__ import annotations

from dataclasses import dataclass

from queues.models import Replay


@dataclass(frozen=True, slots=True)
class Lately:
    """Of the last jobs that ended, how many there are and how many of them failed again."""

    number: int
    failed: int


@dataclass(frozen=True, slots=True)
class Canary:
    """Jobs of the canary: sent, of these ended, of these failed again; `retrying` had an attempt that failed."""

    sent: int
    ended: int
    failed: int
    retrying: int


def unended(replay: Replay) -> int:
    """How many jobs were sent and have not ended as far as is known. No query."""
    raise NotImplementedError


def last_ended(replay: Replay, most: int = 100) -> Lately:
    """Of the jobs that ended last. One query by the index."""
    raise NotImplementedError


def canary_standing(replay: Replay) -> Canary:
    """How the canary stands. One query."""
    raise NotImplementedError


def oldest_unended_ms(replay: Replay) -> int | None:
    """When the job was sent that has been under way for longest (the server's clock); None without any. One query."""
    raise NotImplementedError
