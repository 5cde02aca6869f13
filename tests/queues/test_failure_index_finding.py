"""The short way to a signature gives the same as the long one."""

from __future__ import annotations

import random

from bench.failures.corpus import load
from queues.failures.index.finding import _IDS, KEPT, Alike, without_ids
from queues.failures.signature import of
from queues.failures.types import Thrown


def test_what_is_remembered_is_what_would_be_made(rng: random.Random) -> None:
    """Every error of the corpus, then with other ids in the same places."""
    alike = Alike()
    changed = 0
    for entry in [*load("tune"), *load("held")]:
        thrown = entry.thrown
        assert alike.of(thrown) == of(thrown)
        if not thrown.reason:
            continue
        reason = _IDS.sub(lambda found: _other(found[0], rng), thrown.reason)
        other = Thrown(reason, thrown.stack.replace(thrown.reason, reason, 1), thrown.name, thrown.reason_size)
        changed += other != thrown
        assert alike.of(other) == of(other), reason
    assert changed > 100


def _other(text: str, rng: random.Random) -> str:
    """An id of the same form."""
    digits = "".join(rng.choice("123456789") if letter.isdigit() else letter for letter in text)
    return digits if "-" not in text else "".join(rng.choice("0123456789abcdef") if c != "-" else c for c in text)


def test_short_numbers_tell_failures_apart() -> None:
    alike = Alike()
    for status in ("404", "503"):
        thrown = Thrown(f"Request failed with status code {status} for order 123456789", "", "charge")
        assert alike.of(thrown) == of(thrown)
    assert without_ids("status 404, SQLSTATE 23505, order 1234567") == "status 404, SQLSTATE 23505, order 0000000"


def test_it_keeps_no_more_than_it_may() -> None:
    alike = Alike()
    for number in range(KEPT + 10):
        alike.of(Thrown(f"the {number}th thing", "", ""))
    alike.of(Thrown("x" * 100_000, "", ""))
    assert len(alike._seen) == 10
