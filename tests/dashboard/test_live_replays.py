"""What is pushed to pages of replays: the bytes of their first render, only what somebody shows, and what is new."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from dashboard.live import replays as live
from dashboard.live.replays import Replays
from dashboard.live.update import Update
from dashboard.replays import running
from dashboard.views import replays as views
from queues import registry
from queues.live import ReplaysNews, SourceNews
from queues.models import Replay
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.replay.types import EARLY, Phase, Stop, Told
from queues.sendings import Fate
from queues.types import QueueRef
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.dashboard.replayed import PAYMENTS, row, spans, started, story, target, tell
from tests.dashboard.sockets import standing
from tests.failing import make_group
from tests.queues.replaying import a_plan

pytestmark = pytest.mark.django_db

HOSTILE = '"><script>window.__x=1</script>\u202e\x1b[31m{{ 7|add:1 }}'
STARTED = [phase for phase in Phase if phase not in EARLY and phase is not Phase.FAILED]
SHELL = {"rail-main", "top-main", "open-groups-rail", "open-groups-top"}


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def nowhere(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that is never read, and a time that stands still: figures are those of now."""
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://127.0.0.1:1/0"),)
    registry.forget()
    at_ms = now_ms()
    for module in (live, running, views):
        monkeypatch.setattr(module, "now_ms", lambda: at_ms)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


def beat(source: str = "main") -> ReplaysNews:
    return ReplaysNews(source, standing())


def read(client: Client, path: str = "/replays/") -> Page:
    answer = client.get(path)
    assert answer.status_code == 200
    return Page(answer)


def rows_of(page: Page) -> set[str]:
    return {node.attrs["data-row"] for node in page.all("data-row")}


def shown(drawer: Replays, page: Page) -> Update:
    """What a batch pushes to a page."""
    drawer.show(rows_of(page))
    return drawer.update(beat())


def parts_on(page: Page) -> set[str]:
    return {node.attrs["id"] for node in page.all("data-part")} - SHELL


def unaged(html: str) -> str:
    """Without words that grow older while a test runs."""
    return re.sub(r'(data-time="(?:age|until)">)[^<]*', r"\1", html)


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def whole(phase: Phase = Phase.RUNNING, **values: Any) -> Replay:
    """A plan with a feed, a target, a chart, and jobs that failed again."""
    group, other = make_group(title="ETIMEDOUT"), make_group(title="Payment already captured")
    plan = started(phase, group=group, **values)
    story(plan)
    spans(plan, [10, 25, 50, 99], [0, 0, 1, 2])
    target(plan)
    row(plan, b"a", Fate.FAILED, group=group, again=group)
    row(plan, b"b", Fate.FAILED, group=group, again=other)
    row(plan, b"c", Fate.FAILED, group=group)
    return plan


@pytest.mark.parametrize("phase", STARTED)
def test_what_is_pushed_to_the_page_of_a_plan_is_what_it_was_rendered_with(viewer: Client, phase: Phase) -> None:
    why = {"why": Stop.FAILING} if phase is Phase.STOPPED else {"holding": Stop.DEPTH}
    plan = whole(phase, **why)
    page = read(viewer, f"/replays/{plan.pk}/")
    pushed = {name: unaged(html) for name, html in shown(Replays("main"), page).parts.items()}
    source = unaged(page.source)
    assert parts_on(page) <= pushed.keys()
    assert {name for name in parts_on(page) if pushed[name] not in source} == set()


@pytest.mark.parametrize("query", ["", "?show=waiting", "?mine=1", "?show=ended"])
def test_what_is_pushed_to_the_list_is_what_it_was_rendered_with(viewer: Client, query: str) -> None:
    for phase in Phase:
        (started if phase in STARTED else a_plan)(phase)
    page = read(viewer, f"/replays/{query}")
    update = shown(Replays("main"), page)
    assert parts_on(page) <= update.parts.keys()
    assert {name for name in parts_on(page) if update.parts[name] not in page.source} == set()


