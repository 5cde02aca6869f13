"""Signatures of failures that differ from one seen before in long numbers and UUIDs alone: the same, and cheaper.

A table of failures in a production set is made of few texts with many ids. Making a signature takes some 50 us, this
some 5 us. A test holds, for the whole corpus, that signatures do not depend on what stands in such places.
"""

from __future__ import annotations

import re

from queues.failures.signature import of
from queues.failures.types import Signature, Thrown

KEPT = 4_096
LONGEST = 3_000  # characters of reason and stack together: what is kept takes 12 MB at most

_IDS = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|(?<![A-Z])[0-9]{6,}")  # AADSTS700016 is a code
_UUID = "00000000-0000-0000-0000-000000000000"


class Alike:
    """What was seen lately. For one thread."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str, bool], Signature] = {}

    def of(self, thrown: Thrown) -> Signature:
        """The signature of a failure, as `queues.failures.signature.of` gives it."""
        reason, stack = thrown.reason, thrown.stack
        if not reason or len(reason) + len(stack) > LONGEST:
            return of(thrown)
        # A stack begins with the reason; its frames hold no ids, and where they do it is one that was not seen.
        rest = stack.replace(reason, "\0", 1)
        key = (without_ids(reason), rest, thrown.name, thrown.reason_size > len(reason) * 4 + 4)
        known = self._seen.get(key)
        if known is None:
            if len(self._seen) >= KEPT:
                self._seen.clear()
            known = self._seen[key] = of(thrown)
        return known


def without_ids(text: str) -> str:
    """The text with zeros for each long number and UUID: short numbers may be codes, and tell failures apart."""
    return _IDS.sub(_zeros, text)


def _zeros(found: re.Match[str]) -> str:
    return _UUID if "-" in found[0] else "0" * len(found[0])
