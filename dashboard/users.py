"""What an admin does to users: add, give a role, close and open an account, reset a password.

Each change is one transaction that holds the row of the admin group, so that two admins who act at once
cannot leave the server without one.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from dashboard.access import Role, role_of

# No characters that are mistaken for each other when somebody reads them aloud.
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


class UserError(Exception):
    """A change that would lock people out; `str(error)` says why and what to do instead."""


def generate_password() -> str:
    """Twenty random characters in groups of five, about 99 bits."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(5)) for _ in range(4))


def active_admins() -> QuerySet[User]:
    """Users who can manage users."""
    admin = Q(is_superuser=True) | Q(groups__name=Role.ADMIN.value)
    return User.objects.filter(admin, is_active=True).distinct()


def add(user: User, *, role: Role, password: str) -> None:
    """Save a new user with a role and a password."""
    with _one_at_a_time():
        user.set_password(password)
        user.save()
        _set_role(user, role)


def change_role(pk: int, role: Role, *, by: User) -> User:
    """Give a user exactly this role. Groups that are no roles stay."""
    with _one_at_a_time():
        user = User.objects.get(pk=pk)
        if user == by:
            raise UserError(_("You cannot change your own role. Another admin can."))
        if role is not Role.ADMIN:
            _keep_an_admin(user)
        _set_role(user, role)
    return user


def deactivate(pk: int, *, by: User) -> User:
    """Close an account: sign-in is refused and every session ends, also for when it is opened again."""
    with _one_at_a_time():
        user = User.objects.get(pk=pk)
        if user == by:
            raise UserError(_("You cannot deactivate yourself. Another admin can."))
        _keep_an_admin(user)
        user.is_active = False
        user.save(update_fields=["is_active"])
        _end_sessions(user)
    return user


def activate(pk: int) -> User:
    """Open an account again, with the role and the password that it had."""
    with _one_at_a_time():
        user = User.objects.get(pk=pk)
        user.is_active = True
        user.save(update_fields=["is_active"])
    return user


def reset_password(pk: int, *, by: User) -> tuple[User, str]:
    """Give a user a new generated password, which is returned and kept nowhere; all sessions end."""
    with _one_at_a_time():
        user = User.objects.get(pk=pk)
        if user == by:
            raise UserError(_("Your own password is changed on its own page, so that you stay signed in."))
        password = generate_password()
        # Sessions carry a hash of the password's hash: they end with it.
        user.set_password(password)
        user.save(update_fields=["password"])
    return user, password


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    with transaction.atomic():
        Group.objects.select_for_update().get_or_create(name=Role.ADMIN.value)
        yield


def _keep_an_admin(user: User) -> None:
    if role_of(user) is Role.ADMIN and not active_admins().exclude(pk=user.pk).exists():
        raise UserError(_("This is the last active admin. Make somebody else an admin first."))


def _set_role(user: User, role: Role) -> None:
    user.groups.remove(*Group.objects.filter(name__in=Role.values))
    user.groups.add(Group.objects.get_or_create(name=role.value)[0])
    if user.is_superuser and role is not Role.ADMIN:
        user.is_superuser = False
        user.save(update_fields=["is_superuser"])


def _end_sessions(user: User) -> None:
    """Sessions do not say whose they are without being decoded; there are a few for each user."""
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if session.get_decoded().get(SESSION_KEY) == str(user.pk):
            session.delete()
