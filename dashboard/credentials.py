"""Takes user and password out of every URL in a text, for all that is logged or printed."""

from __future__ import annotations

import re

# Everything between the scheme and the last @ before the path, so that an unencoded @ or : hides nothing less.
_CREDENTIALS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{1,30}://)[^\s/?#'\"<>]*@")
# A password may hold an unencoded slash; such a URL is wrong, and it is quoted exactly when that is the trouble.
_REDIS_CREDENTIALS = re.compile(r"(?P<scheme>\b(?:rediss?|postgres(?:ql)?|smtps?|unix)(?:\+\w+)?://)[^\s'\"<>]*@")


def redact(text: str) -> str:
    """The text with user and password of every URL in it replaced by `***`."""
    if "@" not in text:
        return text
    return _CREDENTIALS.sub(r"\g<scheme>***@", _REDIS_CREDENTIALS.sub(r"\g<scheme>***@", text))
