"""Rules for the classes of failures: those of users, to be added after a dry run, ordered and deleted; and ours."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib import messages
from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Right, record, requires_right
from dashboard.class_rules import RuleForm, Tried, lines, ref_of, tried
from dashboard.failures.words import KIND_WORDS
from dashboard.http import asks_for, page
from queues.errors import BadInput
from queues.failures import classes
from queues.failures.classes.rules import own
from queues.models import ClassRule
from queues.quantities import number

log = logging.getLogger(__name__)


@require_safe
def rules(request: HttpRequest) -> HttpResponse:
    return _page(request, RuleForm())


@requires_right(Right.CLASSES)
@require_POST
def try_rule(request: HttpRequest) -> HttpResponse:
    """Show what the rule in the form would change. Nothing is kept."""
    form = RuleForm(request.POST)
    if form.is_valid():
        return _page(request, form, seen=tried(form.cleaned_data["own"]))
    # htmx swaps nothing in that has an error's status; what is wrong stands in the fragment.
    return _page(request, form, status=200 if asks_for(request, "tried") else 422)


@requires_right(Right.CLASSES)
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """Keep the rule in the form, below the others, and decide all classes anew."""
    form = RuleForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        with transaction.atomic():
            made = classes.add(form.cleaned_data["own"], by=request.user.get_username())
            _record(request, "class-rule-add", made)
    except BadInput as error:
        form.add_error(None, str(error))
        return _page(request, form, status=422)
    _say(request, _("The rule is kept."))
    return redirect("class-rules")


@requires_right(Right.CLASSES)
@require_POST
def move(request: HttpRequest, pk: int) -> HttpResponse:
    """Swap a rule with the one above it, with `down` in the form below it; at the end already is fine."""
    with transaction.atomic():
        moved = classes.move(pk, "down" if request.POST.get("to") == "down" else "up")
        if moved:
            _record(request, "class-rule-move", moved)
    if moved:
        _say(request, _("The rules have another order."))
    return redirect("class-rules")


@requires_right(Right.CLASSES)
@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a rule away; one that is gone already is fine."""
    with transaction.atomic():
        gone = classes.delete(pk)
        if gone:
            _record(request, "class-rule-delete", gone)
    if gone:
        _say(request, _("The rule is gone."))
    return redirect("class-rules")


@requires_right(Right.CLASSES)
@require_POST
def reclassify(request: HttpRequest) -> HttpResponse:
    """Decide all classes anew by the rules as they stand."""
    record(request, "class-rules-reclassify")
    _say(request, _("All is decided anew."), later=False)
    return redirect("class-rules")


def _record(request: HttpRequest, action: str, row: ClassRule) -> None:
    rule = own(row)
    told = _("%(rule)s: %(kind)s") % {"rule": rule.title, "kind": KIND_WORDS[rule.kind]}
    facts: dict[str, Any] = {
        "class": rule.kind.value,
        "error_class": rule.error_class,
        "error_code": rule.code,
        "message": rule.message,
        "job_name": rule.name,
    }
    given = {name: text for name, text in facts.items() if text}
    record(request, action, source=rule.source, queue=ref_of(row), note=told, **given)


def _say(request: HttpRequest, what: str, *, later: bool = True) -> None:
    """What was done, with how many strands have another class by it. `later`: if not now, the index decides by it."""
    try:
        changed = classes.reclassify()
    except OperationalError:
        if not later:
            raise
        log.warning("classes could not be decided anew: our own database was busy")
        busy = _("Our own database was busy: what is indexed is decided anew within some minutes.")
        messages.warning(request, f"{what} {busy}")
        return
    if changed:
        more = ngettext("%(n)s entry of the index has", "%(n)s entries of the index have", changed)
        what = _("%(what)s %(more)s another class or rule now.") % {"what": what, "more": more % {"n": number(changed)}}
    else:
        what = _("%(what)s Nothing that is indexed changes by it.") % {"what": what}
    messages.success(request, what)


def _page(request: HttpRequest, form: RuleForm, *, seen: Tried | None = None, status: int = 200) -> HttpResponse:
    alone = asks_for(request, "tried")
    context: dict[str, object] = {"form": form, "tried": seen, "alone": alone, "most": classes.MOST}
    if not alone:
        context["lines"] = lines()
    return page(request, "class_rules/rules.html", context, fragments=("tried",), status=status)
