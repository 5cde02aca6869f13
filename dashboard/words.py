"""The words for what the domain names by codes, and text out of a queue on one line, as every page writes them."""

from __future__ import annotations

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from queues import masking
from queues.health import Health
from queues.jsonload import MAX_DEPTH
from queues.payload import Shown
from queues.quantities import size
from queues.timeline import Stretch
from queues.types import Delay, Mark, State, Text

STATE_WORDS = {
    State.WAITING: pgettext_lazy("state", "Waiting"),
    State.PRIORITIZED: pgettext_lazy("state", "Prioritized"),
    State.ACTIVE: pgettext_lazy("state", "Active"),
    State.DELAYED: pgettext_lazy("state", "Delayed"),
    State.WAITING_CHILDREN: pgettext_lazy("state", "Waiting for children"),
    State.COMPLETED: pgettext_lazy("state", "Completed"),
    State.FAILED: pgettext_lazy("state", "Failed"),
}

DELAY_WORDS = {
    Delay.SCHEDULE: _("next run of a schedule"),
    Delay.BACKOFF: _("retry in backoff"),
    Delay.STEP: _("moved itself"),
    Delay.SCHEDULED: _("scheduled"),
}

STRETCH_WORDS = {
    Stretch.WAITING: pgettext_lazy("stretch", "waiting"),
    Stretch.ACTIVE: pgettext_lazy("stretch", "running"),
    Stretch.DELAYED: pgettext_lazy("stretch", "delayed"),
    Stretch.UNKNOWN: pgettext_lazy("stretch", "not known"),
}

MARK_WORDS = {
    Mark.CUT: _("cut: %(size)s in all"),
    Mark.BYTES: _("not UTF-8"),
    Mark.MALFORMED: _("not JSON: shown raw"),
    Mark.DEEP: _("deeper than %(levels)s levels: shown as text"),
}


def shown(text: Text | str | None, limit: int = 200) -> str:
    """The beginning of a text out of a queue on one line, secrets masked, cut at `limit` characters.

    What is secret, `queues.masking` knows: by the rules of the queue that the page is about, else by all.
    """
    if not text:
        return ""
    value, reads = str(text), 1000 + 10 * limit
    odd = (Mark.CUT,) if len(value) > reads else () if isinstance(text, str) else text.marks
    return cut(" ".join(masking.hidden_here(Text(value[:reads], 0, odd)).value.split()), limit)


def key(text: str, limit: int = 120) -> str:
    """A key of Redis like `shown`, part by part: `bull:password-reset:7` tells no secret."""
    return cut(":".join(shown(part, limit) for part in text[: 20 * limit].split(":")), limit)


def cut(text: str, limit: int) -> str:
    """The first `limit` characters, with a mark where something is cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def marks(text: Text | Shown | None) -> list[str]:
    """Why a shown text is not simply what was stored; that secrets are hidden is said elsewhere."""
    if text is None or not text.marks:
        return []
    about = {"size": size(text.size), "levels": MAX_DEPTH}
    return [str(MARK_WORDS[mark]) % about for mark in text.marks if mark in MARK_WORDS]


def health_notes(health: Health | None) -> list[str]:
    """What a server does not let us know, in whole sentences."""
    if health is None:
        return []
    missing = gettext("%(command)s is not permitted here: some figures are missing.")
    snapshots = gettext("%(command)s is not permitted here: whether RDB snapshots are made is not known.")
    notes = [(snapshots if word == "CONFIG GET" else missing) % {"command": word} for word in health.refused]
    if health.mode == "cluster":
        notes.append(gettext("It is part of a Redis Cluster, which cannot be read yet."))
    return notes
