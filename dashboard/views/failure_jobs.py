"""The jobs of one group of failures: a list to pick from, and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from dashboard import export
from dashboard.access import Right, actor_of
from dashboard.actions import off
from dashboard.failures import exported
from dashboard.failures.jobs import JobsOfGroupQuery
from dashboard.http import page
from dashboard.selection.bar import Bar, plans, verbs
from dashboard.words import shown
from queues import audit, masking
from queues.backend import Failures
from queues.errors import QueueError
from queues.failures import merging, occurrences
from queues.failures.about.whole import Lane, job_of, lanes
from queues.failures.find import known
from queues.failures.occurrences import Where, Which
from queues.models import Failure, FailureGroup, Letter
from queues.names import encode_part
from queues.operations.ability import ability
from queues.quantities import now_ms, number
from queues.registry import backend
from queues.types import Capability, JobRef, QueueRef, State

MOST_EXPORTED = 1_000_000
COLUMNS = ("group", "source", "queue", "job", "name", "failed_at", "score_ms", "worker", "attempts", "where", "seen_by")


@dataclass(frozen=True, slots=True)
class Row:
    """A failure in the list. `pick` is what its box sends, "" where nothing can be done to its job here."""

    row: Failure
    queue: QueueRef
    job: JobRef | None
    where: Where
    letter: JobRef | None
    pick: str

    @property
    def name(self) -> str:
        with masking.within(self.queue):
            return shown(self.row.strand.name, 120)

    @property
    def worker(self) -> str:
        with masking.within(self.queue):
            return shown(self.row.worker, 80)


@require_safe
def jobs(request: HttpRequest, slug: str) -> HttpResponse:
    """A page of the failures that the query string means, newest first."""
    group, query = merging.current(slug), JobsOfGroupQuery(request.GET)
    if group.slug != slug:
        return redirect(f"{reverse('failure-jobs', args=[group.slug])}{query.query_string}")
    strands = list(group.strands.select_related("queue"))
    among = lanes(group.source.name, strands)
    found = occurrences.find(group, query.which, older=query.older, newer=query.newer)
    lone = _lone(among, query.which)
    if lone and "done" in request.GET:
        _look_again(lone, found.rows)
    rows = _rows(group.source.name, found.rows, pickable=lone is not None)
    total = occurrences.count(group, query.which)
    context = {
        "group": group,
        "known": known([group.source.name]),
        "source": group.source.name,
        "query": query,
        "lanes": among,
        "names": sorted({strand.name for strand in strands if strand.name})[:200],
        "found": found,
        "rows": rows,
        "total": total,
        "capped": occurrences.COUNTED if total > occurrences.COUNTED else 0,
        "ref": lone,
        "picks": _bar(request, group, lone, query.which, rows) if lone else None,
        "read_ms": now_ms(),
    }
    return page(request, "failures/jobs.html", context)


@require_safe
def export_csv(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    return _export(request, slug, "csv")


@require_safe
def export_jsonl(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    return _export(request, slug, "jsonl")


def _export(request: HttpRequest, slug: str, ending: str) -> StreamingHttpResponse:
    """All failures that the query string means, newest first. That they were taken is an entry of the log."""
    group, query = merging.current(slug), JobsOfGroupQuery(request.GET)
    facts = {"group": group.slug, **query.as_parameters, "format": ending}
    audit.record(actor_of(request), exported.EXPORT, source=group.source.name, parameters=facts, group=group)
    records = _records(group, occurrences.each(group, query.which))
    rows = export.written(ending, COLUMNS, records, MOST_EXPORTED, _cut)
    broken = _("Cut here: the other failures could not be read. Export them again.")
    name = f"failures-{group.slug}"
    return export.answer(request, rows, ending, name=name, broken=broken, what="the jobs of a group of failures")


def _records(group: FailureGroup, found: Iterator[Failure]) -> Iterator[Mapping[str, object]]:
    refs: dict[int, QueueRef] = {}
    for row in found:
        ref = refs.setdefault(row.queue_id, QueueRef.from_slug(group.source.name, row.strand.queue.slug))
        with masking.within(ref):
            name, worker = shown(row.strand.name, 500), shown(row.worker, 200)
        yield {
            "group": group.slug,
            "source": group.source.name,
            "queue": ref.slug,
            "job": row.job,
            "name": name,
            "failed_at": exported.moment(row.at_ms),
            "score_ms": row.score_ms,
            "worker": worker,
            "attempts": row.attempts,
            "where": _where(row).value,
            "seen_by": row.how,
        }


def _cut() -> str:
    return _("Cut here: a file holds at most %(most)s failures. Narrow the filter for others.") % {
        "most": number(MOST_EXPORTED)
    }


def _lone(among: Sequence[Lane], which: Which) -> QueueRef | None:
    """The one queue that the list is of; None where there are several: one action is about one queue."""
    if which.queue:
        return next((lane.queue for lane in among if lane.queue.slug == which.queue), None)
    return among[0].queue if len(among) == 1 else None


def _rows(source: str, found: Sequence[Failure], *, pickable: bool) -> Sequence[Row]:
    letters = _letters(source, [row.pk for row in found if row.present and not row.in_set])
    made = []
    for row in found:
        queue = QueueRef.from_slug(source, row.strand.queue.slug)
        job = job_of(queue, row.job)
        can = pickable and row.in_set and job is not None
        value = f"{row.job} {encode_part(b'%d' % row.score_ms, colon=True)}" if can else ""
        made.append(Row(row, queue, job, _where(row), letters.get(row.pk), value))
    return made


def _look_again(ref: QueueRef, found: Sequence[Failure]) -> None:
    """Right after an action the index is a moment behind: which of these are in the failed set the server tells.

    One short script; where it cannot be asked, rows stay as the index has them.
    """
    reader = backend(ref.source)
    jobs = {row.pk: job.id for row in found if row.in_set and (job := job_of(ref, row.job))}
    if not jobs or Capability.FAILURES not in reader.capabilities:
        return
    try:
        there = cast(Failures, reader).failed_jobs(ref, list(jobs.values()))
    except QueueError:
        return
    for row in found:
        now = there.get(jobs.get(row.pk, b""))
        if row.pk in jobs and (now is None or now.score_ms != row.score_ms):
            row.in_set = row.present = False


def _where(row: Failure) -> Where:
    return Where.SET if row.in_set else Where.LETTER if row.present else Where.GONE


def _letters(source: str, keys: Sequence[int]) -> Mapping[int, JobRef]:
    """The letters that tell of these failures, one of each."""
    found = Letter.objects.filter(failure__in=keys).select_related("queue")
    made = {row.failure_id: job_of(QueueRef.from_slug(source, row.queue.slug), row.job) for row in found}
    return {pk: job for pk, job in made.items() if job}


def _bar(request: HttpRequest, group: FailureGroup, ref: QueueRef, which: Which, rows: Sequence[Row]) -> Bar | None:
    """What can be done to the rows; all that match only where that is all that are in the failed set."""
    picked = [row for row in rows if row.pick]
    if not picked or Capability.ACTIONS not in backend(ref.source).capabilities:
        return None
    among = Which(**{**which.kept(), "where": Where.SET, "queue": ref.slug})
    total = occurrences.count(group, among)
    capped = total > occurrences.COUNTED
    if capped and among == Which(where=Where.SET, queue=ref.slug):
        total, capped = sum(strand.present for strand in occurrences.strands(group, among)), False
    can = ability(ref)
    return Bar(
        ref=ref,
        verbs=verbs(request.user, ref, State.FAILED, can),
        shown=len(picked),
        total=None if capped else total,
        matching=_matching(total, ref, capped=capped) if which.where in (None, Where.SET) else "",
        read_ms=now_ms(),
        plan=plans(ref, State.FAILED),
        plan_off=off.by_role(request.user, Right.REPLAY) or can.nothing,
    )


def _matching(total: int, ref: QueueRef, *, capped: bool) -> str:
    told = {"total": number(occurrences.COUNTED if capped else total), "queue": ref.label[:60]}
    if capped:
        return _("All of this group in %(queue)s, more than %(total)s") % told
    return _("All %(total)s of this group in %(queue)s") % told
