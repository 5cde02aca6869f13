"""What came of an action, in words that a person understands."""

from __future__ import annotations

from queues.models import AuditEntry


def in_words(entry: AuditEntry) -> str:
    """One or two sentences in the active language: “Retried 41 of 50; 9 were already running”. Plain text."""
    raise NotImplementedError
