"""That nothing in templates, views or scripts could let stored text become code: the ways to do so are not used."""

import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)

TEMPLATE = {
    "|safe": r"\|\s*safe(seq)?\b",
    "autoescape off": r"\{%\s*autoescape\s+off",
    "style=": r"[\s\"']style\s*=",
    "on*=": r"[\s\"']on[a-z]+\s*=",
    "hx-on": r"\bhx-on\b",
    "hx-vals with code": r"[\"']js:",
    "inline script": r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")",
    "inline stylesheet": r"<style\b",
    "javascript: address": r"javascript:",
}
PYTHON = {
    "mark_safe": r"\bmark_safe\b|\bSafe(String|Text)\s*\(",
    "|safe": r"\|\s*safe\b",
    "style= in markup": r"[\s\"']style=\\?[\"']",
    "on*= in markup": r"[\s\"']on[a-z]+=\\?[\"']",
    "hx-on": r"\bhx-on\b",
}
SCRIPT = {
    "markup from text": r"\b(inner|outer)HTML\b|\binsertAdjacentHTML\b|\bcreateContextualFragment\b|\bsetHTMLUnsafe\b",
    "document.write": r"\bdocument\s*\.\s*write",
    "code from text": r"\beval\s*\(|\bnew\s+Function\b|\bset(Timeout|Interval)\s*\(\s*[\"'`]",
    "inline handler or style": r"\bsetAttribute\s*\(\s*[\"'](on|style)",
}
BANNED = {("templates", "*.html"): TEMPLATE, ("dashboard", "*.py"): PYTHON, ("queues", "*.py"): PYTHON} | {
    ("static/js", "*.js"): SCRIPT
}


@pytest.mark.parametrize(
    ("folder", "files", "name", "pattern"),
    [(*where, name, pattern) for where, patterns in BANNED.items() for name, pattern in patterns.items()],
)
def test_no_file_uses_a_way_around_escaping_or_the_content_policy(
    folder: str, files: str, name: str, pattern: str
) -> None:
    paths = list((ROOT / folder).rglob(files))
    assert paths, f"nothing to look at in {folder}"
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert found == [], name


@pytest.mark.parametrize(
    ("patterns", "line"),
    [
        (TEMPLATE, "{{ job.data|safe }}"),
        (TEMPLATE, '<b style="color: red">'),
        (TEMPLATE, "<a onclick='x()'>"),
        (TEMPLATE, '<div hx-on:click="x()">'),
        (TEMPLATE, "<script>x()</script>"),
        (PYTHON, "return mark_safe(text)"),
        (PYTHON, "f'<rect style=\"fill: red\">'"),
        (SCRIPT, "row.innerHTML = text;"),
        (SCRIPT, 'setTimeout("x()", 1)'),
    ],
)
def test_the_scan_sees_what_it_is_there_to_see(patterns: dict[str, str], line: str) -> None:
    assert any(re.search(pattern, line) for pattern in patterns.values())


@pytest.mark.parametrize(
    ("patterns", "line"),
    [
        (TEMPLATE, '<script src="{% static "js/keys.js" %}" type="module"></script>'),
        (TEMPLATE, '<button type="submit" data-confirm="once">'),
        (PYTHON, 'models.ForeignKey(Queue, on_delete="x")'),
    ],
)
def test_the_scan_lets_pass_what_is_harmless(patterns: dict[str, str], line: str) -> None:
    assert not any(re.search(pattern, line) for pattern in patterns.values())
