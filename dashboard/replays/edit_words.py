"""What happens when an edited job is sent, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.actions.ask import named, say
from dashboard.replays.edit import Editing
from dashboard.words import shown
from queues.jsonload import Unreadable, load
from queues.options import Option, in_words
from queues.replay.limits import limits
from queues.types import State


@dataclass(frozen=True, slots=True)
class Said:
    """`main` is the sentence at the top; `kept` are the options that the copy has."""

    main: SafeString
    facts: Sequence[tuple[str, object]]
    kept: Sequence[Option]
    warnings: Sequence[str]


def said(found: Editing) -> Said | None:
    """All of it; None where nothing can be sent."""
    if found.new is None or found.target is None:
        return None
    return Said(_main(found), list(_facts(found)), _options(found.new.opts), list(_warnings(found)))


def _main(found: Editing) -> SafeString:
    target = named(found.target.ref.label) if found.target else ""
    if found.letter:
        return say(
            _("A job with this data is sent to {queue}. The letter stays until that job has completed."), queue=target
        )
    words = (
        _("A copy with this data is sent to {queue}. The original stays failed until the copy has completed.")
        if found.about.state is State.FAILED
        else _("A copy with this data is sent to {queue}. The original stays as it is until the copy has completed.")
    )
    return say(words, queue=target)


def _facts(found: Editing) -> Sequence[tuple[str, object]]:
    new, undo_s = found.new, limits().undo_s
    if new is None:
        return []
    own = new.id.decode("utf-8", errors="replace")
    begins = ngettext(
        "%(n)s second after you press the button; until then you can take it back",
        "%(n)s seconds after you press the button; until then you can take it back",
        undo_s,
    )
    return [
        (_("Name"), shown(new.name.decode("utf-8", errors="replace"), 120) or "–"),
        (_("Id"), named(own) if own else _("a new number")),
        (_("Sent"), begins % {"n": undo_s} if undo_s else _("at once")),
        (_("Attempts"), _("counted anew")),
        (_("Afterwards"), _("the letter is removed") if found.letter else _("the original is removed")),
    ]


def _options(opts: bytes) -> Sequence[Option]:
    try:
        told = load(opts)
    except Unreadable:
        return []
    return in_words(told) if isinstance(told, dict) else []


def _warnings(found: Editing) -> Sequence[str]:
    told = []
    target = found.target
    if target and target.info.counts.paused:
        told.append(_("The queue is paused: the replay waits until somebody resumes it and lets it go on."))
    if target and target.workers == 0:
        told.append(_("No worker is connected to the queue: the replay stops until one is."))
    if found.about.job.family.parent is not None and not found.letter:
        told.append(_("It belongs to a parent. The copy does not: the parent will not hear of it."))
    return told
