"""A week of failures from before the demo began: what always fails now and then, what came in waves, what is new.

They are written as the library leaves jobs that have failed for good, with the words and stacks of the shop's own work:
what fails while the demo runs goes on where these end.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from dashboard.demo import faults, payloads
from dashboard.demo.catalog import DEAD_LETTERS, QUEUES
from dashboard.demo.deadletters import letter_of
from dashboard.demo.faults import Fault
from dashboard.demo.payloads import Payload
from dashboard.demo.rehearsal import Ended, ended
from dashboard.demo.shop import Shop

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
WEEK_H = 7 * 24
SHOP_TIME = ZoneInfo("America/Sao_Paulo")
BUSIEST_H = 16  # of the shop's day; twelve hours off it is quietest
WAVE_MS = 40 * MINUTE_MS  # so long before the demo began the gateway stopped answering
TROUBLE_S = 600.0  # and so long after that it still hardly answers
CHECKOUT_MS = 8_000  # from a purchase to the failure of its payment
LETTERS_MS = 2 * HOUR_MS  # letters of failures that are not older than this are still there
AT_ONCE = 200  # jobs in one transaction

Make: TypeAlias = Callable[[Random], Payload]


@dataclass(frozen=True)
class Kind:
    """Jobs that fail in one way."""

    queue: str
    name: str
    make: Make
    fault: Fault | None = None  # what the service answers that they call; None: it is in the payload


@dataclass(frozen=True)
class Past:
    """A job that failed at a moment, ms since 1970."""

    at_ms: int
    kind: Kind
    data: Payload
    ended: Ended


def _payment(flaw: str) -> Make:
    return lambda rng: payloads.payment(rng, flaw)


GATEWAY_TIMEOUT = Kind("payments", "capture-payment", payloads.payment, faults.GATEWAY_FAULTS[0])
DEADLOCK = Kind("reports", "margin-by-supplier", lambda _rng: {"report": "ad-hoc"}, faults.DATABASE_FAULTS[1])
NO_LABELS = Kind("shipping-labels", "print-label", payloads.parcel, faults.CARRIER_FAULTS[0])

# What always fails now and then, with how often an hour on the mean of a day.
ALWAYS: tuple[tuple[float, Kind], ...] = (
    (5.0, GATEWAY_TIMEOUT),
    (0.5, replace(GATEWAY_TIMEOUT, fault=faults.GATEWAY_FAULTS[1])),
    (0.5, replace(GATEWAY_TIMEOUT, fault=faults.GATEWAY_FAULTS[2])),
    (2.5, Kind("payments", "capture-payment", _payment("cpf"))),
    (1.2, Kind("payments", "capture-payment", _payment("amount"))),
    (1.2, Kind("payments", "capture-payment", _payment("installments"))),
    (1.2, Kind("payments", "capture-payment", _payment("duplicate"))),
    (0.7, Kind("email-notifications", "order-shipped", lambda rng: payloads.mail(rng, "order-shipped", known=False))),
    (0.8, Kind("media.resize", "resize", lambda rng: payloads.picture(rng, heic=True))),
    (0.5, Kind("imports", "catalogue", lambda rng: payloads.catalogue_file(rng, 900, bad=True))),
    (0.4, Kind("invoices", "issue-invoice", lambda rng: payloads.order(rng, flawed=True))),
    (0.6, replace(DEADLOCK, name="exchange-rates", fault=faults.DATABASE_FAULTS[0])),
)
# What came in waves: how many, from when until when before the demo began.
WAVES: tuple[tuple[int, int, int, Kind], ...] = (
    (110, WAVE_MS, 0, GATEWAY_TIMEOUT),
    (34, 27 * HOUR_MS, 26 * HOUR_MS, NO_LABELS),
    (14, 6 * DAY_MS, 6 * DAY_MS - HOUR_MS, DEADLOCK),
    (5, 100 * MINUTE_MS, 5 * MINUTE_MS, DEADLOCK),
)


async def plant(shop: Shop, rng: Random) -> None:
    """Write that week, and letters of its newest payments and the two oldest. About 2,500 jobs, in a few seconds."""
    now = round(time.time() * 1000)
    moments = sorted([*_always(rng, now), *_waves(rng, now)], key=lambda moment: moment[0])
    letters: list[tuple[int, Payload]] = []
    for some in (moments[at : at + AT_ONCE] for at in range(0, len(moments), AT_ONCE)):
        past = [await _past(rng, *moment) for moment in some]
        ids = await _write(shop, past)
        letters += [(each.at_ms, _letter(each, job)) for each, job in zip(past, ids, strict=True) if _posted(each)]
    kept = [*letters[:2], *(each for each in letters[2:] if each[0] >= now - LETTERS_MS)]
    jobs = [{"name": "dead-letter", "data": data, "opts": {"timestamp": at + 40}} for at, data in kept]
    await shop.queues[DEAD_LETTERS].addBulk(jobs)


def _always(rng: Random, now: int) -> Iterator[tuple[int, Kind]]:
    """Each at random moments, more of them by day than by night."""
    for per_hour, kind in ALWAYS:
        at = now - WEEK_H * HOUR_MS
        while (at := at + round(rng.expovariate(per_hour * 2) * HOUR_MS)) < now:
            if rng.random() * 2 < busy(at):
                yield at, kind


def busy(at_ms: int) -> float:
    """How busy the shop is at a moment, 1 on the mean of a day."""
    moment = datetime.fromtimestamp(at_ms / 1000, SHOP_TIME)
    hour = moment.hour + moment.minute / 60
    return 1 + 0.6 * math.cos((hour - BUSIEST_H) / 24 * 2 * math.pi)


def _waves(rng: Random, now: int) -> Iterator[tuple[int, Kind]]:
    for number, begin, end, kind in WAVES:
        for _ in range(number):
            yield now - rng.randint(end, begin), kind


async def _past(rng: Random, at_ms: int, kind: Kind) -> Past:
    data = kind.make(rng)
    if "boughtAt" in data:
        data["boughtAt"] = payloads.moment(datetime.fromtimestamp((at_ms - CHECKOUT_MS) / 1000, UTC))
    return Past(at_ms, kind, data, await ended(rng, kind.queue, kind.name, data, kind.fault))


async def _write(shop: Shop, past: Sequence[Past]) -> list[str]:
    """As the library's own script leaves failed jobs; their ids."""
    ids = {queue: await _ids(shop, queue, past) for queue in {each.kind.queue for each in past}}
    named = [next(ids[each.kind.queue]) for each in past]
    async with shop.client.pipeline(transaction=True) as pipe:
        for each, job in zip(past, named, strict=True):
            key = f"bull:{each.kind.queue}"
            pipe.hset(f"{key}:{job}", mapping=_fields(each))
            pipe.zadd(f"{key}:failed", {job: each.at_ms})
        await pipe.execute()
    return named


