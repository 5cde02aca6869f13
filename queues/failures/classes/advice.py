"""What to do about failures of a class, in words."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from queues.failures.classes.built_in import BUILT_IN
from queues.failures.types import Kind

_RULES = {rule.name: rule for rule in BUILT_IN}
_GENERAL: Mapping[Kind, str | Promise] = {
    Kind.TRANSIENT: gettext_lazy("A retry can help once what it needs is back."),
    Kind.PERMANENT: gettext_lazy("A retry fails the same way. Fix the cause first, or edit and replay."),
    Kind.UNKNOWN: gettext_lazy(
        "No rule knows whether a retry can help. Read the stack and compare some jobs; retry one before you retry all."
    ),
}


def advice(kind: Kind | str, rule: str = "") -> str:
    """What to do, in a sentence or two. `rule` is the one that decided; a user's, or none, gives the general word."""
    kind = Kind(kind)
    ours = _RULES.get(rule)
    return str(ours.advice) if ours and ours.kind is kind else str(_GENERAL[kind])


def words(rule: str) -> str:
    """What a rule that decided is about, for people: of ours what it stands for, of a user's that it is theirs."""
    ours = _RULES.get(rule)
    if ours:
        return str(ours.words)
    return _("a rule of yours") if rule else _("no rule matched")
