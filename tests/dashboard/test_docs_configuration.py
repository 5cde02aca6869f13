"""The documentation of the environment says what the code knows, no more and no less."""

import re
from collections import Counter
from pathlib import Path

from django.conf import settings

from dashboard.environment import VARIABLES

TEXT = (Path(settings.BASE_DIR) / "docs" / "configuration.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^### `([A-Z_]+)`\n\n(.*?)(?=^##|\Z)", TEXT, flags=re.MULTILINE | re.DOTALL))


def test_every_variable_has_one_section_and_every_section_is_a_variable() -> None:
    assert Counter(re.findall(r"^### `(.*)`$", TEXT, flags=re.MULTILINE)) == Counter(v.name for v in VARIABLES)


def test_secrets_and_only_secrets_are_called_so() -> None:
    assert {name for name, text in SECTIONS.items() if text.startswith("Secret. ")} == {
        variable.name for variable in VARIABLES if variable.secret
    }


def test_every_section_says_what_holds_when_it_is_not_set() -> None:
    silent = {name for name, text in SECTIONS.items() if not re.search(r"Not set[,:]|Off unless set", text)}
    # These only add to something, or replace another.
    assert silent == {
        "MIRANTE_SOURCES",
        "MIRANTE_BASE_URL",
        "ALLOWED_HOSTS",
        "CSRF_TRUSTED_ORIGINS",
        "SECRET_KEY_FALLBACKS",
    }


def test_no_other_page_names_a_variable_that_does_not_exist() -> None:
    known = {name for variable in VARIABLES for name in (variable.name, variable.file_name)}
    for page in (*Path(settings.BASE_DIR).glob("*.md"), *Path(settings.BASE_DIR, "docs").glob("*.md")):
        named = set(re.findall(r"\bMIRANTE_[A-Z_]*[A-Z]\b", page.read_text("utf-8")))
        assert named <= known, page