def test_a_plan_that_goes_on_moves_its_figures(viewer: Client) -> None:
    plan = whole()
    page, drawer = read(viewer, f"/replays/{plan.pk}/"), Replays("main")
    shown(drawer, page)
    Replay.objects.update(sent=1_300, completed=1_250, failed=21, to_send=795)
    tell(plan, Told.HELD, why="depth", backlog=1_204, limit=1_000)
    parts = shown(drawer, page).parts
    key = f"rp-{plan.pk}"
    assert text(parts[f"{key}-sent"]) == "1,300"
    assert "1,250 completed" in text(parts[f"{key}-key"])
    assert text(parts[f"{key}-left"]) == "795"
    assert "1,204 jobs wait" in text(parts[f"{key}-lines"])


def test_only_plans_that_somebody_shows_are_drawn() -> None:
    plans = [started() for _number in range(3)]
    drawer = Replays("main")
    drawer.show([f"rp-{plans[0].pk}", f"rl-{plans[1].pk}"])
    names = {name.rpartition("-")[0] for name in drawer.update(beat()).parts if name.startswith("r")}
    assert names == {f"rp-{plans[0].pk}", f"rl-{plans[1].pk}", "replays-running"}


def test_a_plan_that_has_ended_is_drawn_once(viewer: Client) -> None:
    plan = whole(Phase.DONE)
    page, drawer = read(viewer, f"/replays/{plan.pk}/"), Replays("main")
    assert f"rp-{plan.pk}-sent" in shown(drawer, page).parts
    assert f"rp-{plan.pk}-sent" not in shown(drawer, page).parts


def test_a_beat_costs_the_same_queries_whoever_watches(clock: Clock, django_assert_max_num_queries: Any) -> None:
    plans = [started() for _number in range(20)]
    for plan in plans:
        story(plan)
    drawer = Replays("main", clock)
    drawer.show([f"{kind}-{plan.pk}" for plan in plans for kind in ("rp", "rl")] + ["rn-0", "rn-3"])
    for _beat in range(len(plans)):
        drawer.update(beat())
    with django_assert_max_num_queries(6):
        drawer.update(beat())


def test_nothing_but_what_every_page_has_is_read_for_plans_that_have_ended(
    clock: Clock, django_assert_max_num_queries: Any
) -> None:
    plan = whole(Phase.DONE)
    drawer = Replays("main", clock)
    drawer.show([f"rp-{plan.pk}"])
    drawer.update(beat())
    with django_assert_max_num_queries(2):
        drawer.update(beat())


def test_how_many_run_and_how_many_wait_stands_beside_the_link(viewer: Client) -> None:
    drawer = Replays("main")
    assert text(drawer.update(beat()).parts["replays-running-rail"]) == ""
    started(Phase.CANARY)
    started(Phase.ENDING)
    started(Phase.STOPPED)
    a_plan(Phase.WAITING)
    a_plan(Phase.DRAFT)
    started(Phase.DONE)
    assert text(drawer.update(beat()).parts["replays-running-rail"]) == "2 running · 2 waiting"


def test_plans_that_came_after_a_list_was_read_are_counted_for_it(viewer: Client) -> None:
    first = started()
    page, drawer = read(viewer), Replays("main")
    key = f"rn-{first.pk}-n"
    assert text(shown(drawer, page).parts[key]) == ""
    a_plan()
    a_plan()
    assert text(shown(drawer, page).parts[key]) == "2 new plans"


def test_a_draft_that_was_discarded_says_so_in_the_list(viewer: Client) -> None:
    plan = a_plan()
    page, drawer = read(viewer), Replays("main")
    shown(drawer, page)
    Replay.objects.all().delete()
    assert text(shown(drawer, page).parts[f"rl-{plan.pk}-state"]) == "Discarded"


def test_of_plans_of_another_source_nothing_is_said(settings: LazySettings) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://none"), SourceConfig("other", "redis://none"))
    registry.forget()
    theirs = a_plan(ref=QueueRef("other", b"bull", b"mail"))
    drawer = Replays("main")
    drawer.show([f"rl-{theirs.pk}"])
    for _beat in range(2):
        assert not [name for name in drawer.update(beat()).parts if name.startswith("rl")]


