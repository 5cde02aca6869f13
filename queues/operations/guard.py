"""The way into every action: claimed once, refused where it must be, written down before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from queues.actions import Action
from queues.audit.types import Asked
from queues.models import AuditEntry
from queues.types import QueueRef


@dataclass(frozen=True, slots=True)
class Begun:
    """An action that may go on. `again`: this form was sent before, `entry` is that of then, and nothing is to be done.

    `token` is the same whenever the same form is sent: for scripts that must not do something twice.
    """

    entry: AuditEntry
    again: bool
    token: str


def begun(
    asked: Asked,
    action: Action,
    queue: QueueRef,
    *,
    jobs: Sequence[str] = (),
    number: int | None = None,
    selection: str = "",
    parameters: Mapping[str, object] | None = None,
    background: bool = False,
    also: Callable[[AuditEntry], object] | None = None,
) -> Begun:
    """Write the entry (committed when this returns) and check everything that may refuse; raises as the entry says.

    `jobs` are slugs; `number` is how many jobs it is about, where those are not all. `parameters` must be masked
    already. `background`: the entry is `running`. `also` writes further rows in the transaction of the entry.
    OperationalError while the database is busy: nothing may be done then.
    """
    raise NotImplementedError


def ensure_writable(queue: QueueRef) -> None:
    """ReadOnly where nothing may be written to this queue, by the settings or by the server. Cheap: kept for a minute."""
    raise NotImplementedError
