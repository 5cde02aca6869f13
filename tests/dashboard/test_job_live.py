"""The live page of a job: what news change, at which cost, and that pushes and the first render are the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
import redis

from dashboard.live.job import JobPage
from dashboard.live.update import Update
from queues import outages
from queues.errors import Unreachable
from queues.events import Event, EventKind
from queues.live import JobNews, Pulse, SourceNews, Standing
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import JobRef, QueueRef
from tests.dashboard.people import as_role
from tests.node import Node
from tests.seed import seed_job, seed_queue
from tests.valkey import RedisCommands, Server, eventually

pytestmark = pytest.mark.django_db

ADDRESS = "/queues/main/mail/jobs/7/"
LIVE = Standing(Pulse.LIVE, 0)
HOSTILE = "<script>window.__x=1</script><b>x</b><i hx-get=/x hx-trigger=load>\x1b[31mred\x1b[0m"


class Watched:
    """A job's page as the hub sees it: a second passes before each batch."""

    def __init__(self, ref: JobRef) -> None:
        self.ref = ref
        self.now = 100.0
        self.drawer = JobPage(ref, clock=lambda: self.now)
        self._sequence = 0

    def news(self, *kinds: EventKind, after: float = 1.0, **fields: object) -> Update:
        self.now += after
        return self.drawer.update(JobNews(self.ref, LIVE, [self.event(kind, **fields) for kind in kinds]))

    def event(self, kind: EventKind, **fields: object) -> Event:
        self._sequence += 1
        return Event(self.ref.queue, f"{now_ms()}-{self._sequence}", kind, job=self.ref.id, **fields)  # type: ignore[arg-type]


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> Iterator[QueueRef]:
    yield seed_queue(valkey, "mail")
    outages.forget("main")


@pytest.fixture
def active(mail: QueueRef, valkey: redis.Redis) -> Watched:
    """Job 7, which runs."""
    seed_job(valkey, mail, "7", processedOn=now_ms(), ats=1, opts='{"attempts":3}')
    valkey.lpush("bull:mail:active", "7")
    valkey.set("bull:mail:7:lock", "x", px=600_000)
    return Watched(JobRef(mail, b"7"))


def write(valkey: redis.Redis, *lines: str | bytes) -> None:
    valkey.rpush("bull:mail:7:logs", *lines)


def numbers(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'<li\s+value="(\d+)"', html)]


def test_the_first_news_draw_every_part_as_the_page_has_it(active: Watched, valkey: redis.Redis) -> None:
    valkey.hset("bull:mail:7", "progress", json.dumps({"msg": HOSTILE}))
    write(valkey, HOSTILE, "plain")
    page = as_role("viewer").get(ADDRESS).content.decode()
    update = active.news()
    for name, html in update.parts.items():
        assert html in page, name
    assert {"job-state", "job-timeline", "job-progress", "log-total", "job-changed"} <= set(update.parts)
    lines = re.findall(r"<li value.*?</li>", update.log, re.DOTALL)
    assert len(lines) == 2
    for line in lines:
        assert line in page


def test_markup_in_what_is_pushed_is_text(active: Watched, valkey: redis.Redis) -> None:
    active.news()
    write(valkey, HOSTILE)
    valkey.hset("bull:mail:7", mapping={"progress": json.dumps({"msg": HOSTILE}), "pb": HOSTILE})
    update = active.news(EventKind.PROGRESS)
    pushed = update.log + update.feed + "".join(update.parts.values())
    assert "&lt;script&gt;" in update.log
    assert "&lt;script&gt;" in update.parts["job-progress"]
    assert not re.search(r"<(script|b|i)\b", pushed.replace("<b>", "", pushed.count("</b><time")))
    assert "\x1b" not in pushed
    assert "[31m" not in update.log


def test_nothing_is_sent_when_nothing_changed(active: Watched, valkey: redis.Redis) -> None:
    write(valkey, "one")
    active.news()
    assert [active.news() for _second in range(3)] == [Update()] * 3


