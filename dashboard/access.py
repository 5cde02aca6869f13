"""Who may do what: the three roles, the mark `@requires` on views, and the middleware that enforces both.

A view without a mark needs the lowest role. A view marked `requires(None)` needs a signed-in user of any
role or none. A view marked `login_not_required` is open to all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import TextChoices, prefetch_related_objects
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

audit = logging.getLogger("mirante.audit")

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


class Role(TextChoices):
    """The roles from the lowest to the highest. A role is a group of the same name."""

    VIEWER = "viewer", _("viewer")
    OPERATOR = "operator", _("operator")
    ADMIN = "admin", _("admin")

    @property
    def rank(self) -> int:
        return list(Role).index(self)


class RoleNeeded(PermissionDenied):
    """The signed-in user holds less than `role`."""

    def __init__(self, role: Role) -> None:
        super().__init__(role.value)
        self.role = role


def role_of(user: AbstractBaseUser | AnonymousUser) -> Role | None:
    """The highest role of a user, None without one. At most one query for each loaded user."""
    if not isinstance(user, User) or not user.is_active:
        return None
    if user.is_superuser:
        return Role.ADMIN
    # The groups stay with the user object, which lives as long as the request: the next call asks nothing.
    prefetch_related_objects([user], "groups")
    held = {group.name for group in user.groups.all()}
    return max((role for role in Role if role.value in held), key=lambda role: role.rank, default=None)


def can(user: AbstractBaseUser | AnonymousUser, role: Role | str) -> bool:
    """Whether a user holds `role` or a higher one."""
    held = role_of(user)
    return held is not None and held.rank >= Role(role).rank


def requires(role: Role | str | None) -> Callable[[View], View]:
    """Mark a view with the lowest role that may call it; None for any signed-in user.

    Every view that answers POST carries this mark. `RoleMiddleware` enforces it.
    """
    needed = None if role is None else Role(role)

    def mark(view: View) -> View:
        view.required_role = needed  # type: ignore[attr-defined]
        return view

    return mark


def record(request: HttpRequest, action: str, **facts: object) -> None:
    """Write an action and who took it to the log `mirante.audit`. Never pass a secret."""
    detail = " ".join(f"{name}={value!r}" for name, value in facts.items())
    name = request.user.get_username() or None
    audit.info("%s by=%r from=%r %s", action, name, request.META.get("REMOTE_ADDR"), detail)


class SignInMiddleware(LoginRequiredMiddleware):
    """Sends who is not signed in to the sign-in page, and a fragment's whole page along with it."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        # An open view must not touch the session: /healthz answers while the database does not.
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(self, request: HttpRequest, view_func: object) -> HttpResponse:  # type: ignore[override]
        back = safe_next(_page_of(request))
        target = reverse("login") + (f"?{urlencode({'next': back})}" if back else "")
        if not getattr(request, "htmx", None):
            return HttpResponseRedirect(target)
        # htmx follows this header whatever the status, and swaps nothing.
        return HttpResponse(gettext("You are signed out."), status=401, headers={"HX-Redirect": target})


class RoleMiddleware:
    """Refuses signed-in users who hold less than a view's role. Stands after `SignInMiddleware`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponseBase], args: object, kwargs: object
    ) -> None:
        if not getattr(view, "login_required", True):
            return
        needed: Role | None = getattr(view, "required_role", Role.VIEWER)
        if needed is None or can(request.user, needed):
            return
        record(request, "refused", needs=needed.value, method=request.method, path=request.path)
        raise RoleNeeded(needed)


def safe_next(url: str) -> str:
    """`url` when it is a path of this very site, below the configured prefix; else empty."""
    if url.startswith(get_script_prefix()) and url_has_allowed_host_and_scheme(url, allowed_hosts=None):
        return url
    return ""


def _page_of(request: HttpRequest) -> str:
    """The page that the user looked at: for an action or a fragment not its own address."""
    if getattr(request, "htmx", None):
        return _own_path(request, request.headers.get("HX-Current-URL", ""))
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    return _own_path(request, request.headers.get("Referer", ""))


def _own_path(request: HttpRequest, url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    # The scheme is not compared: a proxy that ends TLS may not tell us that it does.
    if parts.netloc != request.get_host():
        return ""
    return parts._replace(scheme="", netloc="", fragment="").geturl()
