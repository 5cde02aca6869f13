"""The forms of what can be done to a job whose worker is gone, and of a line for a job's log."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.actions.forms.base import ActionForm

REASON_MAX, LINE_MAX = 1_000, 10_000  # characters


class FailForm(ActionForm):
    """Fail: the reason that the job will carry, besides that for the audit log."""

    failure = forms.CharField(
        label=_("Why it failed"),
        max_length=REASON_MAX,
        initial=_("Its worker was lost"),
        help_text=_("Becomes the job's reason of failure, which everybody sees who sees the job."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def arguments(self) -> dict[str, str]:
        return {"reason": self.cleaned_data["failure"]}


class LogForm(ActionForm):
    """Log: the line."""

    line = forms.CharField(
        label=_("Line"),
        max_length=LINE_MAX,
        help_text=_("Put behind the newest line of the job's log."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
