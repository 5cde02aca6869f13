"""What a letter tells of the job that is to be sent for it, as the exact bytes that stand in it.

A letter is one of three things: it holds the job's data beside what failed (by its mapping); or it is the job itself,
moved over as it was; or it tells of a failure and not what the job was given, and then nothing is sent for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from queues.errors import QueueError
from queues.failures.letters.mapping import COMMON, Mapping
from queues.payload.parsing import fault
from queues.payload.scan import Malformed
from queues.replay.patching.document import of_bytes, of_text, to_bytes, to_text
from queues.replay.patching.locating import Span, located

# What letters and ordinary data both hold: by itself it says nothing, unless a user set the path.
_COMMONPLACE: Dict[str, frozenset[str]] = {
    "payload": frozenset({"body"}),
    "error": frozenset({"message", "reason"}),
    "stack": frozenset({"trace"}),
    "failed_at": frozenset({"timestamp", "time", "date", "occurredAt"}),
    "queue": frozenset({"queue", "origin"}),
    "job": frozenset({"id", "job_id"}),
    "attempts": frozenset({"attempts", "retries"}),
}
_OF_FAILURES = ("error", "stack", "failed_at", "queue", "job", "attempts")  # what only letters tell
_READ = ("payload", "name", "opts", *_OF_FAILURES)
_SHORT = 4096  # characters of a name or an id


class Unmapped(QueueError):
    """A letter does not tell what to send; the text says what is missing, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a letter tells. `data` are exact bytes.

    `itself`: the letter is the job as it was, so that its own name, id and options hold. Else `name`, `job` and `opts`
    are None where it does not tell them.
    """

    data: bytes
    itself: bool = False
    name: bytes | None = None
    job: bytes | None = None
    opts: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """`text` stands at the first path of a part that leads somewhere. `plain`: some path of it is a letter's alone."""

    text: str | None = None
    plain: bool = False


def told_by(data: bytes, mapping: Mapping) -> Content:
    """What the data of a letter tells. Unmapped where that is not enough to send a job. Linear.

    Data that stands in it as a JSON string (as `Job.asJSON` writes it) is decoded once where it holds an object or a
    list: its bytes are then those of the decoded text.
    """
    own = "payload" in mapping.own
    if own and [] in mapping.paths["payload"]:
        return Content(data, itself=True)
    try:
        found = _parts(of_bytes(data), mapping)
    except Malformed:
        raise Unmapped(_("Its data is no JSON.")) from None
    payload, failure = found["payload"], any(found[part].plain for part in _OF_FAILURES)
    if payload.text is None or not (failure or payload.plain):
        if failure or own:
            raise Unmapped(_not_given())
        return Content(data, itself=True)
    if not failure and not own:
        raise Unmapped(_ambiguous())
    given = _document(payload.text) or (payload.text if own else None)
    if given is None:
        raise Unmapped(_not_given())
    opts = _document(found["opts"].text or "")
    return Content(
        to_bytes(given),
        name=_word(found["name"].text),
        job=_word(found["job"].text),
        opts=to_bytes(opts) if opts is not None and opts.startswith("{") else None,
    )


def _parts(text: str, mapping: Mapping) -> Dict[str, _Part]:
    wanted = [(part, steps) for part in _READ for steps in mapping.paths[part]]
    spans = iter(located(text, [steps for _part, steps in wanted]))
    return {part: _part(text, part, [next(spans) for _steps in mapping.paths[part]], mapping) for part in _READ}


def _part(text: str, part: str, spans: Sequence[Span | None], mapping: Mapping) -> _Part:
    texts = [None if span is None or text[slice(*span)] == "null" else text[slice(*span)] for span in spans]
    own = part in mapping.own
    said = _COMMONPLACE.get(part, frozenset())
    names = [""] * len(texts) if own else COMMON[part]
    plain = any(found is not None and name not in said for found, name in zip(texts, names, strict=True))
    return _Part(next((found for found in texts if found is not None), None), plain)


def _document(text: str) -> str | None:
    """An object or a list, also one that is written in a string; None for all else."""
    if text[:1] == '"':
        text = json.loads(to_text(text))
        inner = text.strip(" \t\r\n")
        return of_text(inner) if inner[:1] in ("{", "[") and fault(inner) is None else None
    return text if text[:1] in ("{", "[") else None


def _word(text: str | None) -> bytes | None:
    """A name or an id: a string, or a whole number."""
    if text is None or len(text) > _SHORT:
        return None
    if text.isdecimal():
        return to_bytes(text)
    return str(json.loads(to_text(text))).encode("utf-8", errors="surrogatepass") if text[0] == '"' else None


def _not_given() -> str:
    return _("It does not tell what its job was given. Set where that stands, on the page of these letters.")


def _ambiguous() -> str:
    return _(
        "It can be the job itself, or hold its data and nothing of a failure. Say which, on the page of these letters: "
        "set where the payload stands, or a dot for all of it."
    )
