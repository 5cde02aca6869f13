"""Signing in and out, coming back to the page one wanted, and one's own password."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.test.utils import override_script_prefix
from pytest_django.fixtures import Settings

from tests.dashboard.people import PASSWORD, person, signed_in

pytestmark = pytest.mark.django_db

FOREIGN = [
    "https://evil.example",
    "http://evil.example/system/",
    "//evil.example",
    "///evil.example",
    "////evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\t//evil.example",
    " //evil.example",
    "https:evil.example",
    "https:/evil.example",
    "%2f%2fevil.example",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "data:text/html,x",
    "http://testserver@evil.example/",
    "http://[",
    "\x00",
    "",
]
OWN = ["/system/", "/ok?x=//evil.example", "/queues/main/payments/?state=failed&page=2", "/%2f%2fevil.example"]


def _sign_in(client: Client, user: User, **data: str) -> str:
    answer = client.post("/login/", {"username": user.username, "password": PASSWORD, **data})
    assert answer.status_code == 302
    return str(answer.headers["Location"])


def test_signing_in_opens_the_overview() -> None:
    user = person("viewer")
    client = Client()
    assert _sign_in(client, user) == "/"
    assert client.session["_auth_user_id"] == str(user.pk)


@pytest.mark.parametrize("url", FOREIGN)
def test_next_never_leads_to_another_site(url: str) -> None:
    user = person("viewer")
    assert _sign_in(Client(), user, next=url) == "/"
    page = Client().get("/login/", {"next": url})
    assert 'name="next"' not in page.text
    assert signed_in(user).get("/login/", {"next": url}).headers["Location"] == "/"


@pytest.mark.parametrize("url", OWN)
def test_next_leads_back_to_the_page(url: str) -> None:
    user = person("viewer")
    assert _sign_in(Client(), user, next=url) == url
    assert signed_in(user).get("/login/", {"next": url}).headers["Location"] == url


def test_signing_in_leads_back_to_the_page_that_was_asked_for() -> None:
    client = Client()
    asked = client.get("/system/?source=main&x=%C3%A4")
    page = client.get(asked.headers["Location"])
    back = re.search(r'name="next" value="([^"]+)"', page.text)
    assert back
    assert _sign_in(client, person("viewer"), next=back[1].replace("&amp;", "&")) == "/system/?source=main&x=%C3%A4"


def test_a_sub_path_is_kept_and_never_left(settings: Settings) -> None:
    settings.FORCE_SCRIPT_NAME = "/mirante"
    with override_script_prefix("/mirante/"):
        asked = Client().get("/system/?a=1")
        assert asked.headers["Location"] == "/mirante/login/?next=%2Fmirante%2Fsystem%2F%3Fa%3D1"
        assert _sign_in(Client(), person("viewer"), next="/mirante/system/?a=1") == "/mirante/system/?a=1"
        assert _sign_in(Client(), person("viewer"), next="/other/") == "/mirante/"
        assert _sign_in(Client(), person("viewer")) == "/mirante/"
        assert 'action="/mirante/login/"' in Client().get("/login/").text


def test_signing_out_ignores_next() -> None:
    client = signed_in(person("viewer"))
    answer = client.post("/logout/?next=https://evil.example", {"next": "https://evil.example"})
    assert answer.headers["Location"] == "/login/"


@pytest.mark.parametrize(
    ("name", "password"),
    [("ana", "wrong"), ("nobody", PASSWORD), ("closed", PASSWORD), ("ANA", PASSWORD), ("ana ", PASSWORD + " ")],
)
def test_a_refused_sign_in_does_not_say_why(name: str, password: str) -> None:
    person("viewer", name="ana")
    person("viewer", name="closed", active=False)
    client = Client()
    answer = client.post("/login/", {"username": name, "password": password})
    assert answer.status_code == 422
    assert "Name and password do not match." in answer.text
    assert password not in answer.text
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize("data", [{}, {"username": "ana"}, {"username": "\x00", "password": "\x00"}])
def test_a_broken_sign_in_is_an_answer(data: dict[str, str]) -> None:
    assert Client().post("/login/", data).status_code == 422


def test_a_failed_sign_in_writes_no_secret_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    person("viewer", name="ana")
    Client().post("/login/", {"username": "hunter2-in-the-wrong-field", "password": "hunter3"})
    Client().post("/login/", {"username": "ana", "password": "hunter4"})
    assert "hunter" not in caplog.text
    assert "sign-in failed by=None from='127.0.0.1' name='ana'" in caplog.text


def test_signing_in_changes_the_session_key() -> None:
    user = person("viewer")
    client = signed_in(user)
    before = client.session.session_key
    client.logout()
    _sign_in(client, user)
    assert client.session.session_key != before


def test_signing_out_is_by_post_only() -> None:
    client = signed_in(person("viewer"))
    assert client.get("/logout/").status_code == 405
    assert client.get("/password/").status_code == 200
    assert client.post("/logout/").status_code == 302
    assert client.get("/password/").status_code == 302


def test_signing_out_twice_is_no_error() -> None:
    assert Client().post("/logout/").headers["Location"] == "/login/"


# A fragment asked for by a page whose session has ended.


def _fragment(current: str, path: str = "/system/?part=1", method: str = "GET") -> tuple[int, str, str]:
    headers = {"HX-Request": "true", "HX-Target": "cell", "HX-Current-URL": current}
    answer = Client().generic(method, path, headers=headers)
    return answer.status_code, answer.headers["HX-Redirect"], answer.text


def test_a_signed_out_fragment_sends_the_whole_page_to_the_sign_in() -> None:
    status, target, text = _fragment("http://testserver/queues/main/payments/?state=failed#row")
    assert status == 401
    assert "<" not in text
    assert urlsplit(target).path == "/login/"
    assert parse_qs(urlsplit(target).query) == {"next": ["/queues/main/payments/?state=failed"]}


def test_a_signed_out_action_of_htmx_comes_back_to_its_page() -> None:
    status, target, _ = _fragment("https://testserver/system/", "/system/main/scan/", "POST")
    assert (status, target) == (401, "/login/?next=%2Fsystem%2F")


@pytest.mark.parametrize("url", [*FOREIGN, "http://testserver//evil.example", "http://testserver/\\evil.example"])
def test_the_address_that_a_fragment_claims_is_checked(url: str) -> None:
    if "\n" in url or "\x00" in url:
        url = url.replace("\n", "").replace("\x00", "")
    assert _fragment(url)[1] == "/login/"


def test_a_signed_out_form_comes_back_to_its_page_and_not_to_the_action() -> None:
    answer = Client().post("/users/add/", headers={"Referer": "http://testserver/users/?page=2"})
    assert answer.headers["Location"] == "/login/?next=%2Fusers%2F%3Fpage%3D2"
    assert Client().post("/users/add/").headers["Location"] == "/login/"
    for url in ("https://evil.example/x", "http://testserver//evil.example", "http://[", "https:evil.example"):
        assert Client().post("/users/add/", headers={"Referer": url}).headers["Location"] == "/login/"


# One's own password.

NEW = "a quite different phrase 7"


def _change(client: Client, **changes: str) -> int:
    data = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW} | changes
    return client.post("/password/", data).status_code


@pytest.mark.parametrize("role", [None, "viewer", "admin"])
def test_everybody_can_change_their_own_password(role: str | None) -> None:
    user = person(role)
    client = signed_in(user)
    assert client.get("/password/").status_code == 200
    assert _change(client) == 302
    user.refresh_from_db()
    assert user.check_password(NEW)


def test_a_changed_password_keeps_this_session_and_ends_the_others() -> None:
    user = person("viewer")
    here, elsewhere = signed_in(user), signed_in(user)
    assert _change(here) == 302
    assert "Your password is changed." in here.get("/password/").text
    assert elsewhere.get("/password/").status_code == 302


@pytest.mark.parametrize(
    "changes",
    [
        {"old_password": "wrong"},
        {"new_password2": "something else"},
        {"new_password1": "short", "new_password2": "short"},
        {"new_password1": "", "new_password2": ""},
    ],
)
def test_a_password_is_not_changed_on_wrong_input(changes: dict[str, str]) -> None:
    user = person("viewer")
    client = signed_in(user)
    assert _change(client, **changes) == 422
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_a_typed_password_is_never_in_the_page() -> None:
    answer = signed_in(person("viewer")).post(
        "/password/", {"old_password": "hunter2", "new_password1": "hunter3", "new_password2": "hunter4"}
    )
    assert answer.status_code == 422
    assert "hunter" not in answer.text


def test_errors_of_a_field_are_tied_to_it() -> None:
    text = signed_in(person("viewer")).post("/password/", {"old_password": "wrong"}).text
    field = re.search(r'<input[^>]+id="id_old_password"[^>]*>', text)
    assert field
    assert 'aria-describedby="id_old_password_error"' in field[0]
    assert 'aria-invalid="true"' in field[0]
    assert 'class="in full err"' in field[0]
    assert re.search(r'<span class="bad" id="id_old_password_error">[^<]*incorrect', text)


def test_a_rotated_secret_key_keeps_sessions_while_the_old_one_is_a_fallback(settings: Settings) -> None:
    client = signed_in(person("viewer"))
    old = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key, as long as the first one was " * 2, [old]
    assert client.get("/password/").status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert client.get("/password/").status_code == 200, "the session was not moved to the new key"


def test_a_rotated_secret_key_without_a_fallback_ends_sessions(settings: Settings) -> None:
    client = signed_in(person("viewer"))
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key, as long as the first one was " * 2, []
    assert client.get("/password/").status_code == 302
