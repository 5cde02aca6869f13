"""How a plan sends: what a person chose, checked, as `Replay.terms` keeps it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from queues.replay.types import CHOICES, Choice
from queues.sendings import Conflict

FEW = 20  # jobs, of which no canary and no stop when they fail again is suggested


class Ordering(StrEnum):
    """In which order jobs are sent."""

    ORIGINAL = "original"  # by the time they were first added, oldest first
    FAILURE = "failure"  # by the time they failed, oldest first
    NEWEST = "newest"  # by the time they failed, newest first
    SAT = "sat"  # as they sat in the server


class Originals(StrEnum):
    """What becomes of what was copied."""

    WHEN_SENT = "when-sent"  # removed as soon as the copy is safely in
    WHEN_DONE = "when-done"  # removed when the copy has completed
    KEEP = "keep"


class AfterLoss(StrEnum):
    """What a plan does whose worker was lost."""

    GO_ON = "go-on"
    WAIT = "wait"  # pauses, for a person


class KeyFailed(StrEnum):
    """What is done with the later jobs of a key of which one failed again."""

    HOLD = "hold"
    GO_ON = "go-on"


class PatchKind(StrEnum):
    MERGE = "merge"  # JSON Merge Patch (RFC 7396)
    PATHS = "paths"  # lines of `path = JSON value`
    WHOLE = "whole"  # other data, for a plan of one job: `Replay.data` holds it


@dataclass(frozen=True, slots=True)
class Patch:
    """An edit of every job's data. `text` is exact JSON, or lines; nothing for WHOLE."""

    kind: PatchKind
    text: str = ""


@dataclass(frozen=True, slots=True)
class Hours:
    """When jobs may be sent: on these days (ISO numbers, "12345"), between two times ("09:00"), in a time zone.

    `until` before `begin` is past midnight, on the day that began.
    """

    days: str
    begin: str
    until: str
    zone: str


@dataclass(frozen=True, slots=True)
class Terms:
    """Paces are jobs a second; None means as fast as the server takes them."""

    acts_copy: bool = False  # failed jobs are copied, too, and not retried in place; letters and completed always are
    target: str = ""  # slug of the queue that copies go to; "" = where each came from
    reset: bool = False  # forget the attempts made
    originals: Originals = Originals.WHEN_SENT
    order: Ordering = Ordering.ORIGINAL
    key: str = ""  # a payload path: jobs with the same value there never overtake each other; "" = none
    key_failed: KeyFailed = KeyFailed.HOLD
    pace_from: float | None = 5.0
    pace_to: float | None = 20.0
    double_s: int = 30  # the pace doubles after so many seconds, up to `pace_to`
    jitter: int = 20  # percent
    depth_max: int | None = None  # hold while the target's backlog is above this
    age_max_s: int | None = 300  # hold while the oldest waiting job of the target is older
    hours: Hours | None = None
    canary: int = 25  # jobs; 0 = none
    canary_failed: int = 2  # at most so many of them may fail again
    canary_wait_s: int = 600
    stop_percent: int | None = 10  # of the last 100 that ended; None = never
    stop_paused: bool = True  # when the target is paused; else the jobs wait there
    stop_idle: bool = True  # when the target has no worker
    after_loss: AfterLoss = AfterLoss.GO_ON
    without_permanent: bool = False  # leave out jobs whose failure is of the permanent class
    choices: Mapping[Conflict, Choice] = field(default_factory=dict)
    patch: Patch | None = None

    def choice(self, conflict: Conflict) -> Choice:
        """What is done about a conflict."""
        if conflict is Conflict.NONE:
            return Choice.SEND
        possible = CHOICES.get(conflict)
        if possible is None:
            return Choice.SKIP
        chosen = self.choices.get(conflict)
        return chosen if chosen in possible else possible[0]

    def kept(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return asdict(self)

    @property
    def stamp(self) -> str:
        """Stands for exactly these in a form, which so tells whether they have been changed since."""
        text = json.dumps(self.kept(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Terms:
        """What `kept` made; defaults for what is missing."""
        told = {name: value for name, value in kept.items() if name in cls.__dataclass_fields__}
        if told.get("hours"):
            told["hours"] = Hours(**told["hours"])
        if told.get("patch"):
            told["patch"] = Patch(PatchKind(told["patch"]["kind"]), told["patch"]["text"])
        enums = {"originals": Originals, "order": Ordering, "key_failed": KeyFailed, "after_loss": AfterLoss}
        told |= {name: kind(told[name]) for name, kind in enums.items() if name in told}
        told["choices"] = {Conflict(name): Choice(value) for name, value in told.get("choices", {}).items()}
        return cls(**told)

    @classmethod
    def suggested(cls, number: int, *, letters: bool = False) -> Terms:
        """What a plan of so many jobs begins with: a small one needs neither canary nor ramp."""
        if number <= FEW:
            return cls(canary=0, pace_from=5.0, pace_to=5.0, stop_percent=None)
        return cls(canary=min(25, max(5, number // 20)), canary_failed=2 if number >= 100 else 1)
