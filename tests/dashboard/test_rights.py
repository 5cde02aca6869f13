"""The table of rights: that it is whole, what it says, and that views are held to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from django.http import Http404, HttpRequest, HttpResponse
from django.template import engines
from django.test import RequestFactory

from dashboard import access
from dashboard.access import RIGHTS, Right, Role, RoleMiddleware, RoleNeeded, allowed, requires_right
from queues.actions import Action
from queues.audit import Actor
from queues.registry import SourceConfig
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person

pytestmark = pytest.mark.django_db

OPERATORS = "retry promote delay priority edit duplicate add remove replay pause resume run-schedule failures"
ADMINS = "clean drain obliterate concurrency rate-limit schedules reveal classes mappings alert-rules channels users"


def test_each_action_and_each_right_has_its_role() -> None:
    assert set(RIGHTS) == set(Right)
    assert {action.value for action in Action} <= set(Right)


@pytest.mark.parametrize("right", OPERATORS.split())
def test_what_operators_may_and_viewers_may_not(right: str) -> None:
    assert not allowed(person("viewer"), right)
    assert allowed(person("operator"), right)
    assert allowed(person("admin"), right)


@pytest.mark.parametrize("right", [*ADMINS.split(), "settings", "masking"])
def test_what_only_admins_may(right: str) -> None:
    assert not allowed(person("operator"), right)
    assert allowed(person("admin"), right)


def test_nobody_without_a_role_has_a_right() -> None:
    nobody, gone = person(None), person("admin", active=False)
    assert not any(allowed(user, right) for user in (nobody, gone) for right in Right)


def test_what_is_no_right_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="retri"):
        allowed(person("admin"), "retri")
    with pytest.raises(ValueError, match="retri"):
        requires_right("retri")


def test_the_navigation_asks_for_the_right_and_not_for_a_role(
    source: SourceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offered(role: str) -> set[str]:
        links = Page(as_role(role).get("/system/")).all("href", tag="a")
        return {"/users/", "/masking/"} & {node.attrs["href"] for node in links}

    assert offered("admin") == {"/users/", "/masking/"}
    assert not offered("operator")
    monkeypatch.setitem(cast("dict[Right, Role]", RIGHTS), Right.MASKING, Role.OPERATOR)
    assert offered("operator") == {"/masking/"}


def _view(mark: Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]) -> Callable[..., HttpResponse]:
    @mark
    def act(request: HttpRequest, **kwargs: str) -> HttpResponse:
        return HttpResponse("done")

    return act


def _ask(role: str | None, view: Callable[..., HttpResponse], **kwargs: str) -> None:
    request = RequestFactory().post("/")
    request.user = person(role)
    RoleMiddleware(view).process_view(request, view, (), kwargs)


def test_a_view_is_held_to_its_right() -> None:
    view = _view(requires_right("drain"))
    _ask("admin", view)
    with pytest.raises(RoleNeeded) as refused:
        _ask("operator", view)
    assert refused.value.role is Role.ADMIN


def test_the_address_may_name_the_right() -> None:
    view = _view(requires_right(access.by_action))
    _ask("operator", view, action="retry")
    with pytest.raises(RoleNeeded):
        _ask("operator", view, action="obliterate")
    with pytest.raises(Http404):
        _ask("admin", view, action="dance")
    with pytest.raises(Http404):
        _ask("admin", view)


def test_who_has_no_role_does_not_learn_which_actions_there_are() -> None:
    view = _view(requires_right(access.by_action))
    for action in ("retry", "dance"):
        with pytest.raises(RoleNeeded):
            _ask(None, view, action=action)


@pytest.mark.parametrize(
    ("role", "written"), [("viewer", "Off: it needs the operator role."), ("operator", "on"), ("admin", "on")]
)
def test_templates_ask_by_the_word_of_the_right(role: str, written: str) -> None:
    request = RequestFactory().get("/")
    request.user = person(role)
    source = '{% may_do "pause" as ok %}{% if ok %}on{% else %}{% off_for "pause" %}{% endif %}'
    assert engines["django"].from_string(source).render({}, request) == written


def test_an_actor_is_named_with_role_and_address() -> None:
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.7", HTTP_X_FORWARDED_FOR="203.0.113.9")
    request.user = person("operator", name="otto")
    assert access.actor_of(request) == Actor("otto", "operator", "192.0.2.7")
