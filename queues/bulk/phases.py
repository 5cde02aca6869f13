"""How far an action over many jobs is."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    COLLECTING = "collecting"  # which jobs are meant is being written down; nothing has been done to any
    ACTING = "acting"  # batch by batch over what was collected
    SWEEPING = "sweeping"  # step by step over a state or a queue
    ENDED = "ended"  # its audit entry says how
