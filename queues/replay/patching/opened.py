"""A container that is edited, while its members pass by: what is cut out of it, changed in it and added to it.

Of a doubled key the last one counts, as for workers: that is changed; but all of them are taken out.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.names import show_controls
from queues.quantities import number
from queues.replay.patching.document import back, key_span, name_of
from queues.replay.patching.edit import Edit, Unfit

Splice = tuple[int, int, str]  # from, until, what stands there instead
Done = list[Splice] | Unfit
Name = str | int  # of a member: its key, or its place in a list

_LAYOUT = 200  # characters of layout that are repeated before an added key


class Opened:
    """`begin` is behind its bracket."""

    def __init__(self, text: str, edit: Edit, begin: int, *, is_list: bool) -> None:
        self._text, self._begin, self._is_list = text, begin, is_list
        inside = edit.inside or {}
        self._inside = _places(inside, is_list=is_list)
        self._named = [each for name, each in inside.items() if is_list and not _is_place(name) and each.sets]
        self._count = 0
        self._name: Name = ""
        self._now: Edit | None = None
        self._value = 0  # where the value of the member begins that passes by
        self._key = (0, 0)
        self._first: int | None = None  # where the first member begins
        self._kept: int | None = None  # where the last member ends that stays
        self._gone: int | None = None  # where the last one ends that goes, of those behind it
        self._last: dict[Name, Done] = {}  # what is done to the last member of each name
        self._cuts: list[Splice] = []

    def began(self, start: int, key: str | None) -> Edit | None:
        """The value of a member begins. Gives what is done to it."""
        self._name, self._value, begin = self._count, start, start
        if key is not None:
            self._key = key_span(self._text, start, key)
            self._name, begin = name_of(key), self._key[0]
        self._count += 1
        self._now = self._inside.get(self._name)
        if self._first is None:
            self._first = begin
        if self._gone is not None and not (self._now and self._now.removes):
            self._cuts.append((self._first, begin, "") if self._kept is None else (self._kept, self._gone, ""))
            self._gone = None
        return self._now

    def ended(self, stop: int, inside: Done | None = None) -> None:
        """It has ended; `inside` is what is done inside of it, where the edit went into it."""
        if self._now is not None and self._now.removes:
            self._gone = stop
            return
        self._kept = stop
        if self._now is not None:
            self._last[self._name] = self._instead(self._now, stop) if inside is None else inside

    def closed(self, at: int) -> Done:
        """All that is done in it; `at` is where its closing bracket stands."""
        if self._named:
            said = _("%(path)s: there is a list before it. Say which item, as in items[0].")
            return Unfit(said % {"path": _shown(self._named[0].path)})
        missing = [edit for name, edit in self._inside.items() if name not in self._last and edit.sets]
        if wrong := self._wrong(missing):
            return wrong
        self._finish(at, missing)
        done = [each for each in self._last.values() if isinstance(each, list)]
        return [*self._cuts, *(splice for each in done for splice in each)]

    def _instead(self, edit: Edit, stop: int) -> Done:
        """What is done to a value into which the edit cannot go."""
        if edit.put is not None:
            return [(self._value, stop, edit.put())]
        if edit.sets and edit.path:
            return Unfit(_("%(path)s is no object: nothing can be set in it.") % {"path": _shown(edit.path)})
        if edit.sets:
            return Unfit(_("Its data is no object: nothing can be set in it."))
        return []

    def _wrong(self, missing: list[Edit]) -> Unfit | None:
        """Why it does not fit, where it does not."""
        for edit in missing:
            if self._is_list:
                said = ngettext(
                    "%(path)s: the list has only %(n)s item.",
                    "%(path)s: the list has only %(n)s items.",
                    self._count,
                )
                return Unfit(said % {"path": _shown(edit.path), "n": number(self._count)})
            if edit.put is None:
                return Unfit(_("%(path)s: nothing is there to set anything in.") % {"path": _shown(edit.path)})
        return next((each for each in self._last.values() if isinstance(each, Unfit)), None)

    def _finish(self, at: int, missing: list[Edit]) -> None:
        """Take out what goes at the end, and add what is missing, laid out as the last member is."""
        lead, colon = self._layout()
        added = f",{lead}".join([f"{edit.quoted}{colon}{edit.put()}" for edit in missing if edit.put is not None])
        if self._kept is not None:
            if added or self._gone is not None:
                self._cuts.append((self._kept, self._gone or self._kept, f",{lead}{added}" if added else ""))
        elif self._first is not None and self._gone is not None:
            self._cuts.append((self._first, self._gone, added) if added else (self._begin, at, ""))
        elif added:
            self._cuts.append((self._begin, self._begin, added))

    def _layout(self) -> tuple[str, str]:
        """What stands before the last key, and between it and its value."""
        begin, stop = self._key
        lead, colon = self._text[back(self._text, begin) : begin], self._text[stop : self._value]
        if self._is_list or self._first is None or len(lead) + len(colon) > _LAYOUT:
            return "", ":"
        return (" " if not lead and colon.endswith(" ") else lead), colon


def _is_place(name: str) -> bool:
    return name.isdecimal() and name == str(int(name))


def _places(inside: Mapping[str, Edit], *, is_list: bool) -> Mapping[Name, Edit]:
    kept = [(name, edit) for name, edit in inside.items() if not is_list or _is_place(name)]
    return {int(name) if is_list else name: edit for name, edit in kept}


def _shown(path: str) -> str:
    return show_controls(path, keep="")
