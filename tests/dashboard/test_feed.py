"""The feed in words: each kind of event as an operator reads it, its filter, its link; hostile text stays text."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from django.utils.html import strip_tags

from dashboard import feed
from queues.errors import Unreachable
from queues.events import STALLED_TOO_OFTEN, Event, EventKind, Glance
from queues.live import Seen
from queues.progress import parse
from queues.text import text
from queues.types import JobRef, QueueRef
from tests.hostile import JOB_IDS, MARKUP, QUEUE_NAMES

REF = QueueRef("main", b"bull", b"mail")
AT = 1_790_000_000_000
GLANCE = Glance(text(b"capture"), attempts_made=1, attempts_started=2, attempts_max=3)


def seen(kind: str, glance: Glance | None = GLANCE, job: bytes | None = b"1181207", **fields: object) -> Seen:
    values: Mapping[str, object] = {"job": job, **fields}
    return Seen(Event(REF, f"{AT}-0", EventKind(kind), **values), glance)  # type: ignore[arg-type]


def ran(took_ms: int, ago_ms: int = 0) -> Glance:
    return Glance(text(b"capture"), processed_ms=AT - took_ms - ago_ms, finished_ms=AT - ago_ms)


EVERY = ["Failed", "Stalled", "Retries", "Completed", "Others"]


def choices(event: Seen) -> list[str]:
    """The filters that show an event, but for the one that shows all."""
    return [str(word) for kinds, word in feed.FILTERS if feed.kind(event) in kinds.split()]


@pytest.mark.parametrize(
    ("event", "said", "filtered"),
    [
        (seen("failed", ran(30_000), text=text(b"ETIMEDOUT")), "failed after 30 s: ETIMEDOUT", "failed"),
        (seen("failed", None, text=text(b"")), "failed", "failed"),
        (seen("failed", ran(30_000, ago_ms=60_000)), "failed", "failed"),  # what the job says is of another run
        (seen("active"), "active, attempt 2", "others"),
        (seen("active", None), "active", "others"),
        (seen("completed", ran(412)), "completed in 412 ms", "completed"),
        (seen("completed", None), "completed", "completed"),
        (seen("delayed", run_at_ms=AT + 40_000), "retries in 40 s", "retries"),
        (seen("delayed", None, run_at_ms=AT + 40_000), "delayed, due in 40 s", "others"),
        (seen("waiting", previous="active"), "retries at once", "retries"),
        (seen("waiting", Glance(), previous="active"), "waits again", "others"),
        (seen("waiting", previous="delayed"), "due, waits", "others"),
        (seen("waiting"), "waits", "others"),
        (seen("stalled"), "stalled, lock lost", "stalled"),
        (seen("retries-exhausted", attempts=3), "no attempt is left after 3", "retries"),
        (seen("progress", progress=parse(b"70")), "progress 70%", "others"),
        (seen("progress", progress=parse(b'{"done":3}')), 'progress {"done":3}', "others"),
        (seen("paused", job=None), "paused", "others"),
        (seen("cleaned", job=None, count=400), "cleaned 400 jobs", "others"),
        (seen("other", job=None, text=text(b"resharded")), "resharded", "others"),
        (seen("source-down", job=None, text=text(b"refused")), "the server stopped answering: refused", "always"),
        (seen("source-up", job=None), "the server answers again", "always"),
        (seen("omitted", job=None, count=9000), "9,000 more, too many at once to keep", "always"),
    ],
)
def test_an_event_is_told_in_words(event: Seen, said: str, filtered: str) -> None:
    assert feed.said(event) == said
    assert choices(event) == {"others": ["Others"], "always": EVERY}.get(filtered, [filtered.capitalize()])


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_of_event_has_an_entry_also_when_it_says_nothing_else(kind: EventKind) -> None:
    told = feed.entry(Seen(Event(REF, f"{AT}-0", kind)))
    assert told.startswith("<li data-kind=")
    assert strip_tags(told).strip()


# LV-05
def test_a_job_that_failed_because_it_stalled_stands_with_the_failed_and_with_the_stalled_ones() -> None:
    event = seen("failed", text=text(STALLED_TOO_OFTEN.encode()))
    assert "stalled too often" in feed.said(event)
    assert choices(event) == ["Failed", "Stalled"]


@pytest.mark.parametrize("kind", list(EventKind))
def test_no_kind_of_event_is_hidden_by_every_filter(kind: EventKind) -> None:
    lost = kind in (EventKind.GAP, EventKind.OMITTED, EventKind.SOURCE_DOWN, EventKind.SOURCE_UP)
    assert len(choices(Seen(Event(REF, f"{AT}-0", kind)))) == (len(EVERY) if lost else 1)


def test_a_gap_tells_how_many_events_between_which_moments() -> None:
    known = feed.said(seen("gap", job=None, count=9812, until_ms=AT + 60_000))
    assert "events lost: 9,812, between" in known
    assert known.count("<time") == 2
    assert "nobody knows how many" in feed.said(seen("gap", job=None, until_ms=AT + 60_000))


def test_an_entry_leads_to_the_job_by_its_exact_id() -> None:
    for name in QUEUE_NAMES:
        for job in JOB_IDS:
            ref = JobRef(QueueRef("main", b"bull", name), job)
            told = feed.entry(Seen(Event(ref.queue, f"{AT}-0", EventKind.FAILED, job=job)))
            assert f'href="/queues/main/{ref.queue.slug}/jobs/{ref.slug}/"' in told


def test_an_id_of_a_megabyte_makes_a_short_entry_without_a_link() -> None:
    told = feed.entry(seen("failed", job=b"x" * 1_000_000))
    assert len(told) < 1_000
    assert "href=" not in told.replace('href="#i-', "")


def test_names_reasons_and_progress_are_text() -> None:
    hostile = text(MARKUP.encode())
    for kind in EventKind:
        told = feed.entry(
            seen(kind, Glance(hostile), job=MARKUP.encode(), text=hostile, progress=parse(MARKUP.encode()))
        )
        assert "<script" not in told
        assert "<img" not in told
        assert "<b>" not in told


def test_secrets_in_names_and_reasons_are_masked() -> None:
    told = feed.entry(seen("failed", text=text(b"login failed: password=hunter2")))
    assert "hunter2" not in told


def test_the_newest_entry_is_on_top() -> None:
    first, second = (Seen(Event(REF, f"{AT + number}-0", EventKind.PAUSED)) for number in (1, 2))
    told = feed.entries([first, second])
    assert told.index(f"{AT + 2}-0") < told.index(f"{AT + 1}-0")


class Silent:
    """A backend whose server does not answer."""

    def glances(self, jobs: object) -> object:
        raise Unreachable("refused", source="main")


def test_events_stand_without_names_where_these_cannot_be_read() -> None:
    (alone,) = feed.with_names(Silent(), REF, [seen("failed").event])  # type: ignore[arg-type]
    assert alone.glance is None


def test_all_names_come_in_one_call() -> None:
    asked: list[list[JobRef]] = []

    class Answering:
        def glances(self, jobs: list[JobRef]) -> Mapping[JobRef, Glance]:
            asked.append(list(jobs))
            return dict.fromkeys(jobs, GLANCE)

    events = [seen("failed", job=b"1").event, seen("stalled", job=b"1").event, seen("paused", job=None).event]
    found = feed.with_names(Answering(), REF, events)  # type: ignore[arg-type]
    assert asked == [[JobRef(REF, b"1")]]
    assert [each.glance for each in found] == [GLANCE, GLANCE, None]
