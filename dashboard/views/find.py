"""Finding a job by its id over all queues, and a queue by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from dashboard.http import page
from queues import readings
from queues.backend import Backend
from queues.errors import QueueError, Unsupported
from queues.names import decode_part, visible
from queues.registry import configured
from queues.sources import ask_all
from queues.types import Capability, Found, QueueRef

MOST_JOBS = 100  # jobs of the same id that are listed
MOST_QUEUES = 20  # queues whose name matches that are listed
MOST_BYTES = 1000  # of an id that is looked up

Refs = Mapping[str, Sequence[QueueRef]]  # by source


class Unread(NamedTuple):
    """A source in which the id was not looked up everywhere, and why."""

    name: str
    why: str


@require_safe
def find(request: HttpRequest) -> HttpResponse:
    """Look up an exact job id in every queue; a lone hit is opened. Odd bytes are typed as the address writes them."""
    typed = request.GET.get("q", "")
    q = typed.strip()
    context: dict[str, object] = {"q": q}
    if not typed:
        return page(request, "find/find.html", context)
    refs = {config.name: sorted(readings.names(config.name), key=lambda ref: ref.slug) for config in configured()}
    answers = _ask(refs, _ids(typed), q)
    jobs = [found for answer in answers.values() if not isinstance(answer, QueueError) for found in answer]
    failed = [Unread(name, str(answer)) for name, answer in answers.items() if isinstance(answer, QueueError)]
    unsearched = [status.name for status in readings.status() if not status.scan.finished_at]
    wanted = q.lower()
    queues = [ref for found in refs.values() for ref in found if wanted and wanted in ref.label.lower()]
    if len(jobs) == 1 and not failed and not unsearched and not any(ref.label == q for ref in queues):
        ref = jobs[0].ref
        return redirect("job", ref.queue.source, ref.queue.slug, ref.id)
    context |= {
        "jobs": jobs[:MOST_JOBS],
        "jobs_total": len(jobs),
        "queues": queues[:MOST_QUEUES],
        "queues_total": len(queues),
        "failed": failed,
        "unsearched": unsearched,
        "looked_at": sum(len(refs[name]) for name, answer in answers.items() if not isinstance(answer, QueueError)),
        "complete": not failed and not unsearched,
        "read_at": timezone.now(),
    }
    return page(request, "find/find.html", context)


def _ids(typed: str) -> list[bytes]:
    """The ids that may be meant: what was typed, the same without spaces around it, and `~` + base64url decoded."""
    ids = [typed.encode("utf-8", errors="replace"), typed.strip().encode("utf-8", errors="replace")]
    with suppress(ValueError):
        ids.append(decode_part(typed.strip(), colon=True))
    return [job_id for job_id in dict.fromkeys(ids) if 0 < len(job_id) <= MOST_BYTES]


def _ask(refs: Refs, ids: Sequence[bytes], typed: str) -> Mapping[str, Sequence[Found] | QueueError]:
    """The hits in each source that has queues, or why it could not be asked: by id, or by `queue:id` and whole keys."""

    def ask(reader: Backend) -> Sequence[Found]:
        if Capability.FIND_BY_ID not in reader.capabilities:
            raise Unsupported(_("Its kind of queues cannot be searched by a job’s id."))
        found = [hit for job_id in ids for hit in reader.find(refs[reader.source], job_id)]
        for ref, job_id in _keys(refs[reader.source], typed):
            found += reader.find([ref], job_id)
        return found

    return ask_all([name for name, found in refs.items() if found and ids], ask)


def _keys(refs: Sequence[QueueRef], typed: str) -> Iterator[tuple[QueueRef, bytes]]:
    """The queue and the id that `queue:id`, or a whole key `prefix:queue:id`, may mean."""
    for ref in refs:
        for start in (f"{ref.label}:", f"{visible(ref.prefix)}:{visible(ref.name)}:"):
            if typed.startswith(start) and len(typed) > len(start):
                yield ref, typed[len(start) :].encode("utf-8", errors="replace")
                break
