"""What a plan was made from, as `Replay.made_from` keeps it: what is needed to collect its set, and nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Max

from queues.actions import Target
from queues.bulk.packing import pack, unpack
from queues.failures.occurrences import Which, strands
from queues.models import Failure, FailureGroup
from queues.replay.types import From
from queues.types import State

Kept = Mapping[str, Any]
LETTER_STATES = (State.WAITING, State.PRIORITIZED, State.DELAYED)  # where letters lie


@dataclass(frozen=True, slots=True)
class Wish:
    """`queue` is a slug. `targets` belong to JOB and SELECTION, `groups`, `strands`, `upto` and `which` to GROUP.

    `letters`: the jobs lie in a queue of dead letters. `strands` are keys as they were: groups that are merged into
    this one later do not become part of the plan, and what is split off it stays.
    """

    kind: From
    queue: str = ""
    state: State = State.FAILED
    letters: bool = False
    name: str = ""
    targets: Sequence[Target] = ()
    groups: Sequence[int] = ()
    upto: int = 0  # key of the newest failure that was known
    strands: Sequence[int] = ()
    which: Which = field(default_factory=Which)
    replay: int = 0  # key of the plan whose rows are meant that failed again, of AGAIN

    @property
    def about(self) -> str:
        """What the form that made it was about: with its key it tells whether it was sent before.

        A list keeps its key while other jobs are picked in it.
        """
        about = f"{self.kind} {','.join(map(str, self.groups)) or self.queue or self.replay}"
        if not self.targets:
            return about
        ids = b" ".join(base64.b64encode(target.id) for target in self.targets)
        return f"{about} {hashlib.sha1(ids, usedforsecurity=False).hexdigest()}"

    def kept(self) -> dict[str, Any]:
        """As JSON keeps it."""
        told: dict[str, Any] = {"kind": self.kind.value}
        if self.kind is From.GROUP:
            told |= {"groups": list(self.groups), "upto": self.upto, "strands": list(self.strands)}
            return told | {"which": self.which.kept()}
        if self.kind is From.AGAIN:
            return told | {"replay": self.replay}
        told |= {"queue": self.queue, "state": self.state.value, "letters": self.letters}
        if self.kind in (From.JOB, From.SELECTION):
            return told | {"targets": base64.b64encode(pack(self.targets)).decode("ascii")}
        return told | {"name": self.name}

    @classmethod
    def of(cls, kept: Kept) -> Wish:
        """What `kept` made."""
        packed = kept.get("targets", "")
        return cls(
            From(kept["kind"]),
            queue=kept.get("queue", ""),
            state=State(kept.get("state", State.FAILED)),
            letters=bool(kept.get("letters", kept["kind"] == From.LETTERS)),
            name=kept.get("name", ""),
            targets=tuple(unpack(base64.b64decode(packed))) if packed else (),
            groups=tuple(kept.get("groups", ())),
            upto=kept.get("upto", 0),
            strands=tuple(kept.get("strands", ())),
            which=Which.of(kept.get("which", {})),
            replay=kept.get("replay", 0),
        )

    @classmethod
    def of_groups(cls, groups: Sequence[FailureGroup], which: Which) -> Wish:
        """The failures of groups that are known by now. A query, and one for each group."""
        last = Failure.objects.aggregate(last=Max("pk"))["last"] or 0
        keys = [strand.pk for group in groups for strand in strands(group, which)]
        return cls(From.GROUP, groups=[group.pk for group in groups], upto=last, strands=keys, which=which)
