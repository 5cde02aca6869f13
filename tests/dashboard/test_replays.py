"""The list of replays: what each came to, filters, pages, and what it says when there is none."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from dashboard.replays import figures, lines
from dashboard.replays.seen import see
from queues import registry
from queues.models import Replay
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.replay.steering.drafts import DISCARDED
from queues.replay.types import Phase, Stop, Told
from queues.types import QueueRef
from tests.dashboard.pages import Page, link
from tests.dashboard.people import as_role, person, signed_in
from tests.dashboard.replayed import started, tell
from tests.queues.replaying import a_plan

pytestmark = pytest.mark.django_db

HOSTILE = '"><script>window.__x=1</script>\u202e{{ 7|add:1 }}'
MAIL = QueueRef("other", b"bull", b"mail")


@pytest.fixture(autouse=True)
def sources(settings: LazySettings) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://none"), SourceConfig("other", "redis://none"))
    registry.forget()


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


def read(client: Client, query: str = "") -> Page:
    answer = client.get(f"/replays/{query}")
    assert answer.status_code == 200
    return Page(answer)


def rows(page: Page) -> dict[int, str]:
    """What the rows say, by the numbers of the plans."""
    return {int(node.attrs["data-group"]): " ".join(node.text.split()) for node in page.all("data-group", tag="tr")}


def test_all_plans_stand_there_newest_first(viewer: Client) -> None:
    plans = [a_plan(), started(), started(Phase.DONE, to_send=0), a_plan(Phase.FREEZING)]
    assert list(rows(read(viewer))) == [plan.pk for plan in reversed(plans)]


@pytest.mark.parametrize(
    ("phase", "values", "said"),
    [
        (Phase.RUNNING, {}, "Running 1,205 of 2,095 1,176 9 890 to send, 20 under way olga"),
        (Phase.ENDING, {"to_send": 0}, "Waits for the last ones 1,205 of 1,205 1,176 9 20 under way"),
        (Phase.STOPPED, {"why": Stop.NO_WORKER}, "Stopped by itself The target queue has no worker. 1,205"),
        (Phase.RUNNING, {"holding": Stop.AGE}, "Running The oldest waiting job of the target queue is older"),
        (Phase.RUNNING, {"down_since": timezone.now()}, "Running The source does not answer."),
        (
            Phase.DONE,
            {"to_send": 0, "completed": 1_196},
            "Done, 9 failed again 1,205 of 2,118 1,196 9 9 failed again, 23 left out olga",
        ),
        (
            Phase.DONE,
            {"to_send": 0, "completed": 1_205, "failed": 0},
            "1,205 of 2,118 1,205 0 all others completed, 23",
        ),
        (Phase.DONE, {"to_send": 0, "completed": 1_205, "failed": 0, "left_out": 0}, "1,205 0 all completed olga"),
        (Phase.CANCELLED, {"to_send": 0, "back": 890}, "9 failed again, 890 not sent, 23 left out"),
        (Phase.CANCELLED, {"sent": 0, "completed": 0, "failed": 0}, "nothing was sent"),
    ],
)
def test_a_row_says_how_a_plan_stands_and_what_it_came_to(
    viewer: Client, phase: Phase, values: dict[str, Any], said: str
) -> None:
    plan = started(phase, **values)
    text = rows(read(viewer))[plan.pk]
    assert text.startswith(f"R-{plan.pk} payments all failed jobs of payments")
    assert said in text


@pytest.mark.parametrize(
    ("values", "colour", "word"),
    [
        ({"completed": 11, "failed": 0}, "completed", "Done"),
        ({"completed": 9, "failed": 2}, "warn", "Done, 2 failed again"),
        ({"completed": 9, "failed": 0, "other": 2}, "warn", "Done, 2 gone or unknown"),
        ({"completed": 9, "failed": 0}, "warn", "Done, 2 had not ended"),
        ({"completed": 11, "failed": 0, "refused": 1}, "warn", "Done, 1 refused"),
        ({"completed": 0, "failed": 11}, "failed", "All failed again"),
        ({"completed": 0, "failed": 1, "sent": 1}, "failed", "Failed again"),
        ({"completed": 0, "failed": 0, "sent": 0}, "paused", "Done, nothing sent"),
    ],
)
def test_colour_and_word_of_one_that_is_done_depend_on_what_came_of_it(
    viewer: Client, values: dict[str, Any], colour: str, word: str
) -> None:
    """On the list, on the report with its feed, and in what is pushed."""
    plan = started(Phase.DONE, **{"total": 11, "left_out": 0, "sent": 11, "to_send": 0, "running": 0, **values})
    facts = {name: getattr(plan, name) for name in ("completed", "failed", "other")}
    tell(plan, Told.DONE, **facts)
    pages = (read(viewer), f"rl-{plan.pk}-state"), (read(viewer, f"{plan.pk}/"), f"rp-{plan.pk}-state")
    shown = [page.all("id", name)[0] for page, name in pages]
    assert [(node.attrs["class"], node.text) for node in shown] == [(f"st s-{colour}", word)] * 2
    seen = see(plan, now_ms())
    pushed = {**figures.pushed(seen), **lines.parts(seen)}
    assert all(f's-{colour}"' in pushed[name] and f"<span>{word}</span>" in pushed[name] for _page, name in pages)
    if plan.failed or plan.other:
        assert "i-completed" not in pushed[f"rp-{plan.pk}-lines"]


def test_of_a_draft_it_says_how_many_it_would_send(viewer: Client) -> None:
    plan = a_plan(Phase.DRAFT, [b"1", b"2"])
    assert "Draft – – – 2 jobs to send olga" in rows(read(viewer))[plan.pk]


def test_it_is_filtered_by_how_plans_stand_whose_they_are_and_their_source(viewer: Client) -> None:
    olga = signed_in(person("operator", name="olga"))
    draft, running, stopped = a_plan(), started(), started(Phase.STOPPED, made_by="boris", started_by="boris")
    done, theirs = started(Phase.DONE), a_plan(Phase.WAITING, ref=MAIL, made_by="boris", started_by="boris")
    expected = {
        "?show=running": {running.pk},
        "?show=waiting": {stopped.pk, theirs.pk},
        "?show=drafts": {draft.pk},
        "?show=ended": {done.pk},
        "?mine=1": {draft.pk, running.pk, done.pk},
        "?source=other": {theirs.pk},
        "?show=x": {draft.pk, running.pk, stopped.pk, done.pk, theirs.pk},
    }
    assert {query: set(rows(read(olga, query))) for query in expected} == expected


def test_what_was_discarded_does_not_stand_there(viewer: Client) -> None:
    a_plan(Phase.CANCELLED, step=DISCARDED)
    assert "No replay has been planned yet" in read(viewer).text


def test_where_there_is_none_it_says_how_to_plan_one(viewer: Client) -> None:
    page = read(viewer)
    assert "choose “Plan a replay”" in page.text
    assert page.all("href", "/failures/letters/")


def test_where_the_filter_hides_all_it_says_so(viewer: Client) -> None:
    a_plan()
    assert "No plan matches this filter" in read(viewer, "?show=ended").text


def test_a_thousand_plans_are_paged_in_a_few_queries(viewer: Client, django_assert_max_num_queries: Any) -> None:
    first = started()
    Replay.objects.bulk_create(
        Replay(token=f"t{number}", source=first.source, title="payments", made_by="olga", phase="done")
        for number in range(1_000)
    )
    with django_assert_max_num_queries(14):
        page = read(viewer)
    shown = list(rows(page))
    assert len(shown) == 50
    older = read(viewer, link(page, "next"))
    assert next(iter(rows(older))) == shown[-1] - 1
    assert list(rows(read(viewer, link(older, "prev")))) == shown
    assert not link(page, "prev")
    last = read(viewer, f"?older={first.pk + 10}")
    assert list(rows(last))[-1] == first.pk
    assert not link(last, "next")


@pytest.mark.parametrize("query", ["?older=x", "?newer=-1", "?older=" + "9" * 30, "?newer=%00"])
def test_an_odd_cursor_is_refused(viewer: Client, query: str) -> None:
    assert viewer.get(f"/replays/{query}").status_code == 422


def test_beyond_the_last_one_it_says_so(viewer: Client) -> None:
    plan = started()
    assert "Nothing beyond this point" in read(viewer, f"?older={plan.pk}").text


def test_hostile_names_are_text(viewer: Client) -> None:
    a_plan(title=HOSTILE, words=HOSTILE, made_by=HOSTILE[:150], ref=QueueRef("main", b"bull", HOSTILE.encode()))
    page = read(viewer)
    assert "<script>window" not in page.source
    assert "window.__x=1" in page.text


def test_only_who_may_set_limits_is_led_to_them(viewer: Client) -> None:
    assert "/replays/limits/" not in read(viewer).source
    assert "/replays/limits/" in read(as_role("admin")).source


def test_what_is_new_is_told_on_the_unfiltered_first_page_alone(viewer: Client) -> None:
    plan = started()
    assert read(viewer).all("data-row", f"rn-{plan.pk}")
    assert not read(viewer, "?mine=1").all("data-row", f"rn-{plan.pk}")


def test_every_page_says_beside_the_link_how_many_run(viewer: Client) -> None:
    started()
    (badge,) = Page(viewer.get("/system/")).all("id", "replays-running-rail")
    assert badge.text == "1 running"


@pytest.mark.parametrize("path", ["/replays/", "/replays/1/jobs/", "/replays/1/jobs.csv", "/replays/1/jobs.jsonl"])
def test_pages_are_only_read(viewer: Client, path: str) -> None:
    assert viewer.post(path).status_code == 405
