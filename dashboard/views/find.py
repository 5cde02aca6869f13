"""Finding a job by its id over all queues, and a queue by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from dashboard.http import page
from queues import readings
from queues.errors import QueueError
from queues.names import decode_part
from queues.registry import backend, configured
from queues.types import Found, QueueRef

MOST_QUEUES = 20  # queues whose name matches that are listed
MOST_BYTES = 1000  # of an id that is looked up


class Unread(NamedTuple):
    """A source that could not be asked, and why."""

    name: str
    error: str


@require_safe
def find(request: HttpRequest) -> HttpResponse:
    """Look up an exact job id in every queue; a lone hit is opened. Odd bytes are typed as the address writes them."""
    typed = request.GET.get("q", "")
    q = typed.strip()
    context: dict[str, object] = {"q": q}
    if not typed:
        return page(request, "find/find.html", context)
    sources = [config.name for config in configured()]
    refs = {name: sorted(readings.names(name), key=lambda ref: ref.slug) for name in sources}
    jobs, unread = _find(refs, _ids(typed))
    wanted = q.lower()
    queues = [ref for found in refs.values() for ref in found if wanted and wanted in ref.label.lower()]
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


def _ids(typed: str) -> list[bytes]:
    """The ids that may be meant: what was typed, the same without spaces around it, and `~` + base64url decoded."""
    ids = [typed.encode("utf-8", errors="replace"), typed.strip().encode("utf-8", errors="replace")]
    with suppress(ValueError):
        ids.append(decode_part(typed.strip(), colon=True))
    return [job_id for job_id in dict.fromkeys(ids) if 0 < len(job_id) <= MOST_BYTES]


def _find(refs: Mapping[str, Sequence[QueueRef]], ids: Sequence[bytes]) -> tuple[list[Found], list[Unread]]:
    """The hits in all sources, and the sources that could not be asked."""
    found: list[Found] = []
    unread = [
        Unread(status.name, _("Its queues are not known yet: no scan has finished."))
        for status in readings.status()
        if not refs[status.name] and not status.scan.finished_at
    ]

    def ask(name: str) -> Sequence[Found] | QueueError:
        try:
            return [found for job_id in ids for found in backend(name).find(refs[name], job_id)]
        except QueueError as error:
            return error

    with ThreadPoolExecutor(max(1, min(8, len(refs)))) as pool:
        for name, answer in zip(refs, pool.map(ask, refs), strict=True):
            if isinstance(answer, QueueError):
                unread.append(Unread(name, str(answer)))
            else:
                found.extend(answer)
    return found, unread
