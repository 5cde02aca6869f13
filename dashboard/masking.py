"""The form for a pattern of hidden values, and what such a pattern would hide in a queue's jobs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.forms import InkField
from queues import masking, outages, readings
from queues.backend import Backend
from queues.errors import BadInput, QueueError
from queues.payload.scan import Malformed, scan
from queues.redaction import DEFAULT
from queues.registry import configured
from queues.text import decoded
from queues.types import Body, Order, QueueRef, State

JOBS = 20  # of a queue that a preview looks at
EACH = 5  # of one state
KEYS = 60  # that a preview names
KEY = 120  # characters of one
EXAMPLES = ("{0}", "{1}", "customer_{0}", "customer{2}", "X-{2}", "{0}s", "{0}Holder")


class MaskingForm(forms.Form):
    """A pattern and where it holds. A queue is typed by its name, with its prefix where that is not `bull`."""

    bound_field_class = InkField
    pattern = forms.CharField(
        label=_("Pattern of keys"),
        max_length=100,
        help_text=_("*taxid* is found anywhere in a key, however its words are joined; tax id only as whole words."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    source = forms.ChoiceField(label=_("Source"), required=False)
    queue = forms.CharField(
        label=_("Queue"),
        required=False,
        max_length=2000,
        help_text=_("Empty: all queues. It is written as in the list of queues."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(source.name, source.name) for source in configured()]
        self.fields["source"].choices = [("", _("every source")), *names]  # type: ignore[attr-defined]

    def clean_pattern(self) -> str:
        try:
            return masking.checked(self.cleaned_data["pattern"])
        except BadInput as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        typed, source = found.get("queue", ""), found.get("source", "")
        found["ref"] = None
        if typed and not source:
            self.add_error("source", _("A queue belongs to a source: choose that too."))
        elif typed:
            found["ref"] = readings.called(source, typed)
            if found["ref"] is None:
                self.add_error("queue", _("No queue of this name is known in this source."))
        return found


@dataclass(frozen=True, slots=True)
class Preview:
    """What a pattern would hide: `keys` of recent jobs, each with whether it is hidden already.

    `jobs` says at how many was looked, None where none was chosen or could be read (`error`).
    """

    pattern: str
    examples: Sequence[tuple[str, bool]]
    keys: Sequence[tuple[str, bool]] = ()
    jobs: int | None = None
    error: str = ""

    @property
    def kept(self) -> Sequence[str]:
        """Examples of keys that resemble the pattern and are not hidden."""
        return [key for key, found in self.examples if not found]


def preview(pattern: str, ref: QueueRef | None) -> Preview:
    """Look at the newest jobs of a queue, at most 20: four short lists and a reading for each job."""
    examples = _examples(pattern)
    if ref is None:
        return Preview(pattern, examples)
    try:
        with outages.watched(ref.source) as reader:
            bodies = list(_bodies(reader, ref))
    except QueueError as error:
        return Preview(pattern, examples, error=str(error))
    found = dict.fromkeys(key for body in bodies for part in body for key in _keys(part))
    keys = [key for key in found if masking.matches(pattern, key)][:KEYS]
    known = masking.rules_for(ref)
    return Preview(pattern, examples, [(key[:KEY], masking.hides(known, key)) for key in keys], len(bodies))


def _examples(pattern: str) -> Sequence[tuple[str, bool]]:
    """Keys made of the pattern's words, and whether it finds them."""
    words = pattern.strip("*").split()
    joined = ("_".join(words), "".join(words), "".join(word.title() for word in words))
    return [(key, masking.matches(pattern, key)) for key in dict.fromkeys(each.format(*joined) for each in EXAMPLES)]


def _bodies(reader: Backend, ref: QueueRef) -> Iterator[Sequence[Body]]:
    """The bodies of some of the newest jobs, those of each state."""
    rows = [
        row
        for state in (State.FAILED, State.COMPLETED, State.WAITING, State.DELAYED)
        for row in reader.jobs(ref, [state], size=20, order=Order.NEWEST).rows[:EACH]
    ]
    for row in rows[:JOBS]:
        if not row.missing:
            job = reader.job(row.ref)
            yield [body for body in (job.data, job.returnvalue) if body]


def _keys(body: Body) -> Iterable[str]:
    """The keys in a body that is JSON, as far as it is."""
    text, _odd = decoded(body.raw, cut=body.cut)
    found: dict[str, None] = {}
    try:
        for key, *_rest in scan(text, cut=body.cut):
            if key is not None and len(key) <= 1000:
                found[json.loads(key)] = None
    except (Malformed, ValueError):
        pass  # what came before it counts
    return found


def ours() -> Sequence[str]:
    """The patterns that hold everywhere."""
    return DEFAULT.patterns
