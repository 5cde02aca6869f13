"""Headers on every answer, forged requests, error pages, and what no source file may contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.test.client import MULTIPART_CONTENT
from django.urls import path
from pytest_django.fixtures import Settings

from dashboard import urls
from dashboard.access import requires
from tests.dashboard.people import PASSWORD, as_role, person, signed_in

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

pytestmark = pytest.mark.django_db


@requires(None)
def boom(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError("a text with a PW42 in it")


urlpatterns = [*urls.urlpatterns, path("boom/", boom)]
handler400, handler403, handler404, handler500 = urls.handler400, urls.handler403, urls.handler404, urls.handler500


def _ask(kind: str) -> Answer:
    """An answer of each kind that there is."""
    client = signed_in(person("viewer"), csrf=True)
    client.raise_request_exception = False
    match kind:
        case "page":
            return client.get("/password/")
        case "login page":
            return Client().get("/login/")
        case "redirect":
            return Client().get("/password/")
        case "missing slash":
            return client.get("/password")
        case "bad host":
            return client.get("/password/", headers={"Host": "evil.example"})
        case "forbidden":
            return client.get("/users/")
        case "forged":
            return client.post("/password/")
        case "not found":
            return client.get("/nowhere/")
        case "wrong method":
            return client.get("/logout/")
        case "fragment signed out":
            return Client().get("/password/", headers={"HX-Request": "true"})
        case "failure":
            return client.get("/boom/")
        case _:
            return client.get("/healthz")


KINDS = {
    "page": 200,
    "login page": 200,
    "redirect": 302,
    "missing slash": 301,
    "bad host": 400,
    "forbidden": 403,
    "forged": 403,
    "not found": 404,
    "wrong method": 405,
    "fragment signed out": 401,
    "failure": 500,
    "health": 200,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_carries_the_same_headers(kind: str, settings: Settings) -> None:
    settings.ROOT_URLCONF = __name__
    answer = _ask(kind)
    assert answer.status_code == KINDS[kind]
    policy = answer.headers["Content-Security-Policy"]
    assert policy == Client().get("/healthz").headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "nonce" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "no-store" in answer.headers["Cache-Control"]
    assert "private" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_page_holds_inline_script_or_style(kind: str, settings: Settings) -> None:
    settings.ROOT_URLCONF = __name__
    text = _ask(kind).text
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|\shx-on", text)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("bad host", "Bad request"),
        ("forbidden", "This needs the admin role; yours is viewer."),
        ("forged", "Reload the page and try again."),
        ("not found", "There is no page at /nowhere/."),
        ("wrong method", "Nothing was done"),
        ("failure", "Mirante failed"),
    ],
)
def test_errors_are_pages_that_say_what_happened(kind: str, says: str, settings: Settings) -> None:
    settings.ROOT_URLCONF = __name__
    text = _ask(kind).text
    assert says in text
    assert "<!doctype html>" in text.lower()
    for inside in ("Traceback", "ZeroDivisionError", "PW42", "DEBUG", "evil.example"):
        assert inside not in text


def test_the_failure_page_is_made_even_when_static_files_are_not_collected(settings: Settings, tmp_path: Path) -> None:
    settings.ROOT_URLCONF = __name__
    settings.STATIC_ROOT = str(tmp_path)
    settings.STORAGES = dict(settings.STORAGES)
    answer = _ask("failure")
    assert answer.status_code == 500
    assert "Mirante failed" in answer.text
    assert "stylesheet" not in answer.text
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", "\"><img src=x onerror='x'>", "%00", "{{7*7}}"])
@pytest.mark.parametrize("fragment", [False, True])
def test_a_path_that_does_not_exist_is_shown_as_text(hostile: str, fragment: bool) -> None:
    headers = {"HX-Request": "true"} if fragment else {}
    answer = as_role("viewer").get(f"/{hostile}/", headers=headers)
    assert answer.status_code == 404
    assert "<script>alert" not in answer.text
    assert "<img src=x" not in answer.text
    assert ("<html" in answer.text) is not fragment


def test_who_is_signed_out_gets_the_bare_page_for_what_does_not_exist() -> None:
    text = Client().get("/nowhere/").text
    assert 'class="door"' in text
    assert "/system/" not in text


@pytest.mark.parametrize("fragment", [False, True])
def test_a_forged_request_is_refused_in_words(fragment: bool) -> None:
    client = signed_in(person("viewer"), csrf=True)
    answer = client.post("/password/", headers={"HX-Request": "true"} if fragment else {})
    assert answer.status_code == 403
    assert "Reload the page and try again." in answer.text
    assert ("<html" in answer.text) is not fragment


# Requests from other sites.


def _token(client: Client, page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get(page).text)
    assert found
    return found[1]


def _add(client: Client, token: str, **headers: str) -> int:
    data = {"username": "bia", "role": "admin", "csrfmiddlewaretoken": token}
    return client.post("/users/add/", data, headers=headers).status_code


def test_a_form_with_its_own_token_is_accepted() -> None:
    client = signed_in(person("admin"), csrf=True)
    assert _add(client, _token(client, "/users/")) == 200
    assert User.objects.filter(username="bia").exists()


def test_forged_forms_are_refused() -> None:
    client = signed_in(person("admin"), csrf=True)
    other = signed_in(person("admin"), csrf=True)
    own = _token(client, "/users/")
    assert _add(client, "") == 403
    assert _add(client, "x" * 64) == 403
    assert _add(client, _token(other, "/users/")) == 403
    for origin in ("https://evil.example", "null", "http://testserver.evil.example", "http://testserver:81"):
        assert _add(client, own, Origin=origin) == 403
    assert not User.objects.filter(username="bia").exists()


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/x-www-form-urlencoded"])
def test_what_another_site_can_send_without_asking_is_refused(kind: str) -> None:
    client = signed_in(person("admin"), csrf=True)
    answer = client.generic("POST", "/users/add/", b"username=bia&role=admin", content_type=kind)
    assert answer.status_code == 403
    assert not User.objects.filter(username="bia").exists()


def test_signing_in_needs_a_token_too() -> None:
    client = Client(enforce_csrf_checks=True)
    data = {"username": person("viewer").username, "password": "x"}
    assert client.post("/login/", data).status_code == 403
    assert client.post("/login/", data | {"csrfmiddlewaretoken": _token(client, "/login/")}).status_code == 422


def test_a_broken_body_is_no_failure() -> None:
    answer = as_role("viewer").generic("POST", "/password/", b"\xff\x00 no form", content_type=MULTIPART_CONTENT)
    assert answer.status_code == 422


def test_cookies_are_kept_from_scripts_and_other_sites() -> None:
    client = Client()
    client.get("/login/")
    client.post("/login/", {"username": person("viewer").username, "password": PASSWORD})
    session = client.cookies[django_settings.SESSION_COOKIE_NAME]
    token = client.cookies[django_settings.CSRF_COOKIE_NAME]
    assert session["httponly"]
    assert session["samesite"] == token["samesite"] == "Lax"


# What the sources may not contain.

ROOT = Path(__file__).resolve().parents[2]
BANNED = {
    ".html": r"\|\s*safe\b|autoescape\s+off|\sstyle\s*=|\son[a-z]+\s*=|\bhx-on|<style|<script(?![^>]*\ssrc=)",
    ".js": r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.cssText|\bhx-on",
    ".py": r"mark_safe|SafeString\(|csrf_exempt|\bsafestring import SafeText",
}


def _sources() -> Iterator[Path]:
    for folder in ("templates", "static", "dashboard", "queues"):
        yield from (each for each in (ROOT / folder).rglob("*") if each.suffix in BANNED)


def test_no_source_lets_markup_or_script_through() -> None:
    found = [
        f"{each.relative_to(ROOT)}:{number}: {line.strip()}"
        for each in _sources()
        for number, line in enumerate(each.read_text("utf-8").splitlines(), 1)
        if re.search(BANNED[each.suffix], line)
    ]
    assert found == []
