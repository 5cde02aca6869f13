"""The options of a new job: what the old one had, without what tied that to others, to one id, or to a moment."""

from __future__ import annotations

import json

from queues.actions import NewJob, Stored
from queues.jsonload import Unreadable, load
from queues.operations.copying import copy_of
from queues.types import State

# A copy has no parent, so that nothing is to be done to one.
_OF_PARENTS = ("fpof", "cpof", "idof", "rdof")
# Of a letter's own options: what was meant for the letter among letters.
_OF_LETTERS = ("priority", "lifo", "de", "deduplication", "debounce", *_OF_PARENTS)
# As a job in memory names them, and as BullMQ stores them.
_SHORT = {
    "deduplication": "de",
    "debounce": "de",
    "failParentOnFailure": "fpof",
    "continueParentOnFailure": "cpof",
    "ignoreDependencyOnFailure": "idof",
    "removeDependencyOnFailure": "rdof",
    "keepLogs": "kl",
}


def same(stored: Stored, data: bytes) -> NewJob:
    """The same job with this data. It keeps attempts, backoff, priority, deduplication, how long it is kept, and what
    a trace or another system finds it by; it waits no delay, since it has waited that."""
    return copy_of(stored, data=data, without=_OF_PARENTS, state=State.FAILED)


def told(opts: bytes, name: bytes, data: bytes) -> NewJob | None:
    """A job with options that a letter tells; None where they cannot be read."""
    try:
        given = load(opts)
    except Unreadable:
        return None
    if not isinstance(given, dict):
        return None
    written = json.dumps(_stored(given), separators=(",", ":")).encode()
    return same(Stored({b"name": name, b"data": data, b"opts": written}), data)


def of_letter(stored: Stored, name: bytes, data: bytes) -> NewJob:
    """A job with the letter's own options, where that tells no others."""
    opts = stored.fields.get(b"opts", b"{}")
    plain = Stored({b"name": name, b"data": data, b"opts": opts})
    return copy_of(plain, without=_OF_LETTERS, state=State.FAILED)


def _stored(given: dict[str, object]) -> dict[str, object]:
    """Options as BullMQ stores them: `optsAsJSON` of its `classes/job.ts` (5.81, 6.7)."""
    opts = {_SHORT.get(name, name): value for name, value in given.items() if value is not None}
    telemetry = opts.pop("telemetry", None)
    if isinstance(telemetry, dict):
        kept = {"tm": telemetry.get("metadata"), "omc": telemetry.get("omitContext")}
        opts |= {name: value for name, value in kept.items() if value and name not in opts}
    return opts
