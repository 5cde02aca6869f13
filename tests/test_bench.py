"""That every bench runs, on seeds so small that its figures mean nothing; nothing is timed."""

import asyncio
import base64
import hashlib
import os
import re
import subprocess
import sys
from typing import Any

import pytest
import redis
from django.conf import settings

from bench.live import load
from bench.live.frames import Closed, Socket
from bench.live.load import Plan
from bench.measure import elements
from bench.operate import board
from bench.replay.pace import most_in_a_second
from bench.report import Row, Table, markdown
from tests.policy import unavailable
from tests.valkey import Server, eventually


def bench(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "bench", *arguments],
        cwd=settings.BASE_DIR,
        env={name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_bench_says_what_it_measures() -> None:
    lines = bench("--list").splitlines()
    assert len(lines) >= 8
    assert all(len(line.split()) > 4 for line in lines)


@pytest.mark.parametrize("names", [("counts", "overview"), ("lists", "discovery"), ("jobs", "commands")])
def test_benches_run_on_small_seeds(names: tuple[str, ...]) -> None:
    printed = bench("--scale", "0.001", "--rounds", "1", *names)
    assert printed.count("###") > len(names)
    assert "How long one command held the server" in printed


def test_the_bench_of_live_pages_runs_on_a_small_load() -> None:
    printed = bench("--scale", "0.001", "--seconds", "1", "live")
    assert printed.count("### Live") == 5
    assert "events that it neither read nor told lost" in printed


def test_the_bench_of_acting_runs_on_few_jobs() -> None:
    if lacks := board.missing():
        unavailable(lacks)
    printed = bench("--scale", "0.005", "--rounds", "1", "operate")
    assert printed.count("### Operate") == 3
    assert re.search(r"jobs that kept their priority, against Bull Board +\| +10 \|", printed), printed


def test_the_bench_of_failures_prints_scores_of_both_parts_and_what_indexing_costs() -> None:
    printed = bench("--scale", "0.001", "--rounds", "1", "--seconds", "1", "failures")
    assert printed.count("F1 of both") == 2
    assert printed.count("### Failures: ") == 7
    assert re.search(r"failures that were counted +\| +([0-9,]+) \| +\1: yes \|", printed), printed
    assert "### Failures: indexing 200 failed jobs" in printed


def test_the_bench_of_replays_sends_every_job_and_counts_what_a_pace_lets_through() -> None:
    if lacks := board.missing():
        unavailable(lacks)
    printed = bench("--scale", "0.001", "--rounds", "1", "--seconds", "1", "replay")
    assert printed.count("### Replay: ") == 7
    assert re.search(r"jobs that the ledger calls sent +\| +500 \| +\| +\| +500: yes \|", printed), printed
    assert re.search(r"jobs that have completed, by the ledger +\| +100 \| +100: yes \|", printed), printed
    assert "### Replay: pages of a plan of 200 jobs" in printed


def test_the_most_in_any_one_second_is_found_wherever_that_second_begins() -> None:
    assert most_in_a_second([0, 998, 999, 1_000, 1_998, 2_500]) == 3  # 999 to 1,998; one at 998 would be a second away
    assert most_in_a_second([]) == 0


def test_the_generator_writes_each_event_that_it_counts(valkey: redis.Redis, valkey_server: Server) -> None:
    names = ["one", "two"]
    with load.generator(Plan(valkey_server.port, 0, names, rate=200, still=["two"])) as writing:
        eventually(lambda: all(valkey.xlen(f"bull:{name}:events") > 20 for name in names))
        told = writing.end()
    streams: list[Any] = [valkey.xrange(f"bull:{name}:events") for name in names]
    entries = [entry for stream in streams for _id, entry in stream]
    assert told["errors"] == 0
    assert sum(told["kinds"].values()) == told["events"] == len(entries)
    assert {entry[b"event"].decode() for entry in entries} == set(told["kinds"])
    assert valkey.zcard("bull:one:completed") > 0
    assert valkey.keys("bull:two:*") == [b"bull:two:events"]


async def test_a_page_of_the_bench_gets_messages_whole_and_hears_why_it_was_closed() -> None:
    got = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        key = re.search(rb"Sec-WebSocket-Key: (\S+)", asked)
        assert key
        proof = hashlib.sha1(key[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11", usedforsecurity=False).digest()
        head = b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: %b\r\n\r\n" % base64.b64encode(proof)
        long = b"\x81\x7e\x01\x2c" + b"x" * 300
        writer.write(head + b"\x01\x02he" + b"\x89\x01p" + b"\x80\x03llo" + long + b"\x88\x05\x11\x31out")
        got.set_result(await reader.readexactly(7))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        socket = await Socket.open(server.sockets[0].getsockname()[1], "/live/", "a=b")
        messages = socket.messages()
        assert await anext(messages) == b"hello"
        assert await anext(messages) == b"x" * 300
        with pytest.raises(Closed) as closed:
            await anext(messages)
    assert (closed.value.code, str(closed.value)) == (4401, "4401 out")
    assert await got == b"\x8a\x81\0\0\0\0p"


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
