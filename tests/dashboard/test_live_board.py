"""What a board keeps of a topic is bounded, however long somebody watches it."""

from __future__ import annotations

from dashboard.live.board import MOST_PARTS_OF_ONE, Board
from dashboard.live.update import Update
from queues.live import About, Topic


def test_a_queue_that_is_watched_for_days_keeps_no_part_for_each_job_that_ended() -> None:
    board = Board(Topic(About.QUEUE, "main", "shop"), None)
    for number in range(3 * MOST_PARTS_OF_ONE):
        board.take(Update({f"s-{number:010x}": f"<span>{number}</span>"}), number)
    assert len(board.parts) == MOST_PARTS_OF_ONE
    assert f"s-{3 * MOST_PARTS_OF_ONE - 1:010x}" in board.parts


def test_an_overview_keeps_the_parts_of_all_its_rows() -> None:
    board = Board(Topic(About.OVERVIEW, "main"), None)
    rows = {f"q-{number:010x}-failed": f"<span>{number}</span>" for number in range(3 * MOST_PARTS_OF_ONE)}
    board.take(Update(rows), 1)
    assert len(board.parts) == len(rows)
