"""Why a job of a plan was not sent, or what was in its way, in words: the same on pages and in files."""

from __future__ import annotations

from django.utils.translation import gettext as _

from dashboard.replays import words
from queues.replay.ledger import Row
from queues.replay.terms import Terms
from queues.replay.types import CHOICES, Choice, Place
from queues.sendings import Conflict


def reason(row: Row, terms: Terms) -> str:
    """That of a row, without its note; "" where nothing was in its way."""
    if row.place is not Place.LEFT_OUT:
        return "" if row.conflict is Conflict.NONE else words.conflict(row.conflict)
    if row.permanent and terms.without_permanent:
        if row.conflict is Conflict.NONE:
            return left_out(Conflict.NONE, terms)
        return f"{left_out(Conflict.NONE, terms)}; {left_out(row.conflict, terms)}"
    return left_out(row.conflict, terms)


def left_out(conflict: Conflict, terms: Terms) -> str:
    """Why jobs were left out of which this was found; NONE: they were for nothing but the class of their failure."""
    if conflict is Conflict.NONE:
        return _("Its failure is permanent: left out by choice")
    said = words.conflict(conflict)
    possible = CHOICES.get(conflict, (Choice.SKIP,))
    chosen = (
        terms.choice(conflict) is Choice.SKIP and possible[0] is not Choice.SKIP
    )  # what forms send names defaults, too
    return _("%(why)s: left out by choice") % {"why": said} if chosen else said
