"""Whether whoever holds a socket may still see what it shows: from the database each time, and nothing is written."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, load_backend
from django.contrib.auth.models import User
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import parse_cookie
from django.utils.crypto import constant_time_compare
from django.utils.http import is_same_domain

from dashboard.access import Role, can
from dashboard.live.requests import ROLE_LOST, SIGNED_OUT, Refused


def session_key(scope: Any) -> str:
    """The key of the session that the browser has sent along, or ""."""
    cookies = parse_cookie(_header(scope, b"cookie"))
    return cookies.get(settings.SESSION_COOKIE_NAME, "")


def check(key: str) -> str:
    """The name of the user who is signed in with a session and may see queues. Raises Refused; three short queries."""
    user = _user(key)
    if user is None:
        raise Refused(SIGNED_OUT, "not signed in, or no longer")
    if not can(user, Role.VIEWER):
        raise Refused(ROLE_LOST, f"{user.get_username()!r} has no role")
    return user.get_username()


def is_own_origin(scope: Any) -> bool:
    """Whether a page of ours opened the socket: by the rule that Django has for POST, without exception for none."""
    origin = _header(scope, b"origin")
    request = ASGIRequest({**scope, "type": "http", "method": "GET"}, BytesIO())
    try:
        own = f"{'https' if request.is_secure() else 'http'}://{request.get_host()}"
    except DisallowedHost:
        return False
    return origin == own or any(_matches(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _matches(origin: str, trusted: str) -> bool:
    if "*" not in trusted:
        return origin == trusted
    try:
        ours, theirs = urlsplit(trusted), urlsplit(origin)
    except ValueError:
        return False
    return theirs.scheme == ours.scheme and is_same_domain(theirs.netloc, ours.netloc.lstrip("*"))


def _user(key: str) -> User | None:
    """Like `django.contrib.auth.get_user`, which deletes or renews a session that does not fit."""
    session = import_module(settings.SESSION_ENGINE).SessionStore(key or None)
    path = session.get(BACKEND_SESSION_KEY)
    if SESSION_KEY not in session or path not in settings.AUTHENTICATION_BACKENDS:
        return None
    user = load_backend(path).get_user(session[SESSION_KEY])
    if not isinstance(user, User):
        return None
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    kept = session.get(HASH_SESSION_KEY, "")
    return user if any(constant_time_compare(kept, each) for each in hashes) else None


def _header(scope: Any, name: bytes) -> str:
    return next((value.decode("latin1") for found, value in scope["headers"] if found == name), "")
