"""`python -m bench [names]`: seeds servers of its own, measures, and prints tables in Markdown."""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

NAMES = (
    "counts",
    "overview",
    "lists",
    "jobs",
    "commands",
    "discovery",
    "processes",
    "live",
    "operate",
    "failures",
    "replay",
)
OWN_SERVERS = {
    "processes",
    "live",
    "operate",
    "failures",
    "replay",
}  # what does not use the server that all others share


def main() -> int:
    chosen = _arguments()
    if chosen.list:
        for name in NAMES:
            print(f"{name:<12} {_doc(name)}")
        return 0
    began = time.monotonic()
    _prepare_django()
    from bench.report import markdown
    from bench.stage import Stage

    print(f"{_machine()}; {chosen.rounds} rounds, seeds times {chosen.scale:g}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="mirante-bench-") as folder:
        stage = Stage(
            Path(folder), scale=chosen.scale, rounds=chosen.rounds, seconds=chosen.seconds, large=chosen.large
        )
        try:
            for name in chosen.names or NAMES:
                for table in importlib.import_module(f"bench.{name}").run(stage):
                    print(markdown(table), flush=True)
            if set(chosen.names or NAMES) - OWN_SERVERS:
                print(markdown(stage.scripts.table()))
        finally:
            stage.close()
    print(f"Took {time.monotonic() - began:.0f} s.")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], metavar="name", help="which to run; all by default")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--scale", type=float, default=1.0, help="make the seeds this many times as large (0.01)")
    parser.add_argument("--rounds", type=int, default=25, help="how often each thing is done (25)")
    parser.add_argument(
        "--seconds", type=float, help="how long the main part of `live`, or a pace of `replay`, takes (60)"
    )
    parser.add_argument("--large", action="store_true", help="have `failures` and `replay` do 1,000,000, too")
    return parser.parse_args()


def _prepare_django() -> None:
    """The settings of the tests: the product's own, over a folder and a database that go away."""
    os.environ.pop("DATABASE_URL", None)
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    gc.collect()
    gc.freeze()  # as the web process does


def _machine() -> str:
    load = os.getloadavg()[0]
    python = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return f"{python}, {os.cpu_count()} processors, load {load:.1f} at the start"


def _doc(name: str) -> str:
    """The first line of what the bench says it does, without setting Django up."""
    spec = importlib.util.find_spec(f"bench.{name}")
    assert spec
    assert spec.origin
    text = Path(spec.origin).read_text()
    return text.split("def run(", 1)[1].split('"""')[1]


if __name__ == "__main__":
    sys.exit(main())
