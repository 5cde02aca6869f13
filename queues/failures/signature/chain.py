"""Causes behind errors whose own message says nothing."""

from __future__ import annotations

import re
from typing import NamedTuple

from queues.failures.signature.codes import code_in_properties

_EMPTY = re.compile(
    r"(?i:(?:typeerror: )?fetch failed|(?:the )?(?:network )?request failed|failed|error"
    r"|an? (?:unknown |unexpected )?error(?: has)?(?: occurred)?|unknown(?: error)?|unexpected error"
    r"|something went wrong|all promises were rejected"
    r"|job failed|processing failed|task failed|rejected|exception|internal error|oops|undefined|null)?[.!:]*$"
)
_CAUSE = re.compile(
    r"(?:\[cause\]: |[Cc]aused by: |\[errors\]: \[\s{0,40}|\n\s{0,12}\[?cause\]?: )"
    r"(?:([A-Za-z_$][\w$.]{0,99})(?: \[([A-Z][A-Z0-9_]{2,60})\])?: )?([^\n]{0,500})"
)
_PYTHON_LINK = re.compile(
    r"\n\n(?:The above exception was the direct cause|During handling of the above exception, another)[^\n]{0,60}:\n"
)


class Cause(NamedTuple):
    error_class: str
    code: str
    message: str


def says_nothing(message: str) -> bool:
    return len(message) < 60 and _EMPTY.match(message.strip()) is not None


def cause_in(stack: str) -> Cause | None:
    """The innermost cause that a stack shows and that says something; None without one."""
    best = None
    if "ause" in stack or "[errors]" in stack:
        for count, found in enumerate(_CAUSE.finditer(stack)):
            message = found[3].strip().removesuffix("{").strip()
            if not says_nothing(message):
                code = found[2] or code_in_properties(stack[found.end() : found.end() + 2_000])
                best = Cause(found[1] or "", code, message)
                break
            if count > 8:
                break
    return best or _python(stack)


def _python(stack: str) -> Cause | None:
    found = _PYTHON_LINK.search(stack)
    if found is None:
        return None
    line = stack[: found.start()].rstrip().rpartition("\n")[2]
    name, colon, message = line.partition(": ")
    return Cause(name.rpartition(".")[2], "", message) if colon and not says_nothing(message) else None
