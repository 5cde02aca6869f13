"""Users and their roles, for admins."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from dashboard import users as operations
from dashboard.access import Role, record, requires_right, role_of
from dashboard.forms import AddUserForm, RoleForm

PAGE = 100


@requires_right("users")
@require_safe
def users(request: HttpRequest) -> HttpResponse:
    return _list(request, AddUserForm(), status=200)


@requires_right("users")
@sensitive_post_parameters("password")
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    form = AddUserForm(request.POST)
    if not form.is_valid():
        return _list(request, form, status=422)
    typed = form.cleaned_data["password"]
    password = typed or operations.generate_password()
    user = form.save(commit=False)
    try:
        with transaction.atomic():
            operations.add(user, role=form.cleaned_data["role"], password=password)
            _record(request, "user-add", user, role=form.cleaned_data["role"].value)
    except IntegrityError:
        # Somebody else took the name since the form was checked.
        form.add_error("username", _("A user of this name exists."))
        return _list(request, form, status=409)
    if typed:
        messages.success(request, _("%(name)s can sign in now.") % {"name": user.username})
        return redirect("users")
    return render(request, "users/password.html", {"subject": user, "password": password, "new": True, "here": "users"})


@requires_right("users")
@require_safe
def user(request: HttpRequest, pk: int) -> HttpResponse:
    return _one(request, get_object_or_404(User, pk=pk))


@requires_right("users")
@require_POST
def role(request: HttpRequest, pk: int) -> HttpResponse:
    subject = get_object_or_404(User, pk=pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _one(request, subject, form=form, status=422)
    wanted: Role = form.cleaned_data["role"]
    before = role_of(subject)
    try:
        with transaction.atomic():
            operations.change_role(pk, wanted, by=_actor(request))
            _record(request, "user-role", subject, before=before and before.value, role=wanted.value)
    except operations.UserError as error:
        return _one(request, subject, error=str(error), status=409)
    messages.success(request, _("%(name)s is %(role)s now.") % {"name": subject.username, "role": wanted.label})
    return redirect("user", pk=pk)


@requires_right("users")
@require_POST
def deactivate(request: HttpRequest, pk: int) -> HttpResponse:
    subject = get_object_or_404(User, pk=pk)
    try:
        with transaction.atomic():
            operations.deactivate(pk, by=_actor(request))
            _record(request, "user-deactivate", subject)
    except operations.UserError as error:
        return _one(request, subject, error=str(error), status=409)
    messages.success(request, _("%(name)s is signed out and cannot sign in.") % {"name": subject.username})
    return redirect("user", pk=pk)


@requires_right("users")
@require_POST
def activate(request: HttpRequest, pk: int) -> HttpResponse:
    subject = get_object_or_404(User, pk=pk)
    with transaction.atomic():
        operations.activate(pk)
        _record(request, "user-activate", subject)
    messages.success(request, _("%(name)s can sign in again.") % {"name": subject.username})
    return redirect("user", pk=pk)


@requires_right("users")
@require_POST
def reset(request: HttpRequest, pk: int) -> HttpResponse:
    subject = get_object_or_404(User, pk=pk)
    try:
        with transaction.atomic():
            subject, password = operations.reset_password(pk, by=_actor(request))
            _record(request, "user-reset", subject)
    except operations.UserError as error:
        return _one(request, subject, error=str(error), status=409)
    # Shown in the answer itself: a redirect would have to keep the password somewhere.
    return render(request, "users/password.html", {"subject": subject, "password": password, "here": "users"})


def _record(request: HttpRequest, action: str, subject: User, *, role: str = "", before: str | None = None) -> None:
    """Write down what was done to whom."""
    name = subject.username
    if role:
        record(request, action, note=f"{name}: {role}", user=name, before=before, role=role)
    else:
        record(request, action, note=name, user=name)


def _actor(request: HttpRequest) -> User:
    return cast("User", request.user)


def _list(request: HttpRequest, form: AddUserForm, *, status: int) -> HttpResponse:
    found = User.objects.order_by("username").prefetch_related("groups")
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    rows = [(each, role_of(each)) for each in page.object_list]
    context = {"rows": rows, "page": page, "form": form, "here": "users"}
    return render(request, "users/users.html", context, status=status)


def _one(
    request: HttpRequest, subject: User, *, form: RoleForm | None = None, error: str = "", status: int = 200
) -> HttpResponse:
    held = role_of(subject)
    context = {
        "subject": subject,
        "role": held,
        "form": form or RoleForm(initial={"role": held or Role.VIEWER}),
        "own": subject == request.user,
        "error": error,
        "here": "users",
    }
    return render(request, "users/user.html", context, status=status)
