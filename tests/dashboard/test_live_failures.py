"""What is pushed to pages of failures: the bytes of their first render, only what somebody shows, and what is new."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from dashboard.live.failures import Failures
from dashboard.live.update import Update
from queues import registry
from queues.audit import Actor, Asked
from queues.failures import life, merging
from queues.failures.types import Kind, Life
from queues.live import FailuresNews, Pulse, SourceNews, Standing
from queues.models import FailureGroup, FailureStrand, IndexedQueue, Indexing
from queues.quantities import DAY, now_ms
from queues.registry import SourceConfig
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person, signed_in
from tests.dashboard.sockets import PATIENCE_S, Socket, parts_of, standing, tell
from tests.failing import indexing, make_group

pytestmark = pytest.mark.django_db

ADA = Asked(Actor("ada", "admin"))
HOSTILE = '"><script>window.__x=1</script>\u202e\x1b[31m{{ 7|add:1 }}'


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def nowhere(settings: LazySettings) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://127.0.0.1:1/0"),)
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}  # an empty one
    registry.forget()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


def news(*slugs: str, source: str = "main", fresh: int = 0, whole: bool = False, **more: Any) -> FailuresNews:
    pulse = more.pop("pulse", Pulse.LIVE)
    return FailuresNews(source, Standing(pulse, more.pop("at_ms", now_ms())), slugs, fresh, None, whole)


def read(client: Client, path: str = "/failures/") -> Page:
    answer = client.get(path)
    assert answer.status_code == 200
    return Page(answer)


def rows_of(page: Page) -> set[str]:
    return {node.attrs["data-row"] for node in page.all("data-row")}


def shown(drawer: Failures, page: Page, *slugs: str, **more: Any) -> Update:
    """What a batch pushes to a page."""
    drawer.show(rows_of(page))
    return drawer.update(news(*slugs, **more))


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def unaged(html: str) -> str:
    """Without words that grow older while a test runs."""
    return re.sub(r'(data-time="age">)[^<]*', r"\1", html)


def parts_on(page: Page) -> set[str]:
    """But for those of the shell around every page."""
    shell = {"rail-main", "top-main", "replays-running-rail", "replays-running-top"}
    return {node.attrs["id"] for node in page.all("data-part")} - shell


@pytest.mark.parametrize("query", ["", "?state=all&class=transient", "?state=resolved", "?sort=-last&page=2"])
def test_what_is_pushed_to_a_list_is_what_it_was_rendered_with(viewer: Client, query: str) -> None:
    indexing(queues=["payments"])
    for number in range(60):
        make_group(title=f"E{number}", life=list(Life)[number % 4], kind=list(Kind)[number % 3], usual=2, total=9)
    page = read(viewer, f"/failures/{query}")
    update = shown(Failures("main"), page)
    assert parts_on(page) <= update.parts.keys()
    assert {name for name in parts_on(page) if update.parts[name] not in page.source} == set()


@pytest.mark.parametrize("state", [Life.OPEN, Life.REGRESSED, Life.IGNORED, Life.RESOLVED])
def test_what_is_pushed_to_the_page_of_a_group_is_what_it_was_rendered_with(viewer: Client, state: Life) -> None:
    indexing(queues=["payments", "mail"])
    group = make_group(queues=["payments", "mail"], life=state, failures=7, usual=1.5, first_ms=now_ms() - 20 * DAY)
    page = read(viewer, f"/failures/{group.slug}/?span=24h")
    drawer = Failures("main")
    drawer.show(rows_of(page))
    update = drawer.update(news(at_ms=now_ms()))
    ours = parts_on(page)
    assert ours <= update.parts.keys()
    source = unaged(page.source)
    assert {name for name in ours if unaged(update.parts[name]) not in source} == set()


def test_a_group_that_fails_again_moves_its_row_and_the_sums_and_no_other(viewer: Client) -> None:
    indexing(queues=["payments"])
    moved, still = make_group(title="one"), make_group(title="two")
    page, drawer = read(viewer), Failures("main")
    shown(drawer, page)
    FailureStrand.objects.filter(group=moved).update(h1=2_000, d7=2_500)
    FailureStrand.objects.filter(group=still).update(h1=99)
    update = shown(drawer, page, moved.slug)
    assert text(update.parts[f"fg-{moved.slug}-h1"]) == "2,000"
    assert text(update.parts["fs.open.any-h1"]) == "2,001"
    assert "99% of the last hour" in text(update.parts["fs.open.any-lede"])
    assert not [name for name in update.parts if still.slug in name]


def test_only_rows_that_somebody_shows_are_drawn() -> None:
    groups = [make_group(title=f"E{number}") for number in range(5)]
    drawer = Failures("main")
    drawer.show([f"fg-{groups[0].slug}"])
    update = drawer.update(news(whole=True))
    assert {name.rpartition("-")[0] for name in update.parts if name.startswith("fg")} == {f"fg-{groups[0].slug}"}


def test_a_row_that_comes_into_view_is_drawn_though_nothing_changed() -> None:
    indexing()
    first, second = make_group(title="one"), make_group(title="two")
    drawer = Failures("main")
    drawer.show([f"fg-{first.slug}"])
    drawer.update(news())
    drawer.show([f"fg-{first.slug}", f"fg-{second.slug}"])
    update = drawer.update(news())
    assert f"fg-{second.slug}-h1" in update.parts
    assert f"fg-{first.slug}-h1" not in update.parts


def test_nothing_is_asked_of_the_database_when_nothing_changed(
    viewer: Client, clock: Clock, django_assert_num_queries: Any
) -> None:
    indexing(queues=["payments"])
    make_group()
    page, drawer = read(viewer), Failures("main", clock)
    shown(drawer, page)
    with django_assert_num_queries(0):
        assert shown(drawer, page).parts == {}


def test_a_batch_costs_the_same_queries_whoever_watches(clock: Clock, django_assert_max_num_queries: Any) -> None:
    indexing(queues=["payments"])
    groups = [make_group(title=f"E{number}") for number in range(40)]
    drawer = Failures("main", clock)
    drawer.update(news())
    rows = [f"{kind}-{group.slug}" for group in groups for kind in ("fg", "fp")]
    drawer.show([*rows, "fs.open.any", "fs.all.any", "fs.all.transient", "fn.0.0", "fn.1.1"])
    clock.now += 60
    with django_assert_max_num_queries(9):
        drawer.update(news(*(group.slug for group in groups)))


def test_groups_that_came_after_a_list_was_read_are_counted_for_it(viewer: Client) -> None:
    indexing(queues=["payments"])
    make_group(title="old")
    page, drawer = read(viewer), Failures("main")
    (key,) = [row for row in rows_of(page) if row.startswith("fn")]
    assert text(shown(drawer, page).parts[f"{key}-n"]) == ""
    make_group(title="ignored", life=Life.IGNORED)
    slugs = [make_group(title=title).slug for title in ("new", "newer")]
    update = shown(drawer, page, *slugs, fresh=2)
    assert text(update.parts[f"{key}-n"]) == "2 new groups"
    assert update.say == "2 new groups of failures"
    assert text(update.parts["open-groups-rail"]) == "3 open"
    again = read(viewer)
    assert text(shown(drawer, again, whole=True).parts[f"{key.split('.')[0]}.{_newest(again)}-n"]) == ""


def _newest(page: Page) -> str:
    (key,) = [row for row in rows_of(page) if row.startswith("fn")]
    return key.partition(".")[2]


def test_a_group_that_came_back_is_counted_and_its_page_says_so(viewer: Client) -> None:
    indexing(queues=["payments"])
    group = make_group(life=Life.RESOLVED)
    page, about, drawer = read(viewer), read(viewer, f"/failures/{group.slug}/"), Failures("main")
    (key,) = [row for row in rows_of(page) if row.startswith("fn")]
    drawer.show(rows_of(page) | rows_of(about))
    drawer.update(news())
    FailureGroup.objects.update(life=Life.REGRESSED, regressed_ms=now_ms())
    update = drawer.update(news(group.slug, fresh=1))
    assert text(update.parts[f"{key}-n"]) == "1 came back"
    assert text(update.parts[f"fp-{group.slug}-life"]) == "regressed"
    assert text(update.parts[f"fp-{group.slug}-moved.resolved"]) == "It is regressed now."
    assert text(update.parts[f"fp-{group.slug}-moved.regressed"]) == ""


def test_of_a_group_that_went_into_another_nothing_is_claimed(clock: Clock) -> None:
    indexing(queues=["payments"])
    kept, gone = make_group(title="one"), make_group(title="two")
    drawer = Failures("main", clock)
    drawer.show([f"fg-{gone.slug}", f"fp-{gone.slug}", f"fg-{kept.slug}"])
    drawer.update(news())
    merging.merge(ADA, kept, [gone])
    clock.now += 10
    update = drawer.update(news())
    assert text(update.parts[f"fg-{gone.slug}-h1"]) == "–"
    assert text(update.parts[f"fp-{gone.slug}-moved.open"]) == "It is part of another group now, or gone."
    assert text(update.parts[f"fg-{kept.slug}-h1"]) == "2"


def test_what_people_do_is_seen_though_no_news_tell_of_it(viewer: Client, clock: Clock) -> None:
    indexing(queues=["payments"])
    group = make_group()
    page, drawer = read(viewer), Failures("main", clock)
    shown(drawer, page)
    life.resolve(ADA, group)
    assert shown(drawer, page).parts == {}
    clock.now += 10
    update = shown(drawer, page)
    assert text(update.parts[f"fg-{group.slug}-life"]) == "resolved"
    assert text(update.parts["fs.open.any-state.resolved"]) == "1"


def test_how_far_the_index_reads_and_that_it_cannot_is_pushed(viewer: Client, clock: Clock) -> None:
    indexing(queues=["payments"])
    IndexedQueue.objects.update(scanning=True, scanned=10, expected=2_000)
    make_group()
    page, drawer = read(viewer), Failures("main", clock)
    assert "10 of 2,000 so far" in text(shown(drawer, page).parts["fs.open.any-index"])
    IndexedQueue.objects.update(scanned=1_500)
    clock.now += 6
    assert "1,500 of 2,000 so far" in text(shown(drawer, page).parts["fs.open.any-index"])
    IndexedQueue.objects.update(scanning=False)
    Indexing.objects.update(why="<b>gone</b>")
    update = shown(drawer, page, pulse=Pulse.BLIND)
    assert "The failures of main cannot be read now. &lt;b&gt;gone&lt;/b&gt;" in text(update.parts["fs.open.any-index"])
    assert "As of" in text(update.parts["fs.open.any-lede"])
    Indexing.objects.update(why="", beat_at=timezone.now() - timedelta(minutes=5))
    clock.now += 6
    assert "Nobody reads the failures of main now." in text(shown(drawer, page).parts["fs.open.any-index"])


def test_what_was_pushed_is_inert(viewer: Client, clock: Clock) -> None:
    indexing(queues=["payments"])
    IndexedQueue.objects.update(scanning=True, scanned=10, expected=2_000)
    group = make_group(title=HOSTILE, queues=[HOSTILE], names=[HOSTILE])
    about = read(viewer, f"/failures/{group.slug}/")
    drawer = Failures("main", clock)
    drawer.show(rows_of(about) | rows_of(read(viewer)))
    update = drawer.update(news(group.slug, fresh=1))
    pushed = "".join(update.parts.values()) + update.say
    assert not re.search(r"<(a|script|form|input|button|style)\b|\s(on\w+|hx-\w+|style|src)=", pushed)
    assert "window.__x" not in pushed


def test_a_chart_is_drawn_anew_each_minute_one_at_a_time(viewer: Client) -> None:
    indexing(queues=["payments"])
    groups = [make_group(title=f"E{number}") for number in range(3)]
    drawer = Failures("main")
    drawer.show([f"fc-{group.slug}.3h" for group in groups] + ["fc-nosuch.3h", f"fc-{groups[0].slug}.9h"])
    at_ms = now_ms()
    drawn = [drawer.update(news(at_ms=at_ms)).parts.keys() for _batch in range(5)]
    found = [name for names in drawn for name in names if name.startswith("fc-")]
    assert sorted(found) == sorted(f"fc-{group.slug}.3h-drawn" for group in groups)
    assert max(len([name for name in names if name.startswith("fc-")]) for names in drawn) == 1
    assert any(name.startswith("fc-") for name in drawer.update(news(at_ms=at_ms + 60_000)).parts)


def test_a_narrowed_list_shows_its_own_counts_and_is_told_to_read_itself_anew(viewer: Client) -> None:
    indexing(queues=["a", "b"])
    group = make_group(queues=["a", "b"], counts=[10, 10, 10, 10, 10])
    page, drawer = read(viewer, "/failures/?queue=a"), Failures("main")
    (live,) = page.all("id", "live")
    assert "data-again" in live.attrs
    assert f"fx-{group.slug}-h1" in parts_on(page)
    before = shown(drawer, page, group.slug).parts
    after = shown(drawer, page, group.slug).parts
    assert not [name for name in after if name.startswith(("fg", "fs"))]
    assert before["fx-beat"] != after["fx-beat"]
    assert "fx-beat" in parts_on(page)


def test_sums_of_several_sources_wait_for_all_of_them(settings: LazySettings, viewer: Client) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://none"), SourceConfig("other", "redis://none"))
    registry.forget()
    indexing("main", queues=["payments"])
    indexing("other", queues=["mail"])
    make_group("main", title="one", counts=[1, 1, 1, 1, 1])
    theirs = make_group("other", title="two", queues=["mail"], counts=[5, 5, 5, 5, 5])
    page, mine = read(viewer), read(viewer, "/failures/?source=main")
    main, other = Failures("main"), Failures("other")
    rows = rows_of(page) | rows_of(mine)
    main.show(rows)
    update = main.update(news())
    assert "fs.open.any-h1" not in update.parts
    assert text(update.parts["fs-0.open.any-h1"]) == "1"
    assert f"fg-{theirs.slug}-h1" not in update.parts
    other.show(rows)
    update = other.update(news(source="other"))
    assert text(update.parts["fs.open.any-h1"]) == "6"
    assert text(update.parts[f"fg-{theirs.slug}-h1"]) == "5"


def test_rows_that_make_no_sense_are_let_be() -> None:
    drawer = Failures("main")
    drawer.show(["fs.open.nosuch", "fs-9.open.any", "fn.x.y", "fc-a.b", "fg-", "q-0123456789", "fs", "fp-\x00"])
    assert {name for name in drawer.update(news(whole=True)).parts if not name.startswith(("open-", "fx"))} == set()
    assert drawer.update(SourceNews("main", standing())) == Update()


@asynccontextmanager
async def followed(*slugs: str) -> AsyncIterator[None]:
    """As long as this goes on, news of these groups come again and again."""

    async def tell_on() -> None:
        while True:
            await tell(news(*slugs))
            await asyncio.sleep(0.1)

    task = asyncio.create_task(tell_on())
    try:
        yield
    finally:
        task.cancel()


async def watching(key: str, *groups: FailureGroup) -> Socket:
    socket = Socket(key)
    assert await socket.opened()
    watch = {"page": "failures", "sources": ["main"], "read": now_ms()}
    await socket.send({"watch": watch, "rows": [f"fg-{group.slug}" for group in groups]})
    return socket


async def until_part(socket: Socket, name: str, said: str = "") -> dict[str, str]:
    """All parts that a socket was sent until this one was among them, and said that."""
    found: dict[str, str] = {}
    async with asyncio.timeout(PATIENCE_S):
        while said not in text(found.get(name, "")) or name not in found:
            found |= parts_of(await socket.until("parts"))
    return found


@pytest.mark.django_db(transaction=True)
async def test_a_socket_is_told_of_its_rows_alone() -> None:
    first, second, key = await sync_to_async(_two_groups)()
    sockets = [await watching(key, first), await watching(key, second)]
    async with followed(first.slug, second.slug):
        for socket, (mine, theirs) in zip(sockets, ((first, second), (second, first)), strict=True):
            parts = await until_part(socket, f"fg-{mine.slug}-h1")
            assert not [name for name in parts if theirs.slug in name]
    for socket in sockets:
        await socket.gone()


@pytest.mark.django_db(transaction=True)
async def test_a_row_that_nobody_showed_for_a_while_is_told_as_it_is_now() -> None:
    first, second, key = await sync_to_async(_two_groups)()
    stays, leaves = await watching(key, first), await watching(key, second)
    async with followed(first.slug, second.slug):
        await until_part(leaves, f"fg-{second.slug}-h1", "1")
        await leaves.send({"rows": [f"fg-{first.slug}"]})
        await until_part(leaves, f"fg-{first.slug}-h1")
        await sync_to_async(FailureStrand.objects.filter(group__in=[first, second]).update)(h1=42)
        await until_part(leaves, f"fg-{first.slug}-h1", "42")
    await leaves.send({"rows": [f"fg-{second.slug}"]})
    old: dict[str, str] = {}
    while parts := parts_of(await leaves.frame()):
        old |= parts
    assert f"fg-{second.slug}-h1" not in old
    async with followed():
        assert text((await until_part(leaves, f"fg-{second.slug}-h1"))[f"fg-{second.slug}-h1"]) == "42"
    for socket in (stays, leaves):
        await socket.gone()


@pytest.mark.django_db(transaction=True)
async def test_without_a_role_nothing_is_told() -> None:
    key = await sync_to_async(lambda: signed_in(person(None)).session.session_key or "")()
    socket = Socket(key)
    assert await socket.opened()
    assert await socket.close_code() == 4403
    stranger = Socket("")
    assert await stranger.opened()
    assert await stranger.close_code() == 4401


def _two_groups() -> tuple[FailureGroup, FailureGroup, str]:
    indexing(queues=["payments"])
    key = signed_in(person("viewer")).session.session_key or ""
    return make_group(title="one"), make_group(title=json.dumps(HOSTILE)), key
