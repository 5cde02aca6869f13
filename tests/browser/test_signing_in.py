"""That a browser reaches the real server, signs in, and finds nothing to complain of."""

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.chromium import SignIn, axe_findings

pytestmark = pytest.mark.browser


def test_signing_in_with_a_password_leads_to_the_page_that_was_asked_for(page: Page) -> None:
    User.objects.create(username="ada", password=make_password("correct horse", hasher="pbkdf2_sha256"))
    page.goto("/password/")
    page.locator("[name=username]").fill("ada")
    page.locator("[name=password]").fill("correct horse")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/password/")


def test_axe_finds_nothing_on_the_sign_in_page(page: Page) -> None:
    page.goto("/")
    assert axe_findings(page) == []


def test_a_session_made_by_the_test_is_a_session_of_the_server(page: Page, sign_in: SignIn) -> None:
    sign_in("viewer")
    response = page.goto("/")
    assert response is not None
    assert response.status == 200
