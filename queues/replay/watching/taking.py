"""What is being taken back just now: told by the plan's own words, so that it survives whoever does it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from queues.models import Replay
from queues.replay.types import TAKING_BACK
from queues.replay.watching.ways import Way

_KEPT = re.compile(r"(\d+)-(\d+)\.\.(?:(\d+)-(\d+))?")


@dataclass(frozen=True, slots=True)
class Taking:
    """Rows behind one place in the order of sending, up to another. `until` None: none is being taken just now."""

    after: Way
    until: Way | None = None

    def __contains__(self, way: Way) -> bool:
        return self.until is not None and _order(self.after) < _order(way) <= _order(self.until)

    def __str__(self) -> str:
        """As `Replay.cursor` keeps it."""
        return f"{_text(self.after)}..{_text(self.until) if self.until else ''}"

    @classmethod
    def of(cls, replay: Replay) -> Taking | None:
        """What a plan is taking back; None for one that does not."""
        if replay.step != TAKING_BACK:
            return None
        kept = _KEPT.fullmatch(replay.cursor)
        if kept is None:  # it has not begun
            return cls(Way(0, 0))
        numbers = [None if part is None else int(part) for part in kept.groups()]
        return cls(_way(*numbers[:2]) or Way(0, 0), _way(*numbers[2:]))


def _order(way: Way) -> tuple[int, int]:
    return way.sent_ms, way.pk


def _text(way: Way) -> str:
    return f"{way.sent_ms}-{way.pk}"


def _way(sent_ms: int | None, pk: int | None) -> Way | None:
    return None if sent_ms is None or pk is None else Way(pk, sent_ms)
