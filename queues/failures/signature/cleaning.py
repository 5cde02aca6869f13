"""The line of a reason that makes sense, without colours, secrets, line breaks and the ids of requests behind it."""

from __future__ import annotations

import re
from functools import lru_cache

from queues.ansi import strip_ansi
from queues.redaction import mask_text

_SHAPED = re.compile(r"eyJ|-----|[Bb]earer|BEARER|://[^/\s]{0,200}@|\\u00|[Cc][Vv][CcVv]")
READ = 1_500  # characters of a reason that count, but for JSON

_REQUEST_ID = re.compile(
    r"(?i:\b(?:x-)?(?:request|req|ray|trace|correlation|span|session|log|event|incident|operation|activity|support|reference"
    r"|transaction|extended[ -]request|cf-ray|debug|error[ -]ref)(?:[ _-]?(?:id|uuid|number|reference|ref))?[\"']?"
    r"(?:\s?[:=#]\s?|\s(?:is\s)?(?=[\w-]*\d)))[\"']?([\w./+:=-]{4,})[\"')\]}]*"
)
_HINTS = (
    "request",
    "req",
    "ray",
    "trace",
    "correlation",
    "session",
    "reference",
    "ref",
    "event",
    "transaction",
    "log ",
)
_HINT = re.compile(r"(?:id|uuid|ray|ref|reference|number|request|trace)[\"']?(?:\s?[:=#]|\s(?:is\s)?[\w-])")
_LOOSE_END = re.compile(r"[\s,;.(\[|-]+$")
_SPACES = re.compile(r"\s{2,}|[\t\r\n\v\f\u00a0\u2028\u2029]")
_HTML = re.compile(r"(?i:<!doctype html|<html\b)")
_TITLE = re.compile(r"(?i:<title>)\s{0,20}([^<\n]{1,200})")
_SQL = re.compile(
    r"(?i:(insert into|select|update|delete from|with|alter table)\b)(?=[^\n]*[\"'`$(=*])[^\n]{8,} - (?=\w)"
)
_PRISMA = re.compile(r"Invalid `[^`\n]{1,100}` invocation")
_CODE = ("", " ", "\t", "{", "}", ")", "]", "+", "-", "~", "?")
_EXCERPT = re.compile(r"\s*\d{1,6}(?:\s|$)|(?:/|[A-Za-z]:\\)[^\s]*:\d{1,6}:\d{1,6}$|await |const |return ")
_LOGGED = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ][\d:.,]{5,15}(?:Z|[+-]\d\d:?\d\d)?\]?\s{0,3}"
    r"(?:\[?(?:ERROR|FATAL|WARN(?:ING)?|error)\]?\s{0,2}[:-]?\s+)?"
    r"(?=\S)|\[(?:ERROR|FATAL|WARN(?:ING)?|error)\]:?\s+(?=\S)"
)


def cleaned(reason: str, *, cut: bool = False) -> str:
    """A reason without colours, and without secrets that are known by their looks. `cut`: more of it follows.

    Secrets that are known by their keys stay known when what varies is gone: `hidden` finds them
    then, in far fewer texts.
    """
    text = strip_ansi(reason) if "\x1b" in reason or "\\" in reason or not reason.isascii() else reason
    if _SHAPED.search(text):
        text = mask_text(text, cut=cut)[0]
    return text.strip()


@lru_cache(maxsize=2048)
def hidden(line: str) -> str:
    """A line without secrets."""
    return mask_text(line)[0]


def sense(text: str) -> str:
    """The first line that says something, as one line."""
    text = _without_html(text[:READ])
    if "\n" not in text:
        line = text.partition("\\n")[0] if "\\n" in text else text
    elif found := _PRISMA.match(text.lstrip()):
        line = f"{found[0]}: {_behind_excerpt(text.lstrip())}"
    else:
        line = _first(text)
    if _SPACES.search(line):
        line = _SPACES.sub(" ", line)
    if " - " in line and (statement := _SQL.match(line)):  # knex and others: the statement, then what is wrong
        line = f"{statement[1]}: {line[statement.end() :]}"
    return _unlogged(line).strip()


def _without_html(text: str) -> str:
    """A page of HTML in a message by its title alone."""
    found = _HTML.search(text)
    if found is None:
        return text
    title = _TITLE.search(text, found.start())
    return text[: found.start()] + (title[1] if title else "HTML")


def _unlogged(line: str) -> str:
    """Without the time and level that a log put in front."""
    return line[found.end() :] if line[:1] in "[0123456789" and (found := _LOGGED.match(line)) else line


def _first(text: str) -> str:
    """The first line, with the next ones as long as it is one word or promises more."""
    line = ""
    listed = text.startswith("✖")  # Zod: each issue, and below it where that is
    for part in map(str.strip, text.split("\n", 20)[:20]):
        line = f"{line} {part}" if line and part else line or part
        if " " in line and not listed and not line.endswith((":", "[", "{")):
            break
    return line


def _behind_excerpt(text: str) -> str:
    """What Prisma says behind its excerpt of the source: the first line that is neither indented nor code."""
    _, arrow, rest = text.rpartition("\n→")
    lines = (rest if arrow else text).split("\n")[1:60]
    return next((line.strip() for line in lines if line[:1] not in _CODE and not _EXCERPT.match(line)), "")


def without_request_ids(line: str) -> tuple[str, str]:
    """A line without the ids of requests at its end (those amid it become marks), and the first that was there."""
    lower = line.lower()
    if not any(word in lower for word in _HINTS) or _HINT.search(lower) is None:
        return line, ""
    first = ""
    while True:
        found = None
        for found in _REQUEST_ID.finditer(line):  # noqa: B007 - the last one is wanted
            pass
        if found is None:
            return line, first
        first = found[0]
        if len(line) - found.end() > 2:
            return _REQUEST_ID.sub(_marked, line), first
        line = _LOOSE_END.sub("", line[: found.start()])


def _marked(found: re.Match[str]) -> str:
    start = found.start(1) - found.start()
    return f"{found[0][:start]}‹id›{found[0][start + len(found[1]) :]}"
