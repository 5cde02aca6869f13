"""Telling of versions that went live."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from dashboard.access import Right, record, requires_right, safe_next
from dashboard.failures.deploys import DeployForm
from queues import deploys
from queues.errors import BadInput
from queues.registry import configured


@require_POST
@requires_right(Right.FAILURES)
def add(request: HttpRequest) -> HttpResponse:
    """Keep that a version went live. BadInput says what is wrong with it."""
    form = DeployForm([source.name for source in configured()], request.POST)
    if not form.is_valid():
        raise BadInput(" ".join(str(error) for errors in form.errors.values() for error in errors))
    given = form.cleaned_data
    with transaction.atomic():
        made = deploys.record(given["version"], form.at_ms(), given["source"], request.user.get_username())
        version = made.version
        record(request, "deploy-add", source=made.source, note=version, version=version, at_ms=made.at_ms)
    messages.success(
        request, _("%(version)s is kept: it is marked where failures are drawn.") % {"version": made.version}
    )
    return redirect(safe_next(request.POST.get("next", "")) or "failures")
