"""A signature out of its parts."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1
from typing import NamedTuple

from queues.events import STALLED_TOO_OFTEN
from queues.failed import REASON_CAP
from queues.failures.signature import chain, cleaning, codes, frames, naming, structured
from queues.failures.signature.normalising import Trace, normalise, words_of
from queues.failures.types import VERSION, Signature, Thrown

KNOWN = 1024  # failures that are remembered as they stand: some 12 MB where all are as long as they may be
MESSAGE = 500  # characters
LONG, HEAD = 1_000, 250  # of a line that is longer than the one only the other counts
TITLE = 200

_NOTHING = ("null", "undefined", "None")
_MEMORY = (
    "JavaScript heap out of memory",
    "JS heap out of memory",
    "ERR_WORKER_OUT_OF_MEMORY",
    "heap limit Allocation",
)
_LOOSE = " .,;:!"  # at the end of a message
_SAYING_NOTHING = ("Error", "error", "")


class Parts(NamedTuple):
    """What a failure says, before it is made a signature."""

    shape: str
    error_class: str = ""
    code: str = ""
    message: str = ""  # normalised


@lru_cache(maxsize=KNOWN)
def _of(reason: str | None, stack: str, name: str, cut: bool) -> Signature:
    parts = parts_of(reason, stack, cut)
    place, kind = ("", "") if parts.shape == "stalled" else frames.place(stack)
    if not place and name:
        place, kind = words_of(name[:200]), "job"
    return signed(parts, place, kind or "none")


def of(thrown: Thrown) -> Signature:
    """The signature of a failure. Pure, never raises; some 20 us, much less for one that was seen lately.

    Linear in what is read: the head of the reason, and the stack as far as there is one.
    """
    reason = thrown.reason
    return _of(reason, thrown.stack, thrown.name, reason is not None and thrown.reason_size > 4 * len(reason) + 4)


def parts_of(reason: str | None, stack: str, cut: bool = False, trace: Trace | None = None) -> Parts:
    """Shape, class, code and normalised message. `trace` is told each rule that took something."""
    if reason == STALLED_TOO_OFTEN:
        return Parts("stalled", message=STALLED_TOO_OFTEN)
    text = cleaning.cleaned(reason, cut=cut) if reason else ""
    if trace is not None and reason is not None and text != reason.strip():
        trace("masked", reason[:200], text[:200])
    head = _head(stack)
    if not text and not head:
        return Parts("none" if reason is None else "empty")
    if text in _NOTHING and not naming.looks_like_class(head.partition(":")[0]):
        return Parts("null", message=text)
    if text == "[object Object]":
        return Parts("object", message=text)
    if any(sign in text[: cleaning.READ] for sign in _MEMORY):
        return _memory(text, head)
    return _said(text, head, stack, trace)


def _head(stack: str) -> str:
    """The line of a stack that names the error; "" where it begins with a frame."""
    if not stack:
        return ""
    if naming.is_python(stack):
        return naming.python_head(stack)
    line = stack[:1000].lstrip("\n").partition("\n")[0]
    return "" if line.startswith(("    at ", "null", "[")) else line


def _memory(text: str, head: str) -> Parts:
    error_class = naming.named(head, text)[0]
    return Parts("memory", error_class, "OUT_OF_MEMORY", "JavaScript heap out of memory")


def _said(text: str, head: str, stack: str, trace: Trace | None) -> Parts:
    error_class, bracketed, message = naming.named(head, text, sure=naming.is_python(stack))
    if trace is not None and error_class:
        trace("class", head or text[:200], error_class)
    document = structured.whole(message.strip())
    if document is not None:
        return _documented(error_class or document.name, document, head, trace)
    line, told = _line(message, trace)
    code = bracketed or codes.code_in(line) or told or codes.code_of_class(error_class)
    line, code = _with_cause(line, code, stack, trace)
    if not code and ": '" in stack:
        code = codes.code_in_properties(stack)
    if trace is not None and code:
        trace("code", line[:200], code)
    shape = "error" if error_class or head else "text"
    return Parts(shape, error_class, code[:100], _normal(line, code, trace))


def _line(message: str, trace: Trace | None) -> tuple[str, str]:
    """The line that makes sense, without JSON and ids of requests, and the code that stood before or in JSON."""
    line, told = cleaning.sense(message), ""
    if "{" in line or "[" in line:
        line, told = _without_json(message[:REASON_CAP] if "\n" in message else line, line, trace)
    shorter, first = cleaning.without_request_ids(line)
    if trace is not None and first:
        trace("request-id", first, "")
    return shorter, told


def _without_json(source: str, line: str, trace: Trace | None) -> tuple[str, str]:
    text, told, replaced = structured.without_blobs(source)
    if not replaced:
        return line, ""
    if trace is not None:
        for before, after in replaced:
            trace("json", before, after)
    first = replaced[0][0]
    return cleaning.sense(text), codes.code_in(source.partition(first)[0][:MESSAGE] + first[0]) or told


def _with_cause(line: str, code: str, stack: str, trace: Trace | None) -> tuple[str, str]:
    if not chain.says_nothing(line) or (cause := chain.cause_in(stack)) is None:
        return line, code
    said = cleaning.without_request_ids(cleaning.sense(cleaning.cleaned(cause.message)))[0]
    if trace is not None:
        trace("cause", line, said)
    return f"{line}: {said}" if line else said, code or cause.code or codes.code_in(said)


def _documented(error_class: str, document: structured.Said, head: str, trace: Trace | None) -> Parts:
    shape = "issues" if document.issues else "error" if head and error_class else "json"
    message = document.message if document.issues else _normal(cleaning.sense(document.message), document.code, trace)
    if trace is not None:
        trace("issues" if document.issues else "json", "", message)
    code = document.code or ("" if document.issues else codes.code_in(document.message[:500]))
    return Parts(shape, error_class, code[:100], message[:MESSAGE])


def _normal(line: str, code: str, trace: Trace | None) -> str:
    bare = line[1:-1]
    if len(line) > 2 and line[0] == line[-1] == "'" and bare.isidentifier():  # the message of a KeyError
        return bare
    made = normalise(line, code, trace)
    if trace is not None:
        made = _once(made, trace)
    # The end of a dump is cut anywhere, and what it is stands in front.
    return _finished(made)[: HEAD if len(line) > LONG else MESSAGE]


@lru_cache(maxsize=2048)
def _finished(line: str) -> str:
    return cleaning.hidden(_once(line, None))[:MESSAGE].rstrip(_LOOSE)


def _once(text: str, trace: Trace | None) -> str:
    """A list of sentences without those that came before: items of one list fail alike."""
    for separator in ("; ", ". ", ", "):
        if text.count(separator) and len(parts := text.split(separator)) > len(kept := dict.fromkeys(parts)):
            shorter = separator.join(kept)
            if trace is not None:
                trace("list", text, shorter)
            return shorter
    return text


@lru_cache(maxsize=2048)
def signed(parts: Parts, place: str, kind: str) -> Signature:
    """Parts and place as a signature."""
    told = (str(VERSION), *parts, place)
    digest = sha1("\x1f".join(told).encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    shape, error_class, code, message = parts
    return Signature(VERSION, digest, shape, error_class, code, message, place, kind, title_of(parts))


def title_of(parts: Parts) -> str:
    """One line for eyes: class and code where the message does not say them, and the message.

    `UnrecoverableError` says what BullMQ shall do, and not what went wrong: the class of the group tells it.
    """
    telling = parts.error_class not in _SAYING_NOTHING and (
        parts.error_class != "UnrecoverableError" or not parts.message
    )
    shown = parts.error_class if telling else ""
    if parts.code and parts.code not in parts.message and parts.code != parts.error_class and parts.code[:5] != "exit ":
        shown = f"{shown} {parts.code}" if shown else parts.code
    title = f"{shown}: {parts.message}" if shown and parts.message else shown or parts.message or parts.error_class
    return title[:TITLE]
