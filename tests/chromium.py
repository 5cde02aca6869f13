"""Chromium as Debian ships it, a page per test that fails on any complaint of the browser, sign-in, and axe."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.policy import unavailable
from tests.server import Server

# The browser's own calls home have nowhere to go and would fill the log.
_FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]
# A status of 4xx or 5xx is what some tests ask for; they see it in the page.
_STATUS = re.compile(r"Failed to load resource: the server responded with a status of")

SignIn = Callable[[str], User]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for the tests of one module. While it lives its thread has an event loop: no async tests beside it."""
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not executable:
        unavailable("chromium is missing: apt install chromium, or CHROMIUM=/path/to/it")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Django sees that loop and would refuse to touch the database from a test.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=executable, chromium_sandbox=os.getuid() != 0, args=_FLAGS)
        yield browser
        browser.close()
        # Beside a loop Django opens connections of its own, which nobody else would close.
        connections.close_all()


@pytest.fixture
def context(chromium: Browser, live: Server) -> Iterator[BrowserContext]:
    """A fresh profile at desktop width; its pages know the server's address, so that `page.goto("/")` will do."""
    context = chromium.new_context(base_url=live.url, viewport={"width": 1440, "height": 900}, locale="en-GB")
    context.set_default_timeout(30_000)
    yield context
    context.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained of: errors, blocked content. A test that provokes some clears the list."""
    return []


@pytest.fixture
def page(context: BrowserContext, complaints: list[str]) -> Iterator[Page]:
    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not _STATUS.match(message.text):
            complaints.append(f"{message.type}: {message.text}")

    page = context.new_page()
    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
    yield page
    page.unroute_all(behavior="ignoreErrors")  # answers of the test's own that are still underway
    page.close()
    assert complaints == []


@pytest.fixture
def sign_in(context: BrowserContext, live: Server) -> SignIn:
    """Signs the browser in as a new user of a role (viewer, operator, admin) and returns the user."""

    def sign_in(role: str) -> User:
        user = User.objects.create_user(f"a-{role}")
        user.groups.add(Group.objects.get(name=role))
        client = Client()
        client.force_login(user)
        name = settings.SESSION_COOKIE_NAME
        context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live.url}])
        return user

    return sign_in


def axe_findings(page: Page) -> list[str]:
    """What axe holds against the page as it stands, a line a rule and element."""
    violations: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {node['html']}" for rule in violations for node in rule["nodes"]]
