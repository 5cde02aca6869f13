"""`manage.py deployed <version>`: tells that a version went live, for a pipeline's last step."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils.translation import gettext

from dashboard.failures.query import moment_ms
from queues import audit, deploys
from queues.audit import Actor
from queues.errors import BadInput
from queues.registry import configured


class Command(BaseCommand):
    help = "Keep that a version went live: it is marked where failures are drawn."

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = [source.name for source in configured()]
        parser.add_argument("version", help="its name, at most 200 characters")
        parser.add_argument("--source", default="", choices=["", *names], help="a source; everywhere when left out")
        parser.add_argument("--at", default="", help="when, like 2026-11-30T14:02 (UTC); now when left out")

    def handle(self, *_args: object, **options: Any) -> None:
        try:
            with transaction.atomic():
                made = deploys.record(options["version"], moment_ms(options["at"]), options["source"])
                facts = {"version": made.version, "at_ms": made.at_ms}
                note = gettext("Told on the command line.")
                audit.record(Actor(""), "deploy-add", source=made.source, parameters=facts, note=note)
        except BadInput as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{made.version} is kept.")
