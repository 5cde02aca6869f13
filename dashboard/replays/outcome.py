"""What came of a plan, in words: the report of one that has ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.replays import words
from dashboard.replays.ledger import UNHINDERED
from dashboard.replays.reasons import left_out
from dashboard.words import shown
from queues.failures.types import UNSOLVED
from queues.models import FailureGroup, FailureStrand, Replay
from queues.quantities import UNKNOWN, duration, number
from queues.replay.making import MOST_GROUPS
from queues.replay.report import Refusal, Report, report
from queues.replay.terms import Terms
from queues.replay.types import Place


@dataclass(frozen=True, slots=True)
class Why:
    """Jobs that were not sent, for one reason. `query` finds them in the ledger."""

    words: str
    note: str
    number: int
    query: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """`sentence` is the whole in one; `not_sent` why some were not, the most first.

    `unsolved` are the groups of failures that a clean outcome leaves to be resolved.
    """

    report: Report
    sentence: str
    not_sent: Sequence[Why]
    originals: str
    lasted: str
    sending: str
    pace: str
    unsolved: Sequence[FailureGroup]


def outcome(replay: Replay) -> Outcome:
    """By the rows of the plan: some 100 ms at 100,000 of them."""
    found, terms = report(replay), Terms.of(replay.terms)
    told = [_why(each, Place.LEFT_OUT, terms) for each in found.left_out_by]
    told += [_why(each, Place.REFUSED, terms) for each in found.refused_by]
    return Outcome(
        report=found,
        sentence=sentence(found),
        not_sent=sorted(told, key=lambda each: -each.number),
        originals=_originals(found),
        lasted=UNKNOWN if found.lasted_s is None else duration(found.lasted_s * 1000, whole=True),
        sending=UNKNOWN if found.sending_s is None else duration(found.sending_s * 1000, whole=True),
        pace=UNKNOWN if found.pace is None else number(round(found.pace, 1)),
        unsolved=_unsolved(replay) if found.clean else (),
    )


def _unsolved(replay: Replay) -> Sequence[FailureGroup]:
    """The groups that it was made from, else those that its jobs had failed by and of which no other job is left.

    One or two queries.
    """
    keys = {*replay.groups.values_list("pk", flat=True), *filter(None, [replay.group_id])}
    others = FailureGroup.objects.all()
    if not keys:
        left = FailureStrand.objects.filter(group=OuterRef("pk"), present__gt=0)
        others = others.exclude(Exists(left))
        keys = set(replay.jobs.exclude(group=None).values_list("group", flat=True).distinct()[: MOST_GROUPS + 1])
    found = others.filter(pk__in=keys, merged_into=None, life__in=UNSOLVED)
    return list(found.order_by("-total")) if len(keys) <= MOST_GROUPS else ()


def sentence(found: Report) -> str:
    """What it came to: 2,095 of 2,118 sent, 2,083 completed, 12 failed again, 23 left out."""
    if not found.sent and not found.refused:
        return _("Nothing was sent of %(n)s.") % {"n": _jobs(found.total)}
    told = [_("%(sent)s of %(of)s sent") % {"sent": number(found.sent), "of": number(found.total)}]
    told += [text % {"n": number(count)} for text, count in _parts(found) if count]
    return ", ".join(told) + "."


def _parts(found: Report) -> Sequence[tuple[str, int]]:
    return (
        (_("%(n)s completed"), found.completed),
        (_("%(n)s failed again"), found.failed),
        (_("%(n)s removed before they ended"), found.gone),
        (_("of %(n)s it is unknown what became of them"), found.unknown),
        (_("%(n)s had not ended"), found.under_way),
        (_("%(n)s left out"), found.left_out),
        (_("%(n)s refused by the server"), found.refused),
        (_("%(n)s not sent as it was cancelled"), found.not_sent),
        (_("%(n)s taken back"), found.taken_back),
    )


def _jobs(count: int) -> str:
    return ngettext("%(n)s job", "%(n)s jobs", count) % {"n": number(count)}


def _why(each: Refusal, place: Place, terms: Terms) -> Why:
    query = f"place={place}&conflict={each.conflict or UNHINDERED}"
    text = left_out(each.conflict, terms) if place == Place.LEFT_OUT else words.conflict(each.conflict)
    return Why(text, shown(each.note, 200), each.number, query)


def _originals(found: Report) -> str:
    """What became of what was copied; "" where nothing was."""
    told = ((_("%(n)s removed"), found.removed), (_("%(n)s kept"), found.kept))
    said = [text % {"n": number(count)} for text, count in told if count]
    return ", ".join(said)
