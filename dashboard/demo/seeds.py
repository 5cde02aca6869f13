"""The first history of an empty database, so that every page has something to show within seconds."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import Any, TypeAlias

from dashboard.demo import marker, past, payloads, streams
from dashboard.demo.catalog import QUEUES
from dashboard.demo.shop import Shop

HOUR_MS = 3_600_000
TZ = "America/Sao_Paulo"

Seed: TypeAlias = Callable[[Shop, Random], Awaitable[Any]]


async def plant(shop: Shop, rng: Random) -> None:
    """Write each part of the history once in the life of the database; schedules that are missing at every start."""

    async def once(seed: Seed) -> None:
        if await marker.first_time(shop.client, seed.__name__):
            await seed(shop, rng)

    for seed in SEEDS:
        await shop.persist(partial(once, seed))
    await shop.persist(lambda: schedules(shop))


async def schedules(shop: Shop) -> None:
    """Declare the schedules that are missing; what an operator changed in the others stays as it is."""
    reports = shop.queues["reports"]
    bounded = {"removeOnComplete": 100, "removeOnFail": 50}
    plans: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
        ("daily-sales", {"pattern": "0 7 * * *", "tz": TZ}, {}),
        ("weekly-tax", {"pattern": "30 6 * * 1", "tz": TZ}, {}),
        ("month-end", {"pattern": "0 2 1 * *", "tz": TZ}, {}),
        ("exchange-rates", {"every": 30_000}, bounded),
        ("stock-snapshot", {"every": 120_000}, {}),
    )
    for name, repeat, options in plans:
        if await reports.isJobScheduler(name):
            continue
        data = {"report": name, "recipients": ["diretoria@loja.example"]}
        try:
            await reports.upsertJobScheduler(name, repeat, name, data, options)
        except TypeError as error:
            # The library's refusal: a job of a removed schedule still holds the id of the next run.
            shop.say(f"Schedule {name} not declared: {error}")


async def paused_newsletter(shop: Shop, rng: Random) -> None:
    await shop.queues["newsletter"].pause()
    await _backlog(shop, rng, "newsletter", "july-offers", [payloads.mail(rng, "july-offers") for _ in range(120)])


async def search_backlog(shop: Shop, rng: Random) -> None:
    await _backlog(shop, rng, "search-index", "index-product", [payloads.product(rng) for _ in range(400)])


async def limits(shop: Shop, rng: Random) -> None:
    """Limits that the library keeps in Redis: one that holds, and one that is never reached."""
    await shop.queues["accounting"].setGlobalConcurrency(1)
    await shop.queues["email-notifications"].setGlobalRateLimit(1_000, 1_000)


async def mails(shop: Shop, rng: Random) -> None:
    await _repeat(60, streams.mail, shop, rng)
    # No address at all: fails at once and stays in the failed set.
    broken = payloads.mail(rng, "order-shipped", known=False)
    await shop.queues["email-notifications"].add("order-shipped", broken)


async def orders(shop: Shop, rng: Random) -> None:
    await _repeat(30, streams.order, shop, rng)


async def payments(shop: Shop, rng: Random) -> None:
    flaws = [""] * 40 + sorted({*streams.FLAWS})
    rng.shuffle(flaws)
    jobs = [{"name": "capture-payment", "data": payloads.payment(rng, flaw)} for flaw in flaws]
    await shop.queues["payments"].addBulk(jobs)


async def reminders(shop: Shop, rng: Random) -> None:
    await streams.campaign(shop, rng)
    await _repeat(25, streams.reminder, shop, rng)


async def imports(shop: Shop, rng: Random) -> None:
    files = [{**payloads.catalogue_file(rng, 400), "badRow": bad} for bad in (None, 317, None)]
    files += [payloads.catalogue_file(rng, rows) for rows in (9_000, 12_000, 6_000, 4_000)]
    await shop.queues["imports"].addBulk([{"name": "catalogue", "data": data} for data in files])


async def reports(shop: Shop, rng: Random) -> None:
    names = ("abandoned-carts", "margin-by-supplier", "returns")
    jobs = [{"name": rng.choice(names), "data": {"report": "ad-hoc", "requestedBy": "helena"}} for _ in range(6)]
    await shop.queues["reports"].addBulk(jobs)


async def media(shop: Shop, rng: Random) -> None:
    await _repeat(25, streams.picture, shop, rng)
    await _repeat(30, streams.thumbnail, shop, rng)


async def parcels(shop: Shop, rng: Random) -> None:
    await _repeat(10, streams.parcel, shop, rng)


async def stuck_months(shop: Shop, rng: Random) -> None:
    """Parents that wait for a child in a queue that no worker reads."""
    for month, hours in (("2026-05", 40), ("2026-06", 5)):
        at = _ago(hours * HOUR_MS)
        child = {"name": "export-ledger", "queueName": "ledger-export", "data": {"month": month, "format": "sped"}}
        await shop.flows.add(
            {
                "name": "close-month",
                "queueName": "accounting",
                "data": {"month": month, "ledgers": ["1.1", "2.1", "3.1"]},
                "opts": {**QUEUES["accounting"].options, "timestamp": at},
                "children": [{**child, "opts": {**QUEUES["ledger-export"].options, "timestamp": at}}],
            }
        )


async def openings(shop: Shop, _rng: Random) -> None:
    """Every queue exists at once, as after its first job: whoever looks for queues then finds them all."""
    for name in QUEUES:
        await shop.client.hsetnx(f"bull:{name}:meta", "opts.maxLenEvents", 10_000)


async def past_week(shop: Shop, rng: Random) -> None:
    await past.plant(shop, rng)


SEEDS: tuple[Seed, ...] = (
    openings,
    past_week,
    limits,
    paused_newsletter,
    stuck_months,
    payments,
    imports,
    mails,
    orders,
    reminders,
    reports,
    media,
    parcels,
    search_backlog,
)


async def _repeat(times: int, add: streams.Add, shop: Shop, rng: Random) -> None:
    for _ in range(times):
        await add(shop, rng)


async def _backlog(shop: Shop, rng: Random, queue: str, name: str, bodies: list[payloads.Payload]) -> None:
    """Jobs that were created over the last three hours, the oldest first."""
    ages = sorted((rng.randint(0, 3 * HOUR_MS) for _ in bodies), reverse=True)
    jobs = [
        {"name": name, "data": data, "opts": {"timestamp": _ago(age)}} for data, age in zip(bodies, ages, strict=True)
    ]
    await shop.queues[queue].addBulk(jobs)


def _ago(milliseconds: int) -> int:
    return round(time.time() * 1000) - milliseconds