def test_a_second_without_events_costs_two_commands(
    active: Watched, valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    active.news()
    active.news()
    write(valkey, "one")
    with redis_commands(max=2):
        assert numbers(active.news().log) == [1]


def test_an_idle_job_is_looked_at_every_five_seconds(
    mail: QueueRef, valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    seed_job(valkey, mail, "7", processedOn=1, finishedOn=2)
    valkey.zadd("bull:mail:completed", {"7": 2})
    watched = Watched(JobRef(mail, b"7"))
    watched.news()
    watched.news(after=5)
    with redis_commands(max=2):
        for _second in range(5):
            watched.news()


# JD-11
def test_however_fast_events_come_the_job_is_read_twice_a_second(
    active: Watched, valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    active.news()
    with redis_commands(max=30):
        active.news(EventKind.PROGRESS)
    valkey.hset("bull:mail:7", "progress", "99")
    with redis_commands(max=2):
        for _event in range(20):
            active.news(EventKind.PROGRESS, after=0.01)
    assert 'value="99' in active.news(after=0.5).parts["job-progress"]


# JD-11
@pytest.mark.parametrize(
    ("progress", "shown", "bar"),
    [("250", "250", False), ("-5", "-5", False), ("33.3333333", "33.3", True), ('{"done":3,"total":9}', "33.3", True),
     ('{"progress":70}', "70", True), ("[1,2]", "[1,2]", False), ('"loading <b>x</b>"', "loading &lt;b&gt;", False),
     ("true", "true", False), ("null", "null", False), ("", "", False)],
)  # fmt: skip
def test_progress_of_every_shape_is_pushed(
    active: Watched, valkey: redis.Redis, progress: str, shown: str, bar: bool
) -> None:
    valkey.hset("bull:mail:7", "progress", "1")
    active.news()
    valkey.hset("bull:mail:7", "progress", progress)
    part = active.news(EventKind.PROGRESS).parts["job-progress"]
    assert shown in part
    assert ("<progress" in part) is bar
    assert "NaN" not in part


def test_a_state_that_changed_is_drawn_and_said_once(active: Watched, valkey: redis.Redis) -> None:
    assert active.news().say == ""
    valkey.lrem("bull:mail:active", 0, "7")
    valkey.zadd("bull:mail:completed", {"7": 1})
    valkey.hset("bull:mail:7", mapping={"finishedOn": now_ms(), "atm": 1, "returnvalue": "1"})
    update = active.news(EventKind.COMPLETED)
    assert update.say == "Completed"
    assert "s-completed" in update.parts["job-state"]
    assert "Completed" in update.parts["job-timeline"]
    assert update.entries == 1
    assert 'data-kind="completed"' in update.feed
    assert active.news().say == ""


def test_progress_is_no_entry_of_the_feed_and_is_not_said(active: Watched) -> None:
    active.news()
    update = active.news(EventKind.PROGRESS)
    assert (update.feed, update.entries, update.say) == ("", 0, "")


def test_the_version_of_the_bodies_changes_with_them_alone(active: Watched, valkey: redis.Redis) -> None:
    active.news()
    valkey.hset("bull:mail:7", "progress", "50")
    assert "job-changed" not in active.news(EventKind.PROGRESS).parts
    valkey.hset("bull:mail:7", "failedReason", "no route")
    changed = active.news(EventKind.DELAYED).parts["job-changed"]
    assert changed in as_role("viewer").get(ADDRESS).content.decode()


def test_a_change_without_an_event_is_seen(active: Watched, valkey: redis.Redis) -> None:
    active.news()
    valkey.hset("bull:mail:7", "ats", 2)
    assert "Active, attempt 2" in active.news().parts["job-state"]
    assert not active.news().parts


def test_attempts_are_told_as_they_happen(active: Watched, valkey: redis.Redis) -> None:
    active.news()
    valkey.lrem("bull:mail:active", 0, "7")
    valkey.zadd("bull:mail:delayed", {"7": (now_ms() + 60_000) * 4096})
    valkey.hset("bull:mail:7", mapping={"atm": 1, "failedReason": "ETIMEDOUT"})
    update = active.news(EventKind.DELAYED, run_at_ms=now_ms() + 60_000)
    assert "retries in" in update.feed
    assert "going on" in update.parts["job-timeline"]
    assert "Attempt 1" in update.parts["job-timeline"]


def test_log_lines_come_once_and_keep_their_numbers(active: Watched, valkey: redis.Redis) -> None:
    write(valkey, *(f"line {n}" for n in range(1, 131)))
    assert numbers(active.news().log) == list(range(101, 131)), "what the page has, and what came since it was read"
    write(valkey, "a", "b")
    update = active.news()
    assert numbers(update.log) == [131, 132]
    assert "132 lines" in update.parts["log-total"]
    assert active.news().log == ""


# JD-14
def test_a_flood_of_lines_is_cut_to_its_end(
    active: Watched, valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    write(valkey, "first")
    active.news()
    write(valkey, *(f"line {n}" for n in range(2, 1342)))
    with redis_commands(max=3):
        update = active.news()
    assert numbers(update.log) == [1242, *range(1243, 1342)]
    assert "1,241 lines left out" in update.log
    write(valkey, "after")
    assert numbers(active.news().log) == [1342]


@pytest.mark.parametrize("more", [97, 98, 99, 100, 101])
def test_no_line_is_lost_about_the_most_that_comes_at_once(active: Watched, valkey: redis.Redis, more: int) -> None:
    write(valkey, "x", "y", "z")
    active.news()
    write(valkey, *(f"line {n}" for n in range(more)))
    log = active.news().log
    found = numbers(log)
    assert len(found) <= 100
    if "left out" in log:
        assert f"{more - 99} line" in log
        assert found == [3 + more - 99, *range(4 + more - 99, 4 + more)]
    else:
        assert found == list(range(4, 4 + more))


# JD-14
def test_a_log_that_keeps_its_last_lines_only_says_that_it_was_cut(active: Watched, valkey: redis.Redis) -> None:
    write(valkey, *(f"line {n}" for n in range(10)))
    page_read = now_ms()
    assert 'data-cut=""' in active.news().parts["log-note"]
    write(valkey, "line 10", "line 11")
    valkey.ltrim("bull:mail:7:logs", -10, -1)
    update = active.news()
    assert update.log == ""
    cut = re.search(r'data-cut="(\d+)"', update.parts["log-note"])
    assert cut is not None
    assert int(cut[1]) >= page_read


def test_a_log_that_was_cleared_goes_on_with_its_own_numbers(active: Watched, valkey: redis.Redis) -> None:
    write(valkey, *(f"line {n}" for n in range(10)))
    active.news()
    valkey.delete("bull:mail:7:logs")
    update = active.news()
    assert "none" in update.parts["log-total"]
    assert 'data-cut="1' in update.parts["log-note"]
    write(valkey, "anew")
    assert numbers(active.news().log) == [1]


def test_a_job_that_is_removed_ends_with_its_last_snapshot(active: Watched, valkey: redis.Redis) -> None:
    active.news()
    valkey.delete("bull:mail:7", "bull:mail:active")
    update = active.news(EventKind.REMOVED)
    assert "Removed at" in update.parts["job-removed"]
    assert "as of" in update.parts["job-removed"]
    assert "job-state" not in update.parts, "the page keeps what it has"
    assert update.say == "The job was removed."
    assert active.news() == Update()


def test_a_job_that_is_removed_when_it_ends_says_how_it_ended(active: Watched, valkey: redis.Redis) -> None:
    active.news()
    valkey.delete("bull:mail:7", "bull:mail:active")
    update = active.news(EventKind.COMPLETED)
    assert "It had completed." in update.parts["job-removed"]
    assert 'data-kind="completed"' in update.feed


def test_a_job_that_vanishes_without_an_event_is_found_gone(active: Watched, valkey: redis.Redis) -> None:
    active.news()
    valkey.delete("bull:mail:7", "bull:mail:active")
    assert "Removed at" in active.news().parts["job-removed"]


def test_events_are_not_lost_while_the_source_does_not_answer(
    active: Watched, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    active.news()
    with monkeypatch.context() as patch:
        patch.setattr("queues.backends.bullmq.reader.jobs.read", _down)
        with pytest.raises(Unreachable):
            active.news(EventKind.STALLED)
    outages.forget("main")
    assert "stalled, lock lost" in active.news().feed


def _down(*_asked: object) -> None:
    raise Unreachable("It does not answer.", source="main")


# LV-05
def test_a_job_that_failed_by_stalling_is_explained_while_it_is_watched(active: Watched, valkey: redis.Redis) -> None:
    active.news()
    valkey.lrem("bull:mail:active", 0, "7")
    valkey.zadd("bull:mail:failed", {"7": 1})
    reason = "job stalled more than allowable limit"
    valkey.hset("bull:mail:7", mapping={"failedReason": reason, "finishedOn": now_ms(), "atm": 1})
    update = active.news(EventKind.STALLED, EventKind.ACTIVE, EventKind.FAILED)
    assert "whatever attempts it has left" in update.parts["job-state"]
    assert update.entries == 3


def test_a_job_that_was_never_there_is_gone_at_once(mail: QueueRef) -> None:
    update = Watched(JobRef(mail, b"no such")).news()
    assert "Removed at" in update.parts["job-removed"]
    assert "as of" not in update.parts["job-removed"]


def test_of_very_many_events_at_once_the_newest_are_shown(active: Watched) -> None:
    update = active.news(*[EventKind.STALLED] * 60)
    assert update.feed.count("<li ") == update.entries == 50


def test_other_news_change_nothing(active: Watched) -> None:
    assert active.drawer.update(SourceNews("main", LIVE)) == Update()


@pytest.mark.node
def test_a_real_worker_is_followed_from_wait_to_its_end(
    mail: QueueRef, valkey: redis.Redis, valkey_server: Server, node: Node
) -> None:
    node.run(
        """
        keep.go = {};
        const q = queue(6, "mail");
        worker(6, "mail", async (job) => {
            await job.log("begun <b>");
            await job.updateProgress({ done: 3, total: 9 });
            await new Promise((resolve) => { keep.go.on = resolve; });
            await job.log("done");
            return 1;
        });
        await q.add("send", {}, { jobId: "a7" });
        await until(() => keep.go.on);
        """,
        url=valkey_server.url,
    )
    watched = Watched(JobRef(mail, b"a7"))
    update = watched.news()
    assert "Active, attempt 1" in update.parts["job-state"]
    assert "33.3" in update.parts["job-progress"]
    node.run("keep.go.on()", url=valkey_server.url)
    eventually(lambda: valkey.zcard("bull:mail:completed"))
    update = watched.news(EventKind.COMPLETED)
    assert update.say == "Completed"
    assert numbers(update.log) == [2]
