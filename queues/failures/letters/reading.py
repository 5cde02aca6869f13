"""What a letter says: the failure it tells of, read by a mapping. Nothing here fails, whatever a letter holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from queues.failed import DATA_CAP, REASON_CAP, STACK_CAP, FailedJob
from queues.failures.letters.finding import origin_of
from queues.failures.letters.mapping import Mapping, mapping_of
from queues.failures.signature import of as signature_of
from queues.failures.types import Found, FoundLetter, How, Thrown
from queues.jsonload import Unreadable, load
from queues.names import show_controls
from queues.paths import MISSING
from queues.quantities import LAST_MS, now_ms
from queues.types import QueueRef

EARLIEST_MS = 946_684_800_000  # the year 2000: a smaller number of ms is a number of seconds, or no time
WHOLE = "data"  # the part that is unmapped where the data is no object at all
TOLD = ("payload", "error", "stack", "failed_at", "queue", "job", "name", "attempts")  # what a letter should say

_NAMED = re.compile(r"[A-Za-z_$][\w$.]{0,98}")


@dataclass(frozen=True, slots=True)
class Mapped:
    """What was found. `payload` is a value out of JSON, MISSING where there is none; `unmapped`: what is missing."""

    thrown: Thrown
    payload: object = MISSING
    failed_ms: int | None = None
    queue: str = ""
    job: bytes | None = None
    attempts: int | None = None
    unmapped: Sequence[str] = ()


def read(letter: FailedJob, mapping: Mapping) -> Mapped:
    """Read a letter. What its data lacks is taken from the job itself where that can tell: reason, stack, name."""
    data = _data(letter)
    if not isinstance(data, dict):
        return Mapped(_thrown_by(letter), payload=data, unmapped=(WHOLE,))
    found = {part: mapping.find(data, part) for part in mapping.paths}
    reason, stack = _text(found["error"]), _stack(found["stack"])
    error_class, code = _text(found["class"]), _text(found["code"])
    told = {
        **found,
        "error": reason if reason is not None else _decoded(letter.reason),
        "stack": stack or MISSING,
        "queue": _text(found["queue"]) or MISSING,
        "job": _id(found["job"]) or MISSING,
        "name": _text(found["name"]) or MISSING,
        "failed_at": MISSING if (failed_ms := moment(found["failed_at"])) is None else failed_ms,
        "attempts": MISSING if (attempts := _count(found["attempts"])) is None else attempts,
    }
    unmapped = tuple(part for part in TOLD if told[part] is MISSING or told[part] is None)
    own = _thrown_by(letter)
    name = told["name"] if isinstance(told["name"], str) else own.name
    if reason is None and not stack:
        thrown = Thrown(own.reason, own.stack, name, own.reason_size)
    else:
        said = reason if reason is not None else stack.partition("\n")[0]
        thrown = Thrown(said, stack or _headline(error_class, code, said), name, len(said))
    queue, job = told["queue"], told["job"]
    return Mapped(
        thrown,
        found["payload"],
        failed_ms,
        queue if isinstance(queue, str) else "",
        job if isinstance(job, bytes) else None,
        attempts,
        unmapped,
    )


def found(queue: QueueRef, letter: FailedJob, keys: Dict[QueueRef, int]) -> FoundLetter:
    """A letter of `queue`, ready to be written. `keys` are all queues of the source with their keys in the database."""
    mapped = read(letter, mapping_of(queue))
    origin = origin_key(queue, mapped.queue, keys) if mapped.job is not None else None
    posted = _bounded(letter.timestamp_ms)
    failed = mapped.failed_ms if mapped.failed_ms is not None else posted
    own = mapped.job if origin is not None and mapped.job is not None else letter.id
    failure = Found(
        own,
        _bounded(failed),
        failed,
        mapped.thrown,
        signature_of(mapped.thrown),
        How.LETTER,
        attempts=mapped.attempts,
    )
    payload, size = _payload(letter, mapped)
    timed = mapped.failed_ms is not None
    return FoundLetter(letter.id, posted, failure, origin, timed, mapped.unmapped, payload, size)


def _payload(letter: FailedJob, mapped: Mapped) -> tuple[bytes | None, int]:
    """What the job was given, and its true size; what was not found is the whole letter as it is stored."""
    if "payload" in mapped.unmapped or WHOLE in mapped.unmapped:
        return letter.data, letter.data_size
    raw = json.dumps(mapped.payload, ensure_ascii=False).encode("utf-8", errors="replace")
    return raw, len(raw)


def moment(value: object) -> int | None:
    """A time as letters write it, in ms since 1970: ISO 8601, ms, seconds, or one of these as text; None for no time.

    Without a zone it is taken as UTC.
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return _iso(str(value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    ms = value if value >= EARLIEST_MS else value * 1000
    return int(ms) if EARLIEST_MS <= ms <= LAST_MS else None


def _iso(text: str) -> int | None:
    try:
        when = datetime.fromisoformat(text.strip()[:40])
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    try:
        ms = round(when.timestamp() * 1000)
    except (OverflowError, ValueError, OSError):
        return None
    return ms if EARLIEST_MS <= ms <= LAST_MS else None


def origin_key(queue: QueueRef, named: str, keys: Dict[QueueRef, int]) -> int | None:
    """The queue that a letter names, as far as we know it; else the one that this queue holds letters of."""
    name = named.encode("utf-8", errors="surrogatepass")
    prefix, colon, rest = name.rpartition(b":")
    for ref in (QueueRef(queue.source, queue.prefix, name), QueueRef(queue.source, prefix, rest) if colon else None):
        if named and ref in keys and ref is not None:
            return keys[ref]
    by_name = None if named else origin_of(queue)
    return keys.get(by_name) if by_name else None


def _data(letter: FailedJob) -> object:
    if letter.data is None or letter.data_size > max(len(letter.data), DATA_CAP):
        return MISSING
    try:
        return load(letter.data)
    except Unreadable:
        return MISSING


def _thrown_by(letter: FailedJob) -> Thrown:
    """What the job that is the letter says of itself."""
    return Thrown(
        _decoded(letter.reason), _decoded(letter.stack) or "", _decoded(letter.name) or "", letter.reason_size
    )


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value[:STACK_CAP]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value) if not isinstance(value, int) or value.bit_length() < 256 else None
    if isinstance(value, (dict, list)) and value:
        return json.dumps(value, ensure_ascii=False)[:REASON_CAP]
    return None


def _stack(value: object) -> str:
    """The newest of several, as BullMQ keeps them."""
    if isinstance(value, list):
        value = value[-1] if value else ""
    return value[:STACK_CAP] if isinstance(value, str) else ""


def _headline(error_class: str | None, code: str | None, reason: str) -> str:
    """The first line of a stack, for a letter that kept the class but no stack."""
    if not error_class or not _NAMED.fullmatch(error_class):
        return ""
    told = f" [{code}]" if code and _NAMED.fullmatch(code) and code not in reason else ""
    return f"{error_class}{told}: {reason}"


def _id(value: object) -> bytes:
    text = _text(value) if isinstance(value, (str, int)) else None
    return text.encode("utf-8", errors="surrogatepass") if text else b""


def _count(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _decoded(raw: bytes | None) -> str | None:
    return None if raw is None else show_controls(raw.decode("utf-8", errors="replace"), keep="\t\n\x1b")


def _bounded(ms: int | None) -> int:
    """A time fit for windows: nothing has failed yet that will."""
    now = now_ms()
    return now if ms is None else max(0, min(ms, now))
