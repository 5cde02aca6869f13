"""The page of one's own account: what one may, what one may not, and who could."""

from __future__ import annotations

import pytest

from dashboard import rights
from dashboard.access import RIGHTS, Right, Role
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role, person, signed_in

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", list(Role))
def test_each_right_stands_where_the_table_has_it(role: Role) -> None:
    person("admin", name="carla")
    page = Page(as_role(role).get("/users/me/"))
    held = {node.attrs["data-right"] for node in page.all("data-held")[0].children if "data-right" in node.attrs}
    assert held == {right for right in Right if right not in rights.LATER and RIGHTS[right].rank <= role.rank}
    for other in Role:
        wanted = {right for right in Right if right not in rights.LATER and RIGHTS[right] is other}
        found = [node for node in page.all("data-missing", other) for node in node.children]
        names = {node.attrs["data-right"] for node in found if "data-right" in node.attrs}
        assert names == (wanted if other.rank > role.rank else set())


def test_every_right_has_words_or_belongs_to_a_later_version() -> None:
    named = [right for _title, group in rights.GROUPS for right, _words in group]
    assert len(named) == len(set(named))
    assert set(named) | rights.LATER == set(Right)
    assert not set(named) & rights.LATER


def test_it_names_who_can_change_the_role_and_is_linked_from_every_page() -> None:
    person("admin", name="carla")
    client = signed_in(person("viewer", name="vera"))
    page = Page(client.get("/users/me/"))
    assert "Your role can be changed by carla." in page.text
    assert "You are a viewer" in page.text
    assert 'href="/users/me/"' in client.get("/").text
    assert "Your role can be changed" not in Page(as_role("admin").get("/users/me/")).text


def test_it_is_for_those_with_a_role() -> None:
    assert as_role(None).get("/users/me/").status_code == 403
