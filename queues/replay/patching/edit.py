"""An edit as a tree: what is put, changed or taken out at which place of a document; and that it does not fit one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from queues.errors import QueueError


@dataclass(frozen=True, slots=True)
class Edit:
    """What is done at one place. All texts have one character a byte, see `document`.

    `put` gives what is put there; with `inside` only where there is no object to go into (None then: it does not fit).
    Neither: what is there is taken out. `path` names the place for people.
    """

    put: Callable[[], str] | None = None
    inside: Mapping[str, Edit] | None = None
    lists: bool = False  # names of digits are places in lists, too
    quoted: str = ""  # the key as it is written where it is added
    path: str = ""
    sets: bool = True  # whether something is put there, or anywhere inside

    @property
    def removes(self) -> bool:
        return self.put is None and self.inside is None

    def goes_into(self, bracket: str) -> bool:
        """Whether it is about what stands inside of such a container."""
        return self.inside is not None and (bracket == "{" or (bracket == "[" and self.lists))


class Unfit(QueueError):
    """An edit cannot be applied to this data; the text says why, and shows nothing of the data but keys of the edit."""
