"""The class of an error, and what its message is without it."""

from __future__ import annotations

import re

_HEAD = re.compile(r"(?:Uncaught )?([A-Za-z_$][\w$.]{0,99})(?: \[([A-Z][A-Z0-9_]{2,60})\])?(?::(?: |$)|$)")
_LOOKS = re.compile(
    r"(?:[A-Za-z_$][\w$]*\.)*[A-Z][\w$]*(?:Error|Exception|Fault|Failure|Timeout|Interrupt|Exists|NotFound|Rejection)$"
    r"|(?:[\w$]+\.)*(?:Error|Exception|Panic)$"
)
_PYTHON = "Traceback (most recent call last)"


def looks_like_class(word: str) -> bool:
    return len(word) <= 100 and _LOOKS.match(word) is not None


def named(stack_head: str, reason: str, *, sure: bool = False) -> tuple[str, str, str]:
    """Class, code in brackets, and message. `stack_head` is the first line of a stack; "" without one.

    A word counts as a class where the reason follows it, or where it looks like one; or always (`sure`).
    """
    found = _HEAD.match(stack_head[:300])
    if found:
        rest = stack_head[found.end() :]
        line = reason.lstrip().partition("\n")[0]
        if sure or looks_like_class(found[1]) or (line.startswith(rest[:200]) and (rest or not line)):
            return short(found[1]), found[2] or "", without(found[1], reason)
    found = _HEAD.match(reason[:300])
    if found and looks_like_class(found[1]) and (":" in found[0] or not stack_head):
        return short(found[1]), found[2] or "", reason[found.end() :]
    return "", "", reason


def short(name: str) -> str:
    """A class without the module that it is from."""
    return name.rpartition(".")[2] or name


def without(error_class: str, reason: str) -> str:
    """A reason without the class in front of it."""
    found = _HEAD.match(reason[:300])
    if found and ":" in found[0] and short(found[1]) == short(error_class):
        return reason[found.end() :]
    return reason


def python_head(stack: str) -> str:
    """The line of a traceback that names its error: the first behind the last frame that is not indented."""
    last = stack.rfind('File "')
    end = stack.find("\n", last) if last >= 0 else -1
    while end >= 0:
        line, next_end = _line(stack, end + 1)
        if line[:1] not in (" ", "\t", ""):
            return line
        end = next_end
    return ""


def _line(text: str, start: int) -> tuple[str, int]:
    end = text.find("\n", start)
    return (text[start:], -1) if end < 0 else (text[start:end], end)


def is_python(stack: str) -> bool:
    return _PYTHON in stack[:200] or f"\n{_PYTHON}" in stack
