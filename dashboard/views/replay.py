"""One replay: its plan before it starts; while it runs, and when it has ended, the page of that."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from dashboard.http import asks_for, page
from dashboard.replays import plan, running
from dashboard.replays.terms_form import TermsForm
from queues.models import Replay
from queues.replay.types import EARLY, Phase

PLANNED = EARLY | {Phase.FAILED}
POLLED = "plan-state"  # the part of a plan's page that asks whether it is further on


@require_safe
def replay(request: HttpRequest, pk: int) -> HttpResponse:
    """The page of a replay, by its phase."""
    found = of(pk)
    if asks_for(request, POLLED):
        return _polled(request, found)
    return shown(request, found)


def of(pk: int) -> Replay:
    """A replay by its number. Http404 where there is none."""
    return get_object_or_404(Replay.objects.select_related("source", "group"), pk=pk)


def shown(
    request: HttpRequest,
    found: Replay,
    *,
    form: TermsForm | None = None,
    error: str = "",
    status: int = 200,
    **more: object,
) -> HttpResponse:
    """The page of a replay, with the form of its terms as it was sent, and why something was not done.

    `more` is `chosen`, what somebody wanted otherwise, for a plan that has not begun; else other forms that were sent
    with mistakes, for the page of a replay that runs.
    """
    if found.phase in PLANNED:
        context = plan.context(request, found, form=form, error=error)
        return page(request, "replays/plan.html", {**context, **more}, status=status)
    context = running.context(request, found, **more)
    return page(request, "replays/running.html", {**context, "error": error}, status=status)


def _polled(request: HttpRequest, found: Replay) -> HttpResponse:
    """How far its set is by now; with it what depends on that, once it is a draft.

    204 where a plan is still what its page says; where that page can no longer show it, htmx reads it anew.
    """
    was = request.GET.get("was", "")
    frozen = was == Phase.FREEZING and found.phase == Phase.DRAFT
    if frozen:
        return page(request, "replays/plan.html#polled", {**plan.context(request, found), "moved": True})
    if found.phase == was == Phase.FREEZING:
        return page(request, "replays/plan.html#polled", plan.so_far(found))
    return HttpResponse(status=204, headers={} if found.phase == was else {"HX-Refresh": "true"})