def test_regions_with_buttons_are_said_to_look_otherwise(viewer: Client) -> None:
    plan = whole()
    page, drawer = read(viewer, f"/replays/{plan.pk}/"), Replays("main")
    key = f"rp-{plan.pk}"
    before = shown(drawer, page).parts
    Replay.objects.update(phase=Phase.PAUSED)
    update = shown(drawer, page)
    assert update.parts[f"{key}-acts"] != before[f"{key}-acts"]
    assert update.parts[f"{key}-kind"] == before[f"{key}-kind"]
    assert update.say == f"Replay R-{plan.pk}: paused."
    Replay.objects.update(phase=Phase.DONE, ended_at=timezone.now())
    assert shown(drawer, page).parts[f"{key}-kind"] != before[f"{key}-kind"]
    marked = {node.attrs["data-moved"]: node.attrs["data-n"] for node in page.all("data-moved")}
    parts = {f"{key}-{name}" for name in ("kind", "acts", "rows")}
    assert marked.keys() == parts
    assert all(f'data-n="{marked[name]}"' in before[name] for name in parts)


def test_another_signature_is_told_as_soon_as_it_is_counted(viewer: Client, clock: Clock) -> None:
    plan = whole(failed=3)
    page, drawer = read(viewer, f"/replays/{plan.pk}/"), Replays("main", clock)
    before = shown(drawer, page).parts[f"rp-{plan.pk}-rows"]
    row(plan, b"d", Fate.FAILED, again=make_group(title="third"))
    Replay.objects.update(failed=4)
    assert shown(drawer, page).parts[f"rp-{plan.pk}-rows"] == before
    clock.now += 3
    assert shown(drawer, page).parts[f"rp-{plan.pk}-rows"] != before


def test_a_chart_is_drawn_anew_each_five_seconds(viewer: Client, clock: Clock) -> None:
    plan = whole()
    page, drawer = read(viewer, f"/replays/{plan.pk}/"), Replays("main", clock)
    name = f"rp-{plan.pk}-chart"
    assert name in shown(drawer, page).parts
    clock.now += 4
    assert name not in shown(drawer, page).parts
    clock.now += 2
    assert name in shown(drawer, page).parts


def test_lines_of_a_feed_are_read_once(viewer: Client) -> None:
    plan = whole()
    page, drawer = read(viewer, f"/replays/{plan.pk}/"), Replays("main")
    shown(drawer, page)
    tell(plan, Told.BLIND, number=7)
    assert "7 events were lost" in text(shown(drawer, page).parts[f"rp-{plan.pk}-lines"])
    lines = text(shown(drawer, page).parts[f"rp-{plan.pk}-lines"])
    assert lines.count("7 events were lost") == 1
    assert "Its set is frozen" in lines


def test_what_was_pushed_is_inert(viewer: Client) -> None:
    queue = QueueRef("main", b"bull", HOSTILE.encode())
    plan = whole(title=HOSTILE, words=HOSTILE, note=HOSTILE, down_since=timezone.now() - timedelta(minutes=2))
    target(plan, queue, oldest_ms=now_ms() - 500_000, paused=True)
    for kind in Told:
        tell(plan, kind, 0, HOSTILE, why=HOSTILE, note=HOSTILE, queue=HOSTILE, number=HOSTILE)
    tell(plan, Told.STOPPED, 0, HOSTILE, why="unwell", note=HOSTILE)
    a_plan(ref=queue, title=HOSTILE)
    drawer = Replays("main")
    drawer.show(rows_of(read(viewer, f"/replays/{plan.pk}/")) | rows_of(read(viewer)))
    update = drawer.update(beat())
    pushed = "".join(update.parts.values()) + update.say
    assert not re.search(r"<(a|script|form|input|button|style)\b|\s(on\w+|hx-\w+|style|src)=", pushed)
    assert "window.__x" in pushed
    assert "<script" not in pushed


def test_rows_that_make_no_sense_are_let_be() -> None:
    drawer = Replays("main")
    drawer.show(["rp-", "rl-x", "rp-99", "rn-a", "rp-1\x00", "q-0123456789", "fg-a", "rp-" + "9" * 30])
    assert {name for name in drawer.update(beat()).parts if not name.startswith("replays")} == set()
    assert drawer.update(SourceNews("main", standing())) == Update()


def test_what_was_last_read_of_a_target_long_ago_is_unknown(viewer: Client) -> None:
    plan = started()
    target(plan, PAYMENTS, seen_at=timezone.now() - timedelta(minutes=5))
    page = read(viewer, f"/replays/{plan.pk}/")
    parts = shown(Replays("main"), page).parts
    assert text(parts[f"rp-{plan.pk}-oldest"]) == "–"
    assert "not read lately" in text(parts[f"rp-{plan.pk}-oldest_w"])
