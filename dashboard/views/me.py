"""One's own account: who one is, and what one may."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from dashboard import rights
from dashboard.access import Role, role_of
from dashboard.http import page
from dashboard.users import active_admins

NAMED = 5  # admins whom the page names


@require_safe
def me(request: HttpRequest) -> HttpResponse:
    """What the reader may and may not, and who could change that."""
    role = role_of(request.user) or Role.VIEWER  # nobody without a role comes so far
    admins = active_admins().exclude(username=request.user.get_username()).order_by("username")
    context = {
        "role": role,
        "held": rights.held(role),
        "missing": rights.missing(role),
        "admins": list(admins.values_list("username", flat=True)[:NAMED]),
    }
    return page(request, "users/me.html", context)
