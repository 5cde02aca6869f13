"""The forms of what removes jobs, and what a queue keeps."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.actions.forms.base import ActionForm


class RemoveForm(ActionForm):
    """Remove: whether what hangs below goes too. `below` False: nothing does, and nothing is asked."""

    children = forms.BooleanField(
        label=_("Also remove the children"),
        required=False,
        help_text=_("And all below them, in this and other queues. If a worker holds one of them, nothing is removed."),
    )

    def __init__(self, *args: Any, below: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not below:
            self.fields["children"].widget = forms.HiddenInput()
