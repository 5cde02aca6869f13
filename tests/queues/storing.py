"""Failures as the index hands them to its store, and what is true of its tables whatever was written."""

from __future__ import annotations

import hashlib
from collections import Counter

from django.db.models import Sum

from queues import quantities
from queues.failures import windows
from queues.failures.store import Store
from queues.failures.types import VERSION, Found, FoundLetter, How, Signature, Thrown
from queues.models import Failure, FailureGroup, FailureHour, FailureStrand, Indexing, Letter, Queue, Source
from queues.types import QueueRef

MINUTE, HOUR, DAY = quantities.MINUTE, quantities.HOUR, quantities.DAY
NOW = 1_796_000_000_000 // HOUR * HOUR + 17 * MINUTE + 31_000
SHOP, MAIL, DEAD = (QueueRef("main", b"bull", name) for name in (b"shop", b"mail", b"shop-dlq"))


class Clock:
    """A clock that tests set."""

    def __init__(self, ms: int = NOW) -> None:
        self.ms = ms

    def __call__(self) -> int:
        return self.ms


def store(epoch: int = 1, clock: Clock | None = None, *queues: QueueRef) -> Store:
    """A store that has taken its term, over queues that have rows."""
    source, _ = Source.objects.get_or_create(name="main")
    for queue in queues or (SHOP, MAIL, DEAD):
        Queue.objects.get_or_create(source=source, slug=queue.slug)
    made = Store("main", epoch, clock or Clock())
    assert made.begin()
    return made


def signature(text: str = "boom", *, place: str = "charge", digest: str = "") -> Signature:
    """One of its own for each text and place."""
    digest = (
        digest or hashlib.sha1(f"{text}\0{place}".encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    )
    return Signature(VERSION, digest, "error", "Error", "", text, place, "frame", f"Error: {text}")


def failed(
    job: bytes | int = 1,
    at_ms: int = NOW,
    *,
    text: str = "boom",
    name: str = "pay",
    place: str = "charge",
    **more: object,
) -> Found:
    """A failure of the failed set, unless `more` says otherwise."""
    job = job if isinstance(job, bytes) else b"%d" % job
    thrown = Thrown(text, f"Error: {text}\n    at {place} (/app/{place}.js:1:1)", name)
    made: dict[str, object] = {"how": How.SET, "score_ms": at_ms, "signature": signature(text, place=place)} | more
    return Found(job=job, at_ms=at_ms, thrown=thrown, **made)  # type: ignore[arg-type]


def event(job: bytes | int = 1, at_ms: int = NOW, *, text: str = "boom") -> Found:
    """One that only an event told: no name, no stack, so another signature."""
    return failed(job, at_ms, text=text, name="", place="none", how=How.EVENT)


def letter(
    job: bytes, of: bytes | int, at_ms: int = NOW, *, failed_at: int | None = None, origin: QueueRef | None = SHOP
) -> FoundLetter:
    """A letter about a job of `origin`; without `failed_at` it does not say when that failed."""
    found = failed(of, at_ms if failed_at is None else failed_at, place="letter")
    pk = Queue.objects.get(slug=origin.slug).pk if origin else None
    return FoundLetter(job, at_ms, found, origin=pk, timed=failed_at is not None)


def state() -> dict[str, object]:
    """All that the tables of the index hold, without keys of rows."""
    rows: dict[str, object] = {
        "failures": sorted(
            Failure.objects.values_list(
                *("queue__slug", "job", "score_ms", "at_ms", "in_set", "present", "how"),
                *("strand__name", "strand__signature__digest", "strand__group__slug"),
            )
        ),
        "strands": sorted(
            FailureStrand.objects.values_list(
                *("queue__slug", "name", "signature__digest", "total", "present", "first_ms", "last_ms"),
                *windows.WINDOWS,
            )
        ),
        "hours": sorted(
            (digest, slug, name, hour, count, None if minutes is None else bytes(minutes))
            for digest, slug, name, hour, count, minutes in FailureHour.objects.values_list(
                *("strand__signature__digest", "strand__queue__slug", "strand__name", "hour", "count", "minutes")
            )
        ),
        "groups": sorted(
            FailureGroup.objects.values_list("slug", "life", "total", "first_ms", "last_ms", "regressed_ms")
        ),
        "letters": sorted(Letter.objects.values_list("queue__slug", "job", "failure__job", "failure__score_ms")),
    }
    return rows


def check_counts() -> None:
    """Every number that is kept is the number of rows that it stands for."""
    upto = Indexing.objects.get().windows_ms
    for strand in FailureStrand.objects.all():
        rows = Failure.objects.filter(strand=strand)
        times = list(rows.values_list("at_ms", flat=True))
        assert strand.total == len(times)
        assert strand.present == rows.filter(present=True).count()
        for name in windows.WINDOWS:
            counted = sum(at >= windows.since(name, upto) for at in times)
            assert getattr(strand, name) == counted, (name, strand)
        hours = dict(FailureHour.objects.filter(strand=strand, count__gt=0).values_list("hour", "count"))
        assert hours == Counter(at // HOUR for at in times)
        for hour, minutes in strand.hours.values_list("hour", "minutes"):
            if minutes is None:
                continue
            in_hour = Counter(at // MINUTE % 60 for at in times if at // HOUR == hour)
            assert list(windows.MINUTES.unpack(bytes(minutes))) == [in_hour[minute] for minute in range(60)]
    for group in FailureGroup.objects.all():
        assert group.total == (group.strands.aggregate(sum=Sum("total"))["sum"] or 0)
    for failure in Failure.objects.all():
        assert failure.present == (failure.in_set or failure.letters.exists())
