"""The forms of the interface, with the attributes that the stylesheet and screen readers need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, UsernameField
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import password_validators_help_texts, validate_password
from django.forms.boundfield import BoundField
from django.utils.translation import gettext_lazy as _

from dashboard.access import Role

if TYPE_CHECKING:
    _UserForm = forms.ModelForm[User]
else:
    _UserForm = forms.ModelForm


class InkField(BoundField):
    """A field drawn as the style guide draws it."""

    def build_widget_attrs(self, attrs: dict[str, Any], widget: forms.Widget | None = None) -> dict[str, Any]:
        attrs = super().build_widget_attrs(attrs, widget)
        kind = "in" if isinstance(self.field.widget, forms.Select) else "in full"
        return attrs | {"class": f"{kind} err" if self.errors else kind}


class SignInForm(AuthenticationForm):
    bound_field_class = InkField
    error_messages = {
        "invalid_login": _("Name and password do not match."),
        "inactive": _("Name and password do not match."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("Name")
        self.fields["password"].label = _("Password")


class OwnPasswordForm(PasswordChangeForm):
    bound_field_class = InkField

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["old_password"].label = _("Current password")
        self.fields["new_password1"].label = _("New password")
        # Django's own help is a list in HTML; here it is text.
        self.fields["new_password1"].help_text = " ".join(password_validators_help_texts())
        self.fields["new_password2"].label = _("New password again")
        self.fields["new_password2"].help_text = ""


class RoleForm(forms.Form):
    bound_field_class = InkField
    role = forms.TypedChoiceField(label=_("Role"), choices=Role.choices, coerce=Role, initial=Role.VIEWER)


class AddUserForm(_UserForm):
    bound_field_class = InkField
    role = forms.TypedChoiceField(label=_("Role"), choices=Role.choices, coerce=Role, initial=Role.VIEWER)
    password = forms.CharField(
        label=_("Password"),
        required=False,
        strip=False,
        max_length=1000,
        help_text=_("Leave it empty to have one generated; it is shown once."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    class Meta:
        model = User
        fields = ("username", "email")
        field_classes = {"username": UsernameField}
        labels = {"username": _("Name"), "email": _("E-mail, if there is one")}
        help_texts = {"username": _("Letters, digits and @ . + - _ only.")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The browser would offer the admin's own name and address.
        self.fields["username"].widget.attrs.update({"autocomplete": "off", "autofocus": False})
        self.fields["email"].widget.attrs["autocomplete"] = "off"

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if User.objects.filter(username__iexact=name).exists():
            raise forms.ValidationError(_("A user of this name exists, perhaps in other letter case."), code="unique")
        return name

    def _post_clean(self) -> None:
        # Here, because the rules compare the password with the user's name and address.
        super()._post_clean()  # type: ignore[misc]
        password = self.cleaned_data.get("password")
        if password:
            try:
                validate_password(password, self.instance)
            except forms.ValidationError as error:
                self.add_error("password", error)
