"""A new job after the copy of another one: the same name, data and options, and nothing of what became of that one."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from queues.actions import NewJob, Stored
from queues.types import State

# What ties a job to others or to one id: its parent, its schedule, how it is found again.
_TIES = frozenset(("jobId", "parent", "repeat", "repeatJobKey", "rjk", "prevMillis", "timestamp"))


def copy_of(
    stored: Stored,
    *,
    data: bytes | None = None,
    without: Collection[str] = (),
    state: State | None = None,
    now_ms: int = 0,
    id: bytes = b"",  # noqa: A002
) -> NewJob:
    """The new job. Options stay the same bytes where nothing in them has to go.

    `state` is where a removed job was: a delayed one is due when that was, another one at once. None: as its options
    say.
    """
    fields = stored.fields
    opts = _options(fields.get(b"opts", b"{}"))
    wanted = {name: value for name, value in opts.items() if name not in _TIES and name not in without}
    if (priority := _number(fields.get(b"priority"))) is not None and priority != opts.get("priority", 0):
        wanted["priority"] = priority
    if state is not None:
        _set_delay(wanted, fields, state, now_ms)
    raw = fields.get(b"opts", b"{}") if wanted == opts and opts else json.dumps(wanted, separators=(",", ":")).encode()
    return NewJob(fields.get(b"name", b""), fields.get(b"data", b"{}") if data is None else data, raw, id)


def custom_id(job: bytes) -> bool:
    """Whether somebody chose the id of a job: BullMQ's own are numbers, those of schedules begin with `repeat:`."""
    return not job.isdigit() and not job.startswith(b"repeat:")


def _set_delay(wanted: dict[str, object], fields: Mapping[bytes, bytes], state: State, now_ms: int) -> None:
    delay = _number(fields.get(b"delay")) or 0
    planned = wanted.pop("delay", 0)
    if state is not State.DELAYED or delay <= 0:
        return
    # A delay that came later (a retry's, or a changed one) counts from a moment that the job does not tell.
    since = _number(fields.get(b"timestamp")) if planned == delay else None
    left = delay if since is None else since + delay - now_ms
    if left > 0:
        wanted["delay"] = left


def _options(raw: bytes) -> dict[str, object]:
    try:
        opts = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return opts if isinstance(opts, dict) else {}


def _number(raw: bytes | None) -> int | None:
    return int(raw) if raw and raw.isdigit() and len(raw) < 16 else None
