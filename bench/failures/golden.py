"""Writes the signatures of the corpus anew that a test holds: `python -m bench.failures.golden`, with a new VERSION."""

from __future__ import annotations

import json
from pathlib import Path

from bench.failures.corpus import load
from queues.failures.signature import of
from queues.failures.types import VERSION

FILE = Path(__file__).parents[2] / "tests" / "queues" / "signatures_golden.json"
DIGITS = 8  # of each digest


def digests() -> dict[str, str]:
    """The beginning of the digest of each error."""
    return {entry.id: of(entry.thrown).digest[:DIGITS] for entry in load("tune")}


if __name__ == "__main__":
    text = json.dumps({"version": VERSION, "digests": digests()}, indent=0, sort_keys=True)
    FILE.write_text(f"{text}\n", encoding="utf-8")
