"""The job of a schedule's next run: the rule in its own options, and in which state it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from queues.backends.bullmq.replies import Reply, integer, moment
from queues.jsonload import Unreadable, load
from queues.schedules.types import Armed, Repeat
from queues.text import text
from queues.types import State, Text

SHOWN = 1024  # characters of a text
# Where the script looks for the job, in this order.
SUFFIXES = (
    b"delayed",
    b"prioritized",
    b"completed",
    b"failed",
    b"waiting-children",
    b"active",
    b"wait",
    b"paused",
)
_STATES = (
    State.DELAYED,
    State.PRIORITIZED,
    State.COMPLETED,
    State.FAILED,
    State.WAITING_CHILDREN,
    State.ACTIVE,
    State.WAITING,
    State.WAITING,
)


@dataclass(slots=True)
class Facts:
    """The rule in a job's options, `given` as it was, and what of it cannot be used."""

    given: Mapping[str, object]
    damaged: list[str] = field(default_factory=list)

    def text(self, name: str) -> Text | None:
        value = self.given.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            self.damaged.append(name)
            return None
        return _shown(value)

    def number(self, name: str) -> int | None:
        return self._whole(name, self.given.get(name))

    def moment(self, name: str) -> int | None:
        """A time that the application gave: in ms, or written as JavaScript reads it. One without a zone is unknown,
        as it means that of whichever worker reads it."""
        value = self.given.get(name)
        if isinstance(value, str) and (ms := _written(value)) is not None:
            return ms
        found = self._whole(name, value)
        if found is not None and moment(found) is None:
            self.damaged.append(name)
            return None
        return found

    def _whole(self, name: str, value: object) -> int | None:
        if value is None:
            return None
        if type(value) is int:
            return value
        found = None
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            found = integer(str(value).encode("utf-8", errors="replace"))
        if found is None:
            self.damaged.append(name)
        return found


@lru_cache(maxsize=4096)
def _shown(value: str) -> Text:
    return text(value.encode("utf-8", errors="surrogatepass"), cap=SHOWN)


def _written(value: str) -> int | None:
    try:
        if len(value) == 10:
            value += "T00:00:00+00:00"  # JavaScript: a day alone is one of UTC
        found = datetime.fromisoformat(value)
        return moment(round(found.timestamp() * 1000)) if found.tzinfo else None
    except (ValueError, OverflowError):
        return None


def parse(job: bytes, key: Reply, place: Reply, options: Reply) -> tuple[Armed, Mapping[str, object]]:
    """The job of this id as the script tells of it, and the rule in its options as it was given."""
    at = place if isinstance(place, int) and 0 < abs(place) <= len(_STATES) else 0
    state, inferred = _STATES[abs(at) - 1] if at else None, at < 0
    if key != 1:
        return Armed(job, key != 0, state, inferred, damaged=("key",) if key else ()), {}
    try:
        told = load(options) if isinstance(options, bytes) else None
    except Unreadable:
        told = None
    rule = told.get("repeat") if isinstance(told, dict) else None
    if not isinstance(rule, dict):
        wrong = "repeat" if isinstance(told, dict) else "opts"
        return Armed(job, exists=True, state=state, inferred=inferred, damaged=(wrong,)), {}
    facts = Facts(rule)
    repeat = Repeat(
        pattern=facts.text("pattern"),
        every_ms=facts.number("every"),
        tz=facts.text("tz"),
        offset_ms=facts.number("offset"),
        start_ms=facts.moment("startDate"),
        end_ms=facts.moment("endDate"),
        limit=facts.number("limit"),
        count=facts.number("count"),
    )
    return Armed(job, True, state, inferred, repeat, tuple(facts.damaged)), rule
