"""Pages about jobs and queues say which group a failure is in, whether a retry can help, and lead there."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import redis
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from queues import discovery
from queues.events import EventKind
from queues.failures import letters
from queues.failures.types import Kind
from queues.models import Failure, FailureGroup, FailureSignature, FailureStrand, IndexedQueue, Indexing, Letter
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.dashboard.pages import Node, Page
from tests.dashboard.people import as_role
from tests.dashboard.test_overview import follow
from tests.failing import indexing, make_group, queue_row
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.django_db

HOSTILE = "\"><script>window.__x=1</script>\u202e\x1b[31m{{ 7|add:'1' }}"
LIST = "/queues/main/payments/?state=failed"


@pytest.fixture(autouse=True)
def fresh() -> None:
    letters.forget()


@pytest.fixture
def payments(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    queue = seed_queue(valkey, "payments")
    discovery.pin("main", "payments")
    indexing(queues=("payments",))
    return queue


@pytest.fixture
def dead(payments: QueueRef, valkey: redis.Redis) -> QueueRef:
    queue = seed_queue(valkey, "payments-dlq")
    discovery.pin("main", "payments-dlq")
    return queue


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


def fail(valkey: redis.Redis, group: FailureGroup, reason: str = "boom") -> list[str]:
    """The failures of a group as jobs of a real failed set; gives their ids, the newest first."""
    rows = list(Failure.objects.filter(strand__group=group, in_set=True).select_related("queue").order_by("-score_ms"))
    for row in rows:
        queue = QueueRef.from_slug("main", row.queue.slug)
        seed_job(valkey, queue, row.job, name="charge", failedReason=reason, finishedOn=row.score_ms)
        valkey.zadd(f"bull:{queue.label}:failed", {row.job: row.score_ms})
    return [row.job for row in rows]


def post(valkey: redis.Redis, dead: QueueRef, failure: Failure, job: str = "1", unmapped: str = "") -> Letter:
    """A letter that tells of a failure, in a real queue and in the index."""
    seed_job(valkey, dead, job, name="dead", data=json.dumps({"error": "x"}))
    valkey.lpush(f"bull:{dead.label}:wait", job)
    row = queue_row(dead.label)
    return Letter.objects.create(queue=row, job=job, failure=failure, at_ms=now_ms(), unmapped=unmapped)


def queries(client: Client, path: str) -> int:
    """How many a page takes when nothing that is kept for seconds has to be read anew."""
    counts = []
    for _try in range(3):
        with CaptureQueriesContext(connection) as captured:
            client.get(path)
        counts.append(len(captured))
    return min(counts)


def row_of(page: Page, job: str) -> Node:
    (row,) = page.all("data-job", job, tag="tr")
    return row


def hrefs(node: Node) -> list[str]:
    return [child.attrs["href"] for child in node.children if "href" in child.attrs]


def test_a_failed_job_in_a_list_leads_to_its_group_and_says_its_class(
    viewer: Client, payments: QueueRef, valkey: redis.Redis
) -> None:
    transient = fail(valkey, make_group(title="ETIMEDOUT", failures=1))
    permanent = make_group(title="TypeError: x", kind=Kind.PERMANENT, failures=1)
    fail(valkey, permanent)
    page = Page(viewer.get(LIST))
    assert "transient" in row_of(page, transient[0]).text
    (job,) = Failure.objects.filter(strand__group=permanent).values_list("job", flat=True)
    row = row_of(page, job)
    assert "permanent" in row.text
    assert f"/failures/{permanent.slug}/" in hrefs(row)
    assert any("A retry fails the same way." in child.attrs.get("title", "") for child in row.children)


def test_a_class_by_hand_goes_before_that_of_the_rules(viewer: Client, payments: QueueRef, valkey: redis.Redis) -> None:
    group = make_group(kind=Kind.TRANSIENT, rule="timeout", failures=1, kind_set="permanent")
    (job,) = fail(valkey, group)
    row = row_of(Page(viewer.get(LIST)), job)
    assert "permanent" in row.text
    assert any("set by hand" in child.attrs.get("title", "") for child in row.children)


def test_a_job_that_is_not_indexed_yet_is_said_to_be_so(
    viewer: Client, payments: QueueRef, valkey: redis.Redis
) -> None:
    seed_job(valkey, payments, "9", failedReason="boom", finishedOn=now_ms())
    valkey.zadd("bull:payments:failed", {"9": now_ms()})
    row = row_of(Page(viewer.get(LIST)), "9")
    assert "not indexed yet" in row.text
    assert not [href for href in hrefs(row) if "/failures/" in href]
    text = Page(viewer.get("/queues/main/payments/jobs/9/")).text
    assert "Not indexed yet." in text
    assert "The index reads it within seconds." in text


def test_what_is_known_of_an_earlier_failure_of_the_same_job_is_not_told_of_this_one(
    viewer: Client, payments: QueueRef, valkey: redis.Redis
) -> None:
    group = make_group(failures=1)
    (job,) = fail(valkey, group)
    valkey.zadd("bull:payments:failed", {job: now_ms() + 5_000})
    assert "not indexed yet" in row_of(Page(viewer.get(LIST)), job).text
    assert "Not indexed yet." in Page(viewer.get(f"/queues/main/payments/jobs/{job}/")).text


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"why": "NOPERM ZRANGE"}, "The index cannot read failures now: NOPERM ZRANGE"),
        ({"beat_at": timezone.now() - timedelta(hours=1)}, "Nobody reads failures now"),
    ],
)
def test_why_a_job_is_not_indexed_is_said(
    viewer: Client, payments: QueueRef, valkey: redis.Redis, fields: dict[str, Any], told: str
) -> None:
    indexing(queues=("payments",), **fields)
    seed_job(valkey, payments, "9", failedReason="boom", finishedOn=now_ms())
    valkey.zadd("bull:payments:failed", {"9": now_ms()})
    assert told in Page(viewer.get("/queues/main/payments/jobs/9/")).text
    assert told in Page(viewer.get(LIST)).text


def test_a_first_reading_says_how_far_it_is(viewer: Client, payments: QueueRef, valkey: redis.Redis) -> None:
    IndexedQueue.objects.update(scanning=True, scanned=40_000, expected=200_000)
    text = Page(viewer.get(LIST)).text
    assert "still reading: 40,000 of 200,000 failed jobs" in text


def test_above_the_list_stand_the_worst_groups_of_the_last_hour(viewer: Client, payments: QueueRef) -> None:
    for number, count in enumerate((131, 1_912, 7, 3)):
        make_group(title=f"Error number {number}", counts=(count, count, count, count, count))
    make_group(title="elsewhere", queues=("mail",), counts=(9_000,) * 5)
    make_group(title="quiet", counts=(0, 0, 9, 9, 9))
    make_group(title="ignored", life="ignored", counts=(9, 9, 9, 9, 9))
    page = Page(viewer.get(LIST))
    (line,) = page.all("class", "lately")
    text = " ".join(line.text.split())
    assert text.index("Error number 1 1,912") < text.index("Error number 0 131")
    assert "2 more" in text
    for absent in ("elsewhere", "quiet", "ignored"):
        assert absent not in text
    first, *_, every = hrefs(line)
    asked = parse_qs(urlsplit(first).query)
    assert asked["queue"] == ["payments"]
    assert int(asked["since"][0]) == Indexing.objects.get().windows_ms - 3_600_000
    assert parse_qs(urlsplit(every).query) == {"source": ["main"], "queue": ["payments"]}
    assert viewer.get(every).status_code == 200


def test_a_queue_without_failures_in_the_last_hour_only_leads_to_its_groups(viewer: Client, payments: QueueRef) -> None:
    (line,) = Page(viewer.get(LIST)).all("class", "lately")
    assert " ".join(line.text.split()) == "Groups of this queue"
    assert not Page(viewer.get("/queues/main/payments/?state=waiting")).all("class", "lately")


def test_the_page_of_a_failed_job_says_its_class_what_to_do_and_how_many_are_like_it(
    viewer: Client, payments: QueueRef, valkey: redis.Redis
) -> None:
    group = make_group(failures=3, counts=(12, 20, 30, 40, 1_234))
    job, *_ = fail(valkey, group)
    page = Page(viewer.get(f"/queues/main/payments/jobs/{job}/"))
    (advice,) = page.all("data-advice", "transient")
    assert "A retry can help once what it needs is back." in advice.text
    assert "1,234 like it" in advice.text
    (known,) = page.all("data-known", group.slug)
    text = " ".join(known.text.split())
    assert "transient, no rule matched" in text
    assert "Last hour 12 jobs" in text
    assert "3 still there" in text
    assert f"/failures/{group.slug}/jobs/" in hrefs(known)


@pytest.mark.parametrize(("kind", "leads"), [("permanent", "Edit and replay…"), ("transient", "Retry…")])
def test_the_button_that_leads_is_the_one_that_can_help(
    payments: QueueRef, valkey: redis.Redis, kind: Kind, leads: str
) -> None:
    (job,) = fail(valkey, make_group(failures=1, kind=kind))
    page = Page(as_role("operator").get(f"/queues/main/payments/jobs/{job}/"))
    (leading,) = [node for node in page.all("class") if "pri" in node.attrs["class"].split()]
    assert leading.text.strip() == leads


def test_of_letters_nothing_is_likelier_than_to_plan_their_replay(dead: QueueRef, valkey: redis.Redis) -> None:
    make_group(failures=1)
    post(valkey, dead, Failure.objects.get())
    page = Page(as_role("operator").get("/queues/main/payments-dlq/?state=waiting"))
    leading = [node for node in page.nodes if "pri" in node.attrs.get("class", "").split()]
    assert [" ".join(node.text.split()) for node in leading] == ["Plan replay of all letters…", "Plan replay …"]
    verbs = [node.attrs["data-verb"] for node in page.all("data-verb")]
    assert verbs[0] == "plan"


def test_a_job_that_has_not_failed_says_nothing_of_groups(
    viewer: Client, payments: QueueRef, valkey: redis.Redis
) -> None:
    seed_job(valkey, payments, "5")
    valkey.lpush("bull:payments:wait", "5")
    assert 'id="known"' not in viewer.get("/queues/main/payments/jobs/5/").content.decode()


def test_a_group_that_was_merged_is_called_by_the_one_it_is_part_of(
    viewer: Client, payments: QueueRef, valkey: redis.Redis
) -> None:
    old, new = make_group(title="old", failures=1), make_group(title="new")
    (job,) = fail(valkey, old)
    FailureGroup.objects.filter(pk=old.pk).update(merged_into=new)
    assert f"/failures/{new.slug}/" in hrefs(row_of(Page(viewer.get(LIST)), job))
    for model in (FailureSignature, FailureStrand):
        model._default_manager.filter(group=old).update(group=new)
    assert f"/failures/{new.slug}/" in hrefs(row_of(Page(viewer.get(LIST)), job))
    (known,) = Page(viewer.get(f"/queues/main/payments/jobs/{job}/")).all("data-known", new.slug)
    assert "new" in known.text


def test_a_letter_tells_its_error_its_class_and_of_which_job_it_is(
    viewer: Client, payments: QueueRef, dead: QueueRef, valkey: redis.Redis
) -> None:
    group = make_group(title="connect ETIMEDOUT", failures=1)
    (job,) = fail(valkey, group)
    post(valkey, dead, Failure.objects.get(), unmapped="attempts,name")
    page = Page(viewer.get("/queues/main/payments-dlq/?state=waiting"))
    row = row_of(page, "1")
    assert "connect ETIMEDOUT" in row.text
    assert "transient" in row.text
    assert "not found in it: Attempts made, Name of the job" in row.text
    assert {f"/failures/{group.slug}/", f"/queues/main/payments/jobs/{job}/"} <= set(hrefs(row))
    (line,) = page.all("class", "lately")
    assert " ".join(line.text.split()) == "1 letter read, 1 incomplete Plan replay of all letters… How they are read"
    assert hrefs(line) == ["/failures/letters/main/payments-dlq/"]


def test_the_page_of_a_letter_and_that_of_its_job_lead_to_each_other(
    viewer: Client, payments: QueueRef, dead: QueueRef, valkey: redis.Redis
) -> None:
    (job,) = fail(valkey, make_group(failures=1))
    post(valkey, dead, Failure.objects.get(), unmapped="failed_at")
    letter = Page(viewer.get("/queues/main/payments-dlq/jobs/1/"))
    assert f"/queues/main/payments/jobs/{job}/" in letter.source
    assert "When it failed" in letter.text
    assert "/queues/main/payments-dlq/jobs/1/" in Page(viewer.get(f"/queues/main/payments/jobs/{job}/")).source


def test_a_letter_that_does_not_say_of_which_job_says_so(
    viewer: Client, payments: QueueRef, dead: QueueRef, valkey: redis.Redis
) -> None:
    make_group(queues=("payments-dlq",), failures=1)
    failure = Failure.objects.get()
    Failure.objects.update(job="1", in_set=False)
    post(valkey, dead, failure, unmapped="job")
    text = Page(viewer.get("/queues/main/payments-dlq/jobs/1/")).text
    assert "A letter that does not say of which job." in text
    assert "it does not say" in text
    row = row_of(Page(viewer.get("/queues/main/payments-dlq/?state=waiting")), "1")
    assert [href for href in hrefs(row) if "/jobs/" in href] == ["/queues/main/payments-dlq/jobs/1/"]


def test_letters_that_are_read_anew_are_not_counted_as_incomplete(
    viewer: Client, dead: QueueRef, valkey: redis.Redis
) -> None:
    make_group(failures=2)
    for number, failure in enumerate(Failure.objects.all()):
        post(valkey, dead, failure, str(number + 1), unmapped="?" if number else "")
    page = Page(viewer.get("/queues/main/payments-dlq/?state=waiting"))
    assert "1 letter read Plan" in " ".join(page.all("class", "lately")[0].text.split())
    assert "not found in it" not in page.text


def test_hostile_titles_and_names_stay_text(
    viewer: Client, payments: QueueRef, dead: QueueRef, valkey: redis.Redis
) -> None:
    group = make_group(title=HOSTILE, names=(HOSTILE,), failures=1, rule=HOSTILE)
    (job,) = fail(valkey, group, reason=HOSTILE)
    post(valkey, dead, Failure.objects.get(), unmapped=HOSTILE)
    for path in (
        LIST,
        f"/queues/main/payments/jobs/{job}/",
        "/queues/main/payments-dlq/?state=waiting",
        "/queues/main/payments-dlq/jobs/1/",
        "/",
    ):
        source = viewer.get(path).content.decode()
        assert "<script>window" not in source, path
        assert "\u202e" not in source, path
        assert "\x1b" not in source, path


def test_a_list_costs_as_many_queries_for_many_jobs_as_for_one(
    viewer: Client, payments: QueueRef, valkey: redis.Redis
) -> None:
    fail(valkey, make_group(failures=1))
    one = queries(viewer, LIST)
    for number in range(10):
        fail(valkey, make_group(title=f"number {number}", failures=4))
    assert queries(viewer, LIST) == one


def test_the_number_of_failed_jobs_on_the_overview_leads_to_their_groups(
    viewer: Client, payments: QueueRef, valkey: redis.Redis
) -> None:
    fail(valkey, make_group(title="the one there is", failures=2))
    (row,) = Page(viewer.get("/")).all("data-queue", "main/payments", tag="tr")
    (address,) = [href for href in hrefs(row) if href.startswith("/failures/")]
    assert parse_qs(urlsplit(address).query) == {"source": ["main"], "queue": ["payments"]}
    assert "the one there is" in Page(viewer.get(address)).text


def test_a_row_of_dead_letters_leads_to_what_most_of_the_newest_tell_of(
    viewer: Client, dead: QueueRef, valkey: redis.Redis
) -> None:
    old, new = make_group(title="old trouble", failures=3), make_group(title="new trouble", failures=60)
    failures = [*Failure.objects.filter(strand__group=old), *Failure.objects.filter(strand__group=new)]
    for number, failure in enumerate(failures):
        post(valkey, dead, failure, str(number))
    page = Page(viewer.get("/"))
    (row,) = page.all("data-queue", "main/payments-dlq", tag="tr")
    assert "new trouble" in row.text
    assert f"/failures/{new.slug}/" in hrefs(row)
    (eye,) = page.all("class", "go")
    assert "new trouble 50 of the 50 newest letters" in " ".join(eye.text.split())


def test_a_queue_that_fails_fast_leads_to_its_worst_group(
    viewer: Client, payments: QueueRef, valkey: redis.Redis
) -> None:
    seed_job(valkey, payments, "9", failedReason="boom", finishedOn=now_ms())
    valkey.zadd("bull:payments:failed", {"9": now_ms()})
    follow("payments", {1: {EventKind.FAILED: 40, EventKind.COMPLETED: 10}})
    make_group(title="gentle", counts=(3, 3, 3, 3, 3))
    worst = make_group(title="grave", counts=(90, 90, 90, 90, 90), kind=Kind.PERMANENT)
    (eye,) = Page(viewer.get("/")).all("class", "go")
    assert "grave 90 in the last hour, permanent" in " ".join(eye.text.split())
    assert hrefs(eye) == [f"/failures/{worst.slug}/"]


def test_the_overview_costs_as_many_queries_for_many_queues_of_letters_as_for_one(
    viewer: Client, dead: QueueRef, valkey: redis.Redis
) -> None:
    make_group(failures=2)
    failure = Failure.objects.first()
    assert failure
    post(valkey, dead, failure)
    one = queries(viewer, "/")
    for number in range(12):
        queue = seed_queue(valkey, f"q{number}-dlq")
        discovery.pin("main", queue.slug)
        post(valkey, queue, failure)
    assert queries(viewer, "/") == one


def test_the_system_page_says_how_the_index_of_a_source_stands(viewer: Client, payments: QueueRef) -> None:
    make_group(counts=(1, 2, 3, 4, 1_500), failures=7)
    text = index_line(viewer)
    assert "caught up as of" in text
    assert "Indexing costs 0.3 commands a second" in text
    assert "Failures counted, still there 1,500, 7" in text
    IndexedQueue.objects.update(scanning=True, scanned=40_000, expected=200_000)
    assert "reading, 40,000 of 200,000 failed jobs 1 queue to go" in index_line(viewer)
    IndexedQueue.objects.update(scanning=False, gaps=[[1_000, 2_000], [5_000, 6_000]])
    assert "some may be missing from 2 stretches, in 1 queue, until 1970-01-01 00:00:06" in index_line(viewer)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"why": "NOPERM ZRANGE"}, "cannot read it NOPERM ZRANGE"),
        ({"behind_ms": 65_000}, "1 min 05 s behind"),
        ({"beat_at": timezone.now() - timedelta(hours=1)}, "nobody reads it since"),
        ({"commands_per_s": None}, "Indexing costs not known yet"),
    ],
)
def test_the_system_page_says_why_an_index_does_not_go_on(
    viewer: Client, payments: QueueRef, fields: dict[str, Any], told: str
) -> None:
    indexing(queues=("payments",), **fields)
    assert told in index_line(viewer)


def test_of_a_source_that_was_never_indexed_nothing_is_counted(viewer: Client, source: SourceConfig) -> None:
    text = index_line(viewer)
    assert "nothing was read yet" in text
    assert "Failures counted, still there –" in text


def index_line(client: Client) -> str:
    (section,) = Page(client.get("/system/")).all("data-source", "main")
    return " ".join(section.text.split())


def test_the_list_of_groups_advises_by_the_rule_that_decided(viewer: Client, payments: QueueRef) -> None:
    group = make_group(rule="name lookup")
    (row,) = Page(viewer.get("/failures/")).all("data-group", group.slug)
    titles = [child.attrs.get("title", "") for child in row.children]
    assert any("once the name resolves again" in title for title in titles)
    assert 'href="/failures/letters/"' in viewer.get("/failures/").content.decode()
