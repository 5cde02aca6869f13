"""What may be added: ids, data and options by the rules of BullMQ's own library, as it stores them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from queues.actions import LAST_RUN_MS, PRIORITY_MAX, NewJob
from queues.errors import BadInput
from queues.jsonload import Unreadable, load
from queues.payload.parsing import parses

LONGEST_ID = 1_000  # bytes
LONG_NAMES = {
    "deduplication": "de",
    "failParentOnFailure": "fpof",
    "continueParentOnFailure": "cpof",
    "ignoreDependencyOnFailure": "idof",
    "keepLogs": "kl",
    "removeDependencyOnFailure": "rdof",
}
ELSEWHERE = ("parent", "repeat", "repeatJobKey", "prevMillis", "debounce")
_KEYS = (
    "wait paused active prioritized delayed completed failed waiting-children stalled stalled-check limiter id pc "
    "marker meta events repeat de dn metrics mirante groups priority"
)
RESERVED = frozenset(_KEYS.split())
_NUMBER = re.compile(r"-?\d+|NaN")


@dataclass(frozen=True, slots=True)
class Checked:
    """A job as it is stored, and what of its options decides where it goes. "" = none."""

    id: str
    name: bytes
    data: bytes
    opts: bytes
    timestamp: str
    delay: int
    priority: int
    lifo: bool
    deduplication: str
    deduplication_ms: str


def checked(job: NewJob) -> Checked:
    """The job, ready to be stored. BadInput, with what was expected, for what BullMQ's library would refuse too."""
    ensure_json(job.data)
    opts = _options(job)
    delay, timestamp = _whole(opts, "delay", LAST_RUN_MS), _whole(opts, "timestamp", LAST_RUN_MS)
    if (timestamp or int(time.time() * 1000)) + delay > LAST_RUN_MS:
        raise BadInput(_("A job cannot be delayed beyond the year 2039."))
    deduplication, ttl = _deduplication(opts)
    return Checked(
        id=str(opts.get("jobId", "")),
        name=job.name,
        data=job.data,
        opts=_stored(opts),
        timestamp=str(timestamp or ""),
        delay=delay,
        priority=_whole(opts, "priority", PRIORITY_MAX),
        lifo=bool(opts.get("lifo")),
        deduplication=deduplication,
        deduplication_ms=ttl,
    )


def ensure_json(data: bytes) -> None:
    """BadInput where a worker could not read these bytes as JSON."""
    if not parses(data):
        raise BadInput(_("The data is not JSON."))


def ensure_id(job_id: str) -> None:
    """BadInput for an id that BullMQ's library refuses, or that is the name of one of the queue's own keys."""
    parts = job_id.split(":")
    if _NUMBER.fullmatch(job_id):
        raise BadInput(_("An id cannot be a number: BullMQ counts its own."))
    if len(parts) not in (1, 3) or parts[0] == "0":
        raise BadInput(_("An id holds no colon, or two, and does not begin with “0:”."))
    if parts[0] in RESERVED:
        raise BadInput(_("BullMQ itself uses keys of this name: choose another id."))
    if len(job_id.encode("utf-8", errors="replace")) > LONGEST_ID:
        raise BadInput(_("An id has at most 1,000 bytes."))


def _options(job: NewJob) -> dict[str, object]:
    try:
        given = load(job.opts)
    except Unreadable:
        given = None
    if not isinstance(given, dict):
        raise BadInput(_("The options are not a JSON object."))
    opts: dict[str, object] = {"attempts": 0}
    for key, value in given.items():
        name = str(key)
        if name in ELSEWHERE and value is not None:
            raise BadInput(_("The option “%(name)s” cannot be given to a job that is added by hand.") % {"name": name})
        opts[LONG_NAMES.get(name) or name] = value
    opts.pop("jobId", None)
    if job.id:
        opts["jobId"] = identity = _decoded(job.id)
        ensure_id(identity)
    _check(opts, len(job.data))
    return opts


def _check(opts: dict[str, object], size: int) -> None:
    for name, most in (("attempts", 1_000_000), ("kl", 1_000_000_000), ("stackTraceLimit", 1_000_000)):
        _whole(opts, name, most)
    backoff = opts.get("backoff")
    if isinstance(backoff, int | float) and not isinstance(backoff, bool):
        backoff = opts["backoff"] = {"type": "fixed", "delay": backoff}
    if backoff and not (isinstance(backoff, dict) and isinstance(backoff.get("type"), str)):
        raise BadInput(_("A backoff is a number of milliseconds, or an object with a type."))
    limit = opts.get("sizeLimit")
    if isinstance(limit, int) and limit and size > limit:
        raise BadInput(_("The data is larger than its option sizeLimit allows."))
    if sum(bool(opts.get(name)) for name in ("rdof", "fpof", "cpof", "idof")) > 1:
        raise BadInput(_("Only one of the options for a failed child can be given."))


def _deduplication(opts: Mapping[str, object]) -> tuple[str, str]:
    """Id and ms to live, as BullMQ's script would set them."""
    found = opts.get("de")
    if found is None:
        return "", ""
    if not isinstance(found, dict) or not isinstance(found.get("id"), str) or not found["id"]:
        raise BadInput(_("Deduplication is an object with an id."))
    ttl = _whole(found, "ttl", LAST_RUN_MS)
    _encodable(found["id"])
    return found["id"], str(ttl) if ttl and not found.get("keepLastIfActive") else ""


def _stored(opts: Mapping[str, object]) -> bytes:
    written = json.dumps(opts, ensure_ascii=False, separators=(",", ":"))
    try:
        return written.encode()
    except UnicodeEncodeError:  # half a character, which JSON can hold and UTF-8 cannot
        return json.dumps(opts, separators=(",", ":")).encode()


def _whole(options: Mapping[str, object], name: str, most: int) -> int:
    """A number among options; 0 where there is none."""
    value = options.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or not 0 <= value <= most:
        told = _("The option “%(name)s” is a whole number from 0 to %(most)s.")
        raise BadInput(told % {"name": name, "most": f"{most:,}"})
    return int(value)


def _encodable(identity: str) -> None:
    try:
        identity.encode()
    except UnicodeEncodeError:
        raise BadInput(_("Deduplication is an object with an id.")) from None


def _decoded(job_id: bytes) -> str:
    try:
        return job_id.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(_("An id is text in UTF-8.")) from None
