"""What is pushed to an overview: the bytes that the page was rendered with, only what changed, and sums of all rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest
import redis
from django.conf import LazySettings
from django.test import Client

from dashboard.live import eyes
from dashboard.live.overview import Overview
from dashboard.live.parts import row_key
from dashboard.live.update import Update
from queues import discovery, followed, readings, registry
from queues.events import EventKind
from queues.history import MINUTE_MS, History, dump
from queues.live import OverviewNews, Pulse, RowNews, SourceNews, Standing
from queues.models import Following, Queue, Stream
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import Counts, Oldest, QueueRef
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.hostile import QUEUE_NAMES
from tests.queues.fakes import counts, ref
from tests.seed import VERSION, seed_queue, write_hash

pytestmark = pytest.mark.django_db

NOW = 1_800_000_000_000
UPTO = NOW // MINUTE_MS - 1


@pytest.fixture(autouse=True)
def nowhere(settings: LazySettings) -> None:
    """A source that is never asked, for tests that are told all they need."""
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://127.0.0.1:1/0"),)
    registry.forget()


def seed_meta(valkey: redis.Redis, name: bytes) -> QueueRef:
    """A queue with any bytes as its name, and with nothing in it but one id that waits."""
    write_hash(valkey, b"bull:%b:meta" % name, {"version": VERSION})
    valkey.lpush(b"bull:%b:wait" % name, "1")
    return QueueRef("main", b"bull", name)


def told(name: str, found: Counts, *, source: str = "main", workers: int | None = 1, **more: object) -> RowNews:
    upto = more.pop("upto", UPTO)
    history = more.pop("history", None)
    assert isinstance(upto, int)
    assert history is None or isinstance(history, History)
    return RowNews(ref(name, source), NOW, NOW, found, workers, history, upto)


def news(*rows: RowNews, whole: bool = False, source: str = "main", at_ms: int = NOW) -> OverviewNews:
    return OverviewNews(source, Standing(Pulse.LIVE, at_ms), rows, whole)


def finished(tallies: Mapping[int, tuple[int, int]]) -> History:
    """Completed and failed by minutes before the last whole one."""
    history = History(UPTO - 100)
    for ago, (completed, failed) in tallies.items():
        history.add({UPTO - ago: {EventKind.COMPLETED: completed, EventKind.FAILED: failed}})
    return history


def text(html: str) -> str:
    return re.sub(r"<[^>]*>", "", html)


def part(update: Update, name: str, queue: str, source: str = "main") -> str:
    return update.parts[f"{row_key(ref(queue, source))}-{name}"]


def rows_of(update: Update) -> set[str]:
    return {found[1] for name in update.parts if (found := re.match(r"(q-\w+)-", name))}


def as_news(name: str) -> OverviewNews:
    """What a follower would tell of what the page has just read."""
    reading, known = readings.read(name), followed.histories(name)
    assert reading.read_at is not None
    at_ms = int(reading.read_at.timestamp() * 1000)
    rows = [
        RowNews(queue.ref, at_ms, at_ms, queue.counts, queue.workers, known.by_slug.get(queue.ref.slug), known.upto)
        for queue in reading.queues
        if queue.counts is not None
    ]
    return OverviewNews(name, Standing(Pulse.LIVE, at_ms), rows, whole=True)


def write_down(refs: Sequence[QueueRef]) -> None:
    """Every second queue was followed for half an hour, and some of them fail."""
    now = now_ms()
    source = Queue.objects.all()[0].source
    Following.objects.create(source=source, covered_ms=now)
    for number, queue in enumerate(refs[::2]):
        history = History(now // MINUTE_MS - 30)
        history.add({now // MINUTE_MS - 2: {EventKind.COMPLETED: number * 7, EventKind.FAILED: number * 3}})
        Stream.objects.create(queue=Queue.objects.get(slug=queue.slug), last_id="1-0", history=dump(history))


def test_what_is_pushed_is_byte_equal_to_the_first_render_also_for_hostile_names(
    source: SourceConfig, valkey: redis.Redis
) -> None:
    refs = [seed_meta(valkey, name) for name in QUEUE_NAMES]
    refs.append(seed_queue(valkey, QUEUE_NAMES[0], prefix=b"a<b>", waiting=4, prioritized=2))
    refs.append(seed_queue(valkey, "sms", waiting=4, paused=True))
    refs.append(seed_queue(valkey, "orders-dlq", waiting=40))
    refs.append(seed_queue(valkey, "well", completed=12_345))
    discovery.scan("main")
    write_down(refs)
    page = as_role("viewer").get("/").content.decode()
    pushed = Overview("main").update(as_news("main")).parts
    ids = re.findall(r'id="([^"]+)" data-part', page)
    assert len(ids) > 15 * len(refs)
    ids = [name for name in ids if not name.startswith(("eyes-changed", "open-groups", "replays-running"))]
    differ = [name for name in ids if pushed.get(name, "not pushed") not in page]
    assert differ == []


def test_only_rows_with_news_are_drawn() -> None:
    overview = Overview("main")
    overview.update(news(told("mail", counts()), told("sms", counts()), whole=True))
    update = overview.update(news(told("mail", counts(waiting=3))))
    assert rows_of(update) == {row_key(ref("mail"))}
    assert 'data-count="3"' in part(update, "waiting", "mail")
    assert update.changed_ms == {row_key(ref("mail")): NOW}


def test_a_row_without_news_moves_on_when_a_minute_has_passed() -> None:
    overview = Overview("main")
    history = finished({0: (60, 0)})
    overview.update(news(told("mail", counts(), history=history), told("sms", counts()), whole=True))
    update = overview.update(news(told("sms", counts(), history=finished({}), upto=UPTO + 1)))
    assert text(part(update, "rate", "mail")) == "0/min"
    assert "60 finished in the last 60 minutes" in part(update, "spark", "mail")
    again = overview.update(news(told("sms", counts(waiting=1), history=finished({}), upto=UPTO + 1)))
    assert rows_of(again) == {row_key(ref("sms"))}


def test_a_row_whose_news_do_not_tell_the_last_hour_keeps_it() -> None:
    overview = Overview("main")
    overview.update(news(told("mail", counts(), history=finished({0: (4, 6)})), whole=True))
    update = overview.update(news(told("mail", counts(waiting=1), upto=0)))
    assert text(part(update, "note", "mail")) == "6 of 10 failed in 5 min"
    assert text(update.parts["total-finished"]) == "4"
    gone = overview.update(news(told("mail", counts(waiting=1)), whole=True))
    assert text(part(gone, "rate", "mail")) == "–", "all were told, and of this one nothing is known"


def test_before_all_rows_were_told_the_last_hour_is_what_was_written_down(
    source: SourceConfig, valkey: redis.Redis
) -> None:
    queue = seed_queue(valkey, "mail", completed=3)
    discovery.scan("main")
    write_down([queue])
    history = followed.histories("main").by_slug["mail"]
    history.add({now_ms() // MINUTE_MS - 1: {EventKind.FAILED: 9}})
    Stream.objects.update(history=dump(history))
    update = Overview("main").update(OverviewNews("main", Standing(Pulse.LIVE, NOW), [told("mail", counts(), upto=0)]))
    assert text(part(update, "note", "mail")) == "9 of 9 failed in 5 min"
    assert "unknown before" in part(update, "spark", "mail")


def test_totals_count_all_rows_and_are_not_drawn_before_all_are_known() -> None:
    overview = Overview("main")
    first = overview.update(news(told("mail", counts(waiting=3))))
    assert rows_of(first) == {row_key(ref("mail"))}
    assert not [name for name in first.parts if name.startswith(("total-", "lede", "eye"))]
    overview.update(news(told("mail", counts(waiting=3)), told("sms", counts(waiting=4)), whole=True))
    update = overview.update(news(told("sms", counts(waiting=1000), history=finished({0: (7, 1)}))))
    assert 'data-count="1003">1,003<' in update.parts["total-waiting"]
    assert text(update.parts["total-active-note"]) == "2 workers connected"
    assert text(update.parts["total-finished-note"]) == "counted in 1 of 2 queues"


def test_unknown_minutes_and_workers_are_never_drawn_as_zero() -> None:
    update = Overview("main").update(news(told("mail", counts(), workers=None), whole=True))
    assert [text(part(update, name, "mail")) for name in ("rate", "failing", "workers")] == ["–", "–", "–"]
    assert text(update.parts["total-finished"]) == "–"
    assert "total-active-note" not in update.parts


def test_sums_of_several_sources_are_drawn_when_all_of_them_are_known(settings: LazySettings) -> None:
    settings.MIRANTE_SOURCES = (
        SourceConfig("main", "redis://127.0.0.1:1/0"),
        SourceConfig("b", "redis://127.0.0.1:1/1"),
    )
    registry.forget()
    main, other = Overview("main"), Overview("b")
    first = main.update(news(told("mail", counts(waiting=3)), whole=True))
    assert "total-waiting" not in first.parts
    assert 'data-count="3"' in first.parts["total-waiting-0"]
    second = other.update(news(told("mail", counts(waiting=4), source="b"), whole=True, source="b"))
    assert 'data-count="7"' in second.parts["total-waiting"]
    assert 'data-count="4"' in second.parts["total-waiting-1"]
    assert "2 queues" in second.parts["lede"] or "have not been searched" in second.parts["lede"]


def test_a_change_of_what_needs_eyes_is_said_once_and_told_to_those_who_see_the_old_strip(
    source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", waiting=3)
    seed_queue(valkey, "sms", completed=3)
    discovery.scan("main")
    page = Page(as_role("viewer").get("/"))
    (before,) = [node.attrs["id"] for node in page.all("data-part") if node.attrs["id"].startswith("eyes-changed")]
    overview = Overview("main")
    whole = overview.update(as_news("main"))
    assert text(whole.parts[before]) == ""
    assert whole.say == ""
    bad = told("sms", counts(waiting=9), workers=0)
    update = overview.update(news(bad, at_ms=NOW + 60_000))
    assert text(update.parts[before]) == "What needs eyes has changed: 1 new."
    assert update.say == "sms: no worker for 9 waiting jobs."
    assert text(update.parts[f"eye-{row_key(ref('sms'))}-title"]) == "no worker for 9 waiting jobs"
    again = Page(as_role("viewer").get("/"))
    (same,) = [node.attrs["id"] for node in again.all("data-part") if node.attrs["id"].startswith("eyes-changed")]
    assert same == before, "the page has read what the news of this test do not say"
    well = [told("sms", counts(completed=3)), told("mail", counts(completed=3))]
    back = overview.update(news(*well, at_ms=NOW + 120_000))
    assert text(back.parts[before]) == "What needs eyes has changed: 1 no longer does."
    assert back.say == "mail does not need eyes any more. sms does not need eyes any more."
    assert text(back.parts[f"eye-{row_key(ref('mail'))}"]) == "It does not need eyes any more."


def test_a_strip_that_flickers_is_not_told_each_time() -> None:
    overview = Overview("main")
    overview.update(news(told("mail", counts()), whole=True))
    said = [
        overview.update(news(told("mail", counts(waiting=n % 2)), at_ms=NOW + 500 * n)).say
        if n % 2
        else overview.update(news(told("mail", counts(waiting=1), workers=0), at_ms=NOW + 500 * n)).say
        for n in range(1, 20)
    ]
    assert len([each for each in said if each]) <= 2


def test_ages_in_pushed_parts_are_moments_that_do_not_change_with_the_clock() -> None:
    overview = Overview("main")
    waits = counts(waiting=2, oldest=Oldest(NOW - 600_000, False, NOW - 600_000))
    first = overview.update(news(told("mail", waits, workers=0), whole=True))
    later = overview.update(news(told("mail", waits, workers=0), at_ms=NOW + 5_000))
    key = row_key(ref("mail"))
    for name in (f"{key}-oldest", f"{key}-note", f"eye-{key}"):
        assert first.parts[name] == later.parts[name]
    assert 'data-time="age"' in first.parts[f"eye-{key}"]


def test_markup_in_the_name_of_a_queue_is_text_in_all_that_is_pushed_and_said() -> None:
    overview = Overview("main")
    name = '<img src=x onerror=window.__x=1>" hx-get="/'
    overview.update(news(told(name, counts()), whole=True))
    update = overview.update(news(told(name, counts(waiting=1), workers=0), at_ms=NOW + 60_000))
    assert update.say.startswith("<img"), "said as text, escaped by nobody because it never is markup"
    assert not [html for html in update.parts.values() if "<img" in html or "hx-get" in html]


# LS-08
def test_queues_of_one_name_under_two_prefixes_are_two_rows() -> None:
    a, b = QueueRef("main", b"tenant-a", b"emails"), QueueRef("main", b"tenant-b", b"emails")
    rows = [RowNews(queue, NOW, NOW, counts(waiting=n), 1) for n, queue in enumerate((a, b), start=1)]
    update = Overview("main").update(news(*rows, whole=True))
    found = [update.parts[f"{row_key(queue)}-waiting"] for queue in (a, b)]
    assert ['data-count="1"' in found[0], 'data-count="2"' in found[1]] == [True, True]


def test_a_queue_that_is_gone_leaves_the_sums() -> None:
    overview = Overview("main")
    gone = Counts({}, paused=False, exists=False)
    overview.update(news(told("mail", counts(waiting=3)), told("sms", counts(waiting=4)), whole=True))
    update = overview.update(news(told("mail", gone)))
    assert 'data-count="4"' in update.parts["total-waiting"]
    assert text(part(update, "note", "mail")) == "gone"


def test_news_of_a_blind_follower_and_of_others_change_nothing() -> None:
    overview = Overview("main")
    overview.update(news(told("mail", counts(waiting=3)), whole=True))
    assert overview.update(OverviewNews("main", Standing(Pulse.BLIND, NOW))).parts == {}
    assert overview.update(SourceNews("main", Standing(Pulse.LIVE, NOW))).parts == {}


@pytest.mark.parametrize("path", ["/", "/?name=mail", "/?sort=-failed"])
def test_every_part_of_a_page_has_an_id_of_its_own(source: SourceConfig, valkey: redis.Redis, path: str) -> None:
    seed_queue(valkey, "mail", waiting=3)
    discovery.scan("main")
    viewer: Client = as_role("viewer")
    ids = [node.attrs["id"] for node in Page(viewer.get(path)).all("data-part")]
    assert len(ids) == len(set(ids))


def test_a_queue_that_only_stands_behind_graver_ones_is_not_said_to_be_well() -> None:
    overview = Overview("main")
    names = ("a", "b", "c", "d")
    overview.update(news(*(told(name, counts(waiting=9 - n), workers=0) for n, name in enumerate(names)), whole=True))
    strip = eyes.unchanged("", [row_key(ref(name)) for name in "abc"])
    worse = counts(waiting=9, oldest=Oldest(NOW - 3_600_000, False, NOW - 3_600_000))
    update = overview.update(news(told("d", worse, workers=0), at_ms=NOW + 60_000))
    (name,) = re.findall(r'id="([^"]+)"', strip)
    assert text(update.parts[name]) == "What needs eyes has changed: 1 new."
    assert update.say == "d: no worker for 9 waiting jobs."
    assert text(update.parts[f"eye-{row_key(ref('c'))}-title"]) == "no worker for 7 waiting jobs"
