"""The new job that is sent for a letter, or as a copy of a failed or completed job."""

from queues.replay.copies.copying import copied
from queues.replay.copies.letter import Content, Unmapped, told_by

__all__ = ["Content", "Unmapped", "copied", "told_by"]
