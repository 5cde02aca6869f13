"""What is said of the copies of removed jobs before a removal."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.quantities import number


def kept() -> str:
    """How long copies are kept, and what restoring one means; "" where none are."""
    hours: int = settings.MIRANTE_UNDO_HOURS
    if not hours or not settings.MIRANTE_UNDO_MB:
        return ""
    said = ngettext(
        "For %(n)s hour it can be restored as a new job: same name, data and options, but without its attempts, its "
        "result and its place in a flow.",
        "For %(n)s hours it can be restored as a new job: same name, data and options, but without its attempts, its "
        "result and its place in a flow.",
        hours,
    )
    return said % {"n": number(hours)}


def kept_of_many() -> str:
    """The same of many jobs."""
    hours: int = settings.MIRANTE_UNDO_HOURS
    if not hours or not settings.MIRANTE_UNDO_MB:
        return ""
    said = ngettext(
        "For %(n)s hour they can be restored as new jobs: same name, data and options, but without their attempts, "
        "results and places in flows.",
        "For %(n)s hours they can be restored as new jobs: same name, data and options, but without their attempts, "
        "results and places in flows.",
        hours,
    )
    return said % {"n": number(hours)}


def none_kept() -> str:
    """That a removal is for good; "" where copies are kept."""
    if settings.MIRANTE_UNDO_HOURS and settings.MIRANTE_UNDO_MB:
        return ""
    return _("This cannot be undone: no copies of removed jobs are kept here.")
