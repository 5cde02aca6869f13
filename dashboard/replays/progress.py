"""What became of the jobs of a plan so far: the bar, what its colours mean, and of how many it is."""

from __future__ import annotations

from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.charts import bar
from dashboard.replays.seen import Seen
from dashboard.templatetags.mirante import icon
from queues.quantities import number

LEAST = 0.6  # per cent of the bar that a part is wide, however few it stands for


def progress(seen: Seen, css: str = "", *, told: bool = True) -> SafeString:
    """What became of its jobs so far, as a bar; not `told` to screen readers where its numbers stand beside it."""
    replay = seen.replay
    running = min(replay.running, seen.under_way)
    parts = (
        ("completed", replay.completed),
        ("failed", replay.failed),
        ("active", running),
        ("waiting", seen.under_way - running),
        ("unknown", replay.other),
        ("rule", replay.to_send + replay.refused + replay.back),
    )
    return bar(parts, _label(seen) if told else "", css=css, least=LEAST)


def _label(seen: Seen) -> str:
    replay = seen.replay
    return _(
        "Of %(of)s jobs %(completed)s have completed, %(failed)s failed again, %(under_way)s are under way and "
        "%(left)s are still to send"
    ) % {
        "of": number(seen.of),
        "completed": number(replay.completed),
        "failed": number(replay.failed),
        "under_way": number(seen.under_way),
        "left": number(replay.to_send),
    }


def legend(seen: Seen) -> SafeString:
    """What the colours of the bar mean, with the numbers."""
    replay = seen.replay
    running = min(replay.running, seen.under_way)
    retrying = min(replay.retrying, seen.under_way - running)
    waiting = seen.under_way - running - retrying
    done, again = "completed" if replay.completed else "unknown", "failed" if replay.failed else "unknown"
    told = [
        (done, "completed", _("%(n)s completed"), replay.completed),
        (again, "failed", _("%(n)s failed again"), replay.failed),
        ("active", "active", _("%(n)s active"), running),
        ("delayed", "delayed", _("%(n)s retrying"), retrying),
        ("waiting", "waiting", _("%(n)s waiting"), waiting),
        ("unknown", "unknown", _("%(n)s gone or unknown"), replay.other),
        ("unknown", "gone", _("%(n)s to send"), replay.to_send),
    ]
    always = (0, 1)
    return format_html_join(
        "",
        '<span class="st s-{}">{}<span>{}</span></span>',
        (
            (colour, icon(glyph), text % {"n": number(count)})
            for at, (colour, glyph, text, count) in enumerate(told)
            if count or at in always
        ),
    )


def of_all(seen: Seen) -> str:
    """Of how many the bar is, and what is not among them."""
    replay = seen.replay
    said = [ngettext("of %(n)s job", "of %(n)s jobs", seen.of) % {"n": number(seen.of)}]
    if replay.left_out:
        said.append(ngettext("%(n)s left out by the plan", "%(n)s left out by the plan", replay.left_out))
        said[-1] %= {"n": number(replay.left_out)}
    if replay.refused:
        said.append(_("%(n)s refused by the server") % {"n": number(replay.refused)})
    if replay.back:
        said.append(_("%(n)s not sent or taken back") % {"n": number(replay.back)})
    return "; ".join(said)
