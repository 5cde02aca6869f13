"""What an edit would make of some samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues.replay.patching.making import Patcher, patcher
from queues.replay.patching.unfit import Unfit
from queues.replay.terms import Patch


@dataclass(frozen=True, slots=True)
class Tried:
    """One sample: `after` is None where the edit does not fit, `why` says so then. The same bytes: nothing changes."""

    before: bytes
    after: bytes | None
    why: str = ""

    @property
    def unchanged(self) -> bool:
        return self.after == self.before


def trial(patch: Patch, samples: Sequence[bytes], *, data: bytes | None = None) -> Sequence[Tried]:
    """The same edit on each sample, in their order. BadInput where the edit itself cannot be read."""
    made = patcher(patch, data)
    return [_tried(made, sample) for sample in samples]


def _tried(made: Patcher, sample: bytes) -> Tried:
    try:
        return Tried(sample, made(sample))
    except Unfit as why:
        return Tried(sample, None, str(why))
