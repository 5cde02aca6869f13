"""Failure groups written straight into the tables of the index: for pages, finders and benches that need no worker.

What the index itself writes is tested against real queues; this only has to be fast and alike.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from typing import Any

from django.utils import timezone

from queues.failures.types import VERSION, Kind, Life, Signature
from queues.models import (
    Failure,
    FailureGroup,
    FailureHour,
    FailureSample,
    FailureSignature,
    FailureStrand,
    IndexedQueue,
    Indexing,
    Queue,
    Source,
)
from queues.quantities import now_ms
from queues.types import QueueRef

HOUR = 3_600_000
DAY = 24 * HOUR
WINDOWS = ("h1", "h3", "h24", "d3", "d7")
REACH = (1, 3, 24, 72, 168)  # hours of each window
BATCH = 2_000
TITLE = "connect ECONNREFUSED 10.0.0.12:5432"
STACK = "Error: {title}\n    at charge (/app/src/payments.js:41:11)\n    at Worker.processJob (/app/worker.js:7:3)"


def queue_row(name: str, source: str = "main", prefix: str = "bull") -> Queue:
    """The row of a queue, made where there is none."""
    at, _ = Source.objects.get_or_create(name=source)
    slug = QueueRef(source, prefix.encode(), name.encode()).slug
    return Queue.objects.get_or_create(source=at, slug=slug)[0]


def indexing(source: str = "main", *, queues: Sequence[str] = (), since_days: float = 40, **fields: Any) -> Indexing:
    """An index that is read whole and has just been compared; `fields` say otherwise."""
    at, _ = Source.objects.get_or_create(name=source)
    now = now_ms()
    for name in queues:
        row = queue_row(name, source)
        made = {"scanning": False, "since_ms": now - int(since_days * DAY), "compared_ms": now}
        IndexedQueue.objects.update_or_create(queue=row, defaults=made)
    defaults: dict[str, Any] = {
        "epoch": 1,
        "beat_at": timezone.now(),
        "since_ms": now - int(since_days * DAY),
        "windows_ms": now // 60_000 * 60_000,
        "compared_ms": now,
        "commands_per_s": 0.3,
        "version": VERSION,
        "why": "",
    }
    return Indexing.objects.update_or_create(source=at, defaults=defaults | fields)[0]


def make_group(
    source: str = "main",
    *,
    title: str = TITLE,
    queues: Sequence[str] = ("payments",),
    names: Sequence[str] = ("charge",),
    kind: Kind | str = Kind.TRANSIENT,
    rule: str = "",
    life: Life | str = Life.OPEN,
    counts: Sequence[int] = (1, 2, 3, 4, 5),
    hours: Mapping[int, int] | None = None,
    failures: int = 0,
    gone: int = 0,
    samples: int = 0,
    usual: float | None = None,
    first_ms: int | None = None,
    last_ms: int | None = None,
    **fields: Any,
) -> FailureGroup:
    """A group of one signature with a strand for each of `queues` under each of `names`.

    `counts` are those of the whole group in 1 h, 3 h, 24 h, 3 d and 7 d, shared out among its strands; so are `hours`
    (hours ago -> count, made of the counts where not given), `failures` whose jobs are there and `gone` ones, between
    `first_ms` and `last_ms`. `usual` is that of the whole group. `fields` are those of the row.
    """
    now = now_ms()
    last = now - 30_000 if last_ms is None else last_ms
    first = last - 10 * DAY if first_ms is None else first_ms
    total = fields.pop("total", max(counts[-1], failures + gone))
    at, _ = Source.objects.get_or_create(name=source)
    parts = signature_of(title)
    group = FailureGroup.objects.create(
        source=at,
        slug=fields.pop("slug", "") or _slug(at, parts.digest),
        title=title,
        life=life,
        first_ms=first,
        last_ms=last,
        total=total,
        **fields,
    )
    signature, _ = FailureSignature.objects.get_or_create(
        source=at, version=VERSION, digest=parts.digest, defaults={"group": group, "parts": asdict(parts)}
    )
    places = list(product([queue_row(name, source) for name in queues], names))
    among = len(places)
    strands = FailureStrand.objects.bulk_create(
        FailureStrand(
            signature=signature,
            group=group,
            queue=queue,
            name=name,
            kind=kind,
            rule=rule,
            first_ms=first,
            last_ms=last,
            total=_share(total, number, among),
            present=_share(failures, number, among),
            usual=None if usual is None else usual / among,
            **{window: _share(count, number, among) for window, count in zip(WINDOWS, counts, strict=True)},
        )
        for number, (queue, name) in enumerate(places)
    )
    ago = _hours_of(counts) if hours is None else hours
    FailureHour.objects.bulk_create(_hours(strands, ago, now), batch_size=BATCH)
    Failure.objects.bulk_create(_failures(strands, failures, gone, first, last), batch_size=BATCH)
    FailureSample.objects.bulk_create(_samples(strands[0], title, samples, last) if strands else ())
    return group


def many(
    groups: int = 100, failures: int = 200_000, *, queues: int = 12, strands: int = 3, source: str = "main"
) -> None:
    """Groups of every life and class with so many failures among them, for measuring. Some seconds."""
    kinds, now = list(Kind), now_ms()
    for number in range(groups):
        mine = _share(failures, number, groups)
        make_group(
            source,
            title=f"{kinds[number % 3].capitalize()}Error: upstream {number} did not answer in time",
            queues=[f"queue-{(number + step) % queues}" for step in range(strands)],
            names=[f"name-{number % 7}"],
            kind=kinds[number % 3],
            life=[Life.OPEN, Life.OPEN, Life.REGRESSED, Life.IGNORED, Life.RESOLVED][number % 5],
            counts=[mine // 50 + 1, mine // 20 + 2, mine // 8 + 3, mine // 4 + 4, mine // 2 + 5],
            hours={0: mine // 50 + 1, 5: mine // 20 + 1, 30: mine // 8 + 1} if groups > 500 else None,
            failures=mine,
            usual=float(number % 11),
            first_ms=now - (number % 29 + 1) * DAY,
            last_ms=now - number * 1_000,
        )


def signature_of(title: str) -> Signature:
    """A signature as the index might make one."""
    error_class = title.split(":", maxsplit=1)[0] if ":" in title[:60] else "Error"
    digest = hashlib.sha1(title.encode("utf-8", "backslashreplace"), usedforsecurity=False).hexdigest()
    place = "src/payments.js charge"
    return Signature(VERSION, digest, "error", error_class[:100], "", title[:500], place, "frame", title[:200])


def _slug(source: Source, digest: str) -> str:
    """The shortest beginning of the digest that no other group has."""
    for length in range(4, 20):
        if not FailureGroup.objects.filter(slug=digest[:length]).exists():
            return digest[:length]
    return f"{digest[:16]}{source.pk}"


def _share(number: int, which: int, among: int) -> int:
    """The part of one of so many in a number; the first get what is left over."""
    return number // among + (which < number % among)


def _hours_of(counts: Sequence[int]) -> dict[int, int]:
    """Hours ago -> count, so that windows of whole hours would have these counts."""
    found: dict[int, int] = {}
    before, since = 0, 0
    for count, reach in zip(counts, REACH, strict=True):
        wide = reach - since
        found |= {since + at: _share(count - before, at, wide) for at in range(wide)}
        before, since = count, reach
    return found


def _hours(strands: Sequence[FailureStrand], ago: Mapping[int, int], now: int) -> Iterator[FailureHour]:
    for number, strand in enumerate(strands):
        for back, count in ago.items():
            if mine := _share(count, number, len(strands)):
                minutes = struct.pack("<60I", *(_share(mine, at, 60) for at in range(60))) if back < 48 else None
                yield FailureHour(strand=strand, hour=now // HOUR - back, count=mine, minutes=minutes)


def _failures(strands: Sequence[FailureStrand], there: int, gone: int, first: int, last: int) -> Iterator[Failure]:
    """Jobs by turns in the strands, the newest first; those that are gone are the oldest."""
    step = max((last - first) // max(there + gone, 1), 1)
    for number in range(there + gone):
        strand, at = strands[number % len(strands)], last - number * step
        here = number < there
        yield Failure(
            queue_id=strand.queue_id,
            strand=strand,
            job=f"{strand.pk}-{number}",
            at_ms=at,
            score_ms=at,
            worker=f"worker-{number % 3}",
            attempts=number % 3 + 1,
            in_set=here,
            present=here,
        )


def _samples(strand: FailureStrand, title: str, number: int, last: int) -> Iterator[FailureSample]:
    for at in range(number):
        stack, payload = STACK.format(title=title), f'{{"customer": {at}, "tenant": "t-{at % 2}"}}'
        yield FailureSample(
            signature_id=strand.signature_id,
            queue_id=strand.queue_id,
            job=f"{strand.pk}-{at}",
            name=strand.name,
            at_ms=last - at * 60_000,
            reason=title,
            stack=stack,
            payload=payload,
            sizes={"reason": len(title), "stack": len(stack), "payload": len(payload)},
        )
