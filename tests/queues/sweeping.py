"""Steps of what goes over a whole queue, to their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from queues.actions import Outcome, Step


def to_the_end(
    step: Callable[[str], Step], *, between: Callable[[], object] = lambda: None
) -> tuple[int, Counter[Outcome]]:
    """How many jobs went in all steps, and how many were kept; `between` is done after each step."""
    done, kept, cursor = 0, Counter[Outcome](), ""
    for _number in range(100_000):
        taken = step(cursor)
        done += taken.done
        kept.update(taken.kept)
        if taken.cursor is None:
            return done, kept
        cursor = taken.cursor
        between()
    raise AssertionError("it does not end")
