"""Invented data of a Brazilian shop: customers, orders, payments, files. Nobody in it exists."""

from __future__ import annotations

import itertools
import time
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, TypeAlias

Payload: TypeAlias = dict[str, Any]

FIRST = ("Ana", "Bruno", "Caio", "Débora", "Edu", "Fátima", "Gilberto", "Helena", "Íris", "João", "Luísa", "Marçal")
LAST = ("Abreu", "Brandão", "Conceição", "Duarte", "Esteves", "Figueirêdo", "Gusmão", "Nóbrega", "Pacheco", "Saldanha")
CITIES = (("Belém", "PA"), ("Curitiba", "PR"), ("Fortaleza", "CE"), ("Goiânia", "GO"), ("São Paulo", "SP"))
PRODUCTS = (
    ("CAF-500", "Café em grãos 500 g", 4290, "09012100"),
    ("RED-CRU", "Rede de algodão cru", 18990, "63061910"),
    ("CHI-COU", "Chinelo de couro", 8990, "64042000"),
    ("PAN-PED", "Panela de pedra-sabão", 24900, "68159910"),
    ("CAN-BAR", "Caneca de barro", 3450, "69120000"),
    ("TOA-REN", "Toalha de renda", 15900, "63025100"),
)
MAILS = ("order-shipped", "order-delivered", "review-request", "coupon", "back-in-stock")

CUSTOMERS = 150  # few enough that some have failed more than once, and order among theirs is to be kept

# From where no run before has come to: at a usual rate they make less than ten a second.
_orders = itertools.count(int(time.time() * 10) % 1_000_000_000)


def cpf(rng: Random, digits: int = 11) -> str:
    return "".join(rng.choices("0123456789", k=digits))


def _plain(name: str) -> str:
    return unicodedata.normalize("NFD", name).encode("ascii", "ignore").decode().lower()


def customer(rng: Random) -> Payload:
    """One of the shop's customers, the same in every run."""
    number = rng.randint(1, CUSTOMERS)
    own = Random(number)  # noqa: S311 - invented data, no secret
    first, last = own.choice(FIRST), own.choice(LAST)
    city, state = own.choice(CITIES)
    return {
        # Beyond what a double can hold: readers have to show it digit by digit.
        "id": 9007199254740993127 + number * 6_151,
        "name": f"{first} {last}",
        "email": f"{_plain(first)}.{_plain(last)}@cliente.example",
        "cpf": cpf(own),
        "address": {"city": city, "state": state, "zip": f"{own.randint(10000, 99999)}-{own.randint(0, 999):03d}"},
    }


def items(rng: Random) -> list[Payload]:
    chosen = rng.sample(PRODUCTS, k=rng.randint(1, 3))
    return [
        {"sku": sku, "title": title, "quantity": rng.randint(1, 4), "unitCents": cents, "ncm": ncm}
        for sku, title, cents, ncm in chosen
    ]


def order(rng: Random, *, flawed: bool = False) -> Payload:
    """An order. `flawed`: of its first item a digit of what taxes know it by is missing, so that it gets no invoice."""
    lines = items(rng)
    if flawed:
        lines[0]["ncm"] = lines[0]["ncm"][:-1]
    return {
        "orderId": next(_orders),
        "channel": rng.choice(("site", "app", "marketplace")),
        "customer": customer(rng),
        "items": lines,
        "totalCents": total(lines),
        "shipping": {"carrier": rng.choice(("EntregaJá", "Rota Sul")), "estimateDays": rng.randint(1, 12)},
    }


def total(lines: Sequence[Payload]) -> int:
    return sum(line["quantity"] * line["unitCents"] for line in lines)


def payment(rng: Random, flaw: str = "") -> Payload:
    """A payment as the checkout sends it. `flaw` makes it poison: `cpf`, `amount`, `installments`, or `duplicate`."""
    bought = order(rng)
    made: Payload = {
        "orderId": bought["orderId"],
        "boughtAt": moment(datetime.now(UTC)),
        "customer": bought["customer"],
        "amount": {"cents": bought["totalCents"], "currency": "BRL"},
        "method": "card",
        "installments": rng.choice((1, 1, 2, 3, 6)),
        "card": {"number": "4111111111111111", "holder": bought["customer"]["name"].upper(), "cvv": "123"},
        "gateway": {
            "authorization": f"Bearer {rng.getrandbits(128):032x}",
            "idempotencyKey": f"pay-{bought['orderId']}",
        },
    }
    if flaw == "cpf":
        made["customer"]["cpf"] = cpf(rng, rng.choice((9, 10)))
    elif flaw == "amount":
        del made["amount"]
    elif flaw == "installments":
        made["installments"] = rng.choice(("três", "12x", None))
    elif flaw == "duplicate":
        made["gateway"]["idempotencyKey"] = "pay-48213"
        made["orderId"] = 48213
    return made


def moment(at: datetime) -> str:
    """A moment of UTC as the shop writes it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def mail(rng: Random, template: str = "", *, known: bool = True) -> Payload:
    """A mail to a customer, of whom an address is `known`."""
    who = customer(rng)
    return {
        "template": template or rng.choice(MAILS),
        "to": who["email"] if known else "cliente-sem-email",
        "locale": "pt-BR",
        "variables": {"name": who["name"], "order": next(_orders)},
        "correlationId": f"req_{rng.getrandbits(64):016x}",
    }


def password_reset(rng: Random) -> Payload:
    return {**mail(rng, "password-reset"), "token": f"{rng.getrandbits(160):040x}"}


def catalogue_file(rng: Random, rows: int, *, bad: bool = False) -> Payload:
    supplier = rng.choice(("ceramica-do-vale", "rendeiras-unidas", "torrefacao-serra"))
    return {
        "file": f"s3://loja-example-imports/{supplier}/{time.strftime('%Y-%m-%d')}-{rng.randint(1, 99):02d}.csv",
        "supplier": supplier,
        "rows": rows,
        "badRow": rng.randint(rows // 3, rows) if bad or rng.random() < 0.004 else None,
        "ftp": {"host": "ftp.fornecedor.example", "user": supplier, "password": f"{rng.getrandbits(64):016x}"},
    }


def picture(rng: Random, *, heic: bool = False) -> Payload:
    sku = rng.choice(PRODUCTS)[0]
    ending = "heic" if heic or rng.random() < 0.0003 else "jpg"
    return {
        "source": f"s3://loja-example-media/{sku}/{rng.getrandbits(40):010x}.{ending}",
        "widths": [320, 640, 1280, 1920],
        "bytes": rng.randint(200_000, 9_000_000),
    }


def product(rng: Random) -> Payload:
    sku, title, cents, _ncm = rng.choice(PRODUCTS)
    return {"sku": sku, "title": title, "priceCents": cents, "revision": rng.randint(1, 40), "op": "upsert"}


def parcel(rng: Random) -> Payload:
    return {"orderId": next(_orders), "address": customer(rng)["address"], "weightGrams": rng.randint(80, 9_000)}
