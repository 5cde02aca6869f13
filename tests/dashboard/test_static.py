"""Static files: what a page or a module names changes its name with its content."""

from __future__ import annotations

import re
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage


def test_modules_import_each_other_by_names_that_change_with_the_content() -> None:
    main = Path(settings.STATIC_ROOT) / staticfiles_storage.stored_name("js/main.js")  # type: ignore[attr-defined]
    imports = re.findall(r'import ?"([^"]+)"', main.read_text())
    assert imports
    assert all(re.search(r"\.[0-9a-f]{12}\.js$", name) for name in imports)
