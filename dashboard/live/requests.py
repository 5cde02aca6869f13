"""What a socket may send: three messages, read strictly. Anything else ends it with a code that says why."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.live.drawers import subject
from dashboard.replays import keys
from queues.live import About, Topic
from queues.registry import configured

BAD, SIGNED_OUT, ROLE_LOST, NOTHING, TOO_MANY, RESTART = 4400, 4401, 4403, 4404, 4429, 1012

MESSAGE_CHARACTERS = 128 * 1024
SLUG_CHARACTERS = 2_000
SOURCES = 16
ROWS = 2_000
ROW_CHARACTERS = 40
PLANS = 4  # replays whose whole page is drawn for one socket: a page shows one
_EVENT_ID = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_WATCH = {"page", "sources", "queue", "job", "read", "after"}
_MOST_MS = 2**53


class Refused(Exception):
    """The socket is closed with `code`; the text is for our log, and holds nothing that a client has sent."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class Watch:
    """What a page shows. `read_ms` is when it was read, `after` the last event that is on it, or ""."""

    topics: tuple[Topic, ...]
    rows: frozenset[str]
    read_ms: int
    after: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The table rows that the page shows now."""

    rows: frozenset[str]


@dataclass(frozen=True, slots=True)
class Ack:
    """The frame of this number is on the screen."""

    number: int


def parse(text: str | None) -> Watch | Rows | Ack:
    """A message as it was sent; None for bytes. Raises Refused."""
    if text is None or len(text) > MESSAGE_CHARACTERS:
        raise Refused(BAD, "bytes, or a message that is too long")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused(BAD, "not JSON") from None
    match message:
        case {"watch": dict(watch), **rest} if not rest.keys() - {"rows"}:
            return _watch(watch, _rows(rest.get("rows", [])))
        case {"rows": rows, **rest} if not rest:
            return Rows(_rows(rows))
        case {"ack": int(number), **rest} if not rest and not isinstance(number, bool):
            return Ack(number)
    raise Refused(BAD, "not one of the messages")


def _watch(watch: Mapping[str, object], rows: frozenset[str]) -> Watch:
    if watch.keys() - _WATCH:
        raise Refused(BAD, "an unknown member")
    after = _text(watch, "after", 41)
    if after and not _EVENT_ID.fullmatch(after):
        raise Refused(BAD, "not the id of an event")
    read = watch.get("read", 0)
    if isinstance(read, bool) or not isinstance(read, int) or not 0 <= read < _MOST_MS:
        raise Refused(BAD, "not a moment")
    return Watch(_topics(watch), rows, read, after)


def _topics(watch: Mapping[str, object]) -> tuple[Topic, ...]:
    try:
        about = About(str(watch.get("page")))
    except ValueError:
        raise Refused(BAD, "no such page") from None
    sources = _sources(watch.get("sources"))
    if about in (About.SOURCE, About.OVERVIEW, About.FAILURES, About.REPLAYS):
        return tuple(Topic(about, source) for source in sources)
    queue, job = _text(watch, "queue", SLUG_CHARACTERS), _text(watch, "job", SLUG_CHARACTERS)
    if len(sources) != 1 or not queue or bool(job) != (about is About.JOB):
        raise Refused(BAD, "not one queue or job")
    topic = Topic(about, sources[0], queue, job)
    try:
        subject(topic)
    except ValueError:
        raise Refused(NOTHING, "no queue or job can be called so") from None
    return (topic,)


def _sources(found: object) -> Sequence[str]:
    if not isinstance(found, list) or not found or not all(isinstance(name, str) for name in found):
        raise Refused(BAD, "no sources")
    names = list(dict.fromkeys(found))
    if len(names) > SOURCES:
        raise Refused(TOO_MANY, "too many sources")
    if set(names) - {config.name for config in configured()}:
        raise Refused(NOTHING, "no such source")
    return names


def _rows(found: object) -> frozenset[str]:
    if not isinstance(found, list) or len(found) > ROWS:
        raise Refused(BAD, "not rows, or too many")
    if not all(isinstance(row, str) and len(row) <= ROW_CHARACTERS for row in found):
        raise Refused(BAD, "not rows")
    rows = frozenset(found)
    if len(keys.shown(rows, "rp")) > PLANS:
        raise Refused(BAD, "too many plans")
    return rows


def _text(watch: Mapping[str, object], name: str, most: int) -> str:
    found = watch.get(name) or ""
    if not isinstance(found, str):
        raise Refused(BAD, f"{name} is no text")
    if len(found) > most:
        raise Refused(NOTHING if name != "after" else BAD, f"{name} is too long")
    return found
