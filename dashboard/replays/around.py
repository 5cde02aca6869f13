"""What stands around the figures of a plan: how it stands, why it holds, its feed, its targets, what failed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.replays import ends, not_known, words
from dashboard.replays.seen import Seen
from dashboard.templatetags.mirante import age, icon, moment
from queues.models import Replay, ReplayLine, ReplayQueue
from queues.quantities import UNKNOWN, number
from queues.replay.report import FailedAgain
from queues.replay.types import HALTED, Phase, Stop, Told
from queues.types import QueueRef

GROUPS = 50  # of failures that are told
UNREAD_MS = 60_000  # what was read of a target longer ago says nothing about now

Shown = SafeString | str


def block(name: str, content: Shown) -> SafeString:
    """A part that is a block of its own."""
    return format_html('<div id="{}" data-part>{}</div>', name, content)


def marker(name: str, value: str) -> SafeString:
    """A part that nobody sees: where its value is another, a region of the page is read anew (`static/js/moved.js`)."""
    return format_html('<span id="{}" data-part data-n="{}" hidden></span>', name, value)


def markers(seen: Seen) -> Mapping[str, str]:
    """By the name of a region that holds links or buttons, what it looks like now."""
    replay = seen.replay
    acts = f"{replay.phase} {replay.why}" if not seen.ended else f"{replay.phase} {seen.under_way == 0}"
    return {
        "kind": "report" if seen.ended else "run",
        "acts": f"{acts} {'rest' if replay.to_send else 'none'}",
        "rows": " ".join(sorted(each.slug for each in known(seen))),
    }


def state(name: str, replay: Replay) -> SafeString:
    """Where a plan stands, as a mark and a word."""
    colour, glyph = ends.mark(replay)
    return format_html(
        '<span id="{}" data-part class="st s-{}">{}<span>{}</span></span>',
        name,
        colour,
        icon(glyph),
        ends.word(replay),
    )


def since(seen: Seen) -> Shown:
    """Since when it stands so, and for how long."""
    at_ms = _stands_since(seen)
    if at_ms is None:
        return ""
    if seen.ended:
        return format_html("{} {}", _("at"), moment(at_ms))
    return format_html("{} {}, {}", _("since"), moment(at_ms), age(at_ms))


STANDS: Mapping[Phase, Told] = {
    Phase.PAUSED: Told.PAUSED,
    Phase.STOPPED: Told.STOPPED,
    Phase.DECIDING: Told.CANARY_LATE,
    Phase.ENDING: Told.ALL_SENT,
}


def _stands_since(seen: Seen) -> float | None:
    line = next((line for line in seen.lines if line.kind == STANDS.get(seen.phase)), None)
    replay = seen.replay
    at = line.at if line else replay.ended_at if seen.ended else replay.started_at
    return at.timestamp() * 1000 if at else None


def ended(seen: Seen) -> str:
    told = _("%(failed)s of the %(ended)s that ended") % {
        "failed": number(seen.replay.failed),
        "ended": number(seen.settled),
    }
    early = min(seen.replay.retrying, seen.under_way)
    if early:
        said = ngettext("%(n)s had an attempt fail", "%(n)s had an attempt fail", early) % {"n": number(early)}
        told = f"{told}, {said}"
    return told


def holding(seen: Seen) -> Shown:
    """Why it sends nothing for now, in plain words; empty where it does, or where a person has to look."""
    replay = seen.replay
    if seen.ended:
        return ""
    if replay.down_since:
        text = _("The source does not answer since")
        after = _("The plan waits for it and goes on by itself. No job is lost, none is sent twice.")
        return _notice("warn", format_html("<b>{}</b> {}. {}", text, moment(replay.down_since), after))
    if replay.holding and seen.phase not in HALTED:
        why = words.stop(replay.holding, _hold_facts(seen))
        return _notice("paused", format_html("<b>{}</b> {} {}", _("Holds:"), why, _("It goes on by itself.")))
    return ""


def _hold_facts(seen: Seen) -> Mapping[str, object]:
    """The figures that belong to why it holds, as they are now where a target was read, else as the feed told them."""
    line = next((line for line in seen.lines if line.kind == Told.HELD), None)
    facts: dict[str, object] = dict(line.facts) if line else {}
    terms = seen.terms
    if seen.replay.holding == Stop.AGE and terms.age_max_s is not None:
        oldest = min((target.oldest_ms for target in seen.targets if target.oldest_ms is not None), default=None)
        facts |= {"limit_s": terms.age_max_s}
        facts |= {"age_s": max(0, seen.now_ms - oldest) // 1000} if oldest is not None else {}
    if seen.replay.holding == Stop.DEPTH and terms.depth_max is not None:
        over = [target.backlog for target in seen.targets if (target.backlog or 0) > terms.depth_max]
        facts |= {"limit": terms.depth_max, **({"backlog": max(filter(None, over))} if over else {})}
    return facts


def _notice(colour: str, text: SafeString) -> SafeString:
    mark = "warn" if colour == "warn" else "paused"
    css = "notice warn" if colour == "warn" else "notice"
    return format_html(
        '<div class="{}"><span class="mw s-{}">{}</span><div><p>{}</p></div></div>', css, colour, icon(mark), text
    )


GLYPHS: Mapping[str, tuple[str, str]] = {
    Told.APPROVED: ("completed", "completed"),
    Told.CANARY_LATE: ("warn", "warn"),
    Told.STOPPED: ("warn", "warn"),
    Told.DOWN: ("failed", "failed"),
    Told.LOST: ("warn", "warn"),
    Told.BLIND: ("warn", "warn"),
    Told.HELD: ("paused", "paused"),
    Told.PAUSED: ("paused", "paused"),
    Told.CANCELLED: ("paused", "gone"),
    Told.REFUSED: ("paused", "gone"),
    Told.TAKEN_BACK: ("paused", "gone"),
    Told.FROZEN: ("unknown", "info"),
    Told.CHANGED: ("unknown", "info"),
    Told.ASKED: ("unknown", "info"),
}


def feed(lines: Sequence[ReplayLine]) -> SafeString:
    """What happened to it, newest first."""
    entries = ((moment(line.at), *_glyph(line), words.line(line)) for line in lines)
    return format_html(
        '<ol class="feed ruled">{}</ol>',
        format_html_join(
            "",
            '<li>{}<span class="st s-{}">{}</span><span>{}</span></li>',
            ((at, colour, icon(glyph), text) for at, colour, glyph, text in entries),
        ),
    )


def _glyph(line: ReplayLine) -> tuple[str, str]:
    return ends.line_mark(line) or GLYPHS.get(line.kind, ("active", "active"))


def again(seen: Seen) -> Mapping[str, Shown]:
    """Of each group that jobs failed into again: how many, and how that compares with before."""
    made: dict[str, Shown] = {"unread": _unread(seen)}
    for each in known(seen):
        name = f"again.{each.slug}"
        made[name] = number(each.number)
        made[f"{name}.w"] = compared(each.number, each.same)
        made[f"{name}.last"] = age(each.last_ms)
    return made


def known(seen: Seen) -> Sequence[FailedAgain]:
    """The groups with most of them, without what the index has not read yet."""
    return [each for each in seen.again if each.slug][:GROUPS]


def compared(count: int, same: int) -> str:
    """Whether jobs failed with the error that they had before."""
    if same == count:
        return _("same error as before")
    if not same:
        return _("new for these jobs")
    told = {"same": number(same), "new": number(count - same)}
    return _("same error for %(same)s, new for %(new)s") % told


def _unread(seen: Seen) -> SafeString:
    """What the table of groups does not tell."""
    said: list[Shown] = []
    more = len([each for each in seen.again if each.slug]) - GROUPS
    if more > 0:
        text = ngettext("%(n)s more group is not shown.", "%(n)s more groups are not shown.", more)
        said.append(text % {"n": number(more)})
    if told := not_known.of_groups(seen):
        said.append(told)
    if not seen.replay.failed:
        said.append(_("None.") if seen.ended else _("None so far."))
    return format_html_join(" ", "{}", ((each,) for each in said))


def targets(seen: Seen) -> Mapping[str, Shown]:
    made: dict[str, Shown] = {}
    for target in seen.targets:
        name, known = f"target.{target.queue_id}", not unread(seen, target)
        made[f"{name}.depth"] = number(target.backlog) if known else UNKNOWN
        made[f"{name}.oldest"] = _waits(target) if known else UNKNOWN
        made[f"{name}.workers"] = number(target.workers) if known else UNKNOWN
        made[f"{name}.paused"] = _("paused") if target.paused and known else ""
        made[f"{name}.why"] = not_known.of_target(seen, target, unread=not known)
    return made


def read_at(seen: Seen) -> Shown:
    """When the targets were read last, of the one that was longest ago; "" where one never was."""
    read = [target.seen_at for target in seen.targets]
    return moment(min(filter(None, read))) if read and all(read) else ""


def _waits(target: ReplayQueue) -> Shown:
    if target.oldest_ms is None:
        return _("nothing waits") if target.backlog == 0 else UNKNOWN
    return age(target.oldest_ms)


def unread(seen: Seen, target: ReplayQueue) -> bool:
    return target.seen_at is None or seen.now_ms - target.seen_at.timestamp() * 1000 > UNREAD_MS


def label(target: ReplayQueue) -> str:
    """A target by its name."""
    try:
        return QueueRef.from_slug(target.queue.source.name, target.queue.slug).label
    except ValueError:
        return target.queue.slug
