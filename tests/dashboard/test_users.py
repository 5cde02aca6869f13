"""What admins do to users, and what nobody can do to the last admin."""

from __future__ import annotations

import re
import threading

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard import users as operations
from dashboard.access import Role, role_of
from tests.dashboard.people import PASSWORD, as_role, person, signed_in

pytestmark = pytest.mark.django_db


def _role(user: User) -> Role | None:
    return role_of(User.objects.get(pk=user.pk))


def _add(client: Client, **data: str) -> str:
    answer = client.post("/users/add/", {"username": "bia", "role": "operator"} | data)
    return f"{answer.status_code} {answer.text}"


def _shown_password(text: str) -> str:
    shown = re.search(r'<pre[^>]*id="new-password"[^>]*>([^<]+)</pre>', text)
    assert shown
    return shown[1]


def test_the_list_says_who_may_what() -> None:
    person("operator", name="otto")
    person(None, name="nina")
    person("viewer", name="vera", active=False)
    text = as_role("admin").get("/users/").text
    assert re.search(r'data-user="otto".*?operator.*?active', text, re.DOTALL)
    assert re.search(r'data-user="nina".*?none.*?active', text, re.DOTALL)
    assert re.search(r'data-user="vera".*?deactivated', text, re.DOTALL)


def test_the_list_costs_the_same_for_one_user_and_for_many() -> None:
    client = as_role("admin")
    few = _queries(client)
    for _ in range(20):
        person("viewer")
    assert _queries(client) == few


def _queries(client: Client) -> int:
    with CaptureQueriesContext(connection) as made:
        client.get("/users/")
    return len(made)


def test_a_long_list_comes_in_pages() -> None:
    User.objects.bulk_create(User(username=f"u{number:03}") for number in range(150))
    client = as_role("admin")
    assert client.get("/users/").text.count("data-user=") == 100
    assert client.get("/users/?page=2").text.count("data-user=") == 51
    assert client.get("/users/?page=x").status_code == 200


def test_a_user_is_added_with_a_generated_password_that_is_shown_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    admin = person("admin")
    client = signed_in(admin)
    text = _add(client, email="bia@example.org")
    assert text.startswith("200")
    password = _shown_password(text)
    user = User.objects.get(username="bia")
    assert user.check_password(password)
    assert user.email == "bia@example.org"
    assert _role(user) is Role.OPERATOR
    assert password not in client.get("/users/").text + client.get(f"/users/{user.pk}/").text
    assert password not in caplog.text
    assert f"user-add by={admin.username!r} from='127.0.0.1' user='bia' before=None role='operator'" in caplog.text
    assert Client().login(username="bia", password=password)


def test_a_user_is_added_with_a_typed_password_that_is_not_shown() -> None:
    client = as_role("admin")
    assert _add(client, password=" a phrase of my own 7 ").startswith("302")
    assert User.objects.get(username="bia").check_password(" a phrase of my own 7 ")
    page = client.get("/users/").text
    assert "bia can sign in now." in page
    assert "a phrase of my own" not in page


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"username": ""}, "required"),
        ({"username": "b i a"}, "valid username"),
        ({"username": "<b>"}, "valid username"),
        ({"username": "x" * 151}, "at most 150"),
        ({"username": "\x00"}, "Null characters"),
        ({"username": "OTTO"}, "perhaps in other letter case"),
        ({"role": ""}, "required"),
        ({"role": "superuser"}, "not one of the available choices"),
        ({"email": "nowhere"}, "valid email"),
        ({"password": "short"}, "too short"),
        ({"password": "bia-bia-bia", "username": "bia-bia-bia"}, "too similar"),
    ],
)
def test_a_user_is_not_added_on_wrong_input(data: dict[str, str], says: str) -> None:
    person("viewer", name="otto")
    client = as_role("admin")
    before = User.objects.count()
    text = _add(client, **data)
    assert text.startswith("422")
    assert says in text
    assert User.objects.count() == before
    if data.get("password"):
        assert f'value="{data["password"]}"' not in text.replace(f'value="{data.get("username")}"', "")


def test_a_name_taken_meanwhile_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    client = as_role("admin")
    generate = operations.generate_password

    def slow() -> str:
        person("viewer", name="bia")
        return generate()

    monkeypatch.setattr(operations, "generate_password", slow)
    assert _add(client).startswith("409")
    assert User.objects.filter(username="bia").count() == 1


@pytest.mark.parametrize("before", [None, "viewer", "operator", "admin"])
@pytest.mark.parametrize("after", ["viewer", "operator", "admin"])
def test_a_role_is_changed(before: str | None, after: str) -> None:
    user = person(before)
    user.groups.add(Group.objects.create(name="a group of somebody else"))
    answer = as_role("admin").post(f"/users/{user.pk}/role/", {"role": after})
    assert answer.status_code == 302
    assert set(user.groups.values_list("name", flat=True)) == {after, "a group of somebody else"}


def test_a_superuser_loses_that_with_the_role_of_admin() -> None:
    root = User.objects.create_superuser("root")
    as_role("admin").post(f"/users/{root.pk}/role/", {"role": "viewer"})
    assert _role(root) is Role.VIEWER


def test_a_lower_role_holds_at_once() -> None:
    user = person("admin")
    theirs = signed_in(user)
    assert theirs.get("/users/").status_code == 200
    as_role("admin").post(f"/users/{user.pk}/role/", {"role": "viewer"})
    assert theirs.get("/users/").status_code == 403


