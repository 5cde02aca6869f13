"""A folder belongs to one start at a time."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path


class Busy(Exception):
    """Somebody else holds the folder; the text says who, fit for a user."""


class FolderLock:
    """Held until `release`, or until this process and all to which `descriptor` was passed have ended."""

    def __init__(self, folder: Path, *, patience: float = 2.0) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # A predecessor that was killed takes its children along, but not within the same instant.
        deadline = time.monotonic() + patience
        while not self._taken():
            if time.monotonic() > deadline:
                holder = os.pread(self.descriptor, 32, 0).decode(errors="replace").strip()
                self.release()
                raise Busy(f"{folder} is in use by another start of Mirante (process {holder or 'unknown'})")
            time.sleep(0.05)
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self.descriptor)

    def _taken(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
