"""What is hidden in payloads stays so for who may not reveal it: a plan's edit and order neither tell nor change it."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.test import Client

from queues import masking
from queues.models import Masking, Replay
from queues.registry import SourceConfig
from queues.replay.terms import Patch, PatchKind, Terms
from queues.replay.types import Phase
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.dashboard.planning import drafted, failed, frozen, sent_form

pytestmark = pytest.mark.django_db

DATA = (
    '{"tier": 1, "password": "hunter2", "url": "redis://:sesame@cache:6379", "customer": {"pin": 1234, "id": 7},'
    ' "headers": [{"name": "x-api-key", "value": "k-12345"}], "users": [{"token": "abcdef"}]}'
)
# Each names the true value of what is hidden, and the same without it.
GUESSES = [
    ("merge", '{"url": "redis://:%s@cache:6379"}', "sesame", "sesamo"),
    ("paths", 'url = "redis://:%s@cache:6379"', "sesame", "sesamo"),
    ("paths", 'headers[0].value = "%s"', "k-12345", "k-54321"),
    ("merge", '{"headers": [{"name": "x-api-key", "value": "%s"}]}', "k-12345", "k-54321"),
]
HIDDEN = [
    ("merge", '{"password": "hunter2"}'),
    ("merge", '{"customer": {"pin": null}}'),
    ("merge", '{"users": [{"token": "abcdef"}]}'),
    ("paths", "- password"),
    ("paths", 'users = [{"token": "abcdef"}]'),
    ("paths", 'users[0]["token"] = "abcdef"'),
    ("paths", 'customer = {"id": 7, "pin": 1234}'),
]


@pytest.fixture
def plan(source: SourceConfig, valkey: redis.Redis) -> Replay:
    failed(valkey, 3, data=DATA)
    return drafted()


@pytest.fixture
def operator() -> Client:
    return as_role("operator")


def post(client: Client, plan: Replay, verb: str, **changes: Any) -> Any:
    fields = sent_form(client.get(f"/replays/{plan.pk}/")) | changes
    return client.post(f"/replays/{plan.pk}/{verb}/", fields)


def live(client: Client, plan: Replay, edit: str, text: str) -> str:
    answer = post(client, plan, "save", live="1", edit=edit, patch_text=text)
    assert answer.status_code == 200
    body = answer.content.decode()
    assert "Something is not right yet" not in body
    return str(body[body.index('id="plan-edited"') :])


def test_an_edit_does_not_tell_whether_a_hidden_value_was_guessed(plan: Replay, operator: Client) -> None:
    admin = as_role("admin")  # who may see it all the same
    for edit, text, right, other in GUESSES:
        told = [live(operator, plan, edit, text % guess) for guess in (right, other)]
        assert told[0] == told[1], text
        assert "Nothing changes of what is shown here." in told[0]
        assert live(admin, plan, edit, text % right) != live(admin, plan, edit, text % other)


def test_what_is_not_hidden_is_compared_as_ever(plan: Replay, operator: Client) -> None:
    told = live(operator, plan, "merge", '{"tier": 2}')
    assert "hunter2" not in told
    assert "&quot;tier&quot;: 2" in told
    assert "nothing changes" not in told.lower()


def test_who_may_not_reveal_cannot_edit_what_is_hidden(plan: Replay, operator: Client) -> None:
    said = "is hidden here: who may not reveal it cannot change it."
    for number, (edit, text) in enumerate(HIDDEN):
        verb = ("save", "start", "look")[number % 3]
        answer = post(operator, plan, verb, edit=edit, patch_text=text)
        assert answer.status_code == 422, text
        assert said in answer.content.decode()
        assert said in post(operator, plan, "save", live="1", edit=edit, patch_text=text).content.decode()
    plan.refresh_from_db()
    assert (plan.phase, Terms.of(plan.terms).patch) == (Phase.DRAFT, None)
    assert post(as_role("admin"), plan, "save", edit="merge", patch_text=HIDDEN[0][1]).status_code == 302


@pytest.mark.parametrize("path", ["customer.pin", 'users[0]["token"].x'])
def test_who_may_not_reveal_cannot_learn_by_an_order_which_hidden_values_are_equal(
    path: str, plan: Replay, operator: Client
) -> None:
    answer = post(operator, plan, "save", key_path=path)
    assert answer.status_code == 422
    assert "who may not reveal it cannot keep an order by it" in answer.content.decode()
    assert post(as_role("admin"), plan, "save", key_path=path).status_code == 302
    frozen(plan)
    pages = [Page(each.get(f"/replays/{plan.pk}/")) for each in (as_role("admin"), operator)]
    assert [bool(page.all("id", "plan-keys")[0].text) for page in pages] == [True, False]  # how many values there are
    assert post(operator, plan, "save", jitter="3").status_code == 302  # who leaves it alone may do the rest
    assert Terms.of(Replay.objects.get(pk=plan.pk).terms).key == path
    assert post(operator, plan, "save", key_path="customer.id").status_code == 302


def test_an_edit_of_what_is_hidden_is_kept_and_not_shown(plan: Replay, operator: Client) -> None:
    text = '{"tier": 2, "password": "letmein"}'
    old = sent_form(operator.get(f"/replays/{plan.pk}/"))
    assert post(as_role("admin"), plan, "save", edit="merge", patch_text=text).status_code == 302
    frozen(plan)
    for client in (operator, as_role("viewer")):
        page = Page(client.get(f"/replays/{plan.pk}/"))
        assert "letmein" not in page.source
        assert '"tier": 2' in page.text
    assert "only who may reveal it sees or changes how" in Page(operator.get(f"/replays/{plan.pk}/")).text
    assert "letmein" in as_role("admin").get(f"/replays/{plan.pk}/").content.decode()
    # Of a page that was read before, the edit is another one.
    answer = operator.post(f"/replays/{plan.pk}/start/", old)
    assert answer.status_code == 422
    assert "Somebody has changed the plan meanwhile" in Page(answer).text
    assert post(operator, plan, "start").status_code == 302
    plan.refresh_from_db()
    assert (plan.phase, Terms.of(plan.terms).patch) == (Phase.ARMED, Patch(PatchKind.MERGE, text))


def test_a_pattern_of_a_queue_holds_for_plans_of_its_jobs(plan: Replay, operator: Client) -> None:
    Masking.objects.create(pattern="tier", source="main", queue="payments")
    Masking.objects.create(pattern="*customer*", source="main", queue="mails")
    masking.forget()
    assert post(operator, plan, "save", edit="merge", patch_text='{"tier": 2}').status_code == 422
    assert post(operator, plan, "save", edit="merge", patch_text='{"customer": 2}').status_code == 302


def test_jobs_are_not_sent_to_where_what_is_hidden_would_be_shown(
    plan: Replay, operator: Client, valkey: redis.Redis
) -> None:
    for name in ("open", "mails"):
        failed(valkey, 1, name)
    for queue in ("payments", "mails"):
        Masking.objects.create(pattern="tier", source="main", queue=queue)
    masking.forget()
    answer = post(operator, plan, "save", how="other", target="open")
    assert answer.status_code == 422
    assert "What “tier” hides would be shown there" in answer.content.decode()
    assert post(operator, plan, "save", how="other", target="mails").status_code == 302
    frozen(plan)
    assert post(as_role("admin"), plan, "save", how="other", target="open").status_code == 302
    frozen(plan)
    assert post(operator, plan, "save", jitter="3").status_code == 302  # what an admin chose stays
