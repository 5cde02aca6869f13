"""Memory of all that `manage.py up` runs, idle."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
from django.conf import settings

from bench.measure import MB, own, resident
from bench.report import Row, Table
from bench.stage import Stage
from dashboard.environment import VARIABLES

IDLE_S = 20.0
READY_WITHIN_S = 180.0
KINDS = (
    ("valkey", "valkey-server"),
    ("web", "daphne"),
    ("worker", " worker"),
    ("beat", " beat"),
    ("up", "manage.py up"),
)


def run(stage: Stage) -> list[Table]:
    """RSS of each process of `manage.py up`, idle for 20 s, with the embedded Valkey."""
    folder = stage.folder / "up"
    folder.mkdir()
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            env=_environment(folder),
            cwd=settings.BASE_DIR,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        _wait_until_ready(process, log)
        time.sleep(IDLE_S * min(stage.scale, 1))
        found = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
        return [_table(found)]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _table(pids: Sequence[int]) -> Table:
    rows = []
    for kind, word in KINDS:
        of_kind = [pid for pid in pids if word in " ".join(psutil.Process(pid).cmdline())]
        held, alone = sum(map(resident, of_kind)) / MB, sum(map(own, of_kind)) / MB
        many = f", {len(of_kind)} processes" if len(of_kind) > 1 else ""
        rows.append(Row(f"{kind}{many}", f"{held:.0f} MB", floor=f"{alone:.0f} MB"))
    together = sum(map(own, pids)) / MB
    rows.append(Row("all", f"{sum(map(resident, pids)) / MB:.0f} MB", floor=f"{together:.0f} MB"))
    note = "Floor here: what a process shares with no other. Processes that were forked share the rest."
    return Table("Memory of `manage.py up`, idle", rows, (note,))


def _environment(folder: Path) -> dict[str, str]:
    """As a new user has it: nothing set but a folder of our own for the data."""
    ours = {name for variable in VARIABLES for name in (variable.name, variable.file_name)}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "DJANGO_SETTINGS_MODULE": "dashboard.settings", "MIRANTE_VAR_DIR": str(folder)}


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while not re.search(rb"Mirante is ready", log.read_bytes()):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"manage.py up did not start:\n{log.read_text(errors='replace')}")
        time.sleep(0.1)
