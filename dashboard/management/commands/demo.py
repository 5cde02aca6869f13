"""`manage.py demo`: `up`, with a small shop beside it whose queues have all that can go wrong."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from dashboard.management.commands import up


class Command(up.Command):
    help = "Run everything, and demo traffic that writes BullMQ jobs to the embedded Valkey."

    def wants_traffic(self, options: dict[str, Any]) -> bool:
        if settings.ENV.sources and not options["demo_traffic"]:
            raise CommandError(
                "REDIS_URL or MIRANTE_SOURCES is set, and the demo never writes to a server of yours unasked. "
                "Unset it for a demo on an embedded Valkey, or add --demo-traffic to have the jobs in yours."
            )
        return True
