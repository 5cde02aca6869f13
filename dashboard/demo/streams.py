"""The shop's producers: which jobs arrive, how often, and when a full queue makes them stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from dashboard.demo import payloads
from dashboard.demo.catalog import QUEUES, Options
from dashboard.demo.shop import Shop

MINUTE_MS = 60_000
UNFINISHED = ("active", "delayed", "paused", "prioritized", "waiting", "waiting-children")
COUNT_SECONDS = 5.0
FLAWS = ("cpf", "cpf", "amount", "installments", "duplicate")
FLAWED = 0.0025  # of the payments: some six an hour, as in the week before (see `past`)

Add: TypeAlias = Callable[[Shop, Random], Awaitable[None]]


class Room:
    """Whether a queue still takes jobs. Counts at most once in five seconds and adds up in between."""

    def __init__(self, shop: Shop, queue: str) -> None:
        self._queue = shop.queues[queue]
        self._cap = QUEUES[queue].cap
        self._unfinished = 0
        self._counted = float("-inf")

    async def take(self, jobs: int = 1) -> bool:
        if time.monotonic() - self._counted > COUNT_SECONDS:
            self._unfinished = await self._queue.getJobCountByTypes(*UNFINISHED)
            self._counted = time.monotonic()
        if self._unfinished + jobs > self._cap:
            return False
        self._unfinished += jobs
        return True


@dataclass(frozen=True)
class Stream:
    """Jobs of one kind. `per_second` is the mean at rate 1; `jobs` is how many of the queue's jobs one `add` makes."""

    queue: str
    per_second: float
    add: Add
    jobs: int = 1

    async def run(self, shop: Shop, rng: Random, rate: float) -> None:
        """Add at random moments, while there is room, until the shop closes."""
        room = Room(shop, self.queue)

        async def once() -> None:
            if await room.take(self.jobs):
                await self.add(shop, rng)

        while not shop.closing:
            await asyncio.sleep(rng.expovariate(self.per_second * rate))
            await shop.persist(once)


async def mail(shop: Shop, rng: Random) -> None:
    if rng.random() < 0.15:
        await shop.queues["email-notifications"].add("password-reset", payloads.password_reset(rng), {"priority": 1})
    else:
        data = payloads.mail(rng, known=rng.random() > 0.0002)
        await shop.queues["email-notifications"].add(data["template"], data)


async def order(shop: Shop, rng: Random) -> None:
    """An order that waits for its invoice and its mail; some invoices are held back, so that waiting is in sight."""
    bought = payloads.order(rng, flawed=rng.random() < 0.0004)
    held = {"delay": rng.randint(20_000, 400_000)} if rng.random() < 0.12 else {}
    await shop.flows.add(
        {
            "name": "fulfil-order",
            "queueName": "orders",
            "data": bought,
            "opts": QUEUES["orders"].options,
            "children": [
                _child("invoices", "issue-invoice", bought, {**held, "failParentOnFailure": True}),
                _child("email-notifications", "order-confirmation", payloads.mail(rng, "order-confirmation"), {}),
            ],
        }
    )


def _child(queue: str, name: str, data: payloads.Payload, options: Options) -> dict[str, Any]:
    return {"name": name, "queueName": queue, "data": data, "opts": {**QUEUES[queue].options, **options}}


async def payment(shop: Shop, rng: Random) -> None:
    flaw = rng.choice(FLAWS) if rng.random() < FLAWED else ""
    await shop.queues["payments"].add("capture-payment", payloads.payment(rng, flaw))


async def picture(shop: Shop, rng: Random) -> None:
    await shop.queues["media.resize"].add("resize", payloads.picture(rng))


async def thumbnail(shop: Shop, rng: Random) -> None:
    options = {"priority": rng.choice((1, 5, 5, 10, 10, 10, 100))}
    await shop.queues["media.thumbnails"].add("thumbnail", payloads.picture(rng), options)


async def parcel(shop: Shop, rng: Random) -> None:
    await shop.queues["shipping-labels"].add("print-label", payloads.parcel(rng))


async def product(shop: Shop, rng: Random) -> None:
    await shop.queues["search-index"].add("index-product", payloads.product(rng))


async def newsletter(shop: Shop, rng: Random) -> None:
    await shop.queues["newsletter"].add("july-offers", payloads.mail(rng, "july-offers"))


async def catalogue(shop: Shop, rng: Random) -> None:
    await shop.queues["imports"].add("catalogue", payloads.catalogue_file(rng, rng.randint(2_000, 12_000)))


async def reminder(shop: Shop, rng: Random) -> None:
    options = {"delay": rng.randint(3 * MINUTE_MS, 40 * MINUTE_MS)}
    await shop.queues["cart-reminders"].add("cart-reminder", payloads.mail(rng, "cart-reminder"), options)


async def campaign(shop: Shop, rng: Random) -> None:
    """Forty reminders due in the very same minute, as a campaign that somebody set to a round hour."""
    now = round(time.time() * 1000)
    due = (now // MINUTE_MS + 10) * MINUTE_MS
    await shop.queues["cart-reminders"].addBulk(
        [
            {
                "name": "campaign-reminder",
                "data": payloads.mail(rng, "campaign-reminder"),
                "opts": {"delay": due - now + rng.randint(0, 20_000), "timestamp": now},
            }
            for _ in range(40)
        ]
    )


async def reconciliation(shop: Shop, rng: Random) -> None:
    await shop.queues["accounting"].add("reconcile-day", {"day": time.strftime("%Y-%m-%d"), "account": "1.1.02"})


STREAMS = (
    Stream("email-notifications", 1.2, mail),
    Stream("orders", 0.3, order),
    Stream("payments", 0.7, payment),
    Stream("media.resize", 0.8, picture),
    Stream("media.thumbnails", 0.6, thumbnail),
    Stream("shipping-labels", 0.5, parcel),
    Stream("search-index", 0.1, product),
    Stream("newsletter", 0.04, newsletter),
    Stream("imports", 0.03, catalogue),
    Stream("cart-reminders", 0.03, reminder),
    Stream("cart-reminders", 0.003, campaign, jobs=40),
    Stream("accounting", 0.02, reconciliation),
)
