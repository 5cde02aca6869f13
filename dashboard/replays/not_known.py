"""What is not known of a plan that was started, and why: in words, where a figure would be a bare dash."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.replays.seen import Seen
from dashboard.templatetags.mirante import moment
from queues.failures.standing import Index, Standing, standing
from queues.models import ReplayQueue
from queues.quantities import number
from queues.replay.types import HALTED, Phase

LATE_MS = 15_000  # what failed so long before the index's word was read, if it was there to be read

Shown = SafeString | str


def of_target(seen: Seen, target: ReplayQueue, *, unread: bool) -> Shown:
    """Why nothing is told of a queue now, or not how many workers it has; "" where all is told."""
    if not unread:
        return _("How many workers it has is not known: they cannot be listed.") if target.workers is None else ""
    if target.seen_at is None:
        return f"{_('The plan has not read it yet.')} {_why(seen)}".strip()
    at = moment(target.seen_at)
    return format_html("{} {}. {}", _("Not known now: the plan last read it at"), at, _why(seen))


def _why(seen: Seen) -> str:
    """Why a plan reads none of its queues now; "" where it should."""
    if seen.replay.down_since:
        return _("The source does not answer.")
    if seen.phase in HALTED:
        return _("While it stands still it does not read its queues.")
    if seen.phase is Phase.CANCELLING or seen.ended:
        return _("It sends no more, and reads its queues no more.")
    return ""


def of_groups(seen: Seen) -> Shown:
    """Of how many jobs that failed again nobody knows the group, and why; "" for none. Two queries, if any."""
    unread = [each for each in seen.again if not each.slug]
    count = sum(each.number for each in unread)
    if not count:
        return ""
    text = ngettext(
        "Of %(n)s it is not known what it failed with:", "Of %(n)s it is not known what they failed with:", count
    ) % {"n": number(count)}
    last = max((each.last_ms for each in unread if each.last_ms is not None), default=None)
    return format_html("{} {}", text, _why_no_group(standing(seen.replay.source.name), last))


def _why_no_group(index: Standing, last_ms: int | None) -> Shown:
    """Why the index of failures does not tell of the last of them."""
    if index.index in (Index.SILENT, Index.NEVER):
        return _read_to(_("nobody reads the failures of this source now."), index)
    if index.index is Index.BLIND:
        return _read_to(_("the failures of this source cannot be read now."), index)
    if index.at_ms is None or last_ms is None or last_ms > index.at_ms - LATE_MS:
        return _read_to(_("the failure index has not read it yet."), index)
    return _("the failure index has read on without them: the jobs were gone by then, or were sent again.")


def _read_to(why: str, index: Standing) -> Shown:
    if index.at_ms is None:
        return why
    return format_html("{} {} {}.", why, _("It had read to"), moment(index.at_ms))
