"""Statuses of HTTP, and the errors that frameworks and clients name after them."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from queues.failures.classes.matching import BuiltIn
from queues.failures.types import Kind

RULES: Sequence[BuiltIn] = (
    BuiltIn(
        "HTTP 408, 425, 429, 5xx",
        Kind.TRANSIENT,
        _("the other side could not answer just then"),
        _("A retry can help once the other side answers again."),
        codes=(
            *("408", "425", "500", "501", "502", "503", "504", "505", "506", "507", "508", "509", "511"),
            *("520",),
            *("522", "523", "524", "525", "526", "527", "530", "598", "599", "err_bad_response", "420"),
        ),
    ),
    BuiltIn(
        "not authorised",
        # A retry of the same job may well succeed after a key was renewed, but not before somebody did that.
        Kind.PERMANENT,
        _("credentials are wrong or expired, or they lack a right"),
        _("A retry fails the same way until the credentials or rights are put right; then retry all of them."),
        codes=(
            *("401", "403", "407", "28p01", "28000", "1045", "1698", "er_access_denied*", "p1000", "eauth"),
            *("noauth", "wrongpass", "noperm", "eneedauth", "e401", "er_dbaccess_denied_error"),
        ),
        classes=(
            *("unauthorized*", "forbidden*", "authenticationerror", "authorizationerror", "*autherror"),
            *("jsonwebtoken*",),
            *("tokenexpirederror", "permissiondenied*", "sequelizeaccessdeniederror"),
            *("invalidtoken*",),
            *("invalidcredentials*", "permissionerror", "notbeforeerror", "*permissiondenied*", "*unauthenticated*"),
        ),
        messages=(
            *("unauthorized", "unauthorised", "unauthenticated", "forbidden", "not authorized", "not authorised"),
            *("authentication failed", "authentication required", "password authentication", "permission denied"),
            *("invalid api key", "invalid credentials", "bad credentials", "invalid token"),
            *("incorrect api key", "invalid access token", "invalid signature", "jwt expired", "jwt malformed"),
            *("token expired", "token has expired", "token is expired", "token revoked", "wrongpass", "noauth"),
            *("noperm",),
            *("not permitted", "insufficient permission", "insufficient scope", "username and password not accepted"),
            *("no permission", "invalid_auth", "not allowed to", "operation not permitted", "sasl", "api key"),
        ),
    ),
    BuiltIn(
        "HTTP 404, 410",
        Kind.PERMANENT,
        _("what the job asked for is not there"),
        _("A retry fails the same way while it is missing. See whether it was deleted, moved, or comes later."),
        codes=("404", "410", "e404"),
        classes=("*notfounderror", "*notfoundexception", "*notfound", "gone", "goneexception", "goneerror"),
    ),
    BuiltIn(
        "HTTP 4xx",
        Kind.PERMANENT,
        _("the other side refused the request as such"),
        _("A retry is refused the same way. Fix the request first, or edit and replay."),
        codes=(
            *("400", "402", "405", "406", "409", "411", "412", "413", "414", "415", "416", "417", "418", "422"),
            *("423",),
            *("424", "426", "428", "431", "err_bad_request", "301", "302", "307", "308"),
        ),
        classes=(
            *("badrequest*", "unprocessable*", "conflicterror", "conflictexception", "payloadtoolarge*"),
            *("notacceptable*",),
            *("unsupportedmediatype*", "methodnotallowed*", "preconditionfailed*", "paymentrequired*", "imateapot*"),
        ),
        messages=(
            "bad request",
            "unprocessable entity",
            "payload too large",
            "entity too large",
            "unsupported media type",
        ),
    ),
)
