"""Whether terms can be kept: every value within its bounds, and what it names there."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from queues import paths
from queues.errors import BadInput
from queues.models import Queue, Replay, ReplayLimits
from queues.quantities import number
from queues.replay.fields import BadFields
from queues.replay.limits import FASTEST, SLOWEST, limits
from queues.replay.patching import checked
from queues.replay.terms import Hours, PatchKind, Terms
from queues.replay.types import CHOICES, From

DAY_S = 86_400
# What a whole number may be; None is allowed where the terms allow it.
BOUNDS: Mapping[str, tuple[int, int]] = {
    "double_s": (1, DAY_S),
    "jitter": (0, 100),
    "depth_max": (0, 10**9),
    "age_max_s": (1, 365 * DAY_S),
    "canary": (0, 100_000),
    "canary_failed": (0, 100_000),
    "canary_wait_s": (1, 30 * DAY_S),
    "stop_percent": (0, 100),
}

Wrong = Iterator[tuple[str, str]]

_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)


def check(replay: Replay, terms: Terms) -> Mapping[str, str]:
    """What is wrong, by the field of `Terms`, a sentence each; empty where nothing is. Two queries at most, no server.

    Where several things are wrong about one field, the first of them.
    """
    wrong: dict[str, str] = {}
    for name, said in _all(replay, terms):
        wrong.setdefault(name, said)
    return wrong


def ensure(replay: Replay, terms: Terms) -> None:
    """BadFields where something is wrong."""
    if wrong := check(replay, terms):
        raise BadFields(wrong)


def wrong_paces(terms: Terms, allowed: ReplayLimits) -> Mapping[str, str]:
    """The same of the paces alone, by what is allowed."""
    return dict(_paces(terms, allowed))


def _all(replay: Replay, terms: Terms) -> Wrong:
    yield from _bounds(terms)
    yield from _paces(terms, limits())
    yield from _canary(replay, terms)
    yield from _target(replay, terms)
    yield from _said("key", lambda: paths.parse(terms.key), wanted=bool(terms.key))
    yield from _patch(replay, terms)
    if terms.hours is not None:
        yield from _hours(terms.hours)
    if any(choice not in CHOICES.get(conflict, ()) for conflict, choice in terms.choices.items()):
        yield "choices", _("This cannot be chosen about such a conflict.")


def _bounds(terms: Terms) -> Wrong:
    for name, (least, most) in BOUNDS.items():
        value = getattr(terms, name)
        if value is not None and not least <= value <= most:
            yield name, _between(least, most)


def _paces(terms: Terms, allowed: ReplayLimits) -> Wrong:
    for name in ("pace_from", "pace_to"):
        value = getattr(terms, name)
        if value is not None and not (math.isfinite(value) and SLOWEST <= value <= FASTEST):
            yield name, _between(SLOWEST, FASTEST)
    if terms.pace_from is None and terms.pace_to is not None:
        yield "pace_from", _("Say how many a second it begins with.")
    if terms.pace_from and terms.pace_to and terms.pace_from > terms.pace_to:
        yield "pace_to", _("It is slower than what it begins with.")
    least, most = BOUNDS["double_s"]
    if not least <= terms.double_s <= most:
        yield "double_s", _between(least, most)
    if allowed.fastest is not None and (terms.pace_to is None or terms.pace_to > allowed.fastest):
        said = _("A replay may send at most %(pace)s jobs a second here: admins have set this limit.")
        yield "pace_to", said % {"pace": number(allowed.fastest)}


def _canary(replay: Replay, terms: Terms) -> Wrong:
    if replay.total and terms.canary > replay.total:
        said = _("There are only %(total)s jobs in the plan.")
        yield "canary", said % {"total": number(replay.total)}
    if 0 < terms.canary <= terms.canary_failed:
        yield "canary_failed", _("It has to be less than the canary: else that never stops anything.")


def _target(replay: Replay, terms: Terms) -> Wrong:
    if not terms.target:
        return
    known = Queue.objects.filter(source_id=replay.source_id, slug=terms.target)
    gone = known.values_list("gone_since", flat=True).first() if known.exists() else True
    if gone:
        yield "target", _("No queue of this name is known in this source.")


def _patch(replay: Replay, terms: Terms) -> Wrong:
    patch = terms.patch
    if patch is None:
        return
    if patch.kind is not PatchKind.WHOLE:
        yield from _said("patch", lambda: checked(patch))
    elif replay.data is None or replay.made_from.get("kind") != From.JOB:
        yield "patch", _("Only a plan of one job can have other data as a whole.")


def _hours(hours: Hours) -> Wrong:
    if not hours.days or set(hours.days) - set("1234567") or len(set(hours.days)) < len(hours.days):
        yield "hours", _("Choose the days on which jobs may be sent.")
    elif not (_TIME.fullmatch(hours.begin) and _TIME.fullmatch(hours.until)):
        yield "hours", _("A time is written like 09:00.")
    elif hours.begin == hours.until:
        yield "hours", _("Between two equal times there is no time to send anything.")
    elif not _is_zone(hours.zone):
        yield "hours", _("There is no such time zone: one is written like America/Sao_Paulo.")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # of what is no name, a folder, or unknown (ZoneInfoNotFoundError)
        return False
    return True


def _said(name: str, read: Callable[[], object], *, wanted: bool = True) -> Wrong:
    """What reading a value says of it."""
    try:
        if wanted:
            read()
    except BadInput as error:
        yield name, str(error)


def _between(least: float, most: float) -> str:
    return _("Expected a number from %(least)s to %(most)s.") % {"least": number(least), "most": number(most)}
