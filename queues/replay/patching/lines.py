"""Lines that set or take out what stands at paths, as an edit: `customer.tier = "gold"`, `- debug.trace`.

All lines are about the data as it was, so that their order does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from django.utils.translation import gettext as _

from queues import paths
from queues.errors import BadInput
from queues.paths import Step
from queues.payload.parsing import fault
from queues.replay.patching.document import of_text, quoted
from queues.replay.patching.edit import Edit
from queues.replay.patching.typed import ensure_small

MOST = 500  # lines

_PLAIN = re.compile(r"""[^.\[\]"'\s=](?:[^.\[\]"'=]*[^.\[\]"'\s=])?""")
_PIECE = re.compile(r"""\[(["']).+?\1\]|[^="'\[]+|\[""")  # of a path; what stands in brackets may be quoted


@dataclass(slots=True)
class _Place:
    """A place in the data that lines are about."""

    path: str = ""
    name: str = ""
    value: str | None = None
    line: int = 0  # of the line that sets it or takes it out; 0: none does
    inside: dict[str, _Place] = field(default_factory=dict)


def lined(typed: str) -> Edit:
    """The edit that the lines mean. BadInput, with the number of the line, for what cannot be read."""
    root = _Place()
    ensure_small(typed)
    rows = [(number, row.strip()) for number, row in enumerate(typed.split("\n"), start=1) if row.strip()]
    if not rows:
        raise BadInput(_("These lines change nothing."))
    if len(rows) > MOST:
        raise BadInput(_("At most %(n)d lines.") % {"n": MOST})
    for number, row in rows:
        try:
            _add(root, row, number)
        except BadInput as error:
            raise BadInput(_("Line %(line)d: %(why)s") % {"line": number, "why": error}) from None
    return _edit(root)


def _add(root: _Place, row: str, number: int) -> None:
    takes_out = re.match(r"-\s", row) is not None
    path, value = _divided(row[1:].strip() if takes_out else row)
    if takes_out and value is not None:
        raise BadInput(_("A line that takes something out has no value."))
    if not takes_out and value is None:
        raise BadInput(_("Behind the path come “=” and a JSON value."))
    if value is not None:
        value = value.strip()
        _ensure_value(value, row)
    _put(root, paths.parse(path), value, number)


def _divided(row: str) -> tuple[str, str | None]:
    """The path, and what stands behind the sign that ends it; None where there is none."""
    at = 0
    while piece := _PIECE.match(row, at):
        at = piece.end()
    if not at or row[at:][:1] not in ("", "="):
        raise BadInput(_('It is a path, “=” and a JSON value. A key with “=” or quotes stands in brackets: ["a=b"].'))
    return row[:at], row[at + 1 :] if at < len(row) else None


def _ensure_value(value: str, row: str) -> None:
    found = fault(value)
    if found is not None:
        at = len(row) - len(value) + found.column
        raise BadInput(_("There is no JSON value behind “=”, from column %(column)d on.") % {"column": at})


def _put(place: _Place, steps: Sequence[Step], value: str | None, number: int) -> None:
    for at, step in enumerate(steps, start=1):
        name = of_text(str(step))
        place = place.inside.setdefault(name, _Place(written(steps[:at]), name))
        if place.line:
            raise BadInput(_("It is about what line %(line)d sets or takes out.") % {"line": place.line})
    if place.inside:
        raise BadInput(_("Another line is about what stands inside of it."))
    place.value, place.line = value, number


def _edit(place: _Place) -> Edit:
    if place.line and place.value is None:
        return Edit(sets=False, path=place.path)
    if place.value is not None:
        text = of_text(place.value)
        return Edit(put=partial(str, text), quoted=quoted(place.name), path=place.path)
    inside = {name: _edit(inner) for name, inner in place.inside.items()}
    return Edit(inside=inside, lists=True, path=place.path, sets=any(each.sets for each in inside.values()))


def written(steps: Sequence[Step]) -> str:
    """A path as a person writes it."""
    parts = [f"[{step}]" if isinstance(step, int) else _named(step) for step in steps]
    return "".join(parts).removeprefix(".")


def _named(step: str) -> str:
    if _PLAIN.fullmatch(step):
        return f".{step}"
    return f"['{step}']" if '"' in step else f'["{step}"]'
