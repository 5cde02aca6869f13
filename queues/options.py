"""A job's options in words, for people who do not know BullMQ's short codes by heart.

Names and codes are those of bullmq 4.18, 5.81 and 6.7: `interfaces/base-job-options`, `types/job-options`
and `optsDecodeMap` in `utils/index`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from queues import masking
from queues.names import show_controls
from queues.quantities import duration, number
from queues.redaction import MASK, is_secret_key, mask_text

MAX_VALUE = 200  # characters of a value
MAX_UNKNOWN = 50  # options that we have no words for

_LEVELS = 3
_ITEMS = 10
_HUGE = 10**15


class Option(NamedTuple):
    """An option: its name for people and its value in words."""

    label: str
    value: str


def in_words(options: Mapping[str, object]) -> Sequence[Option]:
    """The options that are set and say something: known ones in words, then others as they are.

    Never raises, whatever the values are; secrets are masked. Looks at 50 unknown options at most, and
    at three levels of ten items inside a value that it does not know.
    """
    listed = []
    for key, (label, words) in _KNOWN.items():
        if key in options and (said := _said(options[key], words)):
            listed.append(Option(str(label), said))
    unknown = [key for key in options if key not in _KNOWN][:MAX_UNKNOWN]
    return [*listed, *(Option(_line(key, 60), _line(_member(key, options[key], _LEVELS))) for key in unknown)]


def brief(value: object) -> str:
    """Any value on one line of at most 200 characters, secrets masked. Never raises."""
    return _line(_literal(value, _LEVELS))


def _said(value: object, words: Callable[[object], str | None]) -> str:
    said = words(value)
    return brief(value) if said is None else _line(said)


def _line(text: str, limit: int = MAX_VALUE) -> str:
    text = show_controls(mask_text(text, masking.in_force())[0], keep="")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _literal(value: object, levels: int) -> str:
    if isinstance(value, str):
        return value[: 2 * MAX_VALUE]
    if isinstance(value, Mapping | list | tuple):
        if not levels:
            return "…"
        if isinstance(value, Mapping):
            inner = [f"{key}: {_member(str(key), value[key], levels - 1)}" for key in list(value)[:_ITEMS]]
        else:
            inner = [_literal(item, levels - 1) for item in value[:_ITEMS]]
        text = ", ".join([*inner, "…"] if len(value) > _ITEMS else inner)
        return f"{{{text}}}" if isinstance(value, Mapping) else f"[{text}]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 1024:  # str() refuses beyond 4,300 digits
        return _("a number of %(bits)s bits") % {"bits": value.bit_length()}
    return str(value) if isinstance(value, int | float) else type(value).__name__


def _member(key: str, value: object, levels: int) -> str:
    shown = value is None or isinstance(value, bool) or value == ""
    return _literal(value, levels) if shown or not is_secret_key(key, masking.in_force()) else MASK


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _HUGE  # NaN is not below


def _is_count(value: object) -> TypeGuard[int]:
    return _is_number(value) and value == int(value) and value >= 0


def _count(value: object) -> str | None:
    return number(value) if _is_count(value) else None


def _attempts(value: object) -> str | None:
    return number(max(1, value)) if _is_count(value) else None  # npm writes 0 for its default of 1


def _or_none(value: object) -> str | None:
    return None if not _is_count(value) else number(value) if value else _("none")


def _time(value: object) -> str | None:
    return None if not _is_number(value) or value < 0 else duration(value) if value else _("none")


def _backoff(value: object) -> str | None:
    if _is_number(value):
        return _("fixed, %(span)s") % {"span": duration(value)} if value > 0 else _("none")
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        return None
    kind, delay, jitter = value["type"][:60], value.get("delay"), value.get("jitter")
    if kind == "exponential":
        kind = _("exponential")
        text = _("exponential from %(span)s") % {"span": duration(delay)} if _is_number(delay) else kind
    else:
        kind = _("fixed") if kind == "fixed" else _("by the worker's own rule “%(kind)s”") % {"kind": kind}
        text = f"{kind}, {duration(delay)}" if _is_number(delay) else kind
    return _("%(backoff)s, jitter %(jitter)s") % {"backoff": text, "jitter": jitter} if _is_number(jitter) else text


def _keep(value: object) -> str | None:
    if isinstance(value, bool):
        return _("removed at once") if value else _("for ever")
    if _is_number(value):
        return _newest(value)
    if not isinstance(value, Mapping):
        return None
    count, age = value.get("count"), value.get("age")
    parts = [_newest(count)] if _is_number(count) else []
    if _is_number(age) and age >= 0:
        parts.append(_("for %(span)s") % {"span": duration(age * 1000)})
    return ", ".join(parts) or None


def _newest(count: float) -> str:
    if count < 0:
        return _("for ever")
    return _("newest %(count)s") % {"count": number(count)} if count else _("removed at once")


def _deduplication(value: object) -> str | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("id"), str):
        return None
    parts = [value["id"][:MAX_VALUE]]
    if _is_number(ttl := value.get("ttl")):
        parts.append(_("for %(span)s") % {"span": duration(ttl)})
    parts += [str(words) for key, words in _DEDUPLICATION.items() if value.get(key) is True]
    return ", ".join(parts)


_DEDUPLICATION = {
    "extend": lazy("each new one extends it"),
    "replace": lazy("a new one replaces it while it is delayed"),
    "reschedule": lazy("a new one moves its time while it is delayed"),
    "keepLastIfActive": lazy("the last one runs after the active one"),
}


def _repeat(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return None
    pattern, every, zone = value.get("pattern", value.get("cron")), value.get("every"), value.get("tz")
    parts = []
    if isinstance(pattern, str) and pattern:
        parts.append(_("cron %(pattern)s") % {"pattern": pattern[:100]})
    elif _is_number(every):
        parts.append(_("every %(span)s") % {"span": duration(every)})
    else:
        return None
    if isinstance(zone, str) and zone:
        parts.append(zone[:60])
    if _is_count(limit := value.get("limit")):
        parts.append(ngettext("at most %(n)s run", "at most %(n)s runs", int(limit)) % {"n": number(limit)})
    if _is_count(run := value.get("count")):
        parts.append(_("run %(n)s") % {"n": number(run)})
    return ", ".join(parts)


def _parent(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return None
    queue, job = value.get("queueKey", value.get("queue")), value.get("id")
    return f"{queue[:120]}:{job[:120]}" if isinstance(queue, str) and isinstance(job, str) else None


def _bytes(value: object) -> str | None:
    if not _is_count(value):
        return None
    return ngettext("%(n)s byte", "%(n)s bytes", int(value)) % {"n": number(value)}


def _lines(value: object) -> str | None:
    if not _is_count(value):
        return None
    return ngettext("newest %(n)s line", "newest %(n)s lines", int(value)) % {"n": number(value)}


def _present(value: object) -> str | None:
    return _("present") if value is not None and value != "" else ""


def _if_true(words: object) -> Callable[[object], str | None]:
    return lambda value: str(words) if value is True else "" if value is False else None


_PARENT_FAILS = lazy("it fails too")
_PARENT_STARTS = lazy("it starts at once")
_PARENT_NOTES = lazy("it goes on and notes the failure")
_PARENT_FORGETS = lazy("it goes on without this child")
_FAILURE = lazy("Parent, should this fail")
_KEEP_LOGS = lazy("Keep logs")
_DEDUPLICATED = lazy("Deduplication")
_TELEMETRY = lazy("Telemetry")

_KNOWN: dict[str, tuple[object, Callable[[object], str | None]]] = {
    "attempts": (lazy("Attempts"), _attempts),
    "backoff": (lazy("Backoff"), _backoff),
    "delay": (lazy("Delay"), _time),
    "priority": (lazy("Priority"), _or_none),
    "lifo": (lazy("Order"), _if_true(lazy("last in, first out"))),
    "removeOnComplete": (lazy("Keep completed"), _keep),
    "removeOnFail": (lazy("Keep failed"), _keep),
    "de": (_DEDUPLICATED, _deduplication),
    "deduplication": (_DEDUPLICATED, _deduplication),
    "debounce": (_DEDUPLICATED, _deduplication),
    "parent": (lazy("Parent"), _parent),
    "fpof": (_FAILURE, _if_true(_PARENT_FAILS)),
    "failParentOnFailure": (_FAILURE, _if_true(_PARENT_FAILS)),
    "cpof": (_FAILURE, _if_true(_PARENT_STARTS)),
    "continueParentOnFailure": (_FAILURE, _if_true(_PARENT_STARTS)),
    "idof": (_FAILURE, _if_true(_PARENT_NOTES)),
    "ignoreDependencyOnFailure": (_FAILURE, _if_true(_PARENT_NOTES)),
    "rdof": (_FAILURE, _if_true(_PARENT_FORGETS)),
    "removeDependencyOnFailure": (_FAILURE, _if_true(_PARENT_FORGETS)),
    "kl": (_KEEP_LOGS, _lines),
    "keepLogs": (_KEEP_LOGS, _lines),
    "repeat": (lazy("Repeat"), _repeat),
    "stackTraceLimit": (lazy("Stack traces kept"), _count),
    "sizeLimit": (lazy("Size limit"), _bytes),
    "tm": (_TELEMETRY, _present),
    "telemetry": (_TELEMETRY, _present),
    "omc": (_TELEMETRY, _if_true(lazy("context left out"))),
}
