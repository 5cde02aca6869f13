"""A plan as a row of the list. What news may replace is written by `parts`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.live.parts import part
from dashboard.replays import around, keys, words
from dashboard.replays.progress import progress
from dashboard.replays.seen import Seen
from dashboard.templatetags.mirante import icon, moment
from dashboard.words import shown
from queues.models import Replay
from queues.quantities import UNKNOWN, number
from queues.replay.types import EARLY, Phase


@dataclass(frozen=True)
class Line:
    """A row of the list."""

    seen: Seen

    @property
    def replay(self) -> Replay:
        return self.seen.replay

    @property
    def key(self) -> str:
        return keys.row(self.replay.pk)

    @property
    def url(self) -> str:
        return reverse("replay", args=[self.replay.pk])

    @property
    def title(self) -> str:
        return shown(self.replay.title, 120) or UNKNOWN

    @property
    def words(self) -> str:
        return shown(self.replay.words, 200)

    @property
    def who(self) -> str:
        return self.replay.started_by or self.replay.made_by

    @cached_property
    def live(self) -> Mapping[str, SafeString]:
        return drawn(self.seen)


def drawn(seen: Seen) -> Mapping[str, SafeString]:
    """What news may replace in the row of a plan, by name."""
    key, replay = keys.row(seen.replay.pk), seen.replay
    begun = seen.phase not in EARLY and replay.started_at is not None
    made: dict[str, SafeString | str] = {
        "why": _why(seen),
        "bar": progress(seen, told=False) if begun else "",
        "sent": _sent(seen) if begun else UNKNOWN,
        "completed": number(replay.completed) if begun else UNKNOWN,
        "outcome": outcome(seen),
        "when": moment(replay.ended_at or replay.started_at or replay.made_at, "day"),
    }
    css = "bad b" if replay.failed else "z"
    return {
        **{name: part(f"{key}-{name}", told) for name, told in made.items()},
        "failed": part(f"{key}-failed", number(replay.failed) if begun else UNKNOWN, css if begun else ""),
        "state": around.state(f"{key}-state", seen.replay),
    }


def parts(seen: Seen) -> Mapping[str, str]:
    """The same by ids."""
    return {f"{keys.row(seen.replay.pk)}-{name}": html for name, html in drawn(seen).items()}


def lost(pk: int) -> Mapping[str, str]:
    """The state of a plan that was discarded."""
    name = f"{keys.row(pk)}-state"
    told = format_html(
        '<span id="{}" data-part class="st s-paused">{}<span>{}</span></span>', name, icon("gone"), _("Discarded")
    )
    return {name: told}


def news(newest: int, count: int) -> SafeString:
    """How many plans came since a list was read whose newest is this one. Empty: none."""
    text = ngettext("%(n)s new plan", "%(n)s new plans", count) % {"n": number(count)} if count else ""
    return part(f"{keys.since(newest)}-n", text)


def _sent(seen: Seen) -> str:
    """Of those that the plan was to send; of one that has ended as its report says it, of all."""
    of = seen.replay.total if seen.ended else seen.of
    return _("%(n)s of %(of)s") % {"n": number(seen.replay.sent), "of": number(of)}


def _why(seen: Seen) -> str:
    """Why it stands or holds, in words."""
    replay = seen.replay
    if seen.phase is Phase.STOPPED:
        return words.stop(replay.why, {})
    if replay.down_since and not seen.ended:
        return _("The source does not answer.")
    if replay.holding and not seen.ended:
        return words.stop(replay.holding, {})
    return ""


def outcome(seen: Seen) -> str:
    """What it came to, or how large it is as long as nothing was sent."""
    replay = seen.replay
    if seen.phase in EARLY:
        if seen.phase is Phase.FREEZING:
            return _("its set is being put together")
        return ngettext("%(n)s job to send", "%(n)s jobs to send", replay.to_send) % {"n": number(replay.to_send)}
    if seen.phase is Phase.FAILED:
        return shown(replay.note, 120)
    if not seen.ended:
        left = ngettext("%(n)s to send", "%(n)s to send", replay.to_send) % {"n": number(replay.to_send)}
        under_way = ngettext("%(n)s under way", "%(n)s under way", seen.under_way) % {"n": number(seen.under_way)}
        return ", ".join((left, under_way) if replay.to_send else (under_way,))
    return _came_to(seen)


def _came_to(seen: Seen) -> str:
    replay = seen.replay
    if not replay.sent:
        return _("nothing was sent")
    not_sent = replay.to_send + replay.back
    told = [(_("%(n)s failed again"), replay.failed), (_("%(n)s not sent"), not_sent)]
    told += [(_("%(n)s refused"), replay.refused), (_("%(n)s gone or unknown"), replay.other)]
    said = [text % {"n": number(count)} for text, count in told if count]
    if not replay.left_out:
        return ", ".join(said) or _("all completed")
    left_out = _("%(n)s left out") % {"n": number(replay.left_out)}
    return ", ".join([*said, left_out]) if said else _("all others completed, %(left_out)s") % {"left_out": left_out}
