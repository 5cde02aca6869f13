"""The user `admin` of a fresh installation, and what may be said about its password afterwards."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from dashboard import users
from dashboard.environment import kept

NAME = "admin"
FILE = "admin-password"


class Refused(Exception):
    """The password that was asked for is too weak; the text says why."""


@dataclass(frozen=True)
class FirstAdmin:
    """`password` is set while it is the one that we made; otherwise `note` says where to look."""

    password: str | None
    note: str


def ensure(*, var_dir: Path, wanted: str | None) -> FirstAdmin | None:
    """Make the superuser where no admin is; None where others are. A password that somebody has changed stays."""
    file = var_dir / FILE
    with transaction.atomic():
        if not users.active_admins().exists():
            password = wanted or kept(file, users.generate_password)
            _make(password)
    user = User.objects.filter(username=NAME, is_active=True).first()
    if user is None:
        return None
    if wanted is not None:
        if user.check_password(wanted):
            return FirstAdmin(None, "the one in MIRANTE_ADMIN_PASSWORD")
        return FirstAdmin(None, "the one set earlier: MIRANTE_ADMIN_PASSWORD counts when the user is made")
    made = file.read_text("utf-8").strip() if file.exists() else ""
    if made and user.check_password(made):
        return FirstAdmin(made, f"kept in {file}")
    file.unlink(missing_ok=True)  # what it held counts no more
    return FirstAdmin(
        None, f"the one that it was changed to ({sys.executable} manage.py changepassword admin sets another)"
    )


def _make(password: str) -> None:
    user = User(username=NAME)
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Refused(f"MIRANTE_ADMIN_PASSWORD: {' '.join(error.messages)}") from None
    user.is_superuser = user.is_staff = True
    user.set_password(password)
    try:
        user.save()
    except IntegrityError:
        raise Refused(
            "no admin is active, and the name “admin” belongs to somebody else: run manage.py createsuperuser"
        ) from None
