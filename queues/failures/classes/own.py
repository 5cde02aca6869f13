"""Rules of users: kept, put into order, deleted. Whoever changes one calls `reclassify` afterwards."""

from __future__ import annotations

from typing import Literal

from django.db import transaction
from django.utils.translation import gettext as _

from queues.errors import BadInput
from queues.failures.classes import rules
from queues.failures.classes.matching import Own
from queues.models import ClassRule

MOST = 200  # rules in all: each makes deciding a little slower


def checked(own: Own) -> Own:
    """A rule that can be kept. BadInput for one that matches everything, is there already, or is one too many."""
    if own.empty:
        raise BadInput(_("Say what it matches: a rule without any pattern would decide everything."))
    if own.queue and not own.source:
        raise BadInput(_("A queue belongs to a source: choose that too."))
    for field, text in (("code", own.code), ("error_class", own.error_class), ("name", own.name)):
        if text and not text.strip("*"):
            raise BadInput(_("%(field)s: leave a pattern empty to match anything.") % {"field": field})
    if own.message and not own.message.strip("* "):
        raise BadInput(_("A message of stars alone matches anything: leave it empty."))
    kept = rules.kept()
    if len(kept) >= MOST:
        raise BadInput(_("There are %(most)s rules already, and no more are taken.") % {"most": MOST})
    same = [each for each in kept if each.patterns == own.patterns]
    if same:
        raise BadInput(_("There is a rule for exactly this already: it says %(kind)s.") % {"kind": same[0].kind.value})
    return own


def add(own: Own, *, by: str) -> ClassRule:
    """Keep a rule, below those that are there. BadInput as `checked` says."""
    own = checked(own)
    with transaction.atomic():
        last = ClassRule.objects.order_by("-position").values_list("position", flat=True).first()
        made = ClassRule.objects.create(
            position=1 if last is None else last + 1,
            kind=own.kind.value,
            error_class=own.error_class,
            code=own.code,
            message=own.message,
            name=own.name,
            source=own.source,
            queue=own.queue,
            added_by=by,
        )
    rules.forget()
    return made


def move(pk: int, to: Literal["up", "down"]) -> ClassRule | None:
    """Swap a rule with the one above or below it; None when it is gone or at that end already."""
    with transaction.atomic():
        rows = list(ClassRule.objects.order_by("position", "pk"))
        at = next((number for number, row in enumerate(rows) if row.pk == pk), None)
        if at is None:
            return None
        other = at - 1 if to == "up" else at + 1
        if not 0 <= other < len(rows):
            return None
        rows[at], rows[other] = rows[other], rows[at]
        for number, row in enumerate(rows, 1):
            row.position = number
        ClassRule.objects.bulk_update(rows, ["position"])
    rules.forget()
    return rows[other]


def delete(pk: int) -> ClassRule | None:
    """Take a rule away; None when it is gone already."""
    found = ClassRule.objects.filter(pk=pk).first()
    if found is None or not ClassRule.objects.filter(pk=pk).delete()[0]:
        return None
    rules.forget()
    return found
