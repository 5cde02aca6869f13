"""Every address, sent by whoever may not: from outside, without the token of a page, with too low a role.

What is refused changes not one byte in Redis and nothing about users, and the log of actions has it.
"""

from __future__ import annotations

from typing import cast

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from dashboard import access
from dashboard.access import Role
from dashboard.rarely import MOST, Rarely
from queues.models import (
    AuditEntry,
    Bulk,
    ClassRule,
    DeadLetterQueue,
    Deploy,
    Failure,
    FailureGroup,
    FailureNote,
    FailureSignature,
    FailureStrand,
    Masking,
    Queue,
    RemovedJob,
)
from queues.registry import SourceConfig
from tests.dashboard.people import as_role, person, signed_in
from tests.dashboard.test_access import EACH as ADDRESSES
from tests.dashboard.test_access import FORMS, OVERRIDES, ROUTES, SAMPLES, Route
from tests.failing import make_group
from tests.seed import seed_job, seed_queue

pytestmark = pytest.mark.django_db

OF_FAILURES = (Failure, FailureGroup, FailureNote, FailureSignature, FailureStrand)
DOORS = {"login", "live", "healthz"}
ACTS = [route for route in ROUTES if route.name not in DOORS]
EACH = [route for route in ADDRESSES if route.name not in DOORS]  # with one of the actions that an address takes
BODY = {
    "job": "1",
    "all": "1",
    "state": "failed",
    "confirm": "payments",
    "typed": "payments",
    "data": '{"a":2}',
    "name": "x",
    "role": "admin",
    "username": "eve",
    "pattern": "*nickname*",
    "reset": "1",
    # What people say of failures, each with something that would be kept.
    "group": ["7c1e", "beef"],
    "into": "7c1e",
    "sure": "1",
    "reason": "done",
    "how": "until",
    "hours": "24",
    "kind": "permanent",
    "code": "E1",
    "owner": "eve",
    "runbook": "https://evil.example/",
    "text": "a note",
    "signature": "1",
    "by": "message",
    "version": "v1",
    "is_one": "yes",
}


@pytest.fixture
def payments(source: SourceConfig, valkey: redis.Redis) -> redis.Redis:
    """A server with a queue in which there is something to act on in each state."""
    queue = seed_queue(valkey, "payments")
    for number, state in enumerate(("failed", "completed", "delayed", "wait", "active"), start=1):
        seed_job(valkey, queue, str(number))
        key = f"bull:payments:{state}"
        if state in ("wait", "active"):
            valkey.lpush(key, str(number))
        else:
            valkey.zadd(key, {str(number): 1.0e12})
    group = make_group(slug=SAMPLES["slug"], failures=3, samples=1)
    make_group(slug="beef", title="another", names=("a", "b"), failures=2)
    FailureNote.objects.create(group=group, who="somebody", text="x")
    ClassRule.objects.create(position=1, kind="permanent", code="E2")
    return valkey


@pytest.fixture(autouse=True)
def no_stranger_was_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_strangers", Rarely())


def _dump(server: redis.Redis) -> dict[bytes, object]:
    """Every key with its whole value."""
    keys = sorted(cast("list[bytes]", server.keys("*")))
    pipeline = server.pipeline(transaction=False)
    for key in keys:
        pipeline.dump(key)
    return dict(zip(keys, pipeline.execute(), strict=True))


def _remembered() -> tuple[object, ...]:
    """What actions could change on our side."""
    users = tuple(User.objects.order_by("pk").values_list("username", "password", "is_active", "groups__name"))
    models = (Masking, RemovedJob, Queue, Bulk, ClassRule, DeadLetterQueue, Deploy, *OF_FAILURES)
    return users, *(tuple(model.objects.order_by("pk").values_list()) for model in models)


class Unchanged:
    """`with unchanged:` fails when anything differs, in Redis or on our side, from how it was at first."""

    def __init__(self, server: redis.Redis) -> None:
        self._server = server
        self._first = self._now()
        assert self._first[0]

    def __enter__(self) -> None:
        pass

    def __exit__(self, failed: object, *_: object) -> None:
        if not failed:
            assert self._now() == self._first

    def _now(self) -> tuple[object, object]:
        return _dump(self._server), _remembered()


def _word(route: Route) -> str:
    return route.kwargs.get("action") or access.word_of(route.name)


