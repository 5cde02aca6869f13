"""The last reading of a source as text for the database, and back: defaults are left out to keep it small."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields

from queues.health import Health, Persistence
from queues.types import Counts, Oldest, State

Stored = Mapping[str, tuple[Counts, int | None]]  # by slug: the counts, and how many workers (None = not known)

_ORDER = tuple(State)
_HEALTH_FIELDS = frozenset(field.name for field in fields(Health))


def dump_counts(rows: Iterable[tuple[str, Counts, int | None]]) -> str:
    """Rows of slug, counts and workers as JSON: about 60 bytes a queue, plain ASCII."""
    return json.dumps({slug: _row(counts, workers) for slug, counts, workers in rows}, separators=(",", ":"))


def load_counts(text: str) -> Stored:
    """The inverse of `dump_counts`. A row that is not one of ours, as an older release may have left, is left out."""
    stored: dict[str, tuple[Counts, int | None]] = {}
    for slug, row in (json.loads(text) if text else {}).items():
        try:
            stored[slug] = _counts(row), row.get("w")
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    return stored


def dump_health(health: Health) -> str:
    """A health as JSON."""
    return json.dumps(asdict(health))


def load_health(text: str) -> Health | None:
    """The inverse of `dump_health`; None when there is none, or it was written by a release that knew other fields."""
    if not text:
        return None
    known = {name: value for name, value in json.loads(text).items() if name in _HEALTH_FIELDS}
    kinds = known.get("persistence")
    try:
        known["persistence"] = None if kinds is None else tuple(map(Persistence, kinds))
        return Health(**{**known, "refused": tuple(known.get("refused", ()))})
    except (TypeError, ValueError):
        return None


def _row(counts: Counts, workers: int | None) -> dict[str, object]:
    oldest = counts.oldest
    row: dict[str, object] = {
        "n": [counts.by_state.get(state) for state in _ORDER],  # null: this state could not be read
        "w": workers,
        "p": counts.paused,
        "k": counts.parked,
        "o": [oldest.created_ms, oldest.at_least, oldest.since_ms] if oldest else None,
        "v": counts.version,
        "c": counts.concurrency,
        "r": counts.rate_max,
        "d": counts.rate_duration_ms,
        "x": not counts.exists,
    }
    return {key: value for key, value in row.items() if value is not None and value is not False and value != ""}


def _counts(row: Mapping[str, object]) -> Counts:
    numbers, oldest = row["n"], row.get("o")
    if not isinstance(numbers, list) or len(numbers) != len(_ORDER):
        raise ValueError("not the counts of a queue")
    return Counts(
        by_state={state: int(number) for state, number in zip(_ORDER, numbers, strict=True) if number is not None},
        paused=bool(row.get("p")),
        parked=_number(row.get("k")) or 0,
        oldest=_oldest(*oldest) if isinstance(oldest, list) else None,
        version=str(row.get("v", "")),
        concurrency=_number(row.get("c")),
        rate_max=_number(row.get("r")),
        rate_duration_ms=_number(row.get("d")),
        exists=not row.get("x"),
    )


def _oldest(created: object, at_least: object, since: object) -> Oldest:
    return Oldest(_number(created) or 0, bool(at_least), _number(since))


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
