"""A session or a right that ends while a page is open: the page says so, shows nothing more, and leads back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.test import Client
from playwright.sync_api import Page, expect

from queues.types import QueueRef
from tests.browser.live_page import opened
from tests.chromium import SignIn
from tests.server import Server, running

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

QUEUE = "/queues/main/shop/?state=failed"
PASSWORD = "correct horse battery"
SAID_WITHIN_MS = 60_000


@pytest.fixture(scope="module")
def impatient(live_environment: dict[str, str], django_db_setup: None) -> Iterator[Server]:
    """A server that looks at rights each second, on the news of the follower beside `live`."""
    with running(live_environment, "tests.impatient:application") as server:
        yield server


@pytest.fixture
def web(impatient: Server, shop: QueueRef) -> Server:
    return impatient


def give_password(page: Page, user: User) -> None:
    """One that servers know, without which nobody signs in again; the session goes on."""
    user.password = make_password(PASSWORD, hasher="pbkdf2_sha256")
    user.save()
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "domain": "127.0.0.1", "path": "/"}])


def sign_out(page: Page, user: User) -> None:
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name=re.compile("Sign out|Log out")).first.click(force=True)
    expect(other).to_have_url(re.compile("/login/"))
    other.close()


def deactivate(page: Page, user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


# LV-07
@pytest.mark.parametrize("ends", [sign_out, deactivate])
def test_a_session_that_ends_closes_the_socket_and_leads_back_to_the_page(
    page: Page, sign_in: SignIn, web: Server, ends: Callable[[Page, User], None]
) -> None:
    user = sign_in("viewer")
    give_password(page, user)
    opened(page, web.url + QUEUE)
    requests: list[str] = []
    ends(page, user)
    banner = page.locator("#live-banner [role=alert]")
    expect(banner).to_contain_text("You are signed out.", timeout=SAID_WITHIN_MS)
    expect(page.locator("#state-line")).to_have_attribute("data-state", "signed-out")
    page.on("request", lambda request: requests.append(request.url))
    page.on("websocket", lambda socket: requests.append(socket.url))
    assert page.locator("input[type=password]").count() == 0
    assert page.evaluate("window.kept") is True
    page.wait_for_timeout(1_500)
    assert requests == [], "nothing is asked any more"
    User.objects.filter(pk=user.pk).update(is_active=True)
    Session.objects.all().delete()
    banner.get_by_role("link").click()
    enter(page, user)
    expect(page).to_have_url(web.url + QUEUE)
    expect(page.locator("#state-line")).to_have_attribute("data-state", "live", timeout=SAID_WITHIN_MS)


def enter(page: Page, user: User) -> None:
    page.locator("[name=username]").fill(user.get_username())
    page.locator("[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/queues/"))


# LV-07
def test_a_role_that_is_taken_away_ends_the_page_and_a_lower_one_does_not(
    page: Page, sign_in: SignIn, web: Server
) -> None:
    user = sign_in("operator")
    opened(page, web.url + QUEUE)
    user.groups.set([Group.objects.get(name="viewer")])
    page.wait_for_timeout(2_500)
    expect(page.locator("#state-line")).to_have_attribute("data-state", "live")
    expect(page.locator("#live-banner > *")).to_have_count(0)
    user.groups.clear()
    banner = page.locator("#live-banner [role=alert]")
    expect(banner).to_contain_text("You may no longer see this page.", timeout=SAID_WITHIN_MS)
    expect(page.locator("#state-line")).to_have_attribute("data-state", "blind")
    user.groups.add(Group.objects.get(name="viewer"))
    banner.get_by_role("link").click()
    expect(page.locator("#state-line")).to_have_attribute("data-state", "live", timeout=SAID_WITHIN_MS)
    expect(page).to_have_url(web.url + QUEUE)
