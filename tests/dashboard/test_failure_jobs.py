"""The jobs of a group of failures: exactly those that a cell counts, picked and acted on, and taken away as files."""

from __future__ import annotations

import csv
import io
import json
import time
from typing import Any

import pytest
import redis
from django.conf import LazySettings
from django.test import Client

from queues import discovery
from queues.failures.types import How
from queues.models import AuditEntry, Bulk, Failure, FailureGroup, FailureStrand, Letter
from queues.quantities import now_ms
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.dashboard.pages import Page, link
from tests.dashboard.people import as_role, person, signed_in
from tests.failing import indexing, make_group, queue_row
from tests.queues.acting import to_its_end
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.django_db

ASK, ACT = "/queues/main/payments/bulk/ask/{}/", "/queues/main/payments/bulk/act/{}/"
MARKUP = "<b>x</b><script>alert(1)</script>"


@pytest.fixture
def operator(source: SourceConfig) -> Client:
    return signed_in(person("operator", name="oona"))


@pytest.fixture
def group(source: SourceConfig, valkey: redis.Redis) -> FailureGroup:
    """A group of 120 failures in one queue, 100 of whose jobs are in the failed set of a real server."""
    queue = seed_queue(valkey, "payments")
    discovery.pin("main", "payments")
    indexing(queues=("payments",))
    made = make_group(failures=100, gone=20, counts=(60, 80, 100, 120, 120), samples=2)
    for row in Failure.objects.filter(in_set=True):
        _fail(valkey, queue, row)
    return made


def _fail(valkey: redis.Redis, queue: QueueRef, row: Failure, data: str = '{"tenant":"t-1"}') -> None:
    seed_job(valkey, queue, row.job, name="charge", data=data, failedReason="x", stacktrace="[]")
    valkey.zadd(f"bull:{queue.label}:failed", {row.job: row.score_ms})


def _page(client: Client, group: FailureGroup, query: str = "") -> Page:
    answer = client.get(f"/failures/{group.slug}/jobs/{query}")
    assert answer.status_code == 200
    return Page(answer)


def picks(client: Client, group: FailureGroup, number: int = 2, query: str = "") -> dict[str, Any]:
    """What the form would send if its first rows were ticked."""
    (form,) = _page(client, group, query).all("id", "bulk", tag="form")
    fields = {node.attrs["name"]: node.attrs["value"] for node in form.children if node.attrs.get("type") == "hidden"}
    boxes = [node.attrs["value"] for node in form.children if node.attrs.get("name") == "job"]
    return fields | {"job": boxes[:number]}


def _gone(response: Any) -> set[str]:
    """The jobs of a list that are said to be gone."""
    rows = {node.attrs["data-job"]: node.text for node in Page(response).nodes if "data-job" in node.attrs}
    return {job for job, text in rows.items() if "gone" in text}


def _failed(valkey: redis.Redis) -> int:
    return int(valkey.zcard("bull:payments:failed"))


def test_all_failures_are_walked_page_by_page_newest_first_and_back(operator: Client, group: FailureGroup) -> None:
    expected = list(Failure.objects.order_by("-at_ms", "-pk").values_list("job", flat=True))
    page, seen, query = _page(operator, group), [], ""
    while True:
        seen += page.rows("data-job")
        query = link(page, "next")
        if not query:
            break
        page = _page(operator, group, query)
    assert seen == expected
    back = _page(operator, group, link(page, "prev"))
    assert back.rows("data-job") == expected[50:100]


def test_filters_keep_what_they_say(operator: Client, group: FailureGroup) -> None:
    middle = sorted(Failure.objects.values_list("at_ms", flat=True))[60]
    for query, wanted in (
        (f"?since={middle}", Failure.objects.filter(at_ms__gte=middle)),
        (f"?before={middle}", Failure.objects.filter(at_ms__lt=middle)),
        ("?worker=worker-1", Failure.objects.filter(worker="worker-1")),
        ("?present=gone", Failure.objects.filter(present=False)),
        ("?present=set", Failure.objects.filter(in_set=True)),
        ("?name=charge", Failure.objects.all()),
        ("?name=other", Failure.objects.none()),
        ("?queue=elsewhere", Failure.objects.none()),
    ):
        rows = _page(operator, group, query).rows("data-job")
        assert rows == list(wanted.order_by("-at_ms", "-pk").values_list("job", flat=True)[:50]), query


