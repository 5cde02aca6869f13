"""Keeping the index of failures equal to what servers hold: one thread for each source, beside its follower."""

from queues.failures.index.run import run
from queues.failures.index.source import SourceIndexer

__all__ = ["SourceIndexer", "run"]
