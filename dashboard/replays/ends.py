"""How a plan stands, as a colour, a glyph and a word: of one that is done by what came of it."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.replays import words
from queues.models import Replay, ReplayLine
from queues.quantities import number
from queues.replay.types import Phase, Told

Mark = tuple[str, str]  # `s-<colour>` and `i-<glyph>`
GOOD, HALF, BAD = ("completed", "completed"), ("warn", "warn"), ("failed", "failed")


def mark(replay: Replay) -> Mark:
    """The colour and glyph of how it stands: green only where nothing that was sent came to another end."""
    if replay.phase != Phase.DONE:
        return words.mark(replay.phase)
    if _all_failed(replay):
        return BAD
    if _amiss(replay):
        return HALF
    return GOOD if replay.sent else ("paused", "gone")


def word(replay: Replay) -> str:
    """How it stands, as it begins a sentence."""
    said = within(replay)
    return said[:1].upper() + said[1:]


def within(replay: Replay) -> str:
    """The same within a sentence."""
    if replay.phase != Phase.DONE:
        return words.phase(replay.phase)
    if _all_failed(replay):
        return ngettext("failed again", "all failed again", replay.failed)
    if amiss := _amiss(replay):
        return _("done, %(amiss)s") % {"amiss": amiss}
    return words.phase(Phase.DONE) if replay.sent else _("done, nothing sent")


def _all_failed(replay: Replay) -> bool:
    return 0 < replay.failed == replay.sent


def _amiss(replay: Replay) -> str:
    """What went otherwise than it should, the worst alone; "" where nothing did."""
    left = max(0, replay.sent - replay.completed - replay.failed - replay.other)
    told = (
        (_("%(n)s failed again"), replay.failed),
        (_("%(n)s refused"), replay.refused),
        (_("%(n)s gone or unknown"), replay.other),
        (_("%(n)s had not ended"), left),
    )
    return next((text % {"n": number(count)} for text, count in told if count), "")


def line_mark(line: ReplayLine) -> Mark | None:
    """That of a line of the feed which tells how jobs ended; None for any other."""
    if line.kind not in (Told.CANARY_PASSED, Told.DONE):
        return None
    done, failed, other = (_count(line, name) for name in ("completed", "failed", "other"))
    if line.kind == Told.DONE and failed and not (done or other):
        return BAD
    return HALF if failed or other else GOOD


def _count(line: ReplayLine, name: str) -> int:
    value = line.facts.get(name)
    return value if isinstance(value, int) else 0
