"""JSON Merge Patch (RFC 7396) as an edit: null takes out, objects are merged, all else is put as it was typed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial

from django.utils.translation import gettext as _

from queues.errors import BadInput
from queues.payload.scan import scan
from queues.replay.patching.document import name_of, of_text, value_span
from queues.replay.patching.edit import Edit
from queues.replay.patching.splicing import spliced
from queues.replay.patching.typed import ensure_json

DEEPEST = 100  # levels of a patch

_GOES = Edit(sets=False)


@dataclass(slots=True)
class _Object:
    """An object of the patch while it is read."""

    begin: int
    quoted: str
    inside: dict[str, Edit] = field(default_factory=dict)
    nulls: dict[str, Edit] = field(default_factory=dict)  # what it puts is without these


def merged(typed: str) -> Edit:
    """The edit that a patch means. BadInput where it is no JSON object, changes nothing, or is nested too deeply."""
    ensure_json(typed)
    text = of_text(typed)
    if not typed.lstrip().startswith("{"):
        raise BadInput(_("A merge patch is a JSON object with what is to change."))
    edit = _read(text)
    if not edit.inside:
        raise BadInput(_("This patch changes nothing."))
    return edit


def _read(text: str) -> Edit:
    opened = [_Object(0, "")]  # around the document
    skipped = 0  # lists and all in them are put as they are
    for key, value, end, _whole in scan(text, cut=False):
        start, stop = value_span(text, end, value)
        if value == "[" or (skipped and value == "{"):
            if not skipped:
                begin, quoted = start, key or ""
            skipped += 1
        elif value == "]" or (skipped and value == "}"):
            skipped -= 1
            if not skipped:
                _keep(opened[-1], quoted, Edit(put=partial(str, text[begin:stop]), quoted=quoted))
        elif skipped:
            continue
        elif value == "{":
            if len(opened) > DEEPEST:
                raise BadInput(_("This patch is nested too deeply."))
            opened.append(_Object(start, key or ""))
        elif value == "}":
            inner = opened.pop()
            _keep(opened[-1], inner.quoted, _edit(inner, text[inner.begin : stop]), inner.nulls)
        elif value == "null":
            _keep(opened[-1], key or "", _GOES)
        else:
            _keep(opened[-1], key or "", Edit(put=partial(str, value), quoted=key or ""))
    return opened[0].inside[""]


def _keep(outer: _Object, quoted: str, edit: Edit, nulls: dict[str, Edit] | None = None) -> None:
    """The last of doubled keys counts."""
    name = name_of(quoted) if quoted else ""
    outer.inside[name] = edit
    outer.nulls.pop(name, None)
    if edit.removes:
        outer.nulls[name] = _GOES
    elif nulls:
        outer.nulls[name] = Edit(inside=nulls, sets=False)


def _edit(inner: _Object, text: str) -> Edit:
    put: Callable[[], str] = partial(str, text)
    if inner.nulls:
        put = cache(partial(spliced, text, Edit(inside=inner.nulls, sets=False)))
    return Edit(put=put, inside=inner.inside, quoted=inner.quoted)
