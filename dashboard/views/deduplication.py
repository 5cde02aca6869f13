"""The deduplication ids that stand in the keys of a queue: looked for when somebody asks, stale ones first."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.actions import off
from dashboard.actions.forms.steering import coded
from dashboard.http import page
from queues import outages
from queues.actions import Action, HeldId
from queues.names import visible
from queues.operations.ability import Ability, ability
from queues.types import QueueRef


@dataclass(frozen=True, slots=True)
class Row:
    """An id in the table. `release` is where its release is asked for."""

    held: HeldId
    release: str

    @property
    def label(self) -> str:
        return visible(self.held.id)


@require_safe
def deduplication(request: HttpRequest, source: str, queue: str) -> HttpResponse:
    """What one look found; `after` goes on where an earlier one ended. Takes about half a second at most."""
    ref = QueueRef.from_slug(source, queue)
    after = request.GET.get("after", "")[:60]
    with outages.watched(source) as reader:
        info = reader.queue(ref)
        found = reader.held(ref, cursor=after)
    action = Action.RELEASE_DEDUPLICATION
    role = off.by_role(request.user, action)
    can = Ability() if role else ability(ref)
    context = {
        "ref": ref,
        "source": source,
        "info": info,
        "found": found,
        "rows": [_row(ref, held, request.get_full_path()) for held in sorted(found.ids, key=_worst_first)],
        "stale": sum(held.stale for held in found.ids),
        "after": after,
        "why_off": role or can.why_not(action),
        "read_at": timezone.now(),
    }
    return page(request, "queues/deduplication.html", context, fragments=("held",))


def _row(ref: QueueRef, held: HeldId, here: str) -> Row:
    ask = reverse("ask-queue", args=[ref.source, ref.slug, Action.RELEASE_DEDUPLICATION.value])
    return Row(held, f"{ask}?{urlencode({'id': coded(held.id), 'next': here})}")


def _worst_first(held: HeldId) -> tuple[bool, bool, int, bytes]:
    return not held.stale, not held.over, -(held.idle_ms or 0), held.id
