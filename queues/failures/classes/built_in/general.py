"""Words that errors use whatever made them: the last that is tried."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from queues.failures.classes.matching import BuiltIn
from queues.failures.types import Kind

RULES: Sequence[BuiltIn] = (
    BuiltIn(
        "says nothing",
        Kind.UNKNOWN,
        _("the error does not say what went wrong"),
        _("Read the stack and the log of the worker. Who wraps or throws such errors could keep the cause in them."),
        messages=(
            *("unknown error", "something went wrong", "unexpected error", "an error occurred", "unspecified error"),
            *("error has occurred", "unhandled error", "see previous error", "current transaction is aborted"),
        ),
        texts=("error", "failed", "undefined", "null", "oops", "unexpected", "[object object]", "unknown"),
    ),
    # Promise.any tells no causes. What is tried on several ways at once is a network more often than not.
    BuiltIn(
        "all ways failed",
        Kind.TRANSIENT,
        _("several things were tried at once, and none went well; the error does not say why"),
        _("A retry can help if the causes have passed: the error hides them. Look for them in the log of the worker."),
        texts=("all promises were rejected",),
    ),
    BuiltIn(
        "words of passing trouble",
        Kind.TRANSIENT,
        _("its words speak of something that passes"),
        _("A retry can help: its words speak of something that passes. Retry one first."),
        messages=(
            *("timeout", "try again", "unavailable", "temporar", "busy", "overload", "in progress", "retry"),
            *("interrupted",),
            *("tempo limite", "tempo esgotado", "excedeu o tempo", "indisponível", "tente novamente", "conexão"),
            *("tiempo de espera", "tiempo agotado", "no disponible", "inténtelo", "conexión", "délai"),
            *("indisponible",),
            *("connexion", "réessayer", "zeitüberschreitung", "nicht verfügbar", "nicht erreichbar", "verbindung"),
            *("erneut versuchen", "non disponibile", "riprova", "таймаут", "недоступ", "超时", "タイムアウト", "稍后"),
            *("connection", "network", "too many", "quota", "shutting down", "restarting", "not ready", "aborted"),
            *("offline", "is down", "shut down", "after calling end", "not available", "outage", "exhausted"),
            *("backpressure", "cancelled", "canceled", "starting up"),
        ),
    ),
    BuiltIn(
        "words of lasting trouble",
        Kind.PERMANENT,
        _("its words speak of something that stays as it is"),
        _("A retry most likely fails the same way: its words speak of something that stays. Retry one to be sure."),
        messages=(
            *("inválid", "não encontrad", "não existe", "obrigatóri", "não é", "já existe", "faltando"),
            *("no encontrad",),
            *("no existe", "requerid", "obligatori", "ya existe", "introuvable", "non trouv", "n'existe pas"),
            *("invalide",),
            *("obligatoire", "manquant", "nicht gefunden", "ungültig", "fehlt", "existiert nicht", "erforderlich"),
            *("non trovat", "non valid", "не найден", "невер", "不存在", "无效", "見つかりません", "無効"),
            *("not found", "does not exist", "doesn't exist", "do not exist", "no such", "invalid", "missing"),
            *("must be",),
            *("must have", "required", "unknown", "not supported", "not valid", "not allowed", "duplicate"),
            *("too large", "larger than", "size of * exceeded", "maxcontentlength", "maxbodylength"),
            *("too long", "too short", "exceeds", "expired", "mismatch", "denied", "refused", "not exist"),
            *("unexpected",),
            *("cannot be", "can't be", "could not find", "cannot find", "can't find", "unable to find"),
            *("not a number",),
            *("out of range", "already", "disabled", "deleted", "not enabled", "not configured", "bad ", "incorrect"),
            *("no longer", "does not match", "don't match", "not match", "not registered", "empty"),
            *("insufficient", "too big", "too small", "not a ", "not an ", "inactive", "suspended"),
        ),
    ),
)
