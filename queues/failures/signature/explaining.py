"""Which rule took what, and each rule in words."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from queues.failures.signature import frames
from queues.failures.signature.making import of, parts_of
from queues.failures.types import Applied, Thrown
from queues.redaction import mask_text

MOST = 40
SHOWN = 200  # characters of what a rule took


def explain(thrown: Thrown) -> Sequence[Applied]:
    """The rules that had a part in the signature of a failure, in their order. Costs several times what `of` does."""
    applied: dict[Applied, None] = {}
    reason = thrown.reason and mask_text(thrown.reason)[0]
    stack = mask_text(thrown.stack)[0]

    def trace(rule: str, before: str, after: str) -> None:
        if len(applied) < MOST:
            applied[Applied(rule, before[:SHOWN], after[:SHOWN])] = None

    made = of(thrown)
    if made.shape not in ("error", "text"):
        trace(made.shape, reason or "", made.message)
    parts_of(reason, stack, trace=trace)
    if made.place_kind in ("frame", "file"):
        trace(made.place_kind, frames.top(stack[max(0, frames.begin(stack)) :])[0].strip(), made.place)
    elif made.place:
        trace("job", thrown.name, made.place)
    return tuple(applied)


def words(rule: str) -> str:
    """A rule in one translated sentence; the rule's own name where it is not known (of an older version)."""
    return _table().get(rule, rule)


def _table() -> dict[str, str]:
    return {
        "masked": _("colours and secrets are taken out first"),
        "class": _("the first word of the stack names the error"),
        "code": _("a code counts: it is taken before numbers vanish"),
        "cause": _("the message says nothing, so that of its cause counts"),
        "json": _("of JSON in the message counts what it says, not what it holds"),
        "issues": _("of a list of issues count fields and codes, not values and not places in lists"),
        "request-id": _("ids of requests are left out"),
        "quoted": _("values in quotes become ‹text›"),
        "quoted-name": _("what is in quotes stays where it names a field, a column or the like"),
        "number": _("numbers become ‹n›"),
        "id": _("UUIDs, hexadecimal and long ids become ‹id›"),
        "email": _("e-mail addresses become ‹email›"),
        "address": _("IP addresses become ‹address›; ports of services stay"),
        "host": _("names of hosts stay"),
        "url": _("of URLs the host stays; path and query are left out"),
        "path": _("of paths the file name stays"),
        "date": _("dates and times become ‹date›"),
        "duration": _("durations become ‹duration›"),
        "size": _("sizes become ‹size›"),
        "list": _("what is repeated in a list counts once"),
        "frame": _("the top frame of your own code is the place: function and file, no line, no library"),
        "file": _("the file of the top frame of your own code is the place, for its function is not named"),
        "job": _("no frame of your own code is known, so the name of the job is the place"),
        "stalled": _("the job stalled too often: one group for each job name"),
        "null": _("something else than an error was thrown, and BullMQ kept no text of it"),
        "object": _("an object was thrown and not an error: its text says nothing"),
        "empty": _("the reason is empty"),
        "none": _("there is no reason"),
        "others": _("this queue has more kinds of failures than are told apart: those beyond count together"),
        "memory": _("the process ran out of memory"),
    }
