"""The replays that were planned for a group of failures, for its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.utils.translation import gettext as _

from dashboard.replays import ends, words
from queues.models import FailureGroup, Replay
from queues.quantities import number
from queues.replay.types import ACTIVE, Phase, Stop

MOST = 10


@dataclass(frozen=True, slots=True)
class Line:
    """A replay of a group, the newest of which stand on its page."""

    replay: Replay

    @property
    def by(self) -> str:
        return self.replay.started_by or self.replay.made_by

    @property
    def mark(self) -> tuple[str, str]:
        """The colour of how it stands, and its glyph."""
        return ends.mark(self.replay)

    @property
    def words(self) -> str:
        """How it stands, in a few words."""
        replay, phase = self.replay, Phase(self.replay.phase)
        if phase is Phase.DONE:
            if replay.completed == replay.sent == replay.total:
                return _("all completed")
            return _("%(n)s of %(of)s completed") % {"n": number(replay.completed), "of": number(replay.total)}
        if phase is Phase.STOPPED and replay.why == Stop.CANARY:
            return _("its canary stopped it")
        if phase in ACTIVE and replay.to_send + replay.sent:
            share = 100 * replay.sent // (replay.to_send + replay.sent)
            return _("%(phase)s, %(share)d%% sent") % {"phase": words.phase(phase), "share": share}
        return words.phase(phase)


def of_group(group: FailureGroup) -> Sequence[Line]:
    """The newest ones of this group, alone or beside others, and of those that were merged into it. One query."""
    ours = Q(group=group) | Q(groups=group) | Q(groups__merged_into=group)
    return [Line(replay) for replay in Replay.objects.filter(ours).distinct().defer("data").order_by("-pk")[:MOST]]
