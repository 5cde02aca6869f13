"""How failures are spread over the values of a field of their payload, and which fields are worth a look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from django.utils.translation import gettext as _

from queues import masking, payload
from queues.backend import Failures
from queues.errors import Unsupported
from queues.failed import DATA_CAP
from queues.failures.about.masked import LIST, OBJECT, Path, is_mask, leaves, quoted
from queues.failures.about.shares import Share, top
from queues.failures.about.whole import Whole
from queues.failures.store.ids import id_of, linked
from queues.models import Failure, FailureSample
from queues.outages import watched
from queues.paths import parse
from queues.types import Body, Capability, QueueRef

LOOKED = 500  # jobs whose data is read
READ = 2 * 1024 * 1024  # bytes of data in all
STRANDS = 20  # that are looked into, those that failed last
VALUE = 80  # characters of a value
SUGGESTED = 6


@dataclass(frozen=True, slots=True)
class Spread:
    """Values of one path in the data of the newest jobs that are there.

    `without` have nothing there, `unreadable` no JSON or data too large to be read, `gone` no data any more. `hidden`
    have a value that is masked.
    """

    path: str
    looked: int
    values: Sequence[Share]
    without: int
    hidden: int
    unreadable: int
    gone: int


def at_path(about: Whole, path: str) -> Spread:
    """The spread over a path such as `data.tenant` or `items[0].sku`. One call of the source a queue.

    BadInput for what is no path; Unreachable while the source does not answer.
    """
    steps = tuple(str(step) for step in parse(path))
    wanted = _newest(about)
    counted: Counter[str] = Counter()
    without = hidden = unreadable = gone = 0
    for value in _values(about.source, wanted, steps):
        if value is _GONE:
            gone += 1
        elif value is _UNREADABLE:
            unreadable += 1
        elif value is _NOTHING:
            without += 1
        elif is_mask(value):
            hidden += 1
        else:
            counted[payload.summary(Body(raw := value.encode("utf-8", "replace"), len(raw)), VALUE).value] += 1
    return Spread(path.strip(), sum(map(len, wanted.values())), top(counted), without, hidden, unreadable, gone)


def suggested(samples: Sequence[FailureSample]) -> Sequence[str]:
    """Paths whose values repeat among samples, those with fewer values first: they may tell what failures share."""
    found: dict[Path, list[str]] = {}
    for sample in samples:
        for path, value in leaves(quoted(sample.payload)).items():
            if value not in (OBJECT, LIST) and not is_mask(value) and len(value) <= VALUE and _nameable(path):
                found.setdefault(path, []).append(value)
    kept = [
        (len(set(values)), len(path), number, path)
        for number, (path, values) in enumerate(found.items())
        if len(values) > 1 and len(set(values)) < len(values)
    ]
    return [".".join(path) for _values, _depth, _number, path in sorted(kept)[:SUGGESTED]]


def _nameable(path: Path) -> bool:
    """Whether a path can be written with dots alone, and leads through no list: places in lists say little."""
    return 0 < len(path) <= 4 and all(step.isidentifier() and len(step) <= 40 for step in path)


_GONE, _UNREADABLE, _NOTHING = "gone", "unreadable", "nothing"  # none of them is a value as JSON writes it


def _newest(about: Whole) -> Mapping[QueueRef, Sequence[bytes]]:
    """The newest jobs in the failed sets, by queue. A query by its index for each of some strands."""
    queues = {strand.pk: QueueRef.from_slug(about.source, strand.queue.slug) for strand in about.strands}
    rows: list[tuple[int, QueueRef, str]] = []
    for strand in [strand for strand in about.strands if strand.present][:STRANDS]:
        found = Failure.objects.filter(strand=strand, in_set=True).order_by("-at_ms").values_list("at_ms", "job")
        rows += [(at, queues[strand.pk], job) for at, job in found[:LOOKED] if linked(job)]
    jobs: dict[QueueRef, list[bytes]] = {}
    for _at, queue, job in sorted(rows, key=lambda row: -row[0])[:LOOKED]:
        jobs.setdefault(queue, []).append(id_of(job))
    return jobs


def _values(source: str, wanted: Mapping[QueueRef, Sequence[bytes]], steps: Path) -> Iterator[str]:
    """What each job has at the path, as it is written in its masked data."""
    room = READ
    for queue, ids in wanted.items():
        with watched(source) as reader:
            if Capability.FAILURES not in reader.capabilities:
                raise Unsupported(_("The data of failed jobs cannot be read from this source."))
            found = cast(Failures, reader).payloads(queue, ids, most=max(0, room))
        room -= sum(map(len, found.values()))
        with masking.within(queue):
            for job in ids:
                yield _value(found[job], steps) if job in found else _GONE


def _value(raw: bytes, steps: Path) -> str:
    cut = len(raw) >= DATA_CAP
    values = leaves(quoted(payload.show(Body(raw, len(raw) + cut)).text))
    if not values:
        return _UNREADABLE
    value = values.get(steps)
    if value is None and steps[0] == "data":  # as people call the whole
        value = values.get(steps[1:])
    return _NOTHING if value is None else value
