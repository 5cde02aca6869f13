"""The live parts of a queue's page: what is pushed is byte for byte what the page would show when it is read again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

import pytest
import redis
from django.test import Client

from dashboard import feed
from dashboard.live.parts import job_key
from dashboard.live.queue import QueuePage
from dashboard.live.update import Update
from queues import registry
from queues.backend import Events
from queues.events import STALLED_TOO_OFTEN, Event, EventKind, Glance
from queues.live import OverviewNews, Pulse, QueueNews, RowNews, Seen, Standing
from queues.progress import parse
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.text import text
from queues.types import Counts, JobRef, QueueRef, State
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.hostile import BYTES, MARKUP, PROGRESS
from tests.node import Node
from tests.queues.test_notables import keep
from tests.seed import seed_job, seed_queue
from tests.valkey import eventually

pytestmark = pytest.mark.django_db

REF = QueueRef("main", b"bull", b"mail")
STATIC = {State.WAITING: 3, State.FAILED: 1200}


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def drawer(clock: Clock) -> QueuePage:
    return QueuePage(REF, clock)


def news(
    events: Sequence[Event | Seen] = (),
    *,
    counts: Counts | None = None,
    workers: int | None = None,
    pulse: Pulse = Pulse.LIVE,
    **fields: object,
) -> QueueNews:
    seen = [each if isinstance(each, Seen) else Seen(each) for each in events]
    at_ms = now_ms()
    row = None if counts is None else RowNews(REF, at_ms, at_ms, counts, workers)
    values: Mapping[str, object] = {"total": len(seen), **fields}
    return QueueNews(REF, Standing(pulse, at_ms), row, seen, **values)  # type: ignore[arg-type]


def event(kind: str, job: bytes | None = b"7", ago_ms: int = 0, **fields: object) -> Event:
    return Event(REF, f"{now_ms() - ago_ms}-0", EventKind(kind), job=job, **fields)  # type: ignore[arg-type]


def read(client: Client, path: str = "/queues/main/mail/") -> str:
    return Page(client.get(path)).source


def counts_now() -> Counts:
    return registry.backend("main").counts([REF])[REF]


def test_numbers_sentences_and_marks_are_those_of_the_page(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, drawer: QueuePage
) -> None:
    seed_queue(valkey, "mail", failed=1200, completed=3, paused=True)
    page = read(viewer)
    pushed = drawer.update(news(counts=counts_now(), workers=0)).parts
    names = {f"tab-{state}" for state in State} | {"verdict", "paused", "paused-fact", "workers", "nobody", "oldest"}
    assert names <= pushed.keys()
    assert [name for name in names if pushed[name] not in page] == []
    assert "1,200" in pushed["tab-failed"]
    assert "Paused." in pushed["verdict"]


def test_every_part_is_inert_and_carries_its_id(drawer: QueuePage, source: SourceConfig) -> None:
    counts = Counts(STATIC, paused=True)
    update = drawer.update(
        news([event("failed")], counts=counts, progress=[event("progress", progress=parse(b"70"))], total=900)
    )
    for name, html in update.parts.items():
        assert html.startswith(f'<span id="{name}" data-part')
        assert all(tag not in html for tag in ("<a ", "<button", "<input", "<select"))


def test_the_tabs_say_unknown_for_a_state_that_cannot_be_read(drawer: QueuePage) -> None:
    parts = drawer.update(news(counts=Counts({State.FAILED: 0}, paused=False))).parts
    assert ">–<" in parts["tab-active"]
    assert 'data-count=""' in parts["tab-active"]
    assert ">0<" in parts["tab-failed"]


@pytest.mark.parametrize("stored", PROGRESS)
def test_progress_of_every_shape_is_pushed_as_the_page_shows_it(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, drawer: QueuePage, stored: str
) -> None:
    ref = seed_queue(valkey, "mail", active=1)
    seed_job(valkey, ref, "1", progress=stored)
    told = event("progress", b"1", progress=parse(stored.encode()))
    pushed = drawer.update(news(progress=[told])).parts[f"p-{job_key(JobRef(ref, b'1'))}"]
    assert pushed in read(viewer, "/queues/main/mail/?state=active")
    assert "<script" not in pushed
    assert "NaN%" not in pushed


# JD-11
@pytest.mark.node
def test_progress_of_the_real_library_is_the_same_in_the_list_and_in_the_push(
    viewer: Client, source: SourceConfig, node: Node, major: int, drawer: QueuePage
) -> None:
    shapes = [250, -5, 33.3333333, {"done": 3, "total": 9}, {"progress": 70}, [1, 2], "loading <b>x</b>", True, None]
    node.run(
        """
        const q = queue(args.major, "mail");
        const shapes = [...args.shapes, NaN, undefined, { big: "x".repeat(1e6) }];
        for (let n = 0; n < shapes.length; n++) await q.add("send", {}, { jobId: `job-${n}` });
        worker(args.major, "mail", async (job) => {
          await job.updateProgress(shapes[Number(job.id.slice(4))]);
          await sleep(600000);
        }, { concurrency: 20 });
        await until(async () => (await q.getJobCounts("active")).active === shapes.length);
        await sleep(300);
        """,
        url=source.url,
        major=major,
        shapes=shapes,
    )
    backend = cast(Events, registry.backend("main"))
    batch = eventually(lambda: [b for b in backend.entries({REF: "0-0"}, most=1000) if b.number >= 24])[0]
    told = batch.events(kinds={EventKind.PROGRESS}, most=1000)
    assert len(told) >= len(shapes)
    pushed = drawer.update(news(progress=told)).parts
    page = read(viewer, "/queues/main/mail/?state=active")
    bars = {each.job: f"p-{job_key(JobRef(REF, each.job))}" for each in told if each.job}
    assert [job for job, name in bars.items() if pushed[name] not in page] == []


# JD-02
@pytest.mark.parametrize("said", [MARKUP.encode(), BYTES, b"\x1b[31mred \x00", b'"a\\ud800b"'])
def test_a_failure_with_hostile_words_is_the_same_text_in_the_feed_that_is_read_and_pushed(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, drawer: QueuePage, said: bytes
) -> None:
    seed_queue(valkey, "mail", failed=1)
    valkey.hset("bull:mail:1", "name", said)
    reason = text(said)
    kept = keep("failed", 1_000, job="1", text=reason.value, size=reason.size)
    job = JobRef(REF, b"1")
    glance = cast(Events, registry.backend("main")).glances([job])[job]
    pushed = drawer.update(news([Seen(Event(REF, kept.event_id, EventKind.FAILED, b"1", reason), glance)])).feed
    page = read(viewer)
    assert pushed in page
    assert "<script>window" not in page
    assert "window.__x=1>" not in page
    json.dumps(pushed).encode()


# LV-05
def test_a_job_that_failed_by_stalling_is_found_under_stalled(drawer: QueuePage) -> None:
    pushed = drawer.update(news([event("failed", text=text(STALLED_TOO_OFTEN.encode()))])).feed
    stalled = next(kinds for kinds, word in feed.FILTERS if str(word) == "Stalled")
    assert pushed.split('data-kind="')[1].split('"')[0] in stalled.split()


def test_what_became_of_a_job_is_said_in_its_row_which_stays(
    viewer: Client, source: SourceConfig, valkey: redis.Redis, drawer: QueuePage
) -> None:
    ref = seed_queue(valkey, "mail", active=2)
    name = f"s-{job_key(JobRef(ref, b'1'))}"
    page = read(viewer, "/queues/main/mail/?state=active")
    assert f'<span id="{name}" data-part></span>' in page
    update = drawer.update(news([event("active", b"1", 50), event("completed", b"1"), event("drained", None)]))
    assert "Completed" in update.parts[name]
    assert set(update.parts) & {f"s-{job_key(JobRef(ref, b'2'))}"} == set()
    assert update.changed_ms[name] == pytest.approx(now_ms(), abs=60_000)


def test_a_feed_that_shows_only_some_says_of_how_many(drawer: QueuePage, clock: Clock) -> None:
    update = drawer.update(news([event("active")] * 20, total=9812))
    assert "showing 20 of 9,812 events" in update.parts["feed-sample"]
    assert update.entries == 20
    clock.now += 11
    assert "><" in drawer.update(news([event("active")])).parts["feed-sample"]


def test_the_rate_is_the_queues_own_and_unknown_until_we_have_looked_for_a_while(
    drawer: QueuePage, clock: Clock
) -> None:
    assert "><" in drawer.update(news(total=5)).parts["feed-rate"]
    clock.now += 10
    drawer.update(news(total=64))
    clock.now += 5
    assert "11.4 events a second" in drawer.update(news(total=50)).parts["feed-rate"]
    clock.now += 20
    assert "0 events a second" in drawer.update(news()).parts["feed-rate"]
    assert "><" in drawer.update(news(pulse=Pulse.BLIND)).parts["feed-rate"]


def test_a_gap_is_said_on_an_open_page_and_stands_in_its_feed(drawer: QueuePage, clock: Clock) -> None:
    assert drawer.update(news()).parts["gap-note"] == '<span id="gap-note" data-part></span>'
    keep("gap", 60_000, until_ms=now_ms() - 50_000, count=9812)
    clock.now += 6
    update = drawer.update(news())
    assert "9,812 events were lost" in update.parts["gap-note"]
    assert "events lost: 9,812" in update.feed
    clock.now += 6
    assert drawer.update(news()).feed == ""  # told once


def test_a_gap_that_every_open_page_was_read_with_is_not_told_anew(drawer: QueuePage) -> None:
    keep("gap", 600_000, until_ms=now_ms() - 500_000, count=9812)
    update = drawer.update(news())
    assert "9,812" in update.parts["gap-note"]
    assert update.feed == ""


def test_a_gap_that_came_just_before_the_first_news_is_told(drawer: QueuePage) -> None:
    keep("gap", 60_000, until_ms=now_ms() - 2_000, count=9812)
    assert "events lost: 9,812" in drawer.update(news()).feed


def test_a_screen_reader_hears_a_summary_of_what_is_notable_and_not_each_tick(drawer: QueuePage, clock: Clock) -> None:
    assert drawer.update(news([event("completed")], entered={State.FAILED: 100})).say == ""
    clock.now += 1
    seen = [event("stalled"), event("stalled"), event("stalled")]
    assert drawer.update(news(seen, entered={State.FAILED: 112})).say == "12 failed, 3 stalled"
    clock.now += 1
    assert drawer.update(news([event("failed")], entered={State.FAILED: 113})).say == ""
    clock.now += 10
    assert drawer.update(news(entered={State.FAILED: 115})).say == "3 failed"


def test_stalled_jobs_out_of_a_sample_are_a_lower_bound(drawer: QueuePage) -> None:
    assert drawer.update(news([event("stalled")], total=500)).say == "at least 1 stalled"


def test_what_entered_each_state_is_passed_on_with_the_event_up_to_which_it_counts(drawer: QueuePage) -> None:
    update = drawer.update(news(entered={State.FAILED: 37}, upto="5-0"))
    assert (update.entered, update.upto) == ({"failed": 37}, "5-0")


def test_news_of_another_kind_change_nothing(drawer: QueuePage) -> None:
    assert drawer.update(OverviewNews("main", Standing(Pulse.LIVE, 0))) == Update()


def test_a_batch_costs_no_query_until_five_seconds_have_passed(
    drawer: QueuePage, clock: Clock, django_assert_num_queries: object
) -> None:
    drawer.update(news())
    clock.now += 4
    with django_assert_num_queries(0):  # type: ignore[operator]
        drawer.update(news([Seen(event("failed"), Glance())], counts=Counts(STATIC, paused=False)))
