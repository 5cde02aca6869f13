"""Users with a role, and browsers in which they are signed in."""

from __future__ import annotations

from itertools import count

from django.contrib.auth.models import Group, User
from django.test import Client

PASSWORD = "correct horse battery staple"

_numbers = count(1)


def person(role: str | None = None, *, name: str = "", password: str = PASSWORD, active: bool = True) -> User:
    """A user with a role (`viewer`, `operator`, `admin`) or without one."""
    name = name or f"{role or 'nobody'}{next(_numbers)}"
    user = User.objects.create_user(name, password=password, is_active=active)
    if role:
        user.groups.add(Group.objects.get(name=role))
    return user


def signed_in(user: User, *, csrf: bool = False) -> Client:
    """A browser in which a user is signed in; with `csrf` it needs tokens as real ones do."""
    client = Client(enforce_csrf_checks=csrf)
    client.force_login(user)
    return client


def as_role(role: str | None) -> Client:
    return signed_in(person(role))
