"""Where in a document values stand, by their paths, so that their exact text can be taken out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from queues.paths import Step
from queues.payload.scan import scan
from queues.replay.patching.document import name_of, of_text, value_span

Span = tuple[int, int]


def located(text: str, wanted: Sequence[Sequence[Step]]) -> list[Span | None]:
    """Where the value at each path stands, None where there is none; of a doubled key the last counts.

    `text` has one character a byte, see `document`. Malformed where it is no JSON. One pass without recursion.
    """
    root = _Place()
    ends = [_planted(root, steps) for steps in wanted]
    _read(text, root)
    return [end.span for end in ends]


@dataclass(slots=True)
class _Place:
    """A place that paths lead to or through. `span`: of the last value that stands there."""

    inside: dict[str, _Place] = field(default_factory=dict)
    span: Span | None = None

    def clear(self) -> None:
        """What was found here and below belonged to a doubled key."""
        left = [self]
        while left:
            place = left.pop()
            place.span = None
            left += place.inside.values()


@dataclass(slots=True)
class _Level:
    """An open container to which or through which a path leads."""

    place: _Place
    begin: int
    count: int = 0

    def member(self, key: str | None) -> _Place | None:
        """The place of the next member; lists have no keys."""
        name = str(self.count) if key is None else name_of(key)
        self.count += 1
        return self.place.inside.get(name)


def _planted(place: _Place, steps: Sequence[Step]) -> _Place:
    for step in steps:
        place = place.inside.setdefault(of_text(str(step)), _Place())
    return place


def _read(text: str, root: _Place) -> None:
    levels = [_Level(_Place({"0": root}), 0)]  # the document is the one item of a list around it
    skipped = 0  # how many containers are open through which no path leads
    for key, value, end, _whole in scan(text, cut=False):
        start, stop = value_span(text, end, value)
        if value in ("}", "]"):
            if not skipped:
                level = levels.pop()
                level.place.span = (level.begin, stop)
            skipped -= skipped > 0
            continue
        opens = value in ("{", "[")
        if skipped:
            skipped += opens
            continue
        place = levels[-1].member(key)
        if place is not None:
            place.clear()
        if not opens:
            if place is not None:
                place.span = (start, stop)
        elif place is None:
            skipped = 1
        else:
            levels.append(_Level(place, start))
