"""Removed jobs: which can be brought back, by whom, as what, and only once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
import redis
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from queues import operations
from queues.actions import Target
from queues.audit import Actor, Asked
from queues.models import AuditEntry, RemovedJob
from queues.registry import SourceConfig
from queues.types import QueueRef, State
from tests.dashboard.pages import Page, link
from tests.dashboard.people import as_role
from tests.seed import seed_queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    """A queue of which two failed jobs have been removed by ana."""
    ref = seed_queue(valkey, "mail", failed=4)
    asked = Asked(Actor("ana", "operator", "10.0.0.1"), key="removal")
    operations.remove(asked, ref, [Target(b"1"), Target(b"2")], state=State.FAILED, children=False)
    return ref


@pytest.fixture
def operator(mail: QueueRef) -> Client:
    return as_role("operator")


def test_a_removed_job_stands_with_who_removed_it_and_until_when_it_is_kept(operator: Client) -> None:
    page = Page(operator.get("/removed/"))
    copies = {str(copy.pk): copy for copy in RemovedJob.objects.all()}
    assert page.rows("data-removed") == sorted(copies, key=int, reverse=True)
    for words in ("ana", "mail", "Failed", "adds a new one", "Kept until"):
        assert words in page.text


def test_an_operator_restores_it_as_a_new_job_and_the_page_leads_there(operator: Client, valkey: redis.Redis) -> None:
    copy = RemovedJob.objects.get(job="1")
    answer = operator.post(f"/removed/{copy.pk}/restore/", {"key": "k"})
    assert answer.status_code == 302
    copy.refresh_from_db()
    assert valkey.exists(f"bull:mail:{copy.restored_as}")
    page = Page(operator.get(answer["Location"]))
    assert f"/queues/main/mail/jobs/{copy.restored_as}/" in [node.attrs["href"] for node in page.all("href", tag="a")]
    assert "restored as" in page.text


def test_a_job_whose_removal_nobody_lived_to_confirm_is_restored_too(operator: Client, valkey: redis.Redis) -> None:
    """The process that removed it was lost: the copy is all that is left of the job."""
    RemovedJob.objects.filter(job="1").update(removed_at=None)
    copy = RemovedJob.objects.get(job="1")
    assert str(copy.pk) not in Page(operator.get("/removed/")).rows("data-removed")  # it may be at work still
    RemovedJob.objects.update(copied_at=timezone.now() - timedelta(minutes=2))
    page = Page(operator.get("/removed/"))
    assert str(copy.pk) in page.rows("data-removed")
    assert "not confirmed" in page.text
    assert "/removed/" in operator.get(f"/audit/{copy.entry_id}/").content.decode()
    assert operator.post(f"/removed/{copy.pk}/restore/", {"key": "k"}).status_code == 302
    copy.refresh_from_db()
    assert valkey.exists(f"bull:mail:{copy.restored_as}")


def test_a_job_that_was_copied_and_is_there_still_is_not_doubled(operator: Client, valkey: redis.Redis) -> None:
    stays = RemovedJob.objects.get(job="1")
    stays.pk, stays.job, stays.removed_at = None, "3", None
    stays.save()
    RemovedJob.objects.update(copied_at=timezone.now() - timedelta(minutes=2))
    answer = operator.post(f"/removed/{stays.pk}/restore/", {"key": "k"})
    assert answer.status_code == 409
    assert "it was not removed" in Page(answer).text
    assert not valkey.exists("bull:mail:wait")


def test_a_job_is_restored_only_once(operator: Client, valkey: redis.Redis) -> None:
    copy = RemovedJob.objects.get(job="1")
    operator.post(f"/removed/{copy.pk}/restore/", {"key": "k"})
    before = valkey.llen("bull:mail:wait")
    assert operator.post(f"/removed/{copy.pk}/restore/", {"key": "k"}).status_code == 302
    assert operator.post(f"/removed/{copy.pk}/restore/", {"key": "another"}).status_code == 409
    assert valkey.llen("bull:mail:wait") == before == 1


def test_a_viewer_sees_them_and_restores_nothing(mail: QueueRef, valkey: redis.Redis) -> None:
    viewer, copy = as_role("viewer"), RemovedJob.objects.get(job="1")
    page = Page(viewer.get("/removed/"))
    assert "Off: it needs the operator role." in page.text
    assert not page.all("action", f"/removed/{copy.pk}/restore/")
    assert viewer.post(f"/removed/{copy.pk}/restore/", {"key": "k"}).status_code == 403
    assert not valkey.exists("bull:mail:wait")


def test_a_get_restores_nothing(operator: Client) -> None:
    assert operator.get(f"/removed/{RemovedJob.objects.get(job='1').pk}/restore/").status_code == 405


def test_what_is_kept_no_longer_cannot_be_restored(operator: Client) -> None:
    RemovedJob.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "No removed job can be restored now" in Page(operator.get("/removed/")).text
    assert operator.post(f"/removed/{RemovedJob.objects.get(job='1').pk}/restore/").status_code == 404


def test_a_copy_whose_removal_is_not_confirmed_is_not_offered(operator: Client) -> None:
    RemovedJob.objects.update(removed_at=None)
    assert Page(operator.get("/removed/")).rows("data-removed") == []


@pytest.mark.parametrize(("query", "rows"), [("source=main&queue=mail", 2), ("queue=shop", 0), ("source=nowhere", 2)])
def test_they_are_filtered_by_queue(operator: Client, query: str, rows: int) -> None:
    assert len(Page(operator.get(f"/removed/?{query}")).rows("data-removed")) == rows


def test_many_are_paged_and_each_is_shown_once(operator: Client) -> None:
    copy = RemovedJob.objects.get(job="1")
    RemovedJob.objects.bulk_create(
        RemovedJob(
            source="main", queue="mail", job=str(number), removed_at=timezone.now(), expires_at=copy.expires_at,
            stored=b"", size=1,
        )
        for number in range(100, 220)
    )  # fmt: skip
    seen: list[str] = []
    page = Page(operator.get("/removed/"))
    while True:
        seen += page.rows("data-removed")
        if not (forth := link(page, "next")):
            break
        page = Page(operator.get(f"/removed/{forth}"))
    assert len(seen) == len(set(seen)) == 122


def test_it_says_where_no_copies_are_kept(source: SourceConfig, settings: LazySettings) -> None:
    settings.MIRANTE_UNDO_HOURS = 0
    assert "No copies of removed jobs are kept here" in Page(as_role("viewer").get("/removed/")).text


def test_hostile_names_of_removed_jobs_are_text(operator: Client) -> None:
    RemovedJob.objects.update(name="<script>window.__x=1</script>\u202e", job="~PHNjcmlwdD4", queue="no slug")
    answer = operator.get("/removed/")
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "<script>window" not in text
    assert "\u202e" not in text


def test_the_page_of_the_removal_and_that_of_the_queue_lead_here(operator: Client) -> None:
    entry = AuditEntry.objects.get(action="remove")
    its = f"/removed/?action={entry.pk}"
    for path, address in (
        (f"/audit/{entry.pk}/", its),
        (f"/queues/main/mail/?state=failed&done={entry.pk}", its),
        ("/queues/main/mail/?state=failed", "/removed/?source=main&queue=mail"),
    ):
        assert address in [node.attrs["href"] for node in Page(operator.get(path)).all("href", tag="a")]


def test_what_one_action_removed_is_seen_by_itself_and_restored_one_after_the_other(operator: Client) -> None:
    first, other = RemovedJob.objects.order_by("pk")
    other.entry = AuditEntry.objects.create(action="remove", source="main", queue="shop")
    other.save()
    page = Page(operator.get(f"/removed/?action={first.entry_id}"))
    assert page.rows("data-removed") == [str(first.pk)]
    assert "Only what this action removed" in page.text
    answer = operator.post(f"/removed/{first.pk}/restore/", {"key": "k", "action": str(first.entry_id)})
    assert answer["Location"].startswith(f"/removed/?action={first.entry_id}&")


def test_all_jobs_of_a_page_are_restored_by_one_press_and_each_once(operator: Client, valkey: redis.Redis) -> None:
    page = Page(operator.get("/removed/"))
    assert "Restore all 2 of this page" in page.text
    assert page.all("action", "/removed/restore/", tag="form")
    copies = [node.attrs["value"] for node in page.all("name", "copy", tag="input")]
    assert sorted(copies) == sorted(page.rows("data-removed"))
    answer = operator.post("/removed/restore/", {"copy": copies, "key": "k"}, follow=True)
    assert "Restored 2 of 2 jobs." in answer.content.decode()
    assert AuditEntry.objects.filter(action="restore", status="done").count() == 2
    assert "Restore all" not in Page(operator.get("/removed/")).text
    waiting = valkey.llen("bull:mail:wait")
    operator.post("/removed/restore/", {"copy": copies, "key": "other"})
    assert valkey.llen("bull:mail:wait") == waiting


def test_viewers_restore_no_page_of_jobs(mail: QueueRef, valkey: redis.Redis) -> None:
    copies = list(RemovedJob.objects.values_list("pk", flat=True))
    assert as_role("viewer").post("/removed/restore/", {"copy": copies}).status_code == 403
    assert not valkey.llen("bull:mail:wait")
    assert "Restore all" not in Page(as_role("viewer").get("/removed/")).text


def test_restoring_ends_where_nothing_may_be_written(operator: Client, settings: LazySettings) -> None:
    copies = list(RemovedJob.objects.values_list("pk", flat=True))
    settings.MIRANTE_SOURCES = [replace(settings.MIRANTE_SOURCES[0], read_only=True)]
    answer = operator.post("/removed/restore/", {"copy": copies}, follow=True)
    assert "Restored 0 of 2 jobs. The source “main” is read-only here" in answer.content.decode()
    assert AuditEntry.objects.filter(action="restore").count() == 1


def test_what_could_not_be_restored_can_be_tried_again_from_a_new_page(operator: Client) -> None:
    keys = set()
    for _page in range(2):
        page = Page(operator.get("/removed/"))
        keys |= {node.attrs["value"] for node in page.all("name", "key", tag="input")}
    assert len(keys) == 2 * 3
