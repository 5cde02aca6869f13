"""`manage.py demo`: `up`, with a small shop beside it whose queues have all that can go wrong."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connections

from dashboard.environment import Environment
from dashboard.first_admin import FirstAdmin
from dashboard.management.commands import up
from dashboard.processes.child import Program
from dashboard.processes.valkey import EmbeddedValkey
from queues import deploys
from queues.models import Deploy
from queues.quantities import MINUTE, now_ms

VERSION = "loja 4.18.0"
DEPLOY_MS = 46 * MINUTE  # before the demo first began: six minutes before its gateway stopped answering


class Command(up.Command):
    help = "Run everything, and demo traffic that writes BullMQ jobs to the embedded Valkey."

    def wants_traffic(self, options: dict[str, Any]) -> bool:
        if settings.ENV.sources and not options["demo_traffic"]:
            raise CommandError(
                "REDIS_URL or MIRANTE_SOURCES is set, and the demo never writes to a server of yours unasked. "
                "Unset it for a demo on an embedded Valkey, or add --demo-traffic to have the jobs in yours."
            )
        return True

    def _supervise(
        self,
        env: Environment,
        programs: list[Program],
        admin: FirstAdmin | None,
        embedded: EmbeddedValkey | None,
        *,
        port: int,
    ) -> int:
        if embedded and not env.sources:
            _tell_deploy()
            connections.close_all()
        return super()._supervise(env, programs, admin, embedded, port=port)


def _tell_deploy() -> None:
    """Once: what went live shortly before the gateway of the demo's shop stopped answering (`dashboard.demo.past`)."""
    if not Deploy.objects.filter(version=VERSION).exists():
        deploys.record(VERSION, now_ms() - DEPLOY_MS)
