"""Finding a job by its id over all queues, and a queue by its name."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from dashboard.http import page
from queues import readings
from queues.errors import QueueError
from queues.registry import backend, configured
from queues.types import Found, QueueRef

MOST_QUEUES = 20  # queues whose name matches that are listed
MOST_BYTES = 1000  # of an id that is looked up


@require_safe
def find(request: HttpRequest) -> HttpResponse:
    """Look up an exact job id in every queue; a lone hit is opened. Ids of other bytes: type them as in the address."""
    q = request.GET.get("q", "").strip()
    context: dict[str, object] = {"q": q}
    if not q:
        return page(request, "find/find.html", context)
    sources = [config.name for config in configured()]
    refs = {name: sorted(readings.names(name), key=lambda ref: ref.slug) for name in sources}
    jobs, unread = _find(refs, q.encode("utf-8", errors="replace")[:MOST_BYTES])
    wanted = q.lower()
    queues = [ref for found in refs.values() for ref in found if wanted in ref.label.lower()]
    if len(jobs) == 1 and not unread and not any(ref.label == q for ref in queues):
        ref = jobs[0].ref
        return redirect("job", ref.queue.source, ref.queue.slug, ref.id)
    context |= {
        "jobs": jobs,
        "queues": queues[:MOST_QUEUES],
        "queues_total": len(queues),
        "unread": unread,
        "looked_at": sum(len(found) for found in refs.values()),
        "read_at": readings.now(),
    }
    return page(request, "find/find.html", context)


def _find(refs: dict[str, list[QueueRef]], job_id: bytes) -> tuple[list[Found], list[tuple[str, QueueError]]]:
    """The hits in all sources, and the sources that could not be asked."""
    found: list[Found] = []
    unread: list[tuple[str, QueueError]] = []

    def ask(name: str) -> list[Found] | QueueError:
        try:
            return list(backend(name).find(refs[name], job_id))
        except QueueError as error:
            return error

    with ThreadPoolExecutor(max(1, min(8, len(refs)))) as pool:
        for name, answer in zip(refs, pool.map(ask, refs), strict=True):
            if isinstance(answer, QueueError):
                unread.append((name, answer))
            else:
                found.extend(answer)
    return found, unread
