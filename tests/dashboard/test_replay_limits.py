"""The page of what admins allow of replays."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.models import AuditEntry, ReplayLimits
from queues.replay.limits import limits
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person, signed_in

pytestmark = pytest.mark.django_db

PAGE, CHANGE = "/replays/limits/", "/replays/limits/change/"
GIVEN = {"largest": "5000", "fastest": "50.5", "approval": "", "undo_s": "0", "typed": "10"}


@pytest.fixture
def admin() -> Client:
    return signed_in(person("admin", name="ada"))


def value(page: Page, name: str) -> str:
    return page.all("name", name, tag="input")[0].attrs.get("value", "")


@pytest.mark.parametrize(("role", "status"), [("admin", 200), ("operator", 403), ("viewer", 403), (None, 403)])
def test_the_limits_are_for_admins(role: str | None, status: int) -> None:
    client = as_role(role)
    assert client.get(PAGE).status_code == status
    assert client.post(CHANGE, GIVEN).status_code == (302 if status == 200 else 403)
    assert ReplayLimits.objects.exists() is (status == 200)


def test_the_page_shows_what_holds_and_keeps_what_is_sent(admin: Client) -> None:
    page = Page(admin.get(PAGE))
    assert [value(page, name) for name in GIVEN] == ["1000000", "", "", "10", "1000"]
    assert "Last changed" not in page.text
    answer = admin.post(CHANGE, GIVEN | {"key": value(page, "key"), "reason": "quiet month"}, follow=True)
    page = Page(answer)
    assert [value(page, name) for name in GIVEN] == ["5000", "50.5", "", "0", "10"]
    assert "The limits are kept" in page.text
    assert "Last changed by ada" in page.text
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.action, entry.reason) == ("ada", "replay-limits", "quiet month")
    log = Page(admin.get(f"/audit/{entry.pk}/")).text
    assert "Set the limits of replays" in log
    assert "Highest pace, jobs a second" in log


def test_a_form_that_is_sent_twice_is_kept_once(admin: Client) -> None:
    sent = GIVEN | {"key": "the same"}
    assert [admin.post(CHANGE, sent).status_code for _ in range(2)] == [302, 302]
    assert AuditEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("largest", "0", "greater than or equal to 1"),
        ("largest", "many", "whole number"),
        ("fastest", "-1", "greater than or equal to 0.01"),
        ("fastest", "nan", "Enter a number"),
        ("undo_s", "", "required"),
        ("typed", "", "required"),
        ("typed", "9" * 30, "less than or equal to"),
        ("reason", "a\x00b", "Null characters"),
    ],
)
def test_what_is_no_limit_is_told_at_its_field(name: str, typed: str, said: str, admin: Client) -> None:
    answer = admin.post(CHANGE, GIVEN | {name: typed})
    assert answer.status_code == 422
    page = Page(answer)
    assert said in page.all("id", f"id_{name}_error")[0].text
    assert limits().largest == 1_000_000
    assert not AuditEntry.objects.exists()


def test_what_was_typed_is_text_and_an_unknown_method_is_none(admin: Client) -> None:
    answer = admin.post(CHANGE, GIVEN | {"largest": "<img src=x>"})
    assert "<img src=x" not in answer.text
    assert [admin.post(PAGE).status_code, admin.get(CHANGE).status_code] == [405, 405]
