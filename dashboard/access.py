"""Who may do what: the three roles, the table of rights, the marks on views, and the middleware that enforces all.

A view without a mark needs the lowest role. A view marked `requires(None)` needs a signed-in user of any
role or none, one marked `requires_right(...)` the role that `RIGHTS` names. A view marked `login_not_required` is
open to all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import TextChoices, prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard import wanted
from dashboard.rarely import Rarely
from queues import audit
from queues.audit import Actor
from queues.models import FailureGroup
from queues.types import JobRef, QueueRef

log = logging.getLogger("mirante.audit")
_strangers = Rarely()
# Addresses whose name is not the word by which the log knows what they do.
_WORDS = {
    "login": "sign-in",
    "logout": "sign-out",
    "audit-stop": "stop",
    "pin-by-name": "pin",
    "restore-some": "restore",
    "failures-merge": "failure-merge",
    "replay-resolve": "failure-resolve",
    "letters-say": "dead-letters",
    "replay-start": "replay",
    "replay-limits-change": "replay-limits",
    **dict.fromkeys(("replay-plan", "replay-save", "replay-look", "edit-replay-send"), "plan-replay"),
    **dict.fromkeys(("audit-csv", "audit-jsonl"), "export-audit"),
}

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


class Role(TextChoices):
    """The roles from the lowest to the highest. A role is a group of the same name."""

    VIEWER = "viewer", _("viewer")
    OPERATOR = "operator", _("operator")
    ADMIN = "admin", _("admin")

    @property
    def rank(self) -> int:
        return list(Role).index(self)


class Right(StrEnum):
    """What a person may do. The rights to act on jobs and queues are named like their `queues.actions.Action`."""

    RETRY = "retry"
    PROMOTE = "promote"
    DELAY = "delay"
    PRIORITY = "priority"
    EDIT = "edit"
    REMOVE = "remove"
    REMOVE_CHILDREN = "remove-children"
    DUPLICATE = "duplicate"
    LOG = "log"
    FAIL = "fail"
    REQUEUE = "requeue"
    RESTORE = "restore"
    ADD = "add"
    PAUSE = "pause"
    RESUME = "resume"
    CONCURRENCY = "concurrency"
    RATE_LIMIT = "rate-limit"
    RELEASE_LIMIT = "release-limit"
    RELEASE_DEDUPLICATION = "release-deduplication"
    DRAIN = "drain"
    CLEAN = "clean"
    OBLITERATE = "obliterate"
    TRIM_EVENTS = "trim-events"
    STOP_BULK = "stop-bulk"
    REPLAY = "replay"
    RUN_SCHEDULE = "run-schedule"
    SCHEDULES = "schedules"
    FAILURES = "failures"
    ALERTS_ACKNOWLEDGE = "alerts-acknowledge"
    ALERT_RULES = "alert-rules"
    CHANNELS = "channels"
    REVEAL = "reveal"
    MASKING = "masking"
    CLASSES = "classes"
    MAPPINGS = "mappings"
    PIN = "pin"
    SCAN = "scan"
    USERS = "users"
    SETTINGS = "settings"
    AUDIT = "audit"
    EXPORT_AUDIT = "export-audit"


# The lowest role that has each right.
RIGHTS: Mapping[Right, Role] = {
    Right.AUDIT: Role.VIEWER,
    **dict.fromkeys(
        (
            *(Right.RETRY, Right.PROMOTE, Right.DELAY, Right.PRIORITY, Right.EDIT, Right.REMOVE, Right.REMOVE_CHILDREN),
            *(Right.DUPLICATE, Right.LOG, Right.FAIL, Right.REQUEUE, Right.RESTORE, Right.ADD, Right.PAUSE),
            *(Right.RESUME, Right.RELEASE_DEDUPLICATION, Right.STOP_BULK, Right.REPLAY, Right.RUN_SCHEDULE),
            *(Right.FAILURES, Right.ALERTS_ACKNOWLEDGE, Right.PIN, Right.SCAN),
        ),
        Role.OPERATOR,
    ),
    **dict.fromkeys(
        (
            *(Right.CONCURRENCY, Right.RATE_LIMIT, Right.RELEASE_LIMIT, Right.DRAIN, Right.CLEAN, Right.OBLITERATE),
            *(Right.TRIM_EVENTS, Right.SCHEDULES, Right.ALERT_RULES, Right.CHANNELS, Right.REVEAL, Right.MASKING),
            *(Right.CLASSES, Right.MAPPINGS, Right.USERS, Right.SETTINGS, Right.EXPORT_AUDIT),
        ),
        Role.ADMIN,
    ),
}


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


def allowed(user: AbstractBaseUser | AnonymousUser, right: Right | str) -> bool:
    """Whether a user has a right. ValueError for what is none."""
    return can(user, RIGHTS[Right(right)])


def requires(role: Role | str | None) -> Callable[[View], View]:
    """Mark a view with the lowest role that may call it; None for any signed-in user.

    Every view that answers POST carries this mark. `RoleMiddleware` enforces it.
    """
    needed = None if role is None else Role(role)

    def mark(view: View) -> View:
        view.required_role = needed  # type: ignore[attr-defined]
        return view

    return mark


def requires_right(right: Right | str | Callable[[Mapping[str, Any]], str]) -> Callable[[View], View]:
    """Mark a view with the right that it needs; a function says which by the arguments out of the URL.

    Where the function raises ValueError or KeyError, or names no right, there is no such page.
    """
    needed: object = right if callable(right) else Right(right)

    def mark(view: View) -> View:
        view.required_right = needed  # type: ignore[attr-defined]
        if isinstance(needed, Right):
            view.required_role = RIGHTS[needed]  # type: ignore[attr-defined]
        return view

    return mark


def by_action(kwargs: Mapping[str, Any]) -> Right:
    """The right that the `<action>` of a URL names."""
    return Right(kwargs["action"])


def right_needed(view: object, kwargs: Mapping[str, Any]) -> Right | None:
    """The right that a view needs, None where it is marked with none. Http404 where the URL names what is none."""
    marked = getattr(view, "required_right", None)
    if marked is None or isinstance(marked, Right):
        return marked
    try:
        return Right(marked(kwargs))
    except (ValueError, KeyError) as error:
        raise Http404 from error


def role_needed(user: AbstractBaseUser | AnonymousUser, view: object, kwargs: Mapping[str, Any]) -> Role | None:
    """The lowest role that may call a view that is not open; None for any signed-in user."""
    if not hasattr(view, "required_right"):
        role: Role | None = getattr(view, "required_role", Role.VIEWER)
        return role
    # Who has no role learns nothing, not even which actions there are.
    right = right_needed(view, kwargs) if can(user, Role.VIEWER) else None
    return RIGHTS[right] if right else Role.VIEWER


def actor_of(request: HttpRequest) -> Actor:
    """Who sends a request, for the log of actions. The address is the visitor's also behind a trusted proxy."""
    role = role_of(request.user)
    return Actor(request.user.get_username(), role.value if role else "", request.META.get("REMOTE_ADDR") or "")


