"""The language of a page: said in its head, and followed by its numbers, durations and the words of its scripts."""

from __future__ import annotations

import re

import pytest
import redis
from django.conf import LazySettings, settings

from queues import discovery
from queues.registry import SourceConfig
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.seed import seed_queue

pytestmark = pytest.mark.django_db

SCRIPTS = settings.BASE_DIR / "static" / "js"


@pytest.fixture
def elsewhere(settings: LazySettings) -> str:
    """A language of which Django knows how numbers look; the sentences stay English."""
    settings.LANGUAGE_CODE = "pt-br"
    settings.LANGUAGES = [("pt-br", "Português")]
    return "pt-br"


def test_a_page_names_its_language_and_writes_numbers_in_it(
    elsewhere: str, source: SourceConfig, valkey: redis.Redis
) -> None:
    seed_queue(valkey, "mail", completed=1234)
    discovery.scan("main")
    for path in ("/", "/queues/main/mail/?state=completed"):
        page = Page(as_role("viewer").get(path))
        assert [node.attrs["lang"] for node in page.nodes if node.tag == "html"] == [elsewhere]
        assert "1.234" in page.text
        assert "1,234" not in page.text


def test_every_word_that_a_script_asks_for_comes_with_the_page(source: SourceConfig, valkey: redis.Redis) -> None:
    [body] = [node for node in Page(as_role("viewer").get("/")).nodes if node.tag == "body"]
    asked = set()
    for script in SCRIPTS.glob("*.js"):
        text = script.read_text()
        asked |= set(re.findall(r"document\.body\??\.dataset\.(\w+)", text))
        asked |= set(re.findall(r"\bwords\.(\w+)", text)) if "words = document.body.dataset" in text else set()
        for names in re.findall(r"\{ ([\w, ]+) \} = document\.body\.dataset", text):
            asked |= set(names.split(", "))
    assert asked >= {"units", "ago", "in", "clocks", "themes", "offline"}
    asked -= {"refresh"}  # no word, and only on a page that answered a form
    names = {"data-" + re.sub("[A-Z]", lambda m: "-" + m[0].lower(), name) for name in asked}
    assert names <= {name for name, value in body.attrs.items() if value}
