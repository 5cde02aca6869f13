"""Rows of a plan while it is frozen: read and written below the ORM, since there are up to a million of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from operator import attrgetter

from django.db import connection

from queues.models import ReplayJob
from queues.replay.types import CHOICES, Place
from queues.sendings import Conflict

BATCH = 1_000  # rows that are looked at together
NOTE = 500  # characters

_TABLE = ReplayJob._meta.db_table
# Of two conflicts of a job that a person may send all the same, the one that is told: what could go wrong most.
_GRAVE = (
    Conflict.SENT_BEFORE,
    Conflict.TWIN,
    Conflict.ID_KEPT,
    Conflict.PARENT_FAILED,
    Conflict.NO_KEY,
    Conflict.PARENT_GONE,
    Conflict.NONE,
)


def is_out(conflict: str) -> bool:
    """Whether a job with this conflict cannot be sent, whatever somebody chooses."""
    return conflict != Conflict.NONE.value and Conflict(conflict) not in CHOICES


@dataclass(slots=True)
class New:
    """A row to be. Queues are keys."""

    queue: int
    job: str
    seen: str
    state: str
    acts: str
    target: int | None
    letter_queue: int | None = None
    letter: str = ""
    conflict: str = ""
    note: str = ""


@dataclass(slots=True)
class Item:
    """What is known of a row; queues and the group are keys. See `queues.models.ReplayJob`."""

    pk: int
    queue: int
    job: str
    seen: str
    state: str
    acts: str
    target: int | None
    letter_queue: int | None
    letter: str
    same: int | None
    name: str
    created_ms: int | None
    failed_ms: int | None
    group: int | None
    permanent: bool
    conflict: str
    note: str
    key: int | None

    @property
    def out(self) -> bool:
        """Whether it cannot be sent, whatever somebody chooses."""
        return is_out(self.conflict)

    def blame(self, conflict: Conflict, note: str = "") -> None:
        """Keep a conflict, unless a graver one is known."""
        now = Conflict(self.conflict)
        if conflict is Conflict.NONE or self.out:
            return
        if conflict not in CHOICES or _GRAVE.index(conflict) < _GRAVE.index(now):
            self.conflict, self.note = conflict.value, note[:NOTE].replace("\x00", "�")

    def clear(self) -> None:
        """Forget what was in the way."""
        self.conflict, self.note = Conflict.NONE.value, ""


_FOREIGN = frozenset({"queue", "target", "letter_queue", "group"})


def _columns(kind: type[New | Item]) -> list[str]:
    """What the fields are called in the table."""
    return [f"{name}_id" if name in _FOREIGN else name for name in _names(kind)]


def _names(kind: type[New | Item]) -> list[str]:
    return [each.name for each in fields(kind) if each.name != "pk"]


# What a new row has besides: the defaults of the model, which SQL does not know.
_FIXED = {"name": "", "permanent": False, "place": Place.READY.value, "rank": 0, "canary": False, "made": ""}
_FIXED |= {"fate": "", "tries": 0, "original": ""}
_INSERTED = ["replay_id", *_columns(New), *_FIXED]
_INSERT = (
    f"INSERT INTO {_TABLE} ({', '.join(_INSERTED)})"  # noqa: S608
    f" VALUES ({', '.join(['%s'] * len(_INSERTED))}) ON CONFLICT DO NOTHING"
)
_READ = (
    f"SELECT id, {', '.join(_columns(Item))} FROM {_TABLE}"  # noqa: S608
    " WHERE replay_id = %s AND id > %s ORDER BY id LIMIT %s"
)
_WRITE = f"UPDATE {_TABLE} SET {', '.join(f'{name} = %s' for name in _columns(Item))} WHERE id = %s"  # noqa: S608
_of_new, _of_item = attrgetter(*_names(New)), attrgetter(*_names(Item), "pk")

# What is shared with sending asks for of a row, besides its key.
_OF_ROW = ("job", "seen", "state", "acts", "letter")
_QUEUES_OF_ROW = ("queue", "target", "letter_queue")


def insert(replay: int, new: Iterable[New]) -> int:
    """Write rows; one that is there already stays as it is. Gives how many are new. Within a transaction."""
    fixed = tuple(_FIXED.values())
    rows = [(replay, *_of_new(each), *fixed) for each in new]
    if not rows:
        return 0
    with connection.cursor() as cursor:
        cursor.executemany(_INSERT, rows)
        return int(cursor.rowcount)


def read(replay: int, after: int, most: int = BATCH) -> list[Item]:
    """The next rows of a plan behind one, by their keys."""
    with connection.cursor() as cursor:
        cursor.execute(_READ, [replay, after, most])
        items = [Item(*values) for values in cursor.fetchall()]
    for item in items:
        item.permanent = bool(item.permanent)
    return items


def write(items: Iterable[Item]) -> None:
    """Write what is known of rows. Within a transaction."""
    with connection.cursor() as cursor:
        cursor.executemany(_WRITE, [_of_item(item) for item in items])


def by_queue(items: Iterable[Item]) -> dict[int, list[Item]]:
    """The same, by the queues that they are in."""
    found: dict[int, list[Item]] = {}
    for item in items:
        found.setdefault(item.queue, []).append(item)
    return found


def as_row(item: Item, row: ReplayJob) -> ReplayJob:
    """The same as the model has it. `row` is filled anew for each, and not saved: to make a million takes too long."""
    row.pk = item.pk
    for name in _OF_ROW:
        setattr(row, name, getattr(item, name))
    for name in _QUEUES_OF_ROW:
        setattr(row, f"{name}_id", getattr(item, name))
    return row


@dataclass(slots=True)
class Attempts:
    """What looking at a batch found besides its rows: how many jobs get how many attempts more."""

    kept: dict[int, int] = field(default_factory=dict)
    reset: dict[int, int] = field(default_factory=dict)

    def add(self, made: int | None, most: int | None, *, copy: bool = False) -> None:
        """A job that has made so many attempts of at most so many. A copy begins anew, whatever is chosen."""
        if most is None:
            return
        whole = max(1, most)
        left = whole if copy else max(1, whole - (made or 0))
        self.kept[left] = self.kept.get(left, 0) + 1
        self.reset[whole] = self.reset.get(whole, 0) + 1
