"""Who goes when: places by the terms' choices, ranks, chains of jobs with one key, and the canary."""

from queues.replay.ordering.preparing import prepare

__all__ = ["prepare"]
