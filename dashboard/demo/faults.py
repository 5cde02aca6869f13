"""What goes wrong in the shop: the weather of the services it calls, and the errors they answer with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TypeAlias


class HttpError(Exception):
    """A service answered with a status that is no success."""


class DatabaseError(Exception):
    """The shop's PostgreSQL refused a statement."""


Fault: TypeAlias = Callable[[Random], Exception]

MAIL_FAULTS: tuple[Fault, ...] = (
    lambda rng: TimeoutError(f"ETIMEDOUT smtp-{rng.randint(1, 3)}.correio.example:587 after 10000 ms"),
    lambda rng: ConnectionResetError("read ECONNRESET smtp.correio.example:587"),
    lambda rng: HttpError(f"429 Too Many Requests from api.correio.example, retry after {rng.randint(5, 60)} s"),
    lambda rng: HttpError("503 Service Unavailable from api.correio.example"),
)
GATEWAY_FAULTS: tuple[Fault, ...] = (
    lambda rng: TimeoutError("ETIMEDOUT gateway.pagarbem.example:443"),
    lambda rng: ConnectionResetError("read ECONNRESET gateway.pagarbem.example:443"),
    lambda rng: HttpError(f"502 Bad Gateway from gateway.pagarbem.example (ray {rng.getrandbits(48):012x})"),
)
TAX_FAULTS: tuple[Fault, ...] = (
    lambda rng: HttpError("503 Service Unavailable from nfe.fazenda.example"),
    lambda rng: TimeoutError("ETIMEDOUT nfe.fazenda.example:443 while waiting for the receipt"),
)
DATABASE_FAULTS: tuple[Fault, ...] = (
    lambda rng: DatabaseError("sorry, too many clients already: connection pool exhausted (20 of 20 in use)"),
    lambda rng: DatabaseError(f"deadlock detected: process {rng.randint(2000, 9000)} waits for ShareLock"),
)
CARRIER_FAULTS: tuple[Fault, ...] = (
    lambda rng: ConnectionRefusedError("connect ECONNREFUSED labels.entregaja.example:8443"),
    lambda rng: HttpError("504 Gateway Timeout from labels.entregaja.example"),
)


TROUBLE = (12, 1, 1)  # while the gateway hardly answers: how often each of its faults, in their order
HARDLY = 0.42  # of the calls to it fail then, so that one of fourteen payments fails three times in a row
SETTLED_S = 20.0  # after it was bought a payment has failed for good, or never does by the gateway


@dataclass
class Weather:
    """Calm for minutes, then a storm in which services fail often, so that failures come in bursts.

    The first storm is at the start: retries and backoff are then in sight at once. Until `trouble_until` (seconds since
    1970) the payment gateway hardly answers.
    """

    started: float = field(default_factory=time.monotonic)
    period: float = 300.0
    storm: float = 20.0
    trouble_until: float = 0.0

    def stormy(self) -> bool:
        return (time.monotonic() - self.started) % self.period < self.storm

    def fault(self, rng: Random, faults: tuple[Fault, ...], *, calm: float, storm: float) -> Exception | None:
        """What a call to a service comes to: one of its `faults`, with the chance that belongs to the weather."""
        if faults is GATEWAY_FAULTS and time.time() < self.trouble_until:
            return rng.choices(faults, TROUBLE)[0](rng) if rng.random() < HARDLY else None
        if rng.random() < (storm if self.stormy() else calm):
            return rng.choice(faults)(rng)
        return None

    def answers(self, bought_at: object) -> bool:
        """Whether the gateway is sure to answer: for what was bought a while ago, so that it goes well when sent again.

        `bought_at` is as payloads have it; where it cannot be read, it was long ago.
        """
        try:
            return time.time() - datetime.fromisoformat(str(bought_at)).timestamp() > SETTLED_S
        except ValueError:
            return True
