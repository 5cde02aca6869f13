"""What the shop's workers do with a job of each queue: take their time, report, and fail as such work fails."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from bullmq import Job, UnrecoverableError

from dashboard.demo import faults
from dashboard.demo.faults import DatabaseError, Weather
from dashboard.demo.payloads import Payload


@dataclass
class Floor:
    """What the workers of one process share."""

    rng: Random
    queues: Mapping[str, Any]
    weather: Weather = field(default_factory=Weather)
    paid: deque[int] = field(default_factory=lambda: deque([48213], maxlen=2_000))

    async def take(self, shortest: float, longest: float) -> None:
        """Be busy for some seconds: mostly near the shortest, at times much longer, as real work is."""
        await asyncio.sleep(self.rng.triangular(shortest, longest, shortest))

    async def log(self, job: Any, row: str) -> None:
        """Add a log line over the producers' connection.

        `job.log` would open a further connection with the worker's name for each line written at the same time, and
        each would look like one more worker.
        """
        await Job.addJobLog(self.queues[job.queue.name], job.id, row, job.opts.get("keepLogs", 0))


Work: TypeAlias = Callable[[Floor, Any, str], Awaitable[Any]]


async def send_mail(floor: Floor, job: Any, _token: str) -> Payload:
    await job.updateProgress(20)
    await floor.take(0.05, 0.3)
    _render(job.data)
    await job.updateProgress(60)
    await floor.take(0.1, 0.9)
    if fault := floor.weather.fault(floor.rng, faults.MAIL_FAULTS, calm=0.05, storm=0.4):
        raise fault
    await job.updateProgress(100)
    return {"messageId": f"<{floor.rng.getrandbits(64):016x}@correio.example>", "accepted": [job.data.get("to")]}


def _render(data: Payload) -> str:
    if "@" not in str(data.get("to", "")):
        raise UnrecoverableError("ValidationError: recipient is not an e-mail address")
    return f"{data.get('template')} for {data['to']}"


async def take_payment(floor: Floor, job: Any, _token: str) -> Payload:
    order_id = job.data.get("orderId")
    await floor.log(job, f"charging order {order_id}")
    _validate_payment(job.data)
    await floor.take(0.1, 0.8)
    fault = floor.weather.fault(floor.rng, faults.GATEWAY_FAULTS, calm=0.03, storm=0.25)
    if fault and not floor.weather.answers(job.data.get("boughtAt")):
        raise fault
    _store_payment(floor, order_id)
    await floor.log(job, "captured")
    return {"nsu": floor.rng.randint(10**11, 10**12), "capturedCents": job.data["amount"]["cents"]}


def _validate_payment(data: Payload) -> None:
    if len(str(data.get("customer", {}).get("cpf", ""))) != 11:
        raise UnrecoverableError("ValidationError: cpf must have 11 digits")
    if "amount" not in data:
        raise UnrecoverableError("TypeError: Cannot read properties of undefined (reading 'cents'): field amount")
    if not isinstance(data.get("installments"), int):
        raise UnrecoverableError(
            f"SchemaError: /installments must be integer, got {type(data.get('installments')).__name__}"
        )


def _store_payment(floor: Floor, order_id: int) -> None:
    if order_id in floor.paid:
        raise DatabaseError(
            'duplicate key value violates unique constraint "payments_order_id_key" '
            f"DETAIL: Key (order_id)=({order_id}) already exists."
        )
    floor.paid.append(order_id)


async def issue_invoice(floor: Floor, job: Any, _token: str) -> Payload:
    if len(job.data["items"][0].get("ncm", "")) != 8:
        raise UnrecoverableError("SchemaError: /items/0/ncm must match pattern ^[0-9]{8}$")
    await floor.take(0.3, 1.5)
    if fault := floor.weather.fault(floor.rng, faults.TAX_FAULTS, calm=0.04, storm=0.3):
        raise fault
    # 44 digits, as a Brazilian invoice key has: no double holds it.
    return {"series": 1, "key": int("35" + "".join(floor.rng.choices("0123456789", k=42)))}


async def fulfil_order(floor: Floor, job: Any, _token: str) -> Payload:
    children = await job.getChildrenValues()
    await floor.take(0.05, 0.4)
    return {"children": len(children), "status": "ready-to-ship"}


async def run_report(floor: Floor, job: Any, _token: str) -> Payload:
    await job.updateProgress({"stage": "query", "percent": 10})
    await floor.take(0.5, 2.5)
    if fault := floor.weather.fault(floor.rng, faults.DATABASE_FAULTS, calm=0.004, storm=0.2):
        raise fault
    await job.updateProgress({"stage": "render", "percent": 80})
    return {"rows": floor.rng.randint(100, 90_000), "url": f"s3://loja-example-reports/{job.name}.xlsx"}


async def import_catalogue(floor: Floor, job: Any, _token: str) -> Payload:
    rows, bad = int(job.data["rows"]), job.data.get("badRow")
    await floor.log(job, f"opening {job.data['file']}: {rows} rows, delimiter ';', encoding latin-1")
    step, skipped = max(1, rows // 40), 0
    for done in range(0, rows, step):
        last = min(done + step, rows)
        # Small files are read in a few seconds, large ones take a minute.
        await floor.take(last * 0.00002 + 0.02, step * 0.006 + 0.03)
        if bad and done < bad <= last:
            await floor.log(job, f"row {bad}: price '12,9O' is not a number")
            raise UnrecoverableError(f"ValidationError: row {bad}: price is not a number")
        duplicates = floor.rng.choice((0, 0, 0, 1, 2))
        skipped += duplicates
        await floor.log(job, f"rows {done + 1} to {last} written, {duplicates} skipped as duplicates")
        await job.updateProgress(
            {"stage": "writing", "done": last, "total": rows, "skipped": skipped, "percent": last * 100 // rows}
        )
    await floor.log(job, "done, search index told")
    return {"written": rows - skipped, "skipped": skipped}


async def resize_picture(floor: Floor, job: Any, _token: str) -> Payload:
    await floor.take(0.1, 0.9)
    if str(job.data.get("source", "")).endswith(".heic"):
        raise UnrecoverableError("Input buffer contains unsupported image format")
    return {"files": len(job.data.get("widths", ())), "savedBytes": floor.rng.randint(10_000, 4_000_000)}


async def make_thumbnail(floor: Floor, _job: Any, _token: str) -> Payload:
    await floor.take(0.9, 3.0)
    return {"width": 160, "height": 160}


async def remind_of_cart(floor: Floor, _job: Any, _token: str) -> Payload:
    await floor.take(0.3, 1.0)
    if fault := floor.weather.fault(floor.rng, faults.MAIL_FAULTS, calm=0.02, storm=0.2):
        raise fault
    return {"sent": True}


async def print_label(floor: Floor, job: Any, _token: str) -> Payload:
    await job.updateProgress(10)
    await floor.take(1.5, 6.0)
    if fault := floor.weather.fault(floor.rng, faults.CARRIER_FAULTS, calm=0.03, storm=0.1):
        raise fault
    return {"label": f"BR{floor.rng.randint(10**8, 10**9)}EX", "pages": 1}


async def close_books(floor: Floor, _job: Any, _token: str) -> Payload:
    await floor.take(1.0, 3.0)
    return {"entries": floor.rng.randint(500, 5_000), "balanced": True}


WORK: dict[str, Work] = {
    "accounting": close_books,
    "cart-reminders": remind_of_cart,
    "email-notifications": send_mail,
    "imports": import_catalogue,
    "invoices": issue_invoice,
    "media.resize": resize_picture,
    "media.thumbnails": make_thumbnail,
    "newsletter": send_mail,
    "orders": fulfil_order,
    "payments": take_payment,
    "reports": run_report,
    "shipping-labels": print_label,
}