def test_what_is_posted_without_signing_in_is_refused(payments: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    strict, lax = Client(enforce_csrf_checks=True), Client()
    unchanged = Unchanged(payments)
    for route in ACTS:
        monkeypatch.setattr(access, "_strangers", Rarely())
        AuditEntry.objects.all().delete()
        with unchanged:
            assert strict.post(route.path, BODY).status_code == 403, route  # no page of ours gave it a token
            assert lax.post(route.path, BODY).status_code == 302, route
        if route.name != "logout":
            entry = AuditEntry.objects.get()  # the second within the minute is in the text log only
            assert (entry.status, entry.who, entry.role, entry.action) == ("refused", "", "", _word(route))


@pytest.mark.parametrize("origin", ["", "https://evil.example", "null"])
def test_an_admin_who_is_led_here_by_another_site_does_nothing(origin: str, payments: redis.Redis) -> None:
    admin = person("admin")
    client, other = signed_in(admin, csrf=True), signed_in(person("admin"), csrf=True)
    token = str(other.get("/users/me/").context["csrf_token"])
    headers = {"Origin": origin} if origin else {}
    unchanged = Unchanged(payments)
    for route in EACH:
        AuditEntry.objects.all().delete()
        with unchanged:
            assert client.post(route.path, BODY, headers=headers).status_code == 403, route
            answer = client.post(route.path, {**BODY, "csrfmiddlewaretoken": token}, headers=headers)
            assert answer.status_code == 403, route
        told = list(AuditEntry.objects.values_list("status", "who", "action"))
        assert told == [("refused", admin.username, _word(route))] * 2


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_nothing_is_done_by_any_method_for_who_holds_too_little(role: Role, payments: redis.Redis) -> None:
    user = person(role)
    client = signed_in(user)
    refused = [route for route in ACTS if route.role and route.role.rank > role.rank]
    assert len(refused) > 20
    unchanged = Unchanged(payments)
    for route in refused:
        AuditEntry.objects.all().delete()
        with unchanged:
            for headers in OVERRIDES if route in EACH else ():
                assert client.get(f"{route.path}?_method=POST", headers=headers).status_code == 403, route
            assert not AuditEntry.objects.exists()
            for method in ("PUT", "PATCH", "DELETE") if route in EACH else ():
                assert client.generic(method, route.path).status_code == 403, route
            assert client.post(route.path, {**BODY, "key": "k" * 32}).status_code == 403, route
        told = set(AuditEntry.objects.values_list("status", "who", "action"))
        assert told == {("refused", user.username, _word(route))}


def test_reading_changes_nothing_whoever_reads(payments: redis.Redis) -> None:
    admin = as_role("admin")
    admin.get("/")
    unchanged = Unchanged(payments)
    for route in EACH:
        if route.name in FORMS:
            continue
        with unchanged:
            for headers in OVERRIDES:
                answer = admin.get(f"{route.path}?_method=POST&action=remove&all=1", headers=headers)
                assert answer.status_code in (200, 302, 404, 405, 409, 422), route


def test_strangers_cannot_fill_the_log_of_actions(source: SourceConfig) -> None:
    for number in range(MOST + 20):
        Client().post("/masking/add/", {}, REMOTE_ADDR=f"192.0.2.{number}")
    assert AuditEntry.objects.count() == MOST


def test_each_kind_is_allowed_once_a_minute() -> None:
    now = 0.0
    rarely = Rarely(lambda: now)
    assert [rarely.allows("a"), rarely.allows("a"), rarely.allows("b")] == [True, False, True]
    now = 60.0
    assert rarely.allows("a")


def test_the_server_of_these_tests_is_the_one_that_the_product_acts_on(payments: redis.Redis) -> None:
    """Or an unchanged dump would say nothing."""
    before = _dump(payments)
    assert as_role("admin").post("/queues/main/payments/act/pause/", {"key": "k" * 32}).status_code == 302
    assert _dump(payments) != before


def test_failed_sign_ins_stand_in_the_log_without_what_was_typed(source: SourceConfig) -> None:
    person("viewer", name="ana")
    for name in ("ana", "a password in the wrong field"):
        assert Client().post("/login/", {"username": name, "password": "wrong horse"}).status_code == 422
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.status, entry.who, entry.address) == ("sign-in", "refused", "", "127.0.0.1")
    assert "ana" not in str(entry.__dict__)
    assert "wrong" not in str(entry.__dict__)


def test_a_refusal_says_which_jobs_were_meant_and_the_reason_that_was_given(payments: redis.Redis) -> None:
    viewer, address = as_role("viewer"), "/queues/main/payments/bulk/act/remove/"
    some = {"job": ["1 MTAwMA", "2", "<b>", "~!"], "state": "failed", "reason": "old ones"}
    everything = {"all": "1", "state": "failed", "name": "mail", "expected": "41"}
    one = "/queues/main/payments/jobs/7/act/edit/"
    with Unchanged(payments):
        for path, body in ((address, some), (address, everything), (one, {"reason": "typo", "payload": "hunter2"})):
            assert viewer.post(path, body).status_code == 403
    told = AuditEntry.objects.order_by("pk").values_list("action", "jobs", "asked", "selection", "reason", "status")
    assert list(told) == [
        ("remove", ["1", "2"], 4, "", "old ones", "refused"),
        ("remove", [], 41, "all failed jobs whose name holds “mail”", "", "refused"),
        ("edit", ["7"], 1, "", "typo", "refused"),
    ]


@pytest.mark.parametrize("broken", [{"all": "1", "state": "none"}, {"all": "1", "state": "failed", "expected": "²"}])
def test_a_refusal_of_what_makes_no_sense_is_one_all_the_same(broken: dict[str, str], payments: redis.Redis) -> None:
    address = "/queues/main/payments/bulk/act/remove/"
    assert as_role("viewer").post(address, broken).status_code == 403
    assert AuditEntry.objects.get().status == "refused"
