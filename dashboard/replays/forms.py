"""The small forms of replays: what a plan is made from, and those by which it is steered."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext_lazy as _

from dashboard.actions.forms.base import ActField
from queues.replay.types import From

FASTEST = 100_000.0  # jobs a second that a form takes
LONGEST_S = 86_400  # until the pace doubles


def fresh_key() -> str:
    """The key of a form: sent again with it, nothing is done again."""
    return secrets.token_urlsafe(24)


class ActForm(forms.Form):
    """What every act on a replay has: the key of its form, and the reason for the audit log."""

    bound_field_class = ActField
    key = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=500,
        help_text=_("Kept in the audit log. May stay empty."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("key", fresh_key())

    def renew(self, **hidden: str) -> None:
        """Give a form that was sent a new key, and other hidden values: sent once more it is meant once more."""
        sent = {name: self.data.getlist(name) for name in self.data} if isinstance(self.data, MultiValueDict) else {}
        anew = {name: [value] for name, value in {"key": fresh_key(), **hidden}.items()}
        self.data = MultiValueDict({**sent, **anew})


class PaceForm(ActForm):
    """Another pace for a replay that runs. None of `pace_to`: as fast as the server takes them."""

    unthrottled = forms.BooleanField(label=_("As fast as the server takes them"), required=False)
    pace_from = forms.FloatField(label=_("From"), required=False, min_value=0.01, max_value=FASTEST)
    pace_to = forms.FloatField(label=_("to"), required=False, min_value=0.01, max_value=FASTEST)
    double_s = forms.IntegerField(
        label=_("Doubling every"), required=False, min_value=1, max_value=LONGEST_S, initial=30
    )

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        double_s = given.get("double_s") or 30
        if given.get("unthrottled"):
            return given | {"pace_from": None, "pace_to": None, "double_s": double_s}
        if given.get("pace_to") is None and "pace_to" not in self.errors:
            self.add_error("pace_to", _("Say how many a second."))
        pace_from = given.get("pace_from") or given.get("pace_to")
        return given | {"pace_from": pace_from, "double_s": double_s}


class CancelForm(ActForm):
    """The end of a replay. `take_back`: jobs that were sent and that no worker has begun, too."""

    take_back = forms.BooleanField(
        label=_("Take back those that were sent and that no worker has begun"), required=False
    )


class PlanForm(forms.Form):
    """What a plan is to be made from. Which jobs of that, the boxes and filters beside it say."""

    kind = forms.ChoiceField(choices=[(kind.value, kind.value) for kind in From])
    source = forms.CharField(max_length=100, required=False)
    queue = forms.CharField(max_length=2_000, required=False)
    name = forms.CharField(max_length=500, required=False)
    key = forms.CharField(max_length=64, required=False)
    reason = forms.CharField(max_length=500, required=False)

    @property
    def said(self) -> Sequence[str]:
        """What is wrong, a sentence each."""
        return [str(error) for errors in self.errors.values() for error in errors]
