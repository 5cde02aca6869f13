"""A form that is sent twice acts once, where what it does and its entry are one transaction."""

from __future__ import annotations

import hashlib
import json

from queues.audit.types import Asked
from queues.models import AuditEntry


def token(asked: Asked, action: str, about: object = "") -> str | None:
    """What an entry keeps of the key of its form: for this user, action and thing alone. None where it has no key."""
    if not asked.key:
        return None
    return hashlib.sha256(json.dumps([asked.key, asked.by.name, action, str(about)]).encode()).hexdigest()


def earlier(asked: Asked, action: str, about: object = "") -> AuditEntry | None:
    """The entry of the same form, if it was sent before; one query where it has a key.

    Asked within a transaction that has written already: only then does nobody send it in between.
    """
    kept = token(asked, action, about)
    return AuditEntry.objects.filter(key=kept).first() if kept else None
