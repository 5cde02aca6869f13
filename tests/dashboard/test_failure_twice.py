"""What people say about a group of failures, sent twice or by two at once: it is done once, and written down once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from queues.models import AuditEntry, FailureGroup, FailureNote, FailureSignature
from tests.dashboard.pages import Page
from tests.dashboard.people import person, signed_in
from tests.failing import indexing, make_group


@pytest.fixture
def operator(db: None) -> Client:
    return signed_in(person("operator", name="oona"))


@pytest.fixture
def group(db: None) -> FailureGroup:
    indexing(queues=("payments",))
    return make_group(failures=4)


def _form(client: Client, group: FailureGroup, verb: str) -> dict[str, Any]:
    """What a form of the group's page sends, as far as nobody typed anything."""
    page = Page(client.get(f"/failures/{group.slug}/"))
    (form,) = page.all("action", f"/failures/{group.slug}/{verb}/", tag="form")
    hidden = [node for node in form.children if node.attrs.get("type") == "hidden"]
    return {node.attrs["name"]: node.attrs.get("value", "") for node in hidden}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("verb", "typed"),
    [
        ("resolve", {}),
        ("ignore", {"how": "until", "hours": "24"}),
        ("ignore", {"how": "count", "number": "7"}),
        ("note", {"text": "Look at the pool."}),
    ],
)
def test_a_form_that_is_sent_twice_acts_once(
    operator: Client, group: FailureGroup, verb: str, typed: dict[str, str]
) -> None:
    sent = _form(operator, group, verb) | typed
    for _time in range(3):
        assert operator.post(f"/failures/{group.slug}/{verb}/", sent).status_code == 302
    assert AuditEntry.objects.filter(action=f"failure-{verb}").count() == 1
    assert FailureNote.objects.count() == (verb == "note")


@pytest.mark.django_db
def test_the_same_form_with_something_else_in_it_and_a_new_page_are_meant_anew(
    operator: Client, group: FailureGroup
) -> None:
    sent = _form(operator, group, "note")
    for text in ("one", "two"):
        operator.post(f"/failures/{group.slug}/note/", sent | {"text": text})
    assert FailureNote.objects.count() == 2
    for verb in ("resolve", "reopen", "resolve"):
        operator.post(f"/failures/{group.slug}/{verb}/", _form(operator, group, verb))
    assert AuditEntry.objects.filter(action="failure-resolve").count() == 2


@pytest.mark.django_db
def test_the_form_of_somebody_else_is_another(operator: Client, group: FailureGroup) -> None:
    sent = _form(operator, group, "note") | {"text": "the same"}
    for client in (operator, signed_in(person("operator", name="otto"))):
        client.post(f"/failures/{group.slug}/note/", sent)
    assert sorted(FailureNote.objects.values_list("who", flat=True)) == ["oona", "otto"]


@pytest.mark.django_db
def test_an_owner_that_is_the_same_already_is_no_change(operator: Client, group: FailureGroup) -> None:
    for _time in range(2):
        operator.post(f"/failures/{group.slug}/owner/", {"owner": "team pay"})
    assert AuditEntry.objects.filter(action="failure-owner").count() == 1


@pytest.mark.django_db
def test_a_merge_that_is_sent_twice_leads_to_the_group_that_stays(operator: Client, group: FailureGroup) -> None:
    other = make_group(title="another")
    sent = {"group": [group.slug, other.slug], "into": group.slug, "sure": "1"}
    for _time in range(3):
        answer = operator.post("/failures/merge/", sent)
        assert (answer.status_code, answer.headers["Location"]) == (302, f"/failures/{group.slug}/")
    assert AuditEntry.objects.filter(action="failure-merge").count() == 1


@pytest.mark.django_db
def test_a_group_is_not_merged_into_itself(operator: Client, group: FailureGroup) -> None:
    for slugs in ([group.slug], [group.slug, group.slug]):
        sent = {"group": slugs, "into": group.slug, "sure": "1"}
        assert operator.post("/failures/merge/", sent).status_code == 422
    assert FailureGroup.objects.get().merged_into is None


@pytest.mark.django_db
@pytest.mark.parametrize("slug", ["\x00", "a\x00", "f" * 40, "'", "%"])
def test_what_is_the_name_of_no_group_is_not_found(operator: Client, group: FailureGroup, slug: str) -> None:
    assert operator.post("/failures/merge/", {"group": [slug, group.slug]}).status_code == 404


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", ["resolve", "note", "merge", "split"])
def test_of_five_at_once_one_acts(source: None, verb: str) -> None:
    indexing(queues=("payments",))
    group, other = make_group(failures=4), make_group(title="another", names=("a", "b"))
    client = signed_in(person("operator", name="oona"))
    sent: dict[str, Any]
    if verb == "merge":
        sent = {"group": [group.slug, other.slug], "into": group.slug, "sure": "1"}
    elif verb == "split":
        sent = {"signature": FailureSignature.objects.get(group=other).pk, "by": "name"}
    else:
        sent = _form(client, group, verb) | ({"text": "x"} if verb == "note" else {})
    path = {"merge": "/failures/merge/", "split": f"/failures/{other.slug}/split/"}.get(
        verb, f"/failures/{group.slug}/{verb}/"
    )

    def post(_number: int) -> int:
        try:
            return client.post(path, sent).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(post, range(5)))
    assert set(answers) <= {302, 409}
    assert AuditEntry.objects.filter(action=f"failure-{verb}", status="done").count() == 1
