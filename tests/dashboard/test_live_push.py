"""What sockets are told: once drawn, the newest state, only what changed, and never more than fits."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.conf import LazySettings

from dashboard.live import drawers, hub, pulse
from dashboard.live.update import Update
from queues import entered, interest
from queues.errors import Unreachable
from queues.live import About, News, OverviewNews, Pulse, QueueNews, Topic
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import QueueRef, State
from tests.dashboard.people import person, signed_in
from tests.dashboard.sockets import (
    PATIENCE_S,
    Socket,
    overview,
    overview_news,
    parts_of,
    queue_news,
    row,
    source_news,
    tell,
    told_when_listening,
    unnumbered,
)

pytestmark = pytest.mark.django_db(transaction=True)

LONG = 1_000


def key_of(name: bytes) -> str:
    return f"q-{name.hex():0>10}"[:12]


class Plain:
    """Draws the number of waiting jobs, a letter of the alphabet for each queue; the feed says what happened."""

    drawn = 0
    pause_s = 0.0

    def __init__(self, subject: object) -> None:
        self.subject = subject

    def update(self, news: News) -> Update:
        time.sleep(self.pause_s)
        type(self).drawn += 1
        if isinstance(news, OverviewNews):
            parts = {f"{key_of(each.ref.name)}-wait": f"<i>{each.counts[State.WAITING]}</i>" for each in news.rows}
            return Update(parts, {key_of(each.ref.name): each.changed_ms for each in news.rows})
        assert isinstance(news, QueueNews)
        parts = {f"part-{number}": "x" * LONG + str(news.total) for number in range(news.total if news.row else 0)}
        shown = min(news.total, 20)
        return Update(
            parts,
            feed="<li></li>" * shown,
            entries=shown,
            entered={state.value: number for state, number in news.entered.items()},
            upto=news.upto if news.entered else "",
        )


@pytest.fixture(autouse=True)
def drawn_plainly(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://none"), SourceConfig("other", "redis://none"))
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}  # an empty one
    settings.ALLOWED_HOSTS = ["testserver"]
    name = f"{__name__}.Plain"
    monkeypatch.setattr(drawers, "DRAWERS", {About.OVERVIEW: name, About.QUEUE: name, About.JOB: name})
    monkeypatch.setattr(Plain, "drawn", 0)
    monkeypatch.setattr(Plain, "pause_s", 0.0)
    interest.LOCAL.clear()


async def opened(message: Mapping[str, Any]) -> Socket:
    session = await sync_to_async(lambda: signed_in(person("viewer")).session.session_key)()
    socket = Socket(session or "")
    assert await socket.opened()
    await socket.send(message)
    return socket


def queue(name: str = "orders", after: str = "") -> dict[str, Any]:
    watch = {"page": "queue", "sources": ["main"], "queue": name, "read": now_ms(), "after": after}
    return {"watch": watch}


def showing(*names: bytes) -> dict[str, Any]:
    return {**overview(), "rows": [key_of(name) for name in names]}


async def parts_text(socket: Socket) -> str:
    """The next frame with parts, as it was sent."""
    while "parts" not in (text := await socket.text()):
        await socket.send({"ack": json.loads(text)["n"]})
    return text


async def test_a_batch_is_drawn_once_and_every_socket_gets_the_same_text() -> None:
    sockets = [await opened(showing(b"a")) for _each in range(5)]
    await told_when_listening(overview_news(row("a", waiting=1)))
    texts = [await parts_text(socket) for socket in sockets]
    assert len({unnumbered(text) for text in texts}) == 1
    assert Plain.drawn == 1
    for socket in sockets:
        await socket.gone()


async def test_only_what_changed_is_told_and_only_of_rows_that_are_shown() -> None:
    socket = await opened(showing(b"a", b"b"))
    await told_when_listening(overview_news(row("a", waiting=1), row("b", waiting=1), row("c", waiting=1)))
    first = parts_of(await socket.until("parts"))
    assert set(first) == {f"{key_of(b'a')}-wait", f"{key_of(b'b')}-wait"}
    await tell(overview_news(row("a", waiting=1), row("b", waiting=2), row("c", waiting=2)))
    assert parts_of(await socket.until("parts")) == {f"{key_of(b'b')}-wait": "<i>2</i>"}
    await socket.gone()


async def test_a_row_that_comes_into_view_is_told_as_it_is_now() -> None:
    socket = await opened(showing(b"a"))
    await told_when_listening(overview_news(row("a", waiting=1), row("c", waiting=7)))
    await socket.until("parts")
    await socket.send({"rows": [key_of(b"c")]})
    assert parts_of(await socket.until("parts")) == {f"{key_of(b'c')}-wait": "<i>7</i>"}
    await socket.gone()


async def test_what_a_page_was_read_with_is_not_told_again() -> None:
    socket = await opened(showing(b"a", b"b"))
    long_ago = row("a", waiting=1, changed_ms=now_ms() - 60_000)
    await told_when_listening(overview_news(long_ago, row("b", waiting=1), whole=True))
    assert set(parts_of(await socket.until("parts"))) == {f"{key_of(b'b')}-wait"}
    await socket.gone()


async def test_who_comes_later_gets_what_changed_since_its_page_was_read() -> None:
    first = await opened(showing(b"a"))
    await told_when_listening(overview_news(row("a", waiting=1)))
    await first.until("parts")
    second = await opened(showing(b"a"))
    assert parts_of(await second.until("parts")) == {f"{key_of(b'a')}-wait": "<i>1</i>"}
    for socket in (first, second):
        await socket.gone()


# LV-03
async def test_a_slow_browser_gets_the_newest_state_and_no_backlog() -> None:
    socket = await opened(showing(b"a"))
    quick = await opened(showing(b"a"))
    await told_when_listening(overview_news(row("a", waiting=0)))
    unacknowledged = [json.loads(await socket.text()) for _frame in range(2)]
    for number in range(1, 30):
        await tell(overview_news(row("a", waiting=number)))
    while parts_of(await quick.frame()).get(f"{key_of(b'a')}-wait") != "<i>29</i>":
        pass
    assert await socket._wire.receive_nothing(0.5)
    await socket.send({"ack": unacknowledged[-1]["n"]})
    assert parts_of(await socket.frame()) == {f"{key_of(b'a')}-wait": "<i>29</i>"}
    for each in (socket, quick):
        await each.gone()


async def test_news_that_come_faster_than_they_are_drawn_are_drawn_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plain, "pause_s", 1.0)
    socket = await opened(showing(b"a", b"b"))
    await told_when_listening(overview_news(row("a", waiting=1)))
    for number in range(2, 20):
        await tell(overview_news(row("a", waiting=number), row("b", waiting=number)))
    seen: dict[str, str] = {}
    async with asyncio.timeout(PATIENCE_S):
        while seen != {f"{key_of(b'a')}-wait": "<i>19</i>", f"{key_of(b'b')}-wait": "<i>19</i>"}:
            seen |= parts_of(await socket.frame())
    assert Plain.drawn <= 3
    await socket.gone()


# JD-05
async def test_a_frame_holds_64_kb_of_parts_and_the_next_has_the_rest() -> None:
    socket = await opened(queue())
    row_news = row("orders", waiting=1)
    await told_when_listening(queue_news("orders", total=150, row=row_news))
    seen: dict[str, str] = {}
    frames = 0
    async with asyncio.timeout(PATIENCE_S):
        while len(seen) < 150:
            text = await socket.text()
            assert len(text) < 128 * 1024
            assert sum(map(len, parts_of(json.loads(text)).values())) <= 64 * 1024
            seen |= parts_of(json.loads(text))
            frames += bool(parts_of(json.loads(text)))
            await socket.send({"ack": json.loads(text)["n"]})
    assert frames == 3
    await socket.gone()


async def test_a_slow_page_gets_the_newest_entries_of_the_feed_and_no_backlog() -> None:
    socket = await opened(queue())
    await told_when_listening(source_news())
    unacknowledged = [json.loads(await socket.text()) for _frame in range(2)]
    assert not any("feed" in frame for frame in unacknowledged)
    for _batch in range(5):
        await tell(queue_news("orders", total=1_000))
        await asyncio.sleep(0.05)
    async with asyncio.timeout(PATIENCE_S):
        while Plain.drawn == 0 or hub.hub()._boards[Topic(About.QUEUE, "main", "orders"), "en"].drawing:
            await asyncio.sleep(0.01)
    await socket.send({"ack": unacknowledged[-1]["n"]})
    frame = await socket.until("feed")
    assert frame["feed"].count("<li>") == 40
    await socket.gone()


async def test_what_entered_is_counted_from_the_last_event_of_each_page(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def since(ref: QueueRef, after: str, upto: str) -> dict[State, int]:
        asked.append((ref.slug, after, upto))
        if after == "2-0":
            raise Unreachable("no", source="main")
        return {State.FAILED: 30}

    monkeypatch.setattr(entered, "since", since)
    known, unknown, failing = [await opened(queue(after=after)) for after in ("1-0", "", "2-0")]
    await told_when_listening(queue_news("orders", entered={State.FAILED: 100}, upto="5-0"))
    assert (await known.until("entered"))["entered"] == {"failed": 30}
    await tell(queue_news("orders", entered={State.FAILED: 107, State.ACTIVE: 1}, upto="9-0"))
    for socket, failed in ((known, 37), (unknown, 7), (failing, 7)):
        assert (await socket.until("entered"))["entered"] == {"active": 1, "failed": failed}
    assert sorted(asked) == [("orders", "1-0", "5-0"), ("orders", "2-0", "5-0")]
    # Another follower begins at zero.
    await tell(queue_news("orders", entered={State.FAILED: 2}, upto="10-0"))
    assert (await known.until("entered"))["entered"] == {"active": 1, "failed": 39}
    for socket in (known, unknown, failing):
        await socket.gone()


# LV-04
async def test_a_page_hears_something_while_nothing_happens() -> None:
    socket = await opened(overview())
    await told_when_listening(source_news())
    numbers = [(await socket.frame())["n"] for _beat in range(3)]
    assert numbers == sorted(set(numbers))
    await socket.gone()


# LV-04
async def test_a_silent_follower_is_said_and_since_when(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "SILENT_S", 1.0)
    before = now_ms()
    socket = await opened(overview())
    frame = await socket.frame()
    assert (frame["pulse"], frame["at"]) == ("blind", None)
    await told_when_listening(source_news())
    while (frame := await socket.frame())["pulse"] != "live":
        pass
    assert "since" not in frame
    frame = await socket.until("since")
    assert frame["pulse"] == "blind"
    assert before <= frame["since"] <= now_ms()
    assert frame["at"] <= frame["since"]
    assert frame["why"]
    await socket.gone()


async def test_after_news_were_missed_all_that_is_drawn_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MISSED_S", 0.5)
    socket = await opened(showing(b"a"))
    await told_when_listening(overview_news(row("a", waiting=1)))
    told = parts_of(await socket.until("parts"))
    # The page has read itself anew meanwhile, when it looked otherwise.
    await asyncio.sleep(0.6)
    await tell(overview_news(row("a", waiting=1)))
    assert parts_of(await socket.until("parts")) == told
    await socket.gone()


async def test_several_sources_stand_as_the_worst_of_them() -> None:
    socket = await opened(overview("main", "other"))
    await told_when_listening(source_news("main"), source_news("other", Pulse.CATCHING_UP))
    frame = await socket.frame()
    assert (frame["pulse"], frame["rate"]) == ("catching-up", 3.0)
    await socket.gone()


async def test_interest_is_told_while_somebody_watches() -> None:
    socket = await opened(queue())
    wanted = Topic(About.QUEUE, "main", "orders")
    async with asyncio.timeout(PATIENCE_S):
        while wanted not in interest.watched("main"):
            await asyncio.sleep(0.01)
    await socket.gone()


# LV-03
async def test_a_layer_that_forgets_is_joined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from dashboard.live import listening

    monkeypatch.setattr(listening, "RENEW_S", 0.1)
    monkeypatch.setattr(listening, "AGAIN_S", 0.1)
    socket = await opened(overview())
    await told_when_listening(source_news())
    layer: Any = get_channel_layer()
    layer.groups.clear()
    await told_when_listening(source_news(pulse=Pulse.CATCHING_UP))
    async with asyncio.timeout(PATIENCE_S):
        while (await socket.frame())["pulse"] != "catching-up":
            pass
    await socket.gone()


async def test_messages_that_make_no_sense_are_passed_over() -> None:
    from dashboard.live.groups import group

    socket = await opened(overview())
    await told_when_listening(source_news())
    layer: Any = get_channel_layer()
    for odd in ({"type": "live.news"}, {"type": "live.news", "news": [1]}, {"type": "live.news", "news": [99, "x"]}):
        await layer.group_send(group(Topic(About.OVERVIEW, "main")), odd)
    await tell(source_news(pulse=Pulse.CATCHING_UP))
    async with asyncio.timeout(PATIENCE_S):
        while (await socket.frame())["pulse"] != "catching-up":
            pass
    await socket.gone()


async def test_a_drawer_that_fails_is_logged_and_draws_the_next_batch(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = Plain.update

    def update(self: Plain, news: News) -> Update:
        if isinstance(news, OverviewNews) and not news.rows:
            raise ZeroDivisionError
        return whole(self, news)

    monkeypatch.setattr(Plain, "update", update)
    socket = await opened(showing(b"a"))
    await told_when_listening(overview_news())
    async with asyncio.timeout(PATIENCE_S):
        while "could not be drawn" not in caplog.text:
            await asyncio.sleep(0.01)
    await tell(overview_news(row("a", waiting=1)))
    assert parts_of(await socket.until("parts"))
    await socket.gone()


async def test_the_hub_ends_when_nobody_was_there_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "IDLE_S", 0.1)
    socket = await opened(overview())
    await told_when_listening(source_news())
    await socket.frame()
    first = hub.hub()
    await socket.gone()
    async with asyncio.timeout(PATIENCE_S):
        while not first._keeper.done():
            await asyncio.sleep(0.01)
    assert not first._boards
    socket = await opened(overview())
    assert hub.hub() is not first
    await socket.gone()
