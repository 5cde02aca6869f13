"""What every form of an action has: its key, the reason for the audit log, and a name to type where it is dangerous."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.forms.boundfield import BoundField
from django.utils.datastructures import MultiValueDict
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.forms import InkField
from queues.names import decode_part
from queues.types import State

Words = str | Promise

LAST = ("sure", "reason")  # stand behind the fields of the action itself
OUR_OWN = frozenset({"key", "seen", "from_state", *LAST})


class ActField(InkField):
    """A field drawn as the style guide draws it: numbers short, boxes without a frame of their own."""

    @property
    def unit(self) -> bool:
        """Whether it is the unit of the number beside it, and needs no label for eyes."""
        return self.name.endswith("unit")

    def build_widget_attrs(self, attrs: dict[str, Any], widget: forms.Widget | None = None) -> dict[str, Any]:
        attrs = super().build_widget_attrs(attrs, widget)
        own = self.field.widget
        if isinstance(own, forms.CheckboxInput | forms.RadioSelect | forms.HiddenInput):
            attrs.pop("class", None)
        elif isinstance(own, forms.NumberInput | forms.DateTimeInput):
            kind = "in n" if isinstance(own, forms.NumberInput) else "in"
            attrs["class"] = f"{kind} err" if self.errors else kind
        return attrs


def _typed(name: str) -> SafeString:
    return format_html(gettext("Type {name} to go on"), name=format_html('<bdi class="mono">{}</bdi>', name))


class ActionForm(forms.Form):
    """The form of an action that asks for nothing but a reason. `name` is what has to be typed; "" = nothing."""

    bound_field_class = ActField
    rows: ClassVar[Sequence[Sequence[str]]] = ()  # fields that stand beside each other
    folded: ClassVar[Sequence[tuple[Words, Sequence[str]]]] = ()  # fields that are seldom needed: heading and names
    folded_words: ClassVar[Words] = ""  # what they are about, seen while they are folded

    key = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)
    seen = forms.CharField(widget=forms.HiddenInput, max_length=200, required=False)  # as `names.encode_part` writes it
    from_state = forms.CharField(widget=forms.HiddenInput, max_length=20, required=False)
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=500,
        help_text=_("Kept in the audit log. May stay empty."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, name: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name
        self.initial.setdefault("key", secrets.token_urlsafe(24))
        if name:
            self.fields["sure"] = forms.CharField(
                label=_typed(name),
                max_length=2000,
                strip=False,
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            )

    def clean_sure(self) -> str:
        typed: str = self.cleaned_data["sure"]
        if typed.strip() != self.name.strip():
            raise forms.ValidationError(gettext("This is not the name: nothing was done."), code="sure")
        return typed

    def arguments(self) -> dict[str, Any]:
        """What the action takes by keyword. Only of a valid form."""
        own = [name for name in self.fields if name not in OUR_OWN]
        return {name: self.cleaned_data[name] for name in own}

    @property
    def seen_mark(self) -> bytes:
        """What was seen of the job, see `queues.actions.Target`; empty where that cannot be read."""
        try:
            return decode_part(self.cleaned_data["seen"], colon=True) if self.cleaned_data["seen"] else b""
        except ValueError:
            return b""

    @property
    def seen_state(self) -> State | None:
        """The state in which the job was seen."""
        found: str = self.cleaned_data["from_state"]
        return State(found) if found in set(State) else None

    def renew(self) -> None:
        """Give a form that was sent a new key: sent once more it is meant once more."""
        self._put(key=secrets.token_urlsafe(24))

    def _put(self, **values: str) -> None:
        sent = {name: self.data.getlist(name) for name in self.data} if isinstance(self.data, MultiValueDict) else {}
        self.data = MultiValueDict({**sent, **{name: [value] for name, value in values.items()}})

    @property
    def asked(self) -> Sequence[Sequence[BoundField]]:
        """The visible fields, in rows of those that stand beside each other."""
        return self._rows([name for name in self.fields if name not in self._folded and name not in LAST])

    @property
    def groups(self) -> Sequence[tuple[Words, Sequence[Sequence[BoundField]]]]:
        """The fields that are folded, under their headings."""
        return [(heading, self._rows(names)) for heading, names in self.folded]

    @property
    def unfolded(self) -> bool:
        """Whether something is filled in or wrong among the folded fields."""
        return self.is_bound and not self._folded.isdisjoint({*self.changed_data, *self.errors})

    @property
    def last(self) -> Sequence[Sequence[BoundField]]:
        """What stands below all: the name to type, the reason."""
        return [[self[name]] for name in LAST if name in self.fields]

    @property
    def _folded(self) -> frozenset[str]:
        return frozenset(name for _heading, names in self.folded for name in names)

    def _rows(self, names: Sequence[str]) -> Sequence[Sequence[BoundField]]:
        beside = {name: row for row in self.rows for name in row}
        seen = [name for name in names if not isinstance(self.fields[name].widget, forms.HiddenInput)]
        rows = [beside.get(name, (name,)) for name in seen]
        return [[self[each] for each in row] for name, row in zip(seen, rows, strict=True) if row[0] == name]