def test_odd_filters_and_cursors_are_told_and_never_an_error(operator: Client, group: FailureGroup) -> None:
    for query, status in (
        *(("?since=x", 422), ("?older=x", 422), ("?newer=1-", 422), ("?older=" + "9" * 40, 422)),
        *(("?present=odd", 200), ("?name=%00", 200), ("?worker=%ED%A0%80", 200), ("?queue=" + "q" * 3_000, 200)),
    ):
        assert operator.get(f"/failures/{group.slug}/jobs/{query}").status_code == status, query


def test_ticked_jobs_are_retried_and_no_others_and_the_entry_is_of_the_group(
    operator: Client, group: FailureGroup, valkey: redis.Redis
) -> None:
    sent = picks(operator, group)
    assert "Retry 2 of 100 failed jobs" in Page(operator.post(ASK.format("retry"), sent)).text
    answer = operator.post(ACT.format("retry"), sent | {"key": "k", "attempts": "keep"})
    assert answer.status_code == 302
    assert _failed(valkey) == 98
    entry = AuditEntry.objects.get(action="retry")
    assert (entry.group, entry.outcomes) == (group, {"done": 2})
    assert "Retried 2 jobs" in Page(operator.get(f"/failures/{group.slug}/")).text


def test_the_list_after_an_action_shows_it_before_the_index_knows(operator: Client, group: FailureGroup) -> None:
    before, sent = _gone(operator.get(f"/failures/{group.slug}/jobs/")), picks(operator, group)
    answer = operator.post(ACT.format("retry"), sent | {"key": "k", "attempts": "keep"})
    after = _gone(operator.get(answer["Location"]))
    assert after - before == {value.split()[0] for value in sent["job"]}
    # A later look tells what the index knows.
    assert _gone(operator.get(f"/failures/{group.slug}/jobs/")) == before


def test_who_retries_what_fails_the_same_way_is_told(operator: Client, group: FailureGroup) -> None:
    sent, told = picks(operator, group), "A retry fails the same way"
    assert told not in operator.post(ASK.format("retry"), sent).content.decode()
    FailureStrand.objects.update(kind="permanent")
    assert told in operator.post(ASK.format("retry"), sent).content.decode()
    assert told not in operator.post(ASK.format("remove"), sent).content.decode()


