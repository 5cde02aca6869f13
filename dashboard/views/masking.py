"""Which values are hidden, for admins: the patterns that hold, adding one after a look at what it hides, deleting."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import record, requires_right
from dashboard.http import page
from dashboard.masking import MaskingForm, Preview, ours, preview
from queues import masking as operations
from queues.errors import BadInput
from queues.models import Masking
from queues.types import QueueRef


@requires_right("masking")
@require_safe
def masking(request: HttpRequest) -> HttpResponse:
    return _page(request, MaskingForm())


@requires_right("masking")
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """Keep a pattern; with `preview` in the form only show what it would hide."""
    form = MaskingForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    pattern, ref = form.cleaned_data["pattern"], form.cleaned_data["ref"]
    if "preview" in request.POST:
        return _page(request, form, seen=preview(pattern, ref))
    source, queue = form.cleaned_data["source"], ref.slug if ref else ""
    try:
        with transaction.atomic():
            operations.add(pattern, source=source, queue=queue, by=request.user.get_username())
            record(request, "masking-add", queue=ref, source=source, note=pattern, pattern=pattern)
    except BadInput as error:
        form.add_error("pattern", str(error))
        return _page(request, form, status=422)
    messages.success(request, _("Values under %(pattern)s are hidden now.") % {"pattern": pattern})
    return redirect("masking")


@requires_right("masking")
@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a pattern away; one that is gone already is fine."""
    with transaction.atomic():
        gone = operations.delete(pk)
        if gone:
            ref = _ref(gone)
            record(request, "masking-delete", queue=ref, source=gone.source, note=gone.pattern, pattern=gone.pattern)
    if gone:
        messages.success(request, _("Values under %(pattern)s are shown again.") % {"pattern": gone.pattern})
    return redirect("masking")


def _page(request: HttpRequest, form: MaskingForm, *, seen: Preview | None = None, status: int = 200) -> HttpResponse:
    context = {"form": form, "rows": _rows(), "preview": seen, "ours": ours(), "most": operations.MOST}
    return page(request, "masking/masking.html", context, status=status)


def _rows() -> Sequence[tuple[Masking, QueueRef | None]]:
    """The patterns of users, each with its queue."""
    found = Masking.objects.order_by("pattern", "source", "queue")
    return [(row, _ref(row)) for row in found]


def _ref(row: Masking) -> QueueRef | None:
    try:
        return QueueRef.from_slug(row.source, row.queue) if row.queue else None
    except ValueError:
        return None
