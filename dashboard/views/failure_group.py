"""The page of one group of failures, and what people say about it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence

from django.contrib import messages
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Right, actor_of, record, requires_right
from dashboard.failures import forms
from dashboard.failures.group import GroupQuery, context, mergeable
from dashboard.http import page
from queues import audit
from queues.audit import Asked
from queues.errors import BadInput, QueueError
from queues.failures import classes, life, merging
from queues.failures.about import whole
from queues.failures.locking import beside_the_index
from queues.failures.types import SplitBy
from queues.models import FailureGroup, FailureNote

MERGED_MOST = merging.MOST


@require_safe
def group(request: HttpRequest, slug: str) -> HttpResponse:
    """All about one group. One that was merged leads to where it went."""
    found = merging.current(slug)
    if found.slug != slug:
        return redirect("failure-group", found.slug)
    return _page(request, found)


@require_POST
@requires_right(Right.FAILURES)
def resolve(request: HttpRequest, slug: str) -> HttpResponse:
    found, form = merging.current(slug), forms.ReasonForm(request.POST, auto_id="resolve-%s")
    if not form.is_valid():
        return _page(request, found, status=422, resolve_form=form)
    life.resolve(_asked(request, form), found)
    messages.success(request, _("Resolved. If it fails again it stands here as regressed."))
    return redirect("failure-group", found.slug)


@require_POST
@requires_right(Right.FAILURES)
def reopen(request: HttpRequest, slug: str) -> HttpResponse:
    found = merging.current(slug)
    life.reopen(_asked(request), found)
    messages.success(request, _("Open again."))
    return redirect("failure-group", found.slug)


@require_POST
@requires_right(Right.FAILURES)
def ignore(request: HttpRequest, slug: str) -> HttpResponse:
    """Until a time, until so many more, or until so many an hour."""
    found, form = merging.current(slug), forms.IgnoreForm(request.POST, auto_id="ignore-%s")
    if not form.is_valid():
        return _page(request, found, status=422, ignore_form=form)
    more = form.more()
    total = None if more is None else found.total + more
    try:
        life.ignore(_asked(request, form), found, until=form.until(), total=total, rate=form.rate())
    except BadInput as error:
        form.add_error(None, str(error))
        return _page(request, found, status=422, ignore_form=form)
    messages.success(request, _("Ignored. It opens by itself when that is reached."))
    return redirect("failure-group", found.slug)


@require_POST
@requires_right(Right.CLASSES)
def set_class(request: HttpRequest, slug: str) -> HttpResponse:
    """Its class by hand, or as the rules say again."""
    found, form = merging.current(slug), forms.ClassForm(request.POST, auto_id="class-%s")
    if not form.is_valid():
        return _page(request, found, status=422, class_form=form)
    classes.set_by_hand(_asked(request, form), found, form.chosen())
    messages.success(request, _("Its class is changed."))
    return redirect("failure-group", found.slug)


@require_POST
@requires_right(Right.FAILURES)
def owner(request: HttpRequest, slug: str) -> HttpResponse:
    return _told(request, slug, forms.OwnerForm(request.POST), "owner")


@require_POST
@requires_right(Right.FAILURES)
def runbook(request: HttpRequest, slug: str) -> HttpResponse:
    return _told(request, slug, forms.RunbookForm(request.POST), "runbook")


def _told(request: HttpRequest, slug: str, form: Form, name: str) -> HttpResponse:
    """Keep a field of the group as it was given; empty takes it away."""
    found = merging.current(slug)
    if not form.is_valid():
        return _page(request, found, status=422, **{f"{name}_form": form})
    value = form.cleaned_data[name]
    if value != getattr(found, name):
        with transaction.atomic():
            FailureGroup.objects.filter(pk=found.pk).update(**{name: value})
            record(request, f"failure-{name}", source=found.source.name, group=found, note=value, **{name: value})
    messages.success(request, _("Saved.") if value else _("Taken away."))
    return redirect("failure-group", found.slug)


@require_POST
@requires_right(Right.FAILURES)
def note(request: HttpRequest, slug: str) -> HttpResponse:
    found, form = merging.current(slug), forms.NoteForm(request.POST)
    if not form.is_valid():
        return _page(request, found, status=422, note_form=form)
    asked, text = _asked(request, form), form.cleaned_data["text"]
    with beside_the_index(found.source_id):
        if not audit.earlier(asked, "failure-note", found.pk):
            FailureNote.objects.create(group=found, who=request.user.get_username(), text=text)
            key = audit.token(asked, "failure-note", found.pk)
            record(request, "failure-note", source=found.source.name, group=found, note=text[:500], key=key)
    return redirect("failure-group", found.slug)


@require_POST
@requires_right(Right.FAILURES)
def note_delete(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One's own note; one that is gone already is fine."""
    found = merging.current(slug)
    ours = FailureNote.objects.filter(pk=pk, group=found, who=request.user.get_username())
    with transaction.atomic():
        text = ours.values_list("text", flat=True).first()
        if text is not None and ours.delete()[0]:
            record(request, "failure-note-delete", source=found.source.name, group=found, note=text[:500])
    return redirect("failure-group", found.slug)


