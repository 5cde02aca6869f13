"""What the page of a group shows, made of what `queues.failures` knows about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard import trail
from dashboard.failures import keys, replays
from dashboard.failures.chart import chart
from dashboard.failures.figures import Figures, charted, drawn
from dashboard.failures.sums import index, standing_of
from dashboard.failures.words import KIND_WORDS, SPAN_WORDS, SPLIT_WORDS
from queues import deploys, masking, stack
from queues.audit import Status
from queues.errors import BadInput, QueueError
from queues.failures import life
from queues.failures.about import Compared, Span, Spread, Whole, at_path, compared, series, shares, suggested, wave
from queues.failures.about.whole import job_of
from queues.failures.classes import advice
from queues.failures.classes import words as rule_words
from queues.failures.find import known
from queues.failures.find.rows import growth
from queues.failures.signature import explain, words
from queues.failures.types import UNSOLVED, Applied, Kind, Life, SplitBy, Thrown
from queues.failures.windows import since as begin_of
from queues.models import AuditEntry, Deploy, FailureGroup, FailureNote, FailureSample, FailureSignature
from queues.quantities import now_ms
from queues.replay.making import PLAN
from queues.stack import Line
from queues.types import Body, JobRef, QueueRef

SAMPLES = 20  # of a group, the newest
ENTRIES = 10
NOTES = 100
MERGEABLE = 100  # groups that are proposed


class GroupQuery:
    """What of a group is asked for: how far back, which path of payloads, which sample."""

    def __init__(self, params: QueryDict, about: Whole) -> None:
        asked = params.get("span", "")
        self.span = Span(asked) if asked in set(Span) else _default(about)
        self.path = params.get("path", "").strip()[:200]
        self.sample = params.get("sample", "")

    @property
    def spans(self) -> Sequence[tuple[Span, object]]:
        return list(SPAN_WORDS.items())

    @property
    def span_words(self) -> str:
        return str(SPAN_WORDS[self.span])


def _default(about: Whole) -> Span:
    """Three hours, or as far back as there is something to see."""
    counted = {Span.THREE: "h3", Span.DAY: "h24", Span.WEEK: "d7"}
    for span, window in counted.items():
        if any(getattr(strand, window) for strand in about.strands):
            return span
    return Span.MONTH


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a stack: lines of one's own code, or folded ones of libraries."""

    library: bool
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Sample:
    """A failure in full: its job, its stack in stretches, its payload with what differs from other samples."""

    row: FailureSample
    queue: QueueRef
    job: JobRef | None
    parts: Sequence[Part]
    cut: bool
    payload: Compared
    applied: Sequence[tuple[Applied, str]]


@dataclass(frozen=True, slots=True)
class Signed:
    """A signature in words: what it is made of, how many failures it has, who put it here."""

    row: FailureSignature
    total: int
    facts: Sequence[tuple[str, str]]
    split: str


def context(about: Whole, query: GroupQuery) -> dict[str, object]:
    """All that the page needs but its forms. Some 20 queries, and one call of the source where a path is asked for."""
    group, now = about.group, now_ms()
    shown = series(about, query.span, now=now)
    marked = deploys.between(shown.begin_ms, shown.end_ms, about.source)
    made = chart(shown, marked)
    figures = _figures(about, now)
    live = drawn(figures)
    samples = _samples(about)
    spread, refused = _spread(about, query.path)
    return {
        "about": about,
        "group": group,
        "index": index(figures.key, standing_of(known([about.source]))),
        "query": query,
        "kind": KIND_WORDS[about.kind] if about.kind is not Kind.UNKNOWN else gettext("of unknown class"),
        "kinds": [(KIND_WORDS[kind], rule) for kind, rule in about.kinds],
        "advice": _advice(about),
        "rule_words": rule_words(about.kinds[0][1]) if about.kinds else "",
        "figures": figures,
        "live": live,
        "moved": live[f"moved.{figures.life}"],
        "wave": wave(about, now=now) if _rises(about, now) else None,
        "chart": made,
        "charted": charted(group.slug, query.span, made),
        "chart_key": keys.chart(group.slug, query.span),
        "shown": shown,
        "shares": shares(about, shown),
        "spread": spread,
        "spread_refused": refused,
        "suggested": suggested(samples),
        "samples": samples,
        "sample": _sample(about, query.sample, samples),
        "signed": _signed(about),
        "splits": [(by, SPLIT_WORDS[by]) for by in SplitBy],
        "notes": _notes(about),
        "before": _before(about),
        "replays": replays.of_group(group),
        "why": _why(group),
        "regressed_by": _regressed_by(group, about.source),
        "since": since(about, now),
    }


def _rises(about: Whole, now: int) -> bool:
    """Whether its failures come in a wave: steady noise, and what is settled, has none."""
    grown = growth(about.group.life, about.group.first_ms, about.h1, about.usual, now)
    return about.group.life in UNSOLVED and (grown.fast or grown.word is not None or about.usual is None)


def since(about: Whole, now: int) -> dict[str, int]:
    """Where a window of the list begins, for links to its jobs."""
    until = about.indexing.windows_ms if about.indexing and about.indexing.windows_ms else now
    return {"h1": begin_of("h1", until)}


