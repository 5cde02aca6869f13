"""Why a schedule has no fire times to show."""

from __future__ import annotations

from queues.errors import BadInput


class PatternError(BadInput):
    """A pattern or time zone that nothing can be said about; `str(error)` says why, fit for a user."""


class Refused(PatternError):
    """BullMQ itself refuses it: an upsert throws, and nothing is stored."""


class CannotPreview(PatternError):
    """BullMQ may well take it, but when it fires cannot be known here."""
