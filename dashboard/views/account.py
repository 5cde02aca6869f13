"""Signing in and out, and one's own password."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.access import record, refuse, requires, safe_next
from dashboard.forms import OwnPasswordForm, SignInForm
from dashboard.views.errors import layout
from queues.registry import configured


@login_not_required
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    back = safe_next(request.POST.get("next") or request.GET.get("next") or "")
    home = HttpResponseRedirect(back or resolve_url(settings.LOGIN_REDIRECT_URL))
    form = SignInForm(request, request.POST if request.method == "POST" else None)
    if request.method != "POST":
        if request.user.is_authenticated:
            return home
    elif form.is_valid():
        login(request, form.get_user())
        record(request, "sign-in")
        return home
    else:
        # What was typed may be a password in the wrong field: only names that exist are written down.
        name = form.cleaned_data.get("username", "")
        known = User.objects.filter(username=name).exists()
        why = _("The name and the password did not match.")
        refuse(request, why, said="sign-in failed", name=name if known else None)
    context = {"form": form, "next": back, "sources": [source.name for source in configured()]}
    return render(request, "account/login.html", context, status=422 if form.is_bound else 200)


@login_not_required
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        record(request, "sign-out")
    logout(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)


@requires(None)
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    user = cast("User", request.user)
    form = OwnPasswordForm(user, request.POST if request.method == "POST" else None)
    if form.is_valid():
        with transaction.atomic():
            record(request, "password")
            form.save()
        # This session goes on; all others of this user end.
        update_session_auth_hash(request, user)
        messages.success(request, _("Your password is changed. You stay signed in here and are signed out elsewhere."))
        return redirect("password")
    context = {"form": form, "here": "password", "layout": layout(request)}
    return render(request, "account/password.html", context, status=422 if form.is_bound else 200)