def _figures(about: Whole, now: int) -> Figures:
    group = about.group
    grown = growth(group.life, group.first_ms, about.h1, about.usual, now)
    return Figures(group.slug, Life(group.life), about.h1, about.present, group.total, group.last_ms, grown)


def _advice(about: Whole) -> str:
    rule = about.kinds[0][1] if about.kinds and not about.group.kind_set else ""
    return advice(about.kind, rule)


def _spread(about: Whole, path: str) -> tuple[Spread | None, str]:
    """The spread over a path, or why it cannot be told: a page that is read during an outage stands all the same."""
    if not path:
        return None, ""
    try:
        return at_path(about, path), ""
    except (BadInput, QueueError) as error:
        return None, str(error)


def _samples(about: Whole) -> Sequence[FailureSample]:
    keys = [signature.pk for signature in about.signatures]
    found = FailureSample.objects.filter(signature__in=keys).select_related("queue").order_by("-at_ms", "-pk")
    return list(found[:SAMPLES])


def _sample(about: Whole, asked: str, samples: Sequence[FailureSample]) -> Sample | None:
    """The one that was asked for, else the newest."""
    row = next((each for each in samples if str(each.pk) == asked), samples[0] if samples else None)
    if row is None:
        return None
    queue = QueueRef.from_slug(about.source, row.queue.slug)
    with masking.within(queue):
        lines = stack.show(Body(raw := (row.stack or row.reason).encode("utf-8", "replace"), len(raw)))
        payload = compared(row, samples)
    cut = lines.cut or int(row.sizes.get("stack", 0)) > len(raw)
    thrown = Thrown(row.reason, row.stack, row.name, int(row.sizes.get("reason", 0)))
    applied = [(each, words(each.rule)) for each in explain(thrown)]
    return Sample(row, queue, job_of(queue, row.job), list(_parts(lines.lines)), cut, payload, applied)


def _parts(lines: Sequence[Line]) -> Iterator[Part]:
    for library, members in groupby(lines, lambda line: line.kind == "lib"):
        yield Part(library, list(members))


def _signed(about: Whole) -> Sequence[Signed]:
    totals: dict[int, int] = {}
    for strand in about.strands:
        totals[strand.signature_id] = totals.get(strand.signature_id, 0) + strand.total
    made = [
        Signed(row, totals.get(row.pk, 0), list(_facts(row)), _split(row))
        for row in about.signatures
        if totals.get(row.pk) or not row.split_by
    ]
    return sorted(made, key=lambda each: -each.total)


def _facts(row: FailureSignature) -> Iterator[tuple[str, str]]:
    """The parts of a signature, each with its name for eyes."""
    told = {
        "error_class": gettext("Error"),
        "code": gettext("Code"),
        "message": gettext("Message"),
        "place": str(_PLACES.get(str(row.parts.get("place_kind")), _("Place"))),
    }
    for part, label in told.items():
        if value := str(row.parts.get(part) or ""):
            yield label, value
    if row.parent_id:
        yield gettext("Only"), row.value or "–"


_PLACES = {"job": _("Job name"), "file": _("File"), "frame": _("First frame of your own code")}


def _split(row: FailureSignature) -> str:
    return str(SPLIT_WORDS[SplitBy(row.split_by)]) if row.split_by in set(SplitBy) else ""


def _notes(about: Whole) -> Sequence[FailureNote]:
    return list(about.group.notes.order_by("-pk")[:NOTES])[::-1]


def _before(about: Whole) -> Sequence[trail.Line]:
    """What was done to this group and to those that were merged into it, the newest first; replays stand apart."""
    ours = Q(group=about.group) | Q(group__merged_into=about.group)
    found = AuditEntry.objects.filter(ours).exclude(action__startswith="replay").exclude(action=PLAN)
    return [trail.Line(entry) for entry in found.order_by("-pk")[:ENTRIES]]


def _why(group: FailureGroup) -> str:
    """The reason that was given for how the group stands."""
    act = {Life.IGNORED: life.IGNORE, Life.RESOLVED: life.RESOLVE}.get(Life(group.life))
    if act is None:
        return ""
    said = AuditEntry.objects.filter(group=group, action=act, status=Status.DONE).order_by("-pk")
    return said.values_list("reason", flat=True).first() or ""


def _regressed_by(group: FailureGroup, source: str) -> Sequence[Deploy]:
    """The deploys between the moment at which a group was resolved and that at which it failed again."""
    if group.life != Life.REGRESSED or group.regressed_ms is None:
        return ()
    begin = group.resolved_ms or (int(group.life_at.timestamp() * 1000) if group.life_at else group.regressed_ms)
    return deploys.between(begin, group.regressed_ms + 1, source)


def mergeable(about: Whole) -> Sequence[FailureGroup]:
    """Groups that this one could be merged with: those of its source that failed last."""
    found = FailureGroup.objects.filter(source=about.group.source_id, merged_into=None).exclude(pk=about.group.pk)
    return list(found.order_by("-last_ms").only("slug", "title")[:MERGEABLE])
