"""`manage.py demo_traffic`: writes what a shop's back end would to BullMQ queues, until it is told to stop."""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.demo import crashy, marker, traffic
from dashboard.environment.values import Wrong, rate


class Command(BaseCommand):
    help = "Write demo jobs to BullMQ queues in a Redis, with the real library, until SIGTERM."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--redis", metavar="URL", help=f"address of the Redis (default: ${crashy.URL_VARIABLE})")
        parser.add_argument(
            "--rate", type=_rate, help="multiplies the flow of jobs, 0 to 50 (default: $MIRANTE_DEMO_RATE, else 1)"
        )
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
            rate=settings.ENV.demo_rate if options["rate"] is None else options["rate"],
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
        return rate(text)
    except Wrong as wrong:
        raise ArgumentTypeError(str(wrong)) from wrong
