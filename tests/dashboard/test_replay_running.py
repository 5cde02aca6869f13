"""The page of a replay that was started: figures, why it stands still, what can be done, and what came of it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from dashboard.replays import chart, pace
from dashboard.replays.seen import Seen, see
from queues import audit, registry
from queues.audit import Actor
from queues.failures.types import Life
from queues.models import AuditEntry, Deploy, Failure, FailureGroup, Indexing, Replay, ReplaySpan
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.replay.forgetting import FORGOTTEN
from queues.replay.freezing.counting import SUMS, Sum
from queues.replay.spans import SPAN_MS
from queues.replay.terms import Hours, Terms
from queues.replay.types import Choice, From, Phase, Place, Stop, Told
from queues.sendings import Conflict, Fate
from queues.types import QueueRef
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.dashboard.replayed import PAYMENTS, TERMS, row, spans, started, story, target, tell
from tests.failing import make_group
from tests.queues.replaying import a_plan, a_queue

pytestmark = pytest.mark.django_db

MAIL = QueueRef("main", b"bull", b"mail")
HOSTILE = '"><script>window.__x=1</script>\u202e{{ 7|add:1 }}'


@pytest.fixture(autouse=True)
def nowhere(settings: LazySettings) -> None:
    """A source that is never read."""
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://127.0.0.1:1/0"),)
    registry.forget()


@pytest.fixture
def operator() -> Client:
    return as_role("operator")


def read(client: Client, plan: Replay) -> Page:
    answer = client.get(f"/replays/{plan.pk}/")
    assert answer.status_code == 200
    return Page(answer)


def part(page: Page, name: str) -> str:
    """What a live part says."""
    (node,) = [node for node in page.all("data-part") if node.attrs["id"].endswith(f"-{name}")]
    return " ".join(node.text.split())


def forms(page: Page) -> set[str]:
    """Where the forms of the page lead, by their last word."""
    sent = [node.attrs["action"] for node in page.all("action", tag="form")]
    return {action.rstrip("/").rpartition("/")[2] for action in sent if "/replays/" in action}


def test_its_head_says_what_it_is_how_it_stands_and_who_started_it(operator: Client) -> None:
    group = make_group()
    plan = started(group=group, approved_by="boris")
    page = read(operator, plan)
    assert f"Replay R-{plan.pk} of payments" in page.text
    assert re.search(r"Running since \S+, 2 min 1\d s\. Started by olga, approved by boris", page.text)
    assert f"/failures/{group.slug}/" in page.source


def test_without_javascript_a_link_reads_it_again_until_it_has_ended(operator: Client) -> None:
    def links(plan: Replay) -> list[str]:
        # What a browser without scripts sees; the page itself reads no address again that forms would lose by it.
        blocks = [node for node in read(operator, plan).nodes if node.tag == "noscript"]
        inside = [node for block in blocks for node in block.children if node.tag == "a"]
        return [node.attrs["href"] for node in inside]

    running, paused, over = started(), started(Phase.PAUSED), started(Phase.DONE, to_send=0)
    assert links(running) == [f"/replays/{running.pk}/"]
    assert links(paused) == [f"/replays/{paused.pk}/"]
    assert links(over) == []


def test_without_a_group_it_says_from_what_it_was_made(operator: Client) -> None:
    assert "from all failed jobs of payments" in read(operator, started()).text


def test_its_figures_are_those_of_the_plan(operator: Client) -> None:
    plan = started()
    story(plan)
    spans(plan, [100, 100, 100])
    target(plan)
    page = read(operator, plan)
    assert part(page, "sent") == "1,205"
    assert part(page, "sent_w") == "57.5% of 2,095"
    assert part(page, "failed") == "0.8 %"
    assert part(page, "failed_w") == "9 of the 1,185 that ended; stops at 10% of the last 100"
    assert part(page, "canary") == "passed"
    assert part(page, "canary_w") == "1 of 25 failed again, limit 2"
    assert part(page, "oldest").startswith("2 min 4")
    assert part(page, "oldest_w") == "payments; holds above 5 min"
    assert part(page, "pace_w") == "ceiling 20"
    assert part(page, "ends_w").startswith("at this pace, about")
    assert part(page, "of") == "of 2,095 jobs; 23 left out by the plan"
    for said in ("1,176 completed", "9 failed again", "12 active", "8 waiting", "890 to send"):
        assert said in part(page, "key")


def test_attempts_that_fail_are_shown_as_an_early_sign(operator: Client) -> None:
    plan = started(retrying=5)
    page = read(operator, plan)
    assert "5 had an attempt fail" in part(page, "failed_w")
    assert "5 retrying" in part(page, "key")


def test_what_is_not_known_is_never_shown_as_zero(operator: Client) -> None:
    plan = started(Phase.CANARY, sent=0, completed=0, failed=0, running=0, to_send=2_095, rest_at=None, ago_s=0)
    target(plan, backlog=None, oldest_ms=None, workers=None, seen_at=None)
    page = read(operator, plan)
    assert [part(page, name) for name in ("ends", "pace", "failed", "oldest")] == ["–"] * 4
    assert "none has ended yet" in part(page, "failed_w")
    assert part(page, "ends_w") == "the canary is awaited first"


def test_a_canary_that_is_awaited_says_how_many_have_ended(operator: Client) -> None:
    plan = started(Phase.CANARY, sent=4, completed=1, failed=1, running=1, rest_at=None)
    tell(plan, Told.CANARY_SENT, number=4)
    row(plan, b"a", Fate.COMPLETED, canary=True)
    row(plan, b"b", Fate.FAILED, canary=True)
    row(plan, b"c", canary=True, tries=1)
    row(plan, b"d", canary=True)
    page = read(operator, plan)
    assert part(page, "canary") == "2 /4"
    assert part(page, "canary_w") == "ended; 1 failed again; 1 had an attempt fail; limit 2"


@pytest.mark.parametrize(
    ("phase", "verbs"),
    [
        (Phase.CANARY, {"pause", "pace", "cancel"}),
        (Phase.RUNNING, {"pause", "pace", "cancel"}),
        (Phase.ENDING, {"cancel"}),
        (Phase.DECIDING, {"go-on", "pace", "cancel"}),
        (Phase.PAUSED, {"go-on", "pace", "cancel"}),
        (Phase.STOPPED, {"go-on", "pace", "cancel"}),
        (Phase.CANCELLING, set()),
        (Phase.DONE, {"plan"}),  # of what failed again
        (Phase.CANCELLED, {"plan"}),
    ],
)
def test_what_can_be_done_depends_on_where_it_stands(operator: Client, phase: Phase, verbs: set[str]) -> None:
    plan = started(phase, to_send=0 if phase in (Phase.ENDING, Phase.DONE) else 890)
    assert forms(read(operator, plan)) == verbs


def test_who_may_only_look_is_told_which_role_it_needs() -> None:
    page = read(as_role("viewer"), started())
    assert forms(page) == set()
    assert "It needs the operator role, and you are viewer." in page.text


def test_in_a_source_that_is_read_only_it_can_be_paused_and_not_go_on(settings: LazySettings, operator: Client) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://127.0.0.1:1/0", read_only=True),)
    registry.forget()
    assert "pause" in forms(read(operator, started()))
    page = read(operator, started(Phase.PAUSED))
    assert "go-on" not in forms(page)
    assert "MIRANTE_READ_ONLY" in page.text


def test_of_a_source_that_is_not_configured_any_more_nothing_can_be_done(operator: Client) -> None:
    plan = a_plan(Phase.PAUSED, ref=QueueRef("gone", b"bull", b"x"), started_at=timezone.now())
    page = read(operator, plan)
    assert forms(page) == set()
    assert not page.all("id", "live")


def test_cancelling_says_what_it_does(operator: Client) -> None:
    text = read(operator, started()).text
    assert "Cancel the other 890…" in text
    assert "890 jobs are not sent and stay where they are. 20 were sent and have not ended: what runs is" in text
    assert "Take back those that were sent and that no worker has begun" in text


def test_the_pace_is_changed_from_what_it_is(operator: Client) -> None:
    page = read(operator, started())
    values = {node.attrs["name"]: node.attrs.get("value") for node in page.all("name", tag="input")}
    assert (values["pace_from"], values["pace_to"], values["double_s"]) == ("5", "20", "30")


@pytest.mark.parametrize("why", [stop for stop in Stop if stop not in ("", Stop.DEPTH, Stop.AGE, Stop.HOURS)])
def test_a_plan_that_stopped_says_why_and_what_going_on_means(operator: Client, why: Stop) -> None:
    plan = started(Phase.STOPPED, why=why)
    target(plan, paused=True, workers=0)
    tell(plan, Told.STOPPED, 3, why=why)
    page = read(operator, plan)
    (notice,) = [node for node in page.all("role", "status") if "notice" in node.attrs.get("class", "")]
    assert "Stopped by itself." in notice.text
    assert re.search(r"Going on sends|stops again", notice.text)
    assert part(page, "ends_w") == "it stands still until somebody lets it go on"


@pytest.mark.parametrize(
    ("why", "address"),
    [
        (Stop.FAILING, "jobs/?fate=failed"),
        (Stop.CANARY, "jobs/?fate=failed"),
        (Stop.BLOCKED, "jobs/?place=held"),
        (Stop.NO_WORKER, "/queues/main/payments/"),
        (Stop.PAUSED, "/queues/main/payments/"),
        (Stop.AWAY, "/system/"),
    ],
)
def test_a_plan_that_stopped_says_where_to_look(operator: Client, why: Stop, address: str) -> None:
    plan = started(Phase.STOPPED, why=why)
    target(plan, paused=True)
    page = read(operator, plan)
    (go,) = [node for node in page.nodes if node.attrs.get("class") == "go"]
    assert any(address in node.attrs.get("href", "") for node in go.children)


def test_a_plan_that_stopped_before_it_read_its_targets_leads_to_them_all_the_same(operator: Client) -> None:
    plan = started(Phase.STOPPED, why=Stop.PAUSED)
    plan.frozen = frozen(jobs=9, copies=0)
    plan.save()
    (go,) = [node for node in read(operator, plan).nodes if node.attrs.get("class") == "go"]
    assert [node.attrs.get("href") for node in go.children] == ["/queues/main/payments/"]


def frozen(*, jobs: int, copies: int) -> dict[str, Any]:
    """What freezing counted of a plan without conflicts, of jobs that all have letters."""
    return {SUMS: [list(Sum(a_queue(PAYMENTS).pk, Conflict.NONE, False, jobs, 1, 2, 1, 2, jobs, copies))]}


def test_a_plan_that_holds_says_so_in_plain_words(operator: Client) -> None:
    plan = started(holding=Stop.DEPTH, terms=Terms(depth_max=1_000))
    tell(plan, Told.HELD, why=Stop.DEPTH)
    target(plan, backlog=1_204)
    page = read(operator, plan)
    said = part(page, "holding")
    assert said == "Holds: 1,204 jobs wait in the target queue; you allow 1,000. It goes on by itself."
    assert part(page, "ends_w") == "it holds, and goes on by itself"


def test_that_the_oldest_job_waits_too_long_is_told_with_how_long(operator: Client) -> None:
    plan = started(holding=Stop.AGE)
    target(plan, oldest_ms=now_ms() - 400_000)
    assert re.search(r"has waited for 6 min 4\d s; you allow 5 min", part(read(operator, plan), "holding"))


def test_a_plan_that_stopped_as_too_many_fail_says_how_many(operator: Client) -> None:
    plan = started(Phase.STOPPED, why=Stop.FAILING)
    tell(plan, Told.STOPPED, 1, why=Stop.FAILING, failed=12, number=100, limit=10)
    assert "12 of the last 100 failed again; at most 10 % may." in read(operator, plan).text


def test_while_its_source_is_away_it_says_that_nothing_is_lost(operator: Client) -> None:
    said = part(read(operator, started(down_since=timezone.now())), "holding")
    assert said.startswith("The source does not answer since")
    assert "none is sent twice" in said


def test_what_failed_again_is_told_by_signature_and_compared_with_before(operator: Client) -> None:
    before, other = make_group(title="ETIMEDOUT"), make_group(title="Payment already captured")
    plan = started(group=before, failed=4)
    for job in (b"a", b"b"):
        row(plan, job, Fate.FAILED, group=before, again=before)
    row(plan, b"c", Fate.FAILED, group=before, again=other)
    row(plan, b"d", Fate.FAILED, group=before)
    page = read(operator, plan)
    told = {node.attrs["data-again"]: " ".join(node.text.split()) for node in page.all("data-again")}
    assert "ETIMEDOUT 2 same error as before" in told[before.slug]
    assert "Payment already captured 1 new for these jobs" in told[other.slug]
    assert (
        part(page, "unread")
        == "Of 1 it is not known what it failed with: nobody reads the failures of this source now."
    )
    assert f"/failures/{other.slug}/" in page.source


def test_targets_are_told_as_they_were_last_read(operator: Client) -> None:
    plan = started()
    target(plan, paused=True)
    target(plan, QueueRef("main", b"bull", b"mail"), seen_at=timezone.now() - timedelta(minutes=3))
    page = read(operator, plan)
    (table,) = [node for node in page.nodes if node.tag == "section" and node.attrs.get("aria-labelledby") == "targets"]
    rows = [" ".join(node.text.split()) for node in table.children if node.tag == "tr"][1:]
    assert re.fullmatch(r"payments paused 204 2 min 4\d s 4", rows[0])
    assert re.fullmatch(r"mail Not known now: the plan last read it at .+\. – – –", rows[1])


@pytest.mark.parametrize(
    ("phase", "values", "read_s", "says"),
    [
        (
            Phase.STOPPED,
            {},
            300,
            r"Not known now: .+ last read it at .+\. While it stands still it does not read its queues.",
        ),
        (Phase.PAUSED, {}, None, r"The plan has not read it yet. While it stands still it does not read its queues."),
        (Phase.RUNNING, {}, None, r"The plan has not read it yet."),
        (Phase.RUNNING, {"down_since": timezone.now()}, 300, r"Not known now: .+\. The source does not answer."),
        (Phase.RUNNING, {"workers": None}, 0, r"How many workers it has is not known: they cannot be listed."),
        (Phase.RUNNING, {}, 0, r""),
    ],
)
def test_what_is_not_known_of_a_target_is_said_in_words(
    operator: Client, phase: Phase, values: dict[str, Any], read_s: int | None, says: str
) -> None:
    known = {"workers": values.pop("workers")} if "workers" in values else {}
    plan = started(phase, **values)
    seen_at = None if read_s is None else timezone.now() - timedelta(seconds=read_s)
    found = target(plan, seen_at=seen_at, **known)
    assert re.fullmatch(says, part(read(operator, plan), f"target.{found.queue_id}.why"))
    oldest = part(read(operator, plan), "oldest_w")
    assert ("not read while it stands still" in oldest) == (phase in (Phase.STOPPED, Phase.PAUSED))


@pytest.mark.parametrize(
    ("stands", "says"),
    [
        ({"beat_at": None}, "nobody reads the failures of this source now."),
        ({"why": "no password"}, "the failures of this source cannot be read now. It had read to"),
        ({"behind_ms": 600_000}, "the failure index has not read it yet. It had read to"),
        ({}, "the failure index has read on without them: the jobs were gone by then"),
    ],
)
def test_what_jobs_failed_with_again_is_not_known_for_a_reason(
    operator: Client, stands: dict[str, Any], says: str
) -> None:
    plan = started(Phase.STOPPED, failed=1)
    row(plan, b"a", Fate.FAILED)
    Indexing.objects.create(source=plan.source, **{"beat_at": timezone.now(), **stands})
    assert says in part(read(operator, plan), "unread")


def test_a_plan_that_stopped_learns_what_the_index_reads_afterwards(operator: Client) -> None:
    group = make_group(title="ETIMEDOUT")
    plan = started(Phase.STOPPED, failed=1)
    row(plan, b"a", Fate.FAILED)
    at = now_ms() - 48_000
    Failure.objects.create(queue=a_queue(PAYMENTS), job="a", strand=group.strands.get(), score_ms=at, at_ms=at)
    assert [node.attrs["data-again"] for node in read(operator, plan).all("data-again")] == [group.slug]


def test_what_happened_stands_newest_first(operator: Client) -> None:
    plan = started()
    story(plan)
    said = part(read(operator, plan), "lines")
    told = [said.index(text) for text in ("The pace is now 20 a second.", "The canary passed", "Its set is frozen")]
    assert told == sorted(told)


def test_hostile_names_are_text(operator: Client) -> None:
    queue = QueueRef("main", b"bull", HOSTILE.encode())
    plan = started(title=HOSTILE, words=HOSTILE, started_by=HOSTILE[:150], made_by=HOSTILE[:150], failed=1)
    target(plan, queue)
    row(plan, HOSTILE.encode(), Fate.FAILED, again=make_group(title=HOSTILE))
    for kind in Told:
        tell(plan, kind, 0, HOSTILE[:150], why=HOSTILE, note=HOSTILE)
    page = read(operator, plan)
    assert "<script>window" not in page.source
    assert "window.__x=1" in page.text


def test_a_form_that_was_wrong_is_shown_again_with_what_is_wrong(operator: Client) -> None:
    plan = started()
    answer = operator.post(f"/replays/{plan.pk}/pace/", {"pace_from": "5", "pace_to": "", "double_s": "30"})
    assert answer.status_code == 422
    page = Page(answer)
    assert "Say how many a second." in page.text
    assert [node for node in page.nodes if node.tag == "details" and "open" in node.attrs]


def test_there_is_no_such_plan(operator: Client) -> None:
    assert operator.get("/replays/4711/").status_code == 404


def ended(phase: Phase = Phase.DONE, **values: Any) -> Replay:
    told = {"sent": 2_095, "completed": 2_083, "failed": 12, "to_send": 0, "running": 0, **values}
    plan = started(phase, **{"sent_at": timezone.now(), **told})
    story(plan)
    tell(plan, Told.DONE, completed=told["completed"], failed=told["failed"], other=0)
    return plan


def outcome(page: Page) -> str:
    (node,) = page.all("data-outcome")
    return " ".join(node.text.split())


@pytest.mark.parametrize(
    ("copies", "says"),
    [
        (0, "Each is retried in place, under its own id. The attempts that were made count. Their letters are removed"),
        (4, "What is still failed is retried in place; of each letter a new job is sent to where it came from."),
        (9, "Each is sent as a new job to where it came from. Attempts are counted anew. What was copied is removed"),
    ],
)
def test_how_a_plan_of_letters_was_sent_is_told_by_what_freezing_found(
    operator: Client, copies: int, says: str
) -> None:
    plan = ended(made_from={"kind": From.LETTERS, "queue": PAYMENTS.slug})
    plan.frozen = frozen(jobs=9, copies=copies)
    plan.save()
    assert says in read(operator, plan).text


def test_a_canary_that_failed_is_not_forgotten_when_the_rest_is_cancelled(operator: Client) -> None:
    plan = ended(Phase.CANCELLED, sent=3, completed=0, failed=3, back=2_092, rest_at=None)
    for number in range(3):
        row(plan, b"c%d" % number, Fate.FAILED, canary=True)
    page = read(operator, plan)
    assert (part(page, "canary"), part(page, "canary_w")) == ("failed", "3 failed again; limit 2")


def test_a_canary_that_was_cut_short_says_how_far_it_came(operator: Client) -> None:
    plan = ended(Phase.CANCELLED, sent=2, completed=1, failed=0, back=2_093, rest_at=None)
    row(plan, b"c1", Fate.COMPLETED, canary=True)
    row(plan, b"c2", canary=True)
    page = read(operator, plan)
    assert part(page, "canary") == "1 /25"
    assert part(page, "canary_w") == "ended; 0 failed again; limit 2; it was not awaited to its end"


def test_a_plan_that_is_done_is_told_in_one_sentence(operator: Client) -> None:
    page = read(operator, ended())
    assert outcome(page) == "2,095 of 2,118 sent, 2,083 completed, 12 failed again, 23 left out."
    assert f"{2_118:,} lines" in page.text
    for name in ("jobs/", "jobs.csv", "jobs.jsonl"):
        assert any(node.attrs["href"].endswith(name) for node in page.all("href", tag="a"))


def test_a_plan_that_was_cancelled_says_what_was_not_sent(operator: Client) -> None:
    plan = ended(Phase.CANCELLED, sent=100, completed=90, failed=4, back=1_995)
    row(plan, b"back", place=Place.BACK)
    assert outcome(read(operator, plan)) == (
        "100 of 2,118 sent, 90 completed, 4 failed again, 6 had not ended, 23 left out, 1,994 not sent as it was "
        "cancelled, 1 taken back."
    )


def test_of_a_plan_of_which_nothing_was_sent_that_is_said(operator: Client) -> None:
    plan = ended(Phase.CANCELLED, sent=0, completed=0, failed=0, back=2_095, started_at=None, rest_at=None)
    assert outcome(read(operator, plan)) == "Nothing was sent of 2,118 jobs."


def test_the_report_says_why_it_was_started_and_what_was_chosen_about_what_was_in_the_way(operator: Client) -> None:
    terms = replace(TERMS, without_permanent=True, choices={Conflict.TWIN: Choice.SEND, Conflict.ID_KEPT: Choice.SKIP})
    entry = audit.record(Actor("olga"), "replay", source="main", reason="gateway is back, <b>INC-77</b>")
    text = " ".join(read(operator, ended(terms=terms, permanent=23, entry=entry)).text.split())
    assert "Reason gateway is back, <b>INC-77</b>" in text
    assert "23 permanent ones are left out." in text
    assert "Permanent ones left out" in text
    assert "A newer job holds its deduplication id Sends them all the same" in text
    assert "A job with this id is there already" not in text, "what is done unless somebody chooses"
    assert "Permanent ones" not in read(operator, ended()).text


def test_targets_say_when_they_were_read(operator: Client) -> None:
    plan, at = started(), timezone.now() - timedelta(seconds=20)
    target(plan, oldest_ms=None, backlog=0, seen_at=at)
    page = read(operator, plan)
    assert part(page, "read") == f"{at:%H:%M:%S}"
    target(plan, MAIL, seen_at=None)
    assert part(read(operator, plan), "read") == "", "one of them was never read"
    assert part(page, "oldest_w").startswith("nothing waited when last read")


def test_what_was_left_out_is_told_by_reason_with_the_way_to_its_jobs(operator: Client) -> None:
    plan = ended()
    for number in range(3):
        row(plan, b"g%d" % number, place=Place.LEFT_OUT, conflict=Conflict.GONE, sent_ms=None)
    row(plan, b"r", place=Place.REFUSED, conflict=Conflict.REFUSED, note="<b>NOPERM</b>", sent_ms=None)
    page = read(operator, plan)
    assert "The job is gone 3" in page.text
    assert "The server refused it <b>NOPERM</b> 1" in page.text
    assert f"/replays/{plan.pk}/jobs/?place=left-out&amp;conflict=gone" in page.source


@pytest.mark.parametrize(("number", "says"), [(1, "Resolve the group"), (3, "Resolve the 3 groups")])
def test_a_clean_outcome_offers_to_resolve_its_groups(operator: Client, number: int, says: str) -> None:
    groups = [make_group(title=f"ETIMEDOUT {each}") for each in range(number)]
    plan = ended(completed=2_095, failed=0, group=groups[0] if number == 1 else None)
    plan.groups.set(groups)
    page = read(operator, plan)
    (form,) = [node for node in page.all("action") if node.attrs["action"] == f"/replays/{plan.pk}/resolve/"]
    fields = {node.attrs["name"]: node.attrs["value"] for node in form.children if node.tag == "input"}
    assert says in page.text
    for _again in (1, 2):
        assert operator.post(form.attrs["action"], fields).status_code == 302
    assert set(FailureGroup.objects.values_list("life", flat=True)) == {Life.RESOLVED}
    entries = AuditEntry.objects.filter(action="failure-resolve")
    assert (entries.count(), {entry.reason for entry in entries}) == (number, {f"{plan} brought its jobs back."})
    assert says not in read(operator, plan).text


def test_a_group_of_which_others_are_still_failed_is_not_offered_to_be_resolved(operator: Client) -> None:
    group = make_group(failures=1)
    plan = ended(completed=2_095, failed=0)
    row(plan, b"1", Fate.COMPLETED, group=group)
    assert "Resolve the group" not in read(operator, plan).text
    group.strands.update(present=0)
    assert "Resolve the group" in read(operator, plan).text


def test_groups_of_an_outcome_that_is_not_clean_are_not_resolved_by_it(operator: Client) -> None:
    group = make_group()
    plan = ended(group=group)
    assert operator.post(f"/replays/{plan.pk}/resolve/", {"key": "k1"}).status_code == 302
    assert FailureGroup.objects.get().life == Life.OPEN
    assert as_role("viewer").post(f"/replays/{plan.pk}/resolve/", {"key": "k2"}).status_code == 403


def test_where_jobs_failed_again_their_groups_are_what_it_leads_to(operator: Client) -> None:
    group = make_group()
    plan = ended(group=group)
    row(plan, b"a", Fate.FAILED, group=group, again=group)
    page = read(operator, plan)
    assert "Resolve the group" not in page.text
    assert "A plan of the group is about all that it has failed" in page.text


def test_what_failed_again_is_planned_from_the_report_and_from_its_rows_of_the_ledger(operator: Client) -> None:
    plan = ended(failed=2)
    jobs = Page(operator.get(f"/replays/{plan.pk}/jobs/?fate=failed"))
    for page in (read(operator, plan), jobs):
        assert "Plan replay of the 2 that failed again…" in page.text
        (field,) = page.all("name", "replay")
        assert (field.attrs["value"], page.all("name", "kind")[0].attrs["value"]) == (str(plan.pk), "again")
    assert not Page(operator.get(f"/replays/{plan.pk}/jobs/?fate=failed&text=7")).all("name", "replay")
    assert not read(as_role("viewer"), plan).all("name", "replay")
    assert not read(operator, ended(completed=2_095, failed=0)).all("name", "replay")
    assert not read(operator, ended(step=FORGOTTEN)).all("name", "replay")


def test_the_report_of_a_plan_whose_ledger_was_deleted_still_tells_what_it_came_to(operator: Client) -> None:
    page = read(operator, ended(step=FORGOTTEN))
    assert outcome(page).startswith("2,095 of 2,118 sent, 2,083 completed, 12 failed again")
    assert "its ledger was deleted by age" in page.text.lower()


def at(plan: Replay) -> Seen:
    return see(plan, now_ms())


def test_its_end_is_known_by_the_pace_that_still_climbs() -> None:
    plan = started(ago_s=60, to_send=1_000, rest_at=timezone.now() - timedelta(seconds=40))
    left = pace.left_s(at(plan))
    assert left is not None
    assert 59 < left < 63  # 20 s at 10 a second, then some 800 at 20, a little below both


def test_without_a_ceiling_its_end_is_known_by_what_was_sent_lately() -> None:
    plan = started(ago_s=60, terms=Terms(pace_from=None, pace_to=None))
    assert pace.left_s(at(plan)) is None
    spans(plan, [500, 500, 500])
    left = pace.left_s(at(plan))
    assert left is not None
    assert 5 < left < 10


def test_its_hours_are_named_where_its_end_is(operator: Client) -> None:
    terms = Terms(hours=Hours("12345", "09:00", "17:00", "UTC"))
    assert "within its hours" in part(read(operator, started(terms=terms)), "ends_w")


def test_its_chart_has_at_most_so_many_steps_and_marks_what_happened() -> None:
    plan = started(ago_s=86_400, terms=TERMS)
    first = now_ms() // SPAN_MS - 17_000
    ReplaySpan.objects.bulk_create(ReplaySpan(replay=plan, span=first + at, sent=50) for at in range(0, 17_000, 5))
    tell(plan, Told.PAUSED, 4_000, "olga")
    Deploy.objects.create(source="main", version="v7", at_ms=now_ms() - 3_600_000)
    shown = chart.paces(at(plan))
    assert shown is not None
    assert len(shown.sent) <= chart.STEPS
    assert shown.most == pytest.approx(2, abs=0.2)
    drawn = chart.charted(at(plan))
    assert "paused" in drawn
    assert "deploy v7" in drawn


def test_what_a_plan_has_not_begun_has_no_chart(operator: Client) -> None:
    plan = started(Phase.PAUSED, started_at=None, rest_at=None, sent=0, completed=0, failed=0, running=0)
    assert chart.paces(at(plan)) is None
    assert not read(operator, plan).all("id", "paces")


def test_its_page_takes_few_queries_however_many_jobs_it_has(
    operator: Client, django_assert_max_num_queries: Any
) -> None:
    plan = started(failed=40)
    story(plan)
    target(plan, PAYMENTS)
    group = make_group()
    for number in range(40):
        row(plan, b"%d" % number, Fate.FAILED, group=group, again=group)
    with django_assert_max_num_queries(32):
        read(operator, plan)


def test_of_very_many_signatures_the_commonest_are_told(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.replays.around.GROUPS", 2)
    plan = started(failed=3)
    for number in range(3):
        row(plan, b"%d" % number, Fate.FAILED, again=make_group(title=f"E{number}"))
    page = read(operator, plan)
    assert len(page.all("data-again")) == 2
    assert part(page, "unread") == "1 more group is not shown."