@require_POST
@requires_right(Right.FAILURES)
def merge(request: HttpRequest, slug: str = "") -> HttpResponse:
    """Of several groups one: first the question which one stays, then doing it."""
    slugs = list(dict.fromkeys([*([slug] if slug else []), *filter(None, request.POST.getlist("group"))]))
    slugs = slugs[: MERGED_MOST + 1]
    found = _groups(slugs)
    into, sure, error = request.POST.get("into", ""), bool(request.POST.get("sure")), ""
    if sure and into in found and len(found) > 1:
        try:
            entry = merging.merge(_asked(request), found[into], list(found.values()))
        except QueueError as why:
            found, error = _groups(slugs), str(why)
        else:
            number = len(entry.parameters["groups"])
            text = ngettext("%(number)d group was merged into this one.", "%(number)d groups were merged.", number)
            messages.success(request, text % {"number": number})
            return redirect("failure-group", into)
    if sure and len(found) == 1 < len(slugs):  # sent twice, or somebody was faster
        return redirect("failure-group", *found)
    if len(found) < 2:
        error = _("Choose two groups or more that are one.")
    elif len({each.source_id for each in found.values()}) > 1:
        error = _("Only groups of one source can be merged.")
    ranked = sorted(found.values(), key=lambda each: -each.total)
    told = {"groups": ranked, "into": into if into in found else slug, "error": error}
    return page(request, "failures/group/merge.html", told, status=422 if error else 200)


def _groups(slugs: Sequence[str]) -> Mapping[str, FailureGroup]:
    """The groups that these lead to, by their slugs. NotFound where one leads nowhere."""
    return {group.slug: group for group in map(merging.current, slugs)}


@require_POST
@requires_right(Right.FAILURES)
def split(request: HttpRequest, slug: str) -> HttpResponse:
    """Take a signature out of its group, or tell its failures apart from now on."""
    found, form = merging.current(slug), forms.SplitForm(request.POST)
    if not form.is_valid():
        raise BadInput(_("This names no signature of this group. Open the group again."))
    signature, by = form.cleaned_data["signature"], form.chosen()
    if by is None:
        made = merging.take_out(_asked(request), found, signature)
        messages.success(request, _("It is a group of its own again."))
        return redirect("failure-group", made.slug)
    _split(request, found, signature, by)
    return redirect("failure-group", found.slug)


def _split(request: HttpRequest, found: FailureGroup, signature: int, by: SplitBy) -> None:
    made = merging.split(_asked(request), found, signature, by)
    if by is SplitBy.MESSAGE:
        text = _("Failures that come from now on are told apart by their exact message. Those before stay here.")
    elif made:
        number = len(made)
        text = ngettext("%(number)d group was split off.", "%(number)d groups were split off.", number)
        text %= {"number": number}
    else:
        text = _("Failures are told apart from now on. All before had the same, so they stay here.")
    messages.success(request, text)


def _asked(request: HttpRequest, form: Form | None = None) -> Asked:
    """By whom, and by which form: sent again with the same content, from the same page, it is the same."""
    given = form.cleaned_data if form else {}
    key = request.POST.get("key", "")[:64]
    if key:
        key = hashlib.sha256(repr([key, sorted(given.items())]).encode("utf-8", "replace")).hexdigest()
    return Asked(actor_of(request), key=key, reason=given.get("reason", ""))


def _page(request: HttpRequest, found: FailureGroup, *, status: int = 200, **given: Form) -> HttpResponse:
    about = whole(found)
    query = GroupQuery(request.GET, about)
    told = {
        **context(about, query),
        "mergeable": mergeable(about),
        "once": secrets.token_urlsafe(24),
        **_forms(found),
        **given,
    }
    return page(request, "failures/group.html", told, status=status)


def _forms(found: FailureGroup) -> Mapping[str, Form]:
    """Empty ones, with what is known filled in."""
    return {
        "resolve_form": forms.ReasonForm(auto_id="resolve-%s"),
        "ignore_form": forms.IgnoreForm(auto_id="ignore-%s"),
        "class_form": forms.ClassForm(auto_id="class-%s", initial={"kind": found.kind_set}),
        "owner_form": forms.OwnerForm(initial={"owner": found.owner}),
        "runbook_form": forms.RunbookForm(initial={"runbook": found.runbook}),
        "note_form": forms.NoteForm(),
    }
