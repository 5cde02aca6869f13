"""Roles: what they are, and that every single view asks for one."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django.asserts import assertNumQueries

from dashboard import access
from dashboard.access import RIGHTS, Role, can, role_of
from queues.actions import Action
from queues.models import AuditEntry
from tests.dashboard.people import as_role, person, signed_in

pytestmark = pytest.mark.django_db

OPEN = {"login", "logout", "live", "healthz"}
OWN_ACCOUNT = {"login", "logout", "password", "live", "healthz"}
# They show a form and take it at one address, and touch nothing but the account of who sends it.
FORMS = {"login", "password"}
SAMPLES = {"source": "main", "queue": "payments", "job": "1", "field": "data", "pk": "1", "slug": "7c1e"}
OVERRIDES: Sequence[Mapping[str, str]] = (
    {},
    {"X-HTTP-Method-Override": "POST"},
    {"X-Method-Override": "POST"},
    {"X-HTTP-Method": "POST"},
)


@dataclass(frozen=True)
class Route:
    name: str
    path: str
    view: Callable[..., Any]
    kwargs: Mapping[str, str]

    @property
    def role(self) -> Role | None:
        """The lowest role that may call it."""
        right = access.right_needed(self.view, self.kwargs)
        return RIGHTS[right] if right else getattr(self.view, "required_role", Role.VIEWER)


def _sample(kwargs: Mapping[str, str], match: re.Match[str]) -> str:
    return kwargs[match[1]]


def _routes(patterns: list[URLPattern | URLResolver], before: str = "/") -> Iterator[Route]:
    for each in patterns:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _routes(each.url_patterns, route)
        else:
            names = re.findall(r"<(?:\w+:)?(\w+)>", route)
            for action in Action if "action" in names else [None]:
                kwargs = {name: action if name == "action" and action else SAMPLES[name] for name in names}
                filled = re.sub(r"<(?:\w+:)?(\w+)>", partial(_sample, kwargs), route)
                yield Route(f"{each.name or route}{f' {action}' if action else ''}", filled, each.callback, kwargs)


ROUTES = list(_routes(get_resolver().url_patterns))
# Each address once; `test_forged` walks over each action of those that take one.
EACH = list({route.view: route for route in ROUTES}.values())
_allowed: dict[str, set[str]] = {}
every_route = pytest.mark.parametrize("route", EACH, ids=[route.name for route in EACH])


def allowed_methods(route: Route) -> set[str]:
    """The methods that a view takes, by its answer to one that nobody takes: asked once for each view."""
    if route.path not in _allowed:
        answer = as_role("admin").generic("BREW", route.path)
        assert answer.status_code == 405, "the view does not say which methods it takes"
        _allowed[route.path] = set(answer.headers["Allow"].split(", ")) - {"HEAD", "OPTIONS"}
    return _allowed[route.path]


@every_route
def test_every_view_either_reads_or_acts(route: Route) -> None:
    if route.name in FORMS:
        assert allowed_methods(route) == {"GET", "POST"}
    else:
        assert allowed_methods(route) in ({"GET"}, {"POST"})


@every_route
def test_every_view_that_acts_declares_its_role(route: Route) -> None:
    if "POST" in allowed_methods(route):
        is_open = not getattr(route.view, "login_required", True)
        assert is_open or hasattr(route.view, "required_role") or hasattr(route.view, "required_right")


@every_route
def test_an_action_is_never_carried_out_by_get(route: Route) -> None:
    if allowed_methods(route) == {"POST"}:
        client = as_role("admin")
        for headers in OVERRIDES:
            answer = client.get(f"{route.path}?_method=POST", headers=headers)
            assert answer.status_code == 405
            assert answer.headers["Allow"] == "POST"


def test_only_the_doors_are_open() -> None:
    assert {route.name for route in ROUTES if not getattr(route.view, "login_required", True)} == OPEN


@every_route
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH"])
def test_who_is_signed_out_gets_nothing_but_the_sign_in_page(route: Route, method: str) -> None:
    if route.name in OPEN:
        return
    forged = {"Remote-User": "admin", "X-Remote-User": "admin", "X-Forwarded-User": "admin", "X-Forwarded-For": "::1"}
    answer = Client().generic(method, route.path, headers=forged, REMOTE_USER="admin")
    assert answer.status_code == 302
    assert answer.headers["Location"].split("?")[0] == "/login/"


@every_route
def test_a_viewer_cannot_act_on_anything(route: Route, caplog: pytest.LogCaptureFixture) -> None:
    if route.name in OWN_ACCOUNT or "POST" not in allowed_methods(route):
        return
    caplog.set_level("INFO", logger="mirante.audit")
    user = person("viewer")
    answer = signed_in(user).post(route.path)
    if route.role in (Role.OPERATOR, Role.ADMIN):
        assert answer.status_code == 403
        assert f"refused by={user.username!r}" in caplog.text
        assert route.path in caplog.text
        entry = AuditEntry.objects.get(who=user.username)
        assert (entry.status, entry.role, entry.address) == ("refused", "viewer", "127.0.0.1")
        assert entry.action == (route.kwargs.get("action") or access.word_of(route.name))
        assert entry.source == route.kwargs.get("source", "")
        assert entry.queue == route.kwargs.get("queue", "")
    else:
        assert route.role is Role.VIEWER


@every_route
def test_an_operator_sees_no_view_of_admins(route: Route) -> None:
    if route.role is Role.ADMIN:
        client = as_role("operator")
        assert client.get(route.path).status_code == 403
        assert client.post(route.path).status_code == 403


@every_route
def test_a_user_without_a_role_is_told_so_on_every_page(route: Route) -> None:
    if route.name in OWN_ACCOUNT:
        return
    person("admin", name="carla")
    client = as_role(None)
    for answer in (client.get(route.path), client.post(route.path)):
        assert answer.status_code == 403
        assert "No role yet" in answer.text
        assert "carla" in answer.text
        assert 'action="/logout/"' in answer.text


def test_a_user_without_a_role_can_change_the_password_and_sign_out() -> None:
    client = as_role(None)
    assert client.get("/password/").status_code == 200
    assert client.post("/logout/").status_code == 302
    assert client.get("/password/").status_code == 302


def test_the_page_of_a_refused_action_names_the_role_that_it_needs() -> None:
    answer = as_role("operator").get("/users/")
    assert answer.status_code == 403
    assert "This needs the admin role; yours is operator." in answer.text


def test_a_refused_fragment_is_a_note_and_no_page() -> None:
    answer = as_role("viewer").get("/users/", headers={"HX-Request": "true"})
    assert answer.status_code == 403
    assert "This needs the admin role" in answer.text
    assert "<html" not in answer.text


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_the_role_of_a_user_is_the_group(role: str) -> None:
    assert role_of(person(role)) is Role(role)


def test_the_highest_of_several_roles_counts() -> None:
    user = person("viewer")
    user.groups.add(Group.objects.get(name="operator"))
    assert role_of(User.objects.get(pk=user.pk)) is Role.OPERATOR


def test_other_groups_give_no_role() -> None:
    user = person()
    user.groups.add(Group.objects.create(name="Admin"), Group.objects.create(name="administrators"))
    assert role_of(user) is None


def test_a_superuser_is_an_admin() -> None:
    assert role_of(User.objects.create_superuser("root")) is Role.ADMIN


def test_who_is_inactive_or_unknown_has_no_role() -> None:
    assert role_of(person("admin", active=False)) is None
    assert role_of(AnonymousUser()) is None


def test_higher_roles_can_what_lower_ones_can() -> None:
    operator = person("operator")
    assert can(operator, "viewer")
    assert can(operator, Role.OPERATOR)
    assert not can(operator, "admin")


def test_a_role_costs_one_query_for_a_request() -> None:
    user = User.objects.get(pk=person("operator").pk)
    with assertNumQueries(1):
        assert role_of(user) is Role.OPERATOR
        assert can(user, "viewer")
        assert role_of(user) is Role.OPERATOR


def test_the_migration_makes_the_groups_and_can_run_twice() -> None:
    Group.objects.all().delete()
    migration = importlib.import_module("dashboard.migrations.0001_roles")
    with connection.schema_editor(atomic=False) if connection.vendor != "sqlite" else _Alias() as editor:
        migration.make_groups(apps, editor)
        migration.make_groups(apps, editor)
    assert set(Group.objects.values_list("name", flat=True)) == set(Role.values)


class _Alias:
    """SQLite's schema editor refuses to open inside a test's transaction; the migration asks it for this only."""

    connection = connection

    def __enter__(self) -> _Alias:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def test_a_mark_survives_other_decorators() -> None:
    from django.views.decorators.cache import never_cache
    from django.views.decorators.http import require_POST

    @never_cache
    @require_POST
    @access.requires("operator")
    def act(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    request = RequestFactory().post("/")
    request.user = person("viewer")
    with pytest.raises(access.RoleNeeded):
        access.RoleMiddleware(act).process_view(request, act, (), {})


def test_a_role_that_does_not_exist_cannot_be_required() -> None:
    with pytest.raises(ValueError, match="operater"):
        access.requires("operater")
