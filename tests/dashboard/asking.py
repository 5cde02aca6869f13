"""Questions of pages in tests: what they say, and the form that they would send."""

from __future__ import annotations

from typing import Any

from django.test import Client

from tests.dashboard.pages import Node, Page, Response


def question(page: Page) -> Node:
    """The question on a page."""
    (found,) = page.all("aria-labelledby", "ask-title", tag="section")
    return found


def said(response: Response) -> str:
    """All that a question says, white space folded."""
    return " ".join(question(Page(response)).text.split())


def form_of(response: Response) -> dict[str, Any]:
    """The fields of a question's form as a browser would send them untouched."""
    fields: dict[str, Any] = {}
    for node in question(Page(response)).children:
        name, kind = node.attrs.get("name", ""), node.attrs.get("type", "")
        if not name or name == "csrfmiddlewaretoken":
            continue
        if node.tag == "textarea":
            fields[name] = node.text.removeprefix("\n")
        elif node.tag == "select":
            fields[name] = next((one.attrs["value"] for one in node.children if "selected" in one.attrs), "")
        elif kind not in ("radio", "checkbox") or "checked" in node.attrs:
            fields[name] = node.attrs.get("value", "on" if kind == "checkbox" else "")
    return fields


def act(client: Client, ask: str, **changes: Any) -> Any:
    """Open a question, fill in its form, and send it."""
    fields = form_of(client.get(ask)) | changes
    return client.post(ask.replace("/ask/", "/act/"), fields)
