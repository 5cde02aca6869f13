"""What admins allow of replays."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Right, actor_of, requires_right
from dashboard.http import page
from dashboard.replays.limits import LimitsForm
from queues.audit import Asked
from queues.replay import limits as operations


@require_safe
@requires_right(Right.SETTINGS)
def limits(request: HttpRequest) -> HttpResponse:
    """The limits as they are, to be changed."""
    now = operations.limits()
    return page(request, "replays/limits.html", {"form": LimitsForm.of(now), "now": now})


@require_POST
@requires_right(Right.SETTINGS)
def change(request: HttpRequest) -> HttpResponse:
    """Set them: they hold from the next act on."""
    form = LimitsForm(request.POST)
    if not form.is_valid():
        return page(request, "replays/limits.html", {"form": form, "now": operations.limits()}, status=422)
    given = form.cleaned_data
    operations.change(Asked(actor_of(request), key=given["key"], reason=given["reason"]), **form.values())
    messages.success(request, _("The limits are kept. They hold for every replay from its next act on."))
    return redirect("replay-limits")
