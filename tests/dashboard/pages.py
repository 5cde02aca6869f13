"""Reading a page as a script would: by its `data-` attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Protocol

_BLOCKS = {"dt", "dd", "td", "th", "tr", "li", "p", "div", "h1", "h2", "h3", "small", "section"}
_VOID = {"meta", "link", "input", "br", "hr", "img", "path", "rect", "line", "use", "circle"}


class Response(Protocol):
    """What a test client answers."""

    @property
    def content(self) -> bytes: ...


@dataclass
class Node:
    """An element: its attributes, and all text below it."""

    tag: str
    attrs: dict[str, str]
    text: str = ""
    children: list[Node] = field(default_factory=list)


class Page(HTMLParser):
    """All elements of a response in document order."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self._open: list[Node] = []
        self.source = response.content.decode()
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        if tag in _BLOCKS:  # they stand apart on the page, whatever white space the template has
            self.handle_data(" ")
        for above in self._open:
            above.children.append(node)
        self.nodes.append(node)
        if tag not in _VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            if self._open.pop().tag == tag:
                return

    def handle_data(self, data: str) -> None:
        for node in self._open:
            node.text += data

    def all(self, name: str, value: str | None = None, tag: str = "") -> list[Node]:
        """The elements that carry the attribute `name` (with `value`)."""
        return [
            node
            for node in self.nodes
            if name in node.attrs and (value is None or node.attrs[name] == value) and tag in ("", node.tag)
        ]

    def rows(self, name: str) -> list[str]:
        """The values of `name` over the table's rows, in order."""
        return [node.attrs[name] for node in self.all(name, tag="tr")]

    def counts(self) -> dict[str, str]:
        """The numbers of the queue page's tabs by state."""
        return {node.attrs["data-state"]: node.attrs["data-count"] for node in self.all("data-count", tag="a")}

    @property
    def text(self) -> str:
        """What is read on the page, white space folded."""
        body = next(node for node in self.nodes if node.tag == "body")
        return " ".join(body.text.split())


def link(page: Page, relation: str) -> str:
    """Where `rel` leads; "" when there is no such link."""
    return next((node.attrs["href"] for node in page.all("rel", relation)), "")