def test_a_deactivated_user_is_out_at_once_and_for_good() -> None:
    user = person("operator")
    theirs = signed_in(user)
    admin = as_role("admin")
    assert admin.post(f"/users/{user.pk}/deactivate/").status_code == 302
    assert theirs.get("/password/").status_code == 302
    assert not Client().login(username=user.username, password=PASSWORD)
    assert admin.post(f"/users/{user.pk}/activate/").status_code == 302
    assert theirs.get("/password/").status_code == 302, "the old session came back to life"
    assert Client().login(username=user.username, password=PASSWORD)
    assert _role(user) is Role.OPERATOR


def test_deactivating_ends_nobody_elses_session() -> None:
    other = as_role("viewer")
    admin = as_role("admin")
    admin.post(f"/users/{person('viewer').pk}/deactivate/")
    assert other.get("/password/").status_code == 200
    assert admin.get("/users/").status_code == 200


def test_a_reset_password_is_shown_once_and_ends_sessions() -> None:
    user = person("viewer")
    theirs = signed_in(user)
    answer = as_role("admin").post(f"/users/{user.pk}/reset/")
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    user.refresh_from_db()
    assert user.check_password(_shown_password(answer.text))
    assert theirs.get("/password/").status_code == 302


def test_generated_passwords_are_long_and_differ() -> None:
    made = {operations.generate_password() for _ in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch(r"(?:[a-z2-9]{5}-){3}[a-z2-9]{5}", each) for each in made)


@pytest.mark.parametrize(("action", "data"), [("role", {"role": "viewer"}), ("deactivate", {}), ("reset", {})])
def test_nobody_locks_themselves_out(action: str, data: dict[str, str]) -> None:
    admin = person("admin")
    person("admin")
    client = signed_in(admin)
    answer = client.post(f"/users/{admin.pk}/{action}/", data)
    assert answer.status_code == 409
    assert 'role="alert"' in answer.text
    assert client.get("/users/").status_code == 200
    admin.refresh_from_db()
    assert admin.check_password(PASSWORD)


@pytest.mark.parametrize("last", ["group", "superuser"])
def test_the_last_active_admin_stays_one(last: str) -> None:
    """The one who asks was an admin when the request came in, and is none any more."""
    admin = person("admin") if last == "group" else User.objects.create_superuser("root")
    person("admin", active=False)
    was_admin = person("operator")
    with pytest.raises(operations.UserError, match="last active admin"):
        operations.change_role(admin.pk, Role.VIEWER, by=was_admin)
    with pytest.raises(operations.UserError, match="last active admin"):
        operations.deactivate(admin.pk, by=was_admin)
    assert _role(admin) is Role.ADMIN


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_demote_each_other_at_once_leave_one() -> None:
    for _ in range(5):
        User.objects.all().delete()
        one, two = person("admin"), person("admin")
        barrier = threading.Barrier(2)
        threads = [threading.Thread(target=_demote, args=(barrier, *pair)) for pair in ((one, two), (two, one))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert operations.active_admins().count() == 1


def _demote(barrier: threading.Barrier, by: User, target: User) -> None:
    try:
        barrier.wait(30)
        operations.change_role(target.pk, Role.VIEWER, by=by)
    except operations.UserError:
        pass
    finally:
        connection.close()


@pytest.mark.parametrize("pk", ["0", "999999", "99999999999999999999999"])
def test_a_user_who_does_not_exist_is_not_found(pk: str) -> None:
    client = as_role("admin")
    assert client.get(f"/users/{pk}/").status_code == 404
    for action in ("role", "deactivate", "activate", "reset"):
        assert client.post(f"/users/{pk}/{action}/", {"role": "viewer"}).status_code == 404


def test_a_wrong_role_changes_nothing() -> None:
    user = person("operator")
    assert as_role("admin").post(f"/users/{user.pk}/role/", {"role": "root"}).status_code == 422
    assert _role(user) is Role.OPERATOR


@pytest.mark.parametrize("role", ["viewer", "operator", None])
def test_others_change_nothing_about_users(role: str | None) -> None:
    user = person("viewer")
    client = as_role(role)
    for path in ("add", f"{user.pk}/role", f"{user.pk}/deactivate", f"{user.pk}/activate", f"{user.pk}/reset"):
        data = {"username": "bia", "role": "admin"}
        assert client.post(f"/users/{path}/", data).status_code == 403
    user.refresh_from_db()
    assert user.is_active
    assert user.check_password(PASSWORD)
    assert _role(user) is Role.VIEWER
    assert not User.objects.filter(username="bia").exists()


@pytest.mark.parametrize("action", ["role", "deactivate", "activate", "reset"])
def test_each_action_is_logged_with_who_took_it(action: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="mirante.audit")
    admin, user = person("admin"), person("viewer", active=action != "activate")
    signed_in(admin).post(f"/users/{user.pk}/{action}/", {"role": "operator"})
    lines = [record.getMessage() for record in caplog.records if record.name == "mirante.audit"]
    assert len(lines) == 1
    assert f"by={admin.username!r}" in lines[0]
    assert f"user={user.username!r}" in lines[0]


def test_hostile_names_and_addresses_are_text() -> None:
    User.objects.create(username="<script>alert(1)</script>", email='"><img src=x>@example.org')
    text = as_role("admin").get("/users/").text
    assert "<script>alert" not in text
    assert "<img" not in text
