"""Paths into JSON as people write them: `error.message`, `items[0].id`, `headers["x-request-id"]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.utils.translation import gettext as _

from queues.errors import BadInput

LONGEST = 200  # characters of a path
DEEPEST = 20  # steps

Step = str | int

_STEP = re.compile(
    r"""\.?(?P<name>[^.\[\]"'\s][^.\[\]"']*)|\[(?P<index>\d{1,9})\]|\[(?P<quote>["'])(?P<key>.+?)(?P=quote)\]"""
)


class Missing:
    """What `get` gives where a path leads nowhere; `None` is a value."""


MISSING = Missing()


def parse(text: str) -> Sequence[Step]:
    """The steps of a path. BadInput for what is none, says which part cannot be read."""
    text = text.strip()
    if not text or len(text) > LONGEST or text.startswith("."):
        raise BadInput(_("A path names keys from the outside in, with dots between them: error.message"))
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or len(steps) >= DEEPEST:
            raise BadInput(_("This path cannot be read from “%(rest)s” on.") % {"rest": text[at : at + 40]})
        name, index, key = match["name"], match["index"], match["key"]
        steps.append(int(index) if index is not None else name if name is not None else key)
        at = match.end()
    return steps


def get(value: object, steps: Sequence[Step]) -> object:
    """What stands at the end of a path, MISSING where it leads nowhere. A step of digits finds in lists, too."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(str(step), MISSING)
        elif isinstance(value, list) and (isinstance(step, int) or step.isdecimal()):
            place = int(step)
            value = value[place] if place < len(value) else MISSING
        else:
            return MISSING
        if value is MISSING:
            return MISSING
    return value
