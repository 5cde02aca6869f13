"""Plans of replays, made from what a person wants sent again. Nothing is collected yet, and nothing is sent."""

from queues.replay.making.beginning import ensure_few, wake
from queues.replay.making.behind import Behind
from queues.replay.making.meant import LATER_MOST, later, missed
from queues.replay.making.wishes import (
    MOST_GROUPS,
    PLAN,
    of_again,
    of_edited,
    of_group,
    of_groups,
    of_jobs,
    of_letters,
    of_state,
)

__all__ = [
    "LATER_MOST",
    "MOST_GROUPS",
    "PLAN",
    "Behind",
    "ensure_few",
    "later",
    "missed",
    "of_again",
    "of_edited",
    "of_group",
    "of_groups",
    "of_jobs",
    "of_letters",
    "of_state",
    "wake",
]
