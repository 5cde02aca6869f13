"""The forms that hold a job's data: editing it, and a copy with other data."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext_lazy as _

from dashboard.actions.forms.base import ActionForm
from dashboard.actions.hiding import Editable, Refused, Uneditable, editable, edited
from queues.redaction import Rules

AREA = {"rows": 14, "spellcheck": "false", "autocomplete": "off", "autocapitalize": "off", "dir": "ltr"}


def stamp(raw: bytes) -> str:
    """Stands for these bytes in a form, without telling anything of them."""
    return salted_hmac("mirante.data", raw).hexdigest()


class DataForm(ActionForm):
    """Data as JSON. `raw` is what is stored now (None: unknown), `whole` whether that is all.

    `may_drop` as in `hiding`.

    `uneditable` says why there is no field for it, where there is none.
    """

    payload = forms.CharField(label=_("Data"), strip=False, widget=forms.Textarea(attrs=AREA))
    was = forms.CharField(widget=forms.HiddenInput, required=False, max_length=64)

    def __init__(
        self, *args: Any, raw: bytes | None, rules: Rules, whole: bool = True, may_drop: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.raw, self._rules, self._may_drop = raw or b"", rules, may_drop
        self.uneditable = ""
        self.before: Editable | None = None
        if raw is None:  # not to be read now: the form only keeps what was typed
            return
        try:
            self.before = editable(raw, rules, whole=whole)
        except Uneditable as reason:
            self.uneditable = str(reason)
            del self.fields["payload"]
        else:
            self.initial.setdefault("payload", self.before.text)
            self.fields["payload"].help_text = self._help(self.before)
        self.initial.setdefault("was", stamp(raw))

    @staticmethod
    def _help(before: Editable) -> Any:
        if before.secrets:
            return _("JSON. What stands as dots is hidden here and keeps its true bytes: leave the dots as they are.")
        return _("JSON. What you do not touch keeps its bytes.")

    @property
    def changed(self) -> bool:
        """Whether somebody else changed the data since this form was made."""
        return not constant_time_compare(str(self.data.get("was") or ""), stamp(self.raw))

    def over_theirs(self) -> None:
        """Go on from what is stored now: sent once more, this text takes its place."""
        self.renew()
        self._put(was=stamp(self.raw))

    @property
    def same(self) -> bool:
        """Whether what was typed is what is stored."""
        return self.is_valid() and self.cleaned_data.get("payload") == self.raw

    def clean_payload(self) -> bytes:
        if self.before is None:
            return str(self.cleaned_data["payload"]).encode()
        try:
            return edited(self.cleaned_data["payload"], self.before, self._rules, may_drop=self._may_drop)
        except Refused as reason:
            raise forms.ValidationError(str(reason), code="data") from reason

    def arguments(self) -> dict[str, Any]:
        return {"data": self.cleaned_data["payload"]} if "payload" in self.fields else {}
