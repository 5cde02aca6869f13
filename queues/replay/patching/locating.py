"""Where in a document values stand, by their paths, so that their exact text can be taken out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from queues.paths import Step
from queues.payload.scan import scan
from queues.replay.patching.document import name_of, of_text, value_span

Span = tuple[int, int]


def located(text: str, wanted: Sequence[Sequence[Step]]) -> list[Span | None]:
    """Where the value at each path stands, None where there is none; of a doubled key the last counts.

    `text` has one character a byte, see `document`. Malformed where it is no JSON. One pass without recursion.
    """
    root, ends = _planted(tuple(map(tuple, wanted)))
    found = _read(text, root)
    return [found.get(end) for end in ends]


@dataclass(slots=True, eq=False)
class _Place:
    """A place that paths lead to or through. Shared between documents, of which most are asked for the same."""

    inside: dict[str, _Place] = field(default_factory=dict)

    def clear(self, found: dict[_Place, Span]) -> None:
        """What was found here and below belonged to a doubled key."""
        left = [self]
        while left:
            place = left.pop()
            found.pop(place, None)
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


@lru_cache(maxsize=64)
def _planted(wanted: tuple[tuple[Step, ...], ...]) -> tuple[_Place, Sequence[_Place]]:
    """All places, from the outermost, and those at the ends of the paths."""
    root = _Place()
    ends = []
    for steps in wanted:
        place = root
        for step in steps:
            place = place.inside.setdefault(of_text(str(step)), _Place())
        ends.append(place)
    return root, ends


def _read(text: str, root: _Place) -> dict[_Place, Span]:
    found: dict[_Place, Span] = {}
    levels = [_Level(_Place({"0": root}), 0)]  # the document is the one item of a list around it
    skipped = 0  # how many containers are open through which no path leads
    for key, value, end, _whole in scan(text, cut=False):
        start, stop = value_span(text, end, value)
        if value in ("}", "]"):
            if not skipped:
                level = levels.pop()
                found[level.place] = (level.begin, stop)
            skipped -= skipped > 0
            continue
        opens = value in ("{", "[")
        if skipped:
            skipped += opens
            continue
        place = levels[-1].member(key)
        if place is not None and place in found:
            place.clear(found)
        if not opens:
            if place is not None:
                found[place] = (start, stop)
        elif place is None:
            skipped = 1
        else:
            levels.append(_Level(place, start))
    return found
