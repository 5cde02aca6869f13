"""What must be in place before the first process starts: tables, static files, nothing to do the second time."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def migrate() -> None:
    """Bring the tables up to date."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", interactive=False, verbosity=0)


def collect_static() -> None:
    """Copy, hash and compress the static files when any of them has changed since."""
    stamp = Path(settings.STATIC_ROOT) / ".collected"
    now = _fingerprint()
    if stamp.exists() and stamp.read_text("ascii") == now:
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(now, "ascii")


def _fingerprint() -> str:
    found = hashlib.sha256()
    for finder in finders.get_finders():
        for name, storage in sorted(finder.list([]), key=lambda entry: entry[0]):
            status = Path(storage.path(name)).stat()
            found.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return found.hexdigest()
