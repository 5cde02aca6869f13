"""The pages on queues of dead letters: which there are, how their letters are read, and what an admin says of them."""

from __future__ import annotations

import json
import re

import pytest
import redis
from django.test import Client

from queues import discovery
from queues.failures import letters
from queues.models import AuditEntry, DeadLetterQueue
from queues.registry import SourceConfig
from queues.types import QueueRef
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.django_db

MARKUP = "<img src=x onerror=alert(1)>"
LIST = "/failures/letters/"
ONE = "/failures/letters/main/orders-dlq/"


@pytest.fixture(autouse=True)
def fresh() -> None:
    letters.forget()


@pytest.fixture
def dead(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    """Letters of `orders`: one in a common shape, one in a shape of its own, one that is no object."""
    for name in ("orders", "orders-dlq", "graveyard"):
        queue = seed_queue(valkey, name)
        discovery.pin(queue.source, queue.slug)
    common = {"payload": {}, "error": {"message": f"boom {MARKUP}"}, "jobId": "7", "queue": "orders"}
    for number, data in enumerate((common, {"why": "own shape", "password": "QXZQXZ"}, [1]), 1):
        seed_job(valkey, QueueRef("main", b"bull", b"orders-dlq"), str(number), name="dead", data=json.dumps(data))
        valkey.lpush("bull:orders-dlq:wait", str(number))
    return QueueRef("main", b"bull", b"orders-dlq")


def test_every_queue_of_letters_is_listed_with_whose_they_are(dead: QueueRef) -> None:
    page = Page(as_role("viewer").get(LIST))
    assert "orders-dlq" in page.text
    assert "graveyard" not in page.text


def test_a_letter_is_shown_as_it_is_read_and_what_is_not_found_is_said(dead: QueueRef) -> None:
    response = as_role("viewer").get(ONE)
    text = response.content.decode()
    assert "boom &lt;img" in text
    assert MARKUP not in text
    assert "QXZQXZ" not in text
    assert "Its data is no object" in text
    assert 'class="q full lack"' in text  # a column that is wide enough for all that may be missing
    assert ONE + "say/" not in text
    assert ONE + "say/" in as_role("admin").get(ONE).content.decode()


def test_an_admin_tries_paths_and_nothing_is_kept_until_they_are(dead: QueueRef) -> None:
    admin = as_role("admin")
    said = {"is_one": "yes", "path-error": "why"}
    tried = admin.post(ONE + "say/", said | {"preview": "1"})
    assert "own shape" in tried.content.decode()
    assert not DeadLetterQueue.objects.exists()
    assert admin.post(ONE + "say/", said).status_code == 302
    row = DeadLetterQueue.objects.get()
    assert (row.is_one, row.mapping) == (True, {"error": "why"})
    assert AuditEntry.objects.filter(action="dead-letters", queue="orders-dlq").count() == 1
    assert "own shape" in admin.get(ONE).content.decode()


def test_a_queue_of_another_name_is_pinned_and_one_of_such_a_name_is_taken_out(dead: QueueRef) -> None:
    admin = as_role("admin")
    admin.post("/failures/letters/main/graveyard/say/", {"is_one": "yes", "origin": "orders"})
    admin.post(ONE + "say/", {"is_one": "no"})
    orders, graveyard = QueueRef("main", b"bull", b"orders"), QueueRef("main", b"bull", b"graveyard")
    assert letters.origin_of(graveyard) == orders
    assert not letters.is_letters(dead)
    text = admin.get(LIST).content.decode()
    assert "said to be none" in text
    assert "graveyard" in text
    admin.post(ONE + "say/", {"is_one": ""})
    assert letters.is_letters(dead)


@pytest.mark.parametrize(
    "said",
    [
        {"is_one": "yes", "path-error": "a..b"},
        {"is_one": "yes", "origin": "nowhere"},
        {"is_one": "yes", "origin": "orders-dlq"},
        {"is_one": "no", "path-error": "a"},
        {"is_one": "", "origin": "orders"},
        {"is_one": "perhaps"},
    ],
    ids=["path", "unknown origin", "own origin", "paths of none", "origin of a name", "no such kind"],
)
def test_what_makes_no_sense_is_refused_at_its_field(dead: QueueRef, said: dict[str, str]) -> None:
    response = as_role("admin").post(ONE + "say/", said)
    assert response.status_code == 422
    assert b'_error"' in response.content
    assert not DeadLetterQueue.objects.exists()


def test_only_admins_say_and_only_by_post(dead: QueueRef) -> None:
    assert as_role("operator").post(ONE + "say/", {"is_one": "no"}).status_code == 403
    assert as_role("admin").get(ONE + "say/").status_code == 405
    assert as_role("admin").get("/failures/letters/main/nowhere/").status_code == 404
    assert not DeadLetterQueue.objects.exists()


def test_a_source_that_is_down_is_said_on_the_page(dead: QueueRef, monkeypatch: pytest.MonkeyPatch) -> None:
    from queues import registry
    from queues.errors import Unreachable

    def down(*_: object, **__: object) -> None:
        raise Unreachable("It does not answer.", source="main")

    monkeypatch.setattr(type(registry.backend("main")), "letter_ids", down)
    client: Client = as_role("viewer")
    assert "They cannot be read" in client.get(ONE).content.decode()


def test_the_paths_are_folded_until_one_is_set_or_wrong(dead: QueueRef) -> None:
    def is_open(source: str) -> bool:
        (fold,) = re.findall(r'<details\s+class="fold"\s*(open)?\s*>\s*<summary>\s*Paths into', source)
        return bool(fold)

    admin = as_role("admin")
    assert not is_open(admin.get(ONE).content.decode())
    assert is_open(admin.post(ONE + "say/", {"is_one": "yes", "path-error": "a..[b"}).content.decode())
    admin.post(ONE + "say/", {"is_one": "yes", "path-error": "why"})
    assert is_open(admin.get(ONE).content.decode())


def test_a_queue_of_any_name_leads_to_where_it_is_declared_one(dead: QueueRef) -> None:
    assert "/failures/letters/main/graveyard/" in as_role("admin").get("/queues/main/graveyard/").content.decode()
    assert "“More”" in as_role("admin").get(LIST).content.decode()


def test_the_newest_letters_are_read_first(dead: QueueRef, valkey: redis.Redis) -> None:
    for number in range(4, 30):
        seed_job(valkey, dead, str(number), name="dead", data=json.dumps({"error": f"boom-{number}-"}))
        valkey.lpush("bull:orders-dlq:wait", str(number))
    text = as_role("viewer").get(ONE).content.decode()
    assert text.index("boom-29-") < text.index("boom-28-")
    assert "boom-10-" in text
    assert "boom-9-" not in text