async def _ids(shop: Shop, queue: str, past: Iterable[Past]) -> Iterator[str]:
    number = sum(each.kind.queue == queue for each in past)
    last = int(await shop.client.incrby(f"bull:{queue}:id", number))
    return map(str, range(last - number + 1, last + 1))


def _fields(past: Past) -> Mapping[str, str | int]:
    """The hash of a job that has failed."""
    attempts = past.ended.attempts
    began = past.at_ms - 700 - 3_000 * (attempts - 1)
    return {
        "name": past.kind.name,
        "data": _json(past.data),
        "opts": _json({"attempts": 0, **QUEUES[past.kind.queue].options, "delay": 0}),
        "timestamp": began,
        "delay": 0,
        "priority": 0,
        "processedOn": past.at_ms - 400,
        "finishedOn": past.at_ms,
        "atm": attempts,
        "ats": attempts,
        "failedReason": past.ended.reason,
        "stacktrace": _json([past.ended.stack] * attempts),
    }


def _posted(past: Past) -> bool:
    return past.kind.queue == "payments"


def _letter(past: Past, job: str) -> Payload:
    origin = {"queue": past.kind.queue, "jobId": job, "jobName": past.kind.name, "attempts": past.ended.attempts}
    at = datetime.fromtimestamp((past.at_ms + 3) / 1000, UTC)
    return letter_of(past.data, past.ended.reason, past.ended.stack, at, origin)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
