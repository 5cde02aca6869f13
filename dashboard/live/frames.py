"""Frames, written once for all sockets that lack the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dashboard.live.board import Board, Content, Place, counted, encoded
from dashboard.live.pulse import Heard, members, worst
from dashboard.live.viewer import Viewer
from queues.live import About, Topic

MOST_KEPT = 500

Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """What is the same for many sockets: all of the text but its end, and where they stand when they have it."""

    number: int
    text: str
    empty: bool
    more: bool
    pulse: str
    places: tuple[Place, ...]


class Frames:
    """`boards` and `heard` are the hub's; whenever something in them changes, `forget` is to be called."""

    def __init__(
        self, boards: Mapping[tuple[Topic, str], Board], heard: Mapping[str, Heard], clock: Callable[[], float]
    ) -> None:
        self._boards, self._heard, self._clock = boards, heard, clock
        self._number = 0
        self._kept: dict[Key, Frame] = {}

    def forget(self) -> None:
        """What was written is of the past."""
        self._kept.clear()

    def next(self, viewer: Viewer, *, quiet: bool) -> str | None:
        """The next frame for a socket, which takes note of it; None when there is nothing to say.

        `quiet` means that there is no need to say that nothing happened.
        """
        frame = self._frame(viewer)
        if frame is None:
            return None
        entered = self._entered(viewer)
        if quiet and frame.empty and entered == viewer.entered and frame.pulse == viewer.pulse:
            return None
        told = "" if entered == viewer.entered else f',"entered":{{{_members(entered)}}}'
        viewer.places, viewer.entered, viewer.pulse = frame.places, entered, frame.pulse
        viewer.sent(frame.number, self._clock())
        if frame.more:
            viewer.woken.set()
        return f"{frame.text}{told}}}"

    def _frame(self, viewer: Viewer) -> Frame | None:
        if any(viewer.due.values()):
            return self._written(viewer)
        key = self._key(viewer)
        kept = self._kept.get(key)
        # The numbers of a socket's frames grow; one that others had before its own last will not do.
        if kept is None or kept.number <= viewer.last:
            kept = self._written(viewer)
            if kept is None or len(self._kept) >= MOST_KEPT:
                return kept
            self._kept[key] = kept
        return kept

    def _key(self, viewer: Viewer) -> Key:
        boards = self._of(viewer)
        old = any(place.part < board.old for board, place in zip(boards, viewer.places, strict=True))
        return viewer.topics, viewer.language, viewer.rows, viewer.places, viewer.read_ms if old else None

    def _written(self, viewer: Viewer) -> Frame | None:
        now = self._clock()
        standings = [self._heard[topic.source].now(now) for topic in viewer.topics]
        known = [each for each in standings if each is not None]
        if len(known) < len(standings):
            return None
        content = Content()
        places = tuple(
            board.lacking(content, place, read_ms=viewer.read_ms, rows=viewer.rows, due=viewer.due[board.topic])
            for board, place in zip(self._of(viewer), viewer.places, strict=True)
        )
        self._number += 1
        standing = worst(known)
        text = ",".join((f'{{"n":{self._number}', members(standing), *content.members()))
        return Frame(self._number, text, content.empty, content.more, standing.pulse.value, places)

    def _of(self, viewer: Viewer) -> list[Board]:
        return [self._boards[topic, viewer.language] for topic in viewer.topics]

    def _entered(self, viewer: Viewer) -> Mapping[str, int]:
        if viewer.base is None:
            return viewer.entered
        board = next(board for board in self._of(viewer) if board.topic.about is About.QUEUE)
        return counted(board.entered, viewer.base, viewer.then)


def _members(entered: Mapping[str, int]) -> str:
    return ",".join(f"{encoded(state)}:{number}" for state, number in entered.items())
