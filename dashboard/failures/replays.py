"""The replays that jobs of a group of failures were part of, for its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from dashboard.replays import ends, words
from queues.models import FailureGroup, Replay, ReplayJob
from queues.quantities import number
from queues.replay.steering.drafts import DISCARDED
from queues.replay.types import ACTIVE, Phase, Place, Stop
from queues.sendings import Fate

MOST = 10


@dataclass(frozen=True, slots=True)
class Share:
    """How many jobs of a replay are of the group, and what became of these."""

    total: int
    sent: int
    completed: int
    failed: int


@dataclass(frozen=True, slots=True)
class Line:
    """A replay, the newest of which stand on the page of a group. `whole`: all of its jobs are of that group."""

    replay: Replay
    share: Share
    whole: bool

    @property
    def by(self) -> str:
        return self.replay.started_by or self.replay.made_by

    @property
    def mark(self) -> tuple[str, str]:
        """The colour of how it stands, and its glyph: of one that is done by what became of the group's jobs."""
        share = self.share
        if self.whole or self.replay.phase != Phase.DONE or share.completed + share.failed < share.sent:
            return ends.mark(self.replay)
        return ends.HALF if share.failed and share.completed else ends.BAD if share.failed else ends.GOOD

    @property
    def words(self) -> str:
        """How it stands, in a few words."""
        replay, share, phase = self.replay, self.share, Phase(self.replay.phase)
        if phase is Phase.DONE:
            if share.completed == share.sent == share.total:
                return _("all completed")
            return _("%(n)s of %(of)s completed") % {"n": number(share.completed), "of": number(share.total)}
        if phase is Phase.STOPPED and replay.why == Stop.CANARY:
            return _("its canary stopped it")
        if phase in ACTIVE and replay.to_send + replay.sent:
            part = 100 * replay.sent // (replay.to_send + replay.sent)
            return _("%(phase)s, %(share)d%% sent") % {"phase": words.phase(phase), "share": part}
        return words.phase(phase)


def of_group(group: FailureGroup) -> Sequence[Line]:
    """The newest ones that were made of this group or hold jobs of it, and of those that were merged into it.

    Two queries, one of them by the rows of all ledgers that are about the group: some 100 ms at 100,000 of them.
    """
    held = _held(group)
    ours = Q(group=group) | Q(groups=group) | Q(groups__merged_into=group) | Q(pk__in=sorted(held)[-MOST:])
    found = Replay.objects.filter(ours).exclude(step=DISCARDED).distinct().defer("data").order_by("-pk")
    return [_line(replay, held.get(replay.pk)) for replay in found[:MOST]]


def _held(group: FailureGroup) -> Mapping[int, Share]:
    """What the ledgers hold of it, by the keys of their replays."""
    rows = ReplayJob.objects.filter(Q(group=group) | Q(group__merged_into=group)).order_by()
    sent, ended = Q(place=Place.SENT), Q(place=Place.SENT, ended_ms__isnull=False)
    counted = rows.values_list("replay").annotate(
        Count("pk"),
        sent=Count("pk", filter=sent),
        completed=Count("pk", filter=ended & Q(fate=Fate.COMPLETED)),
        failed=Count("pk", filter=ended & Q(fate=Fate.FAILED)),
    )
    return {pk: Share(*sums) for pk, *sums in counted}


def _line(replay: Replay, share: Share | None) -> Line:
    """One whose ledger tells nothing, as it is deleted by age or not yet written, by its sums."""
    if share is None or share.total >= replay.total:
        share = Share(replay.total, replay.sent, replay.completed, replay.failed)
        return Line(replay, share, whole=True)
    return Line(replay, share, whole=False)
