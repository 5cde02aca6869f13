"""How far freezing is."""

from __future__ import annotations

from enum import StrEnum


class Step(StrEnum):
    """The steps of freezing, as `Replay.step` names them."""

    COLLECTING = "collecting"  # which jobs are meant is written down
    LOOKING = "looking"  # each is looked at on the server
    READING = "reading"  # the data of each is read, for an edit or an order by key
