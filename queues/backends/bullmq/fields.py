"""Fields of job hashes, read so that a body of any size costs no more than what is shown of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.replies import array, blob, count, items
from queues.backends.bullmq.scripts import script

BATCH = 100  # hashes a script
LONGEST_CUT = 1024 * 1024  # a script that takes the beginning of a longer field would hold the server for long
LONGEST_READ = 8 * 1024 * 1024  # up to here a plain HGET is quick: it copies the field once, a script four times


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its beginning and its true size. There is none where `size` is 0 and `raw` is empty."""

    raw: bytes
    size: int

    @property
    def whole(self) -> bytes | None:
        """The value, where all of it was read."""
        return self.raw if len(self.raw) == self.size else None


@dataclass(frozen=True, slots=True)
class Hash:
    """The wanted fields that a hash holds. `missing` = no such key; `other` = a key that is no hash."""

    fields: Mapping[bytes, Field]
    missing: bool = False
    other: bool = False

    def get(self, name: bytes) -> Field | None:
        return self.fields.get(name)

    def whole(self, name: bytes) -> bytes | None:
        """A field's value; None where it is missing or too long to have been read whole."""
        found = self.fields.get(name)
        return found.whole if found else None


def read(connection: Connection, keys: Sequence[bytes], caps: Mapping[bytes, int]) -> list[Hash]:
    """The fields named in `caps` of each hash, at most so many bytes of each.

    One script for every 100 hashes; then, only if there are longer fields, a pipeline with one short script for each.
    """
    wanted = [part for name, cap in caps.items() for part in (name, cap)]
    groups = [keys[first : first + BATCH] for first in range(0, len(keys), BATCH)]
    replies = connection.run([script("fields").call(group, *wanted) for group in groups])
    rows = [row for reply, group in zip(replies, groups, strict=True) for row in array(reply, len(group))]
    tables = [_fields(items(row), list(caps)) for row in rows]
    complete(connection, keys, tables, caps)
    return [Hash(table, missing=row == 0, other=row is None) for row, table in zip(rows, tables, strict=True)]


def complete(
    connection: Connection, keys: Sequence[bytes], tables: Sequence[dict[bytes, Field]], caps: Mapping[bytes, int]
) -> None:
    """Read the beginnings of those fields of up to 1 MB that a script left out because they are longer than their cap.

    Of a longer field no more than the size is known afterwards.
    """
    longer = [
        (key, table, name)
        for key, table in zip(keys, tables, strict=True)
        for name, found in table.items()
        if len(found.raw) < found.size <= LONGEST_CUT and caps[name]
    ]
    commands = [script("cut").call([key], name, caps[name], LONGEST_CUT) for key, _table, name in longer]
    for (_key, table, name), reply in zip(longer, connection.run(commands), strict=True):
        if len(parts := items(reply)) == 2:
            table[name] = Field(blob(parts[1]) or b"", count(parts[0]))


def fetch(connection: Connection, key: bytes, table: dict[bytes, Field], caps: Mapping[bytes, int]) -> None:
    """Read the beginnings of one hash's fields of up to 8 MB: one after the other, none of them kept whole.

    A command for each. All of the field travels, which costs the server far less than a script does.
    """
    longer = {name for name, found in table.items() if len(found.raw) < found.size}
    for name in [name for name, cap in caps.items() if name in longer and len(table[name].raw) < cap]:
        if table[name].size > LONGEST_READ:
            continue
        if found := connection.head(("HGET", key, name), caps[name]):
            table[name] = Field(*found)


def _fields(row: Sequence[object], names: Sequence[bytes]) -> dict[bytes, Field]:
    table = {}
    for name, size, value in zip(names, row[::2], row[1::2], strict=False):
        if isinstance(value, bytes):
            table[name] = Field(value, len(value))
        elif isinstance(size, int) and size:
            table[name] = Field(b"", size)
    return table
