"""What the set of a plan lacks, since the index of failures had not read it when the set was frozen."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from queues.models import Replay
from queues.replay.freezing import counting
from queues.replay.making import LATER_MOST, Behind, missed


@dataclass(frozen=True, slots=True)
class Lacking:
    """`behind` as it was then; `since` of them have been read by now, as far as is known; `more` than that many."""

    behind: Behind
    since: int
    url: str  # where the plan can be made again

    @property
    def more(self) -> bool:
        return self.since > LATER_MOST

    @property
    def most(self) -> int:
        return min(self.since, LATER_MOST)


def lacking(replay: Replay) -> Lacking | None:
    """None where nothing was missing. Two queries else."""
    behind = Behind.of(replay.frozen.get(counting.INDEX))
    if behind is None:
        return None
    url = reverse("failure-group", args=[replay.group.slug]) if replay.group else reverse("failures")
    return Lacking(behind, missed(replay), url)
