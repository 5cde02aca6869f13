"""`manage.py demo_traffic`: writes what a shop's back end would to BullMQ queues, until it is told to stop."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.demo import crashy, marker, traffic

HIGHEST_RATE = 50.0


class Command(BaseCommand):
    help = "Write demo jobs to BullMQ queues in a Redis, with the real library, until SIGTERM."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--redis", metavar="URL", help=f"address of the Redis (default: ${crashy.URL_VARIABLE})")
        parser.add_argument("--rate", help="multiplies the flow of jobs, 0 to 50 (default: $MIRANTE_DEMO_RATE, else 1)")
        parser.add_argument("--crash-every", type=float, default=90.0, metavar="SECONDS", help="0: never kill a worker")
        parser.add_argument("--demo-traffic", action="store_true", help="write even where others have keys")
        parser.add_argument(
            "--role", choices=("shop", "crashy"), default="shop", help="crashy: the fragile worker only"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        url = options["redis"] or os.environ.get(crashy.URL_VARIABLE, "")
        if not url:
            raise CommandError(f"Name the Redis to write to: --redis URL, or {crashy.URL_VARIABLE}.")
        if options["role"] == "crashy":
            asyncio.run(traffic.run_crashy(url, self._say))
            return
        plan = traffic.Plan(
            url=url,
            rate=_rate(options["rate"] or os.environ.get("MIRANTE_DEMO_RATE") or "1"),
            crash_every=max(0.0, options["crash_every"]),
            asked=options["demo_traffic"],
        )
        try:
            asyncio.run(traffic.run_shop(plan, self._say))
        except marker.ForeignDatabase as error:
            raise CommandError(str(error)) from error

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= HIGHEST_RATE:
        raise CommandError(f"The rate is a number from 0 to {HIGHEST_RATE:g}, not “{text}”.")
    return rate
