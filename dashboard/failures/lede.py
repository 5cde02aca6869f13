"""What the list of groups comes to, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from queues.failures.find import Listing
from queues.quantities import number, spelled

_CALM: Mapping[str, Promise] = {
    "all": gettext_lazy("Nothing failed for good in the last hour."),
    "open": gettext_lazy("No open group failed in the last hour."),
    "some": gettext_lazy("None of these failed in the last hour."),
}
LEADS = 0.5  # the share of the last hour that makes a group worth a sentence


class Scope(StrEnum):
    """Which groups a list holds."""

    ALL = "all"
    OPEN = "open"  # all but ignored and resolved ones
    SOME = "some"


def lede(found: Listing, scope: Scope) -> str:
    """One to three sentences: what failed in the last hour, and whether a retry can help. "" where nothing is known."""
    if found.known.windows_ms is None or (scope is Scope.SOME and not found.matching):
        return ""
    return " ".join(filter(None, (_hour(found, scope), _retry(found), _back(found))))


def _hour(found: Listing, scope: Scope) -> str:
    failed = found.totals.h1
    if not failed:
        if found.known.scanning:
            return _("No failure of the last hour has been read so far.")
        return str(_CALM[scope])
    if found.hit == 1:
        return ngettext(
            "%(n)s job failed in the last hour.", "%(n)s jobs failed in the last hour, all in one group.", failed
        ) % {"n": number(failed)}
    if found.top_h1 >= LEADS * failed:
        share = min(99, 100 * found.top_h1 // failed)
        return _("One group makes %(share)s%% of the last hour.") % {"share": share}
    told = {"n": number(failed), "groups": spelled(found.hit)}
    return _("%(n)s jobs failed in the last hour, in %(groups)s groups.") % told


def _retry(found: Listing) -> str:
    failed, passing, lasting = found.totals.h1, found.transient_h1, found.permanent_h1
    told = {"n": number(failed), "transient": number(passing), "permanent": number(lasting)}
    if not failed:
        return ""
    if passing == failed:
        return _("All of it is transient: a retry can help.")
    if lasting == failed:
        return _("All of it is permanent: a retry fails the same way.")
    if passing and lasting:
        return (
            _(
                "A retry can help %(transient)s of these %(n)s jobs, brought back since or not; "
                "%(permanent)s will fail the same way again."
            )
            % told
        )
    if passing:
        return _("A retry can help %(transient)s of these %(n)s jobs, brought back since or not.") % told
    if lasting:
        return _("None of it is known to be transient; %(permanent)s will fail the same way again.") % told
    return _("Whether a retry helps is not known for any of it.")


def _back(found: Listing) -> str:
    if not found.back:
        return ""
    return ngettext(
        "One group came back after it was resolved.", "%(n)s groups came back after they were resolved.", found.back
    ) % {"n": spelled(found.back).capitalize()}
