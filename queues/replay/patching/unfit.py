"""That an edit does not fit the data of a job."""

from __future__ import annotations

from queues.errors import QueueError


class Unfit(QueueError):
    """An edit cannot be applied to this data; the text says why, and shows nothing of the data but keys of the edit."""