def record(
    request: HttpRequest,
    action: str,
    *,
    queue: QueueRef | None = None,
    job: JobRef | None = None,
    source: str = "",
    group: FailureGroup | None = None,
    note: str = "",
    key: str | None = None,
    **facts: object,
) -> None:
    """Write an act, who took it and the facts to the log of actions and to the log `mirante.audit`. Never a secret.

    `note` is a sentence that says what came of it, `group` the group of failures that it is about, `key` what
    `audit.token` made of its form.

    OperationalError while the database is busy: then the act must not be carried out.
    """
    about = job.queue if job else queue
    jobs = (job.slug,) if job else ()
    audit.record(
        *(actor_of(request), action),
        queue=about,
        source=source,
        jobs=jobs,
        parameters=facts,
        note=note,
        group=group,
        key=key,
    )
    where = {"queue": f"{about.source}/{about.label}"} if about else {"source": source} if source else {}
    _log(request, action, **where, **({"job": job.slug} if job else {}), **facts)


def refuse(request: HttpRequest, why: str, *, said: str = "refused", **facts: object) -> None:
    """Write down that a request was refused: each to the log `mirante.audit`, one that would act to the log of actions.

    There those of strangers, who may send as many as they like, stand once a minute for each address and action.
    """
    _log(request, said, **facts, method=request.method, path=request.path[:300])
    match = request.resolver_match
    if match is None or request.method in ("GET", "HEAD", "OPTIONS"):
        return
    actor, action = actor_of(request), _action_of(match.func, match.kwargs, match.url_name or "")
    if not actor.name and not _strangers.allows((actor.address, action)):
        return
    source, queue, job = (match.kwargs.get(name) for name in ("source", "queue", "job"))
    ref = QueueRef.from_slug(source, queue) if source and queue else None
    told = wanted.of(request) if actor.name else {}
    if ref and job:
        told["jobs"] = (JobRef(ref, job).slug,)
    audit.refused(actor, action, queue=ref, source=source or "", note=why, **told)


def _action_of(view: object, kwargs: Mapping[str, Any], name: str) -> str:
    """The word by which the log knows what a request asked for: the `<action>` of its address, else its name."""
    if callable(getattr(view, "required_right", None)):
        with suppress(Http404):
            return str(right_needed(view, kwargs) or name)
    return word_of(name)


def word_of(name: str) -> str:
    """The word for what the address of this name does: the same whether it is done or refused."""
    return _WORDS.get(name, name)[:50]


def _log(request: HttpRequest, action: str, **facts: object) -> None:
    detail = " ".join(f"{name}={value!r}" for name, value in facts.items())
    name = request.user.get_username() or None
    log.info("%s by=%r from=%r %s", action, name, request.META.get("REMOTE_ADDR"), detail)


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
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            refuse(request, gettext("Nobody was signed in."))
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
        self, request: HttpRequest, view: Callable[..., HttpResponseBase], args: object, kwargs: Mapping[str, Any]
    ) -> None:
        if not getattr(view, "login_required", True):
            return
        needed = role_needed(request.user, view, kwargs)
        if needed is None or can(request.user, needed):
            return
        why = gettext("It needs the %(role)s role.") % {"role": needed.label}
        refuse(request, why, needs=needed.value)
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