def test_a_job_that_failed_again_since_is_left(operator: Client, group: FailureGroup, valkey: redis.Redis) -> None:
    sent = picks(operator, group)
    job = str(sent["job"][0]).split(" ")[0]
    valkey.zadd("bull:payments:failed", {job: time.time() * 1000 // 1})
    operator.post(ACT.format("retry"), sent | {"key": "k", "attempts": "keep"})
    assert AuditEntry.objects.get(action="retry").outcomes["done"] == 1
    assert valkey.zscore("bull:payments:failed", job) is not None


def test_all_of_a_group_are_frozen_from_the_index_and_acted_on_in_the_background(
    operator: Client, group: FailureGroup, valkey: redis.Redis
) -> None:
    queue = QueueRef("main", b"bull", b"payments")
    other = make_group(title="another", failures=7)  # failed in the same queue, and not meant
    for row in Failure.objects.filter(strand__group=other):
        _fail(valkey, queue, row)
    sent = picks(operator, group, 0) | {"all": "1"}
    asked = Page(operator.post(ASK.format("retry"), sent)).text
    assert "all 100 jobs of payments on main that failed by" in asked
    operator.post(ACT.format("retry"), sent | {"key": "k", "attempts": "keep"})
    later = Failure.objects.create(  # known after it was confirmed
        queue=queue_row("payments"),
        strand=FailureStrand.objects.get(group=group),
        job="later",
        at_ms=now_ms() - 60_000,
        score_ms=now_ms() - 60_000,
        in_set=True,
        present=True,
    )
    _fail(valkey, queue, later)
    entry = to_its_end(AuditEntry.objects.get(action="retry"))
    assert (entry.status, entry.outcomes, entry.group) == ("done", {"done": 100}, group)
    assert group.slug in entry.selection
    assert _failed(valkey) == 8


def test_a_filtered_list_means_only_what_it_shows(operator: Client, group: FailureGroup, valkey: redis.Redis) -> None:
    middle = sorted(Failure.objects.values_list("at_ms", flat=True))[70]
    sent = picks(operator, group, 0, f"?since={middle}&worker=worker-1") | {"all": "1"}
    operator.post(ACT.format("remove"), sent | {"key": "k"})
    wanted = Failure.objects.filter(in_set=True, at_ms__gte=middle, worker="worker-1")
    entry = to_its_end(AuditEntry.objects.get(action="remove"))
    assert entry.outcomes == {"done": wanted.count()}
    assert not [job for job in wanted.values_list("job", flat=True) if valkey.zscore("bull:payments:failed", job)]
    assert "worker-1" in entry.selection


def test_collecting_from_the_index_goes_on_in_slices_and_follows_a_merge(
    operator: Client, group: FailureGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.bulk.freezing.BATCH", 7)
    sent = picks(operator, group, 0) | {"all": "1", "key": "k", "attempts": "keep"}
    operator.post(ACT.format("retry"), sent)
    other = make_group(title="another", queues=("mail",))
    operator.post("/failures/merge/", {"group": [group.slug, other.slug], "into": other.slug, "sure": "1"})
    entry = to_its_end(AuditEntry.objects.get(action="retry"))
    assert entry.outcomes == {"done": 100}
    assert Bulk.objects.get().batches.count() >= 15


@pytest.mark.parametrize("stays", [0, 1])
def test_what_is_merged_with_a_group_meanwhile_is_not_retried_along(
    operator: Client, group: FailureGroup, valkey: redis.Redis, stays: int
) -> None:
    queue = QueueRef("main", b"bull", b"payments")
    other = make_group(title="another", failures=7)  # in the same queue
    for row in Failure.objects.filter(strand__group=other):
        _fail(valkey, queue, row)
    sent = picks(operator, group, 0) | {"all": "1", "key": "k", "attempts": "keep"}
    operator.post(ACT.format("retry"), sent)
    merged = [group.slug, other.slug]
    operator.post("/failures/merge/", {"group": merged, "into": merged[stays], "sure": "1"})
    assert to_its_end(AuditEntry.objects.get(action="retry")).outcomes == {"done": 100}
    assert _failed(valkey) == 7


@pytest.mark.parametrize("stays", [0, 1])
def test_a_group_that_was_merged_after_the_question_is_asked_about_again(
    operator: Client, group: FailureGroup, valkey: redis.Redis, stays: int
) -> None:
    other = make_group(title="another", failures=7)
    asked = Page(operator.post(ASK.format("remove"), picks(operator, group, 0) | {"all": "1"}))
    (form,) = [form for form in asked.all("action", tag="form") if form.attrs["action"] == ACT.format("remove")]
    sent = {
        node.attrs["name"]: node.attrs.get("value", "") for node in form.children if node.attrs.get("type") == "hidden"
    }
    merged = [group.slug, other.slug]
    operator.post("/failures/merge/", {"group": merged, "into": merged[stays], "sure": "1"})
    answer = operator.post(ACT.format("remove"), sent)
    assert answer.status_code == 409
    assert "merged or split since you were asked" in Page(answer).text
    assert not Bulk.objects.exists()
    assert _failed(valkey) == 100


def test_a_limit_holds_for_groups_too(operator: Client, group: FailureGroup, settings: LazySettings) -> None:
    settings.MIRANTE_BULK_MAX = 3
    sent = picks(operator, group, 0) | {"all": "1"}
    assert "MIRANTE_BULK_MAX" in Page(operator.post(ASK.format("retry"), sent)).text


def test_a_form_that_no_list_sends_is_refused(operator: Client, group: FailureGroup) -> None:
    sent = picks(operator, group) | {"key": "k", "attempts": "keep"}
    for odd in ({"group": "ffffff"}, {"since": "x"}, {"state": "completed"}):
        assert operator.post(ACT.format("retry"), sent | odd).status_code in (404, 422)
    assert not AuditEntry.objects.exclude(status="refused").exists()


def test_a_viewer_sees_the_list_and_why_verbs_are_off(group: FailureGroup) -> None:
    page = _page(as_role("viewer"), group)
    assert "It needs the operator role" in page.text


def test_several_queues_are_tabs_and_picking_needs_one(operator: Client, source: SourceConfig) -> None:
    indexing(queues=("payments", "mail"))
    made = make_group(queues=("payments", "mail"), failures=4)
    page = _page(operator, made)
    assert "choose one queue" in page.text
    assert not page.all("name", "job")
    assert len(page.rows("data-job")) == 4
    one = _page(operator, made, "?queue=mail")
    assert len(one.rows("data-job")) == 2
    assert one.all("name", "job")


def test_jobs_that_are_gone_or_only_letters_say_so(operator: Client, source: SourceConfig) -> None:
    indexing(queues=("payments",))
    made = make_group(failures=3)
    gone, letter, event = Failure.objects.order_by("pk")
    Failure.objects.filter(pk=gone.pk).update(in_set=False, present=False)
    Failure.objects.filter(pk=event.pk).update(in_set=False, present=False, how=How.EVENT, job="~." + "a" * 64)
    Failure.objects.filter(pk=letter.pk).update(in_set=False, present=True)
    Letter.objects.create(queue=queue_row("payments-dlq"), job="l1", failure=letter, at_ms=1)
    page = _page(operator, made)
    assert {node.attrs["data-where"] for node in page.all("data-where")} == {"gone", "letter"}
    for told in ("gone", "a letter in payments-dlq", "removed as it failed", "id too long to keep"):
        assert told in page.text


def test_exports_hold_every_failure_masked_and_run_in_no_spreadsheet(operator: Client, group: FailureGroup) -> None:
    FailureStrand.objects.update(name="=1+1")
    Failure.objects.update(worker="token=abcdefgh1234567890abcdefgh")
    text = b"".join(operator.get(f"/failures/{group.slug}/jobs.csv")).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 120
    assert rows[0]["name"] == "'=1+1"
    assert "abcdefgh1234567890" not in text
    lines = b"".join(operator.get(f"/failures/{group.slug}/jobs.jsonl?present=gone"))
    records = [json.loads(line) for line in lines.decode().splitlines()]
    assert len(records) == 20
    assert {record["where"] for record in records} == {"gone"}
    assert AuditEntry.objects.filter(action="export-failures", group=group).count() == 2


def test_a_merged_groups_jobs_lead_to_where_they_are(operator: Client, group: FailureGroup) -> None:
    other = make_group(title="another")
    operator.post("/failures/merge/", {"group": [group.slug, other.slug], "into": group.slug, "sure": "1"})
    for query in ("", "?since=1000&worker=w+1%26"):
        answer = operator.get(f"/failures/{other.slug}/jobs/{query}")
        assert answer.headers["Location"] == f"/failures/{group.slug}/jobs/{query}"


def test_names_and_workers_are_text(operator: Client, group: FailureGroup) -> None:
    FailureStrand.objects.update(name=MARKUP)
    Failure.objects.update(worker=MARKUP)
    page = _page(operator, group, "?worker=" + "%3Cb%3Ex%3C/b%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert page.text.count(MARKUP) >= 100
    assert not [node for node in page.nodes if node.tag == "b" and node.text == "x"]


def test_values_of_a_path_are_read_from_the_jobs_that_are_there(
    operator: Client, group: FailureGroup, valkey: redis.Redis
) -> None:
    jobs = list(Failure.objects.filter(in_set=True).order_by("-at_ms").values_list("job", flat=True))
    for at, data in enumerate(('{"tenant":"t-2"}', "{}", "no json", '{"tenant":{"password":"hunter2"}}')):
        valkey.hset(f"bull:payments:{jobs[at]}", "data", data)
    valkey.delete(f"bull:payments:{jobs[4]}")
    for path in ("tenant", "data.tenant"):
        page = Page(operator.get(f"/failures/{group.slug}/?path={path}"))
        assert "Of the newest 100 jobs that are there" in page.text
        shares = [node.text.split() for node in page.all("data-share", "value")]
        assert ["t-1", "95", "95%"] in [[part.strip('"') for part in share] for share in shares]
        for told in ("1 have no such field", "1 hold no JSON", "The data of 1 is gone"):
            assert told in page.text
    page = Page(operator.get(f"/failures/{group.slug}/?path=tenant.password"))
    assert "Of 1 it is hidden" in page.text
    assert "hunter2" not in page.text
