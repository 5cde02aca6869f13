"""The new job that is sent for a letter, or as a copy of a failed or completed job."""

from __future__ import annotations

from queues.actions import NewJob, Stored
from queues.errors import QueueError
from queues.models import ReplayJob
from queues.replay.patching import Patcher
from queues.replay.terms import Terms


class Unmapped(QueueError):
    """A letter does not tell what to send; the text says what is missing."""


def copied(row: ReplayJob, stored: Stored, terms: Terms, patcher: Patcher | None = None) -> NewJob:
    """The job to add for a row that acts by copy: of a letter what it tells of, else the job itself.

    Raises Unmapped for a letter that does not tell, and `patching.Unfit` where the edit does not fit. Reads nothing but
    the row, its queue and the mapping of that queue's letters; linear in the data.
    """
    raise NotImplementedError
