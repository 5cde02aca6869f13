"""A signature out of its parts."""

from __future__ import annotations

import re
from hashlib import sha1

from queues.failures.types import VERSION, Signature, Thrown
from queues.redaction import mask_text

_NUMBER = re.compile(r"\d++")


def of(thrown: Thrown) -> Signature:
    """The signature of a failure. Never raises; linear in what is read of it."""
    reason = thrown.reason or ""
    head = (thrown.stack or reason).partition("\n")[0]
    error_class = head.partition(":")[0] if ":" in head else ""
    message = mask_text(_NUMBER.sub("‹n›", reason.partition("\n")[0][:500]))[0]
    shape = "error" if error_class else "text" if reason else "empty"
    parts = (str(VERSION), shape, error_class, "", message, thrown.name)
    digest = sha1("\x1f".join(parts).encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    title = f"{error_class}: {message}"[:200] if error_class else message[:200]
    return Signature(VERSION, digest, shape, error_class, "", message, thrown.name, "job", title)
