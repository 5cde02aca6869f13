"""What a refused or failed request leaves in the log."""

from __future__ import annotations

import io
import logging
import logging.config
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings as django_settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django.fixtures import Settings

from dashboard import logging_config, urls
from dashboard.access import requires
from queues.errors import Unreachable
from tests.dashboard.people import as_role

pytestmark = pytest.mark.django_db


@requires(None)
def boom(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError("no number")


@requires(None)
def away(request: HttpRequest) -> HttpResponse:
    raise Unreachable("no answer", source="main")


@requires(None)
def locked(request: HttpRequest) -> HttpResponse:
    raise OperationalError("database is locked")


urlpatterns = [*urls.urlpatterns, path("boom/", boom), path("away/", away), path("locked/", locked)]
handler400, handler403, handler404, handler500 = urls.handler400, urls.handler403, urls.handler404, urls.handler500


@pytest.fixture
def lines(settings: Settings) -> Iterator[Callable[[], list[str]]]:
    """The lines that the product's own configuration of logging writes."""
    settings.ROOT_URLCONF = __name__
    out = io.StringIO()
    made = logging_config.config(level="info", form="text")
    made["handlers"]["stderr"]["stream"] = out
    logging.config.dictConfig(made)
    yield lambda: out.getvalue().splitlines()
    logging.config.dictConfig(django_settings.LOGGING)


def patient(client: Client) -> Client:
    client.raise_request_exception = False
    return client


def test_a_refused_role_is_two_lines_and_no_trace(lines: Callable[[], list[str]]) -> None:
    assert as_role("viewer").get("/users/").status_code == 403
    audited, told = lines()
    assert audited.startswith("info mirante.audit: refused by=")
    assert told == "warning django.request: Forbidden (Permission denied): /users/ reason=admin"


def test_a_form_with_too_many_fields_is_a_line_and_no_trace(lines: Callable[[], list[str]]) -> None:
    fields = {f"field{number}": "x" for number in range(1_100)}
    assert patient(as_role("viewer")).post("/password/", fields).status_code == 400
    (told,) = lines()
    assert "DATA_UPLOAD_MAX_NUMBER_FIELDS" in told


def test_a_server_that_is_away_is_a_line_and_no_trace(lines: Callable[[], list[str]]) -> None:
    assert as_role("viewer").get("/away/").status_code == 503
    assert lines() == ["error django.request: Service Unavailable: /away/"]


def test_pages_that_poll_while_a_server_is_away_leave_no_line_each_time(lines: Callable[[], list[str]]) -> None:
    assert as_role("viewer").get("/away/", headers={"Mirante-Refresh": "1"}).status_code == 503
    assert lines() == []


def test_a_socket_whose_proxy_passes_no_upgrade_is_a_line_that_says_so(lines: Callable[[], list[str]]) -> None:
    answer = Client().get("/live/", headers={"Sec-WebSocket-Key": "x"})
    assert (answer.status_code, answer.headers["Upgrade"]) == (426, "websocket")
    assert "docs/deployment.md" in answer.text
    (told,) = lines()
    assert told.startswith("warning django.request: The proxy did not pass Upgrade and Connection")


def test_a_busy_database_is_said_to_be_busy_and_is_a_line_and_no_trace(lines: Callable[[], list[str]]) -> None:
    answer = patient(as_role("viewer")).get("/locked/")
    assert answer.status_code == 503
    assert "database is busy" in answer.text
    assert lines() == ["error django.request: Service Unavailable: /locked/ reason=database is locked"]


def test_a_fault_of_ours_keeps_its_trace(lines: Callable[[], list[str]]) -> None:
    assert patient(as_role("viewer")).get("/boom/").status_code == 500
    assert lines()[0] == "error django.request: Internal Server Error: /boom/"
    assert lines()[-1] == "ZeroDivisionError: no number"
