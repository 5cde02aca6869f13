"""The form in which the data of one job is edited before it is sent again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext

from dashboard.actions.forms.data import DataForm, stamp
from queues.payload.layout import Layout
from queues.payload.parsing import fault
from queues.payload.scan import Malformed
from queues.redaction import NOTHING

ROWS = (12, 34)  # of the editor, at least and at most
AROUND = 60  # characters of a line on either side of what is wrong in it

_SPACE = re.compile(r'("(?:[^"\\]|\\.)*+")|[ \t\r\n]++', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The line in which a text stops being JSON, cut around the place. `offset` counts as browsers do, from 0."""

    line: int
    before: str
    at: str
    behind: str
    offset: int


class EditForm(DataForm):
    """Data in an editor. What is stored without any layout is laid out here, and sent without any again.

    `looked` stands for the data of which before and after were shown, so that nothing else is sent.
    """

    looked = forms.CharField(widget=forms.HiddenInput, required=False, max_length=64)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.excerpt: Excerpt | None = None
        self._compact = bool(self.before and self.before.json and _compacted(self.before.text) == self.before.text)
        if self._compact and self.before is not None:
            self.initial["payload"] = _laid_out(self.before.text)
        lines = str(self.initial.get("payload", "")).count("\n") + 2
        if "payload" in self.fields:
            self.fields["payload"].widget.attrs["rows"] = min(max(lines, ROWS[0]), ROWS[1])

    def clean_payload(self) -> bytes:
        typed: str = self.cleaned_data["payload"]
        self.excerpt = excerpt(typed)
        if self._compact and self.excerpt is None:
            self.cleaned_data["payload"] = _compacted(typed)
        data = super().clean_payload()
        if self.before is not None and data == self.raw:
            raise forms.ValidationError(gettext("Nothing is changed yet."), code="same")
        return data

    @property
    def was_looked_at(self) -> bool:
        """Whether exactly this was shown before and after. Only of a valid form."""
        return constant_time_compare(str(self.data.get("looked") or ""), stamp(self.cleaned_data["payload"]))

    def look(self) -> None:
        """What is sent now is shown. Only of a valid form."""
        self._put(looked=stamp(self.cleaned_data["payload"]))

    def seen_anew(self, seen: str, state: str) -> None:
        """Go on from the job as it is now."""
        self.renew()
        self._put(seen=seen, from_state=state, looked="")


def _laid_out(text: str) -> str:
    """JSON laid out for reading: every key, string and number as it is written. The same text where it is no JSON."""
    try:
        return "".join(piece[1] for piece in Layout(text, cut=False, rules=NOTHING).pieces())
    except Malformed:
        return text


def _compacted(text: str) -> str:
    """JSON without the space between its parts."""
    return _SPACE.sub(r"\1", text)


def excerpt(text: str) -> Excerpt | None:
    """Where a text is no JSON; None where it is."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found = fault(text)
    if found is None:
        return None
    begin = text.rfind("\n", 0, found.at) + 1
    end = text.find("\n", found.at)
    end = len(text) if end < 0 else end
    before, behind = text[begin : found.at], text[found.at + 1 : end]
    return Excerpt(
        found.line,
        before if len(before) <= AROUND else f"…{before[-AROUND:]}",
        text[found.at : found.at + 1].strip("\n"),
        behind if len(behind) <= AROUND else f"{behind[:AROUND]}…",
        len(text[: found.at].encode("utf-16-le", errors="surrogatepass")) // 2,
    )
