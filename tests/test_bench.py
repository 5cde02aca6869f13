"""That every bench runs, on seeds so small that its figures mean nothing; nothing is timed."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

from bench.measure import elements
from bench.report import Row, Table, markdown


def bench(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "bench", *arguments],
        cwd=settings.BASE_DIR,
        env={name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_bench_says_what_it_measures() -> None:
    lines = bench("--list").splitlines()
    assert len(lines) >= 7
    assert all(len(line.split()) > 4 for line in lines)


@pytest.mark.parametrize("names", [("counts", "overview"), ("lists", "discovery"), ("jobs", "commands")])
def test_benches_run_on_small_seeds(names: tuple[str, ...]) -> None:
    printed = bench("--scale", "0.001", "--rounds", "1", *names)
    assert printed.count("###") > len(names)
    assert "How long one command held the server" in printed


def test_elements_of_a_page_are_counted_once_each() -> None:
    assert elements(b'<p>a<br>b<img src="x"/></p><svg><path/></svg>') == 5


def test_a_table_leaves_out_columns_that_are_empty() -> None:
    table = markdown(Table("T", [Row("a", "1 ms", aim="at most 2 ms", met=True), Row("b", "3 ms")]))
    assert table.splitlines() == [
        "### T",
        "",
        "|   | measured |               aim |",
        "| - | -------: | ----------------: |",
        "| a |     1 ms | at most 2 ms: yes |",
        "| b |     3 ms |                   |",
    ]
