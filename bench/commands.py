"""How many commands each page sends to the monitored server, as MONITOR sees them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from django.urls import reverse

from bench.report import Row, Table
from bench.seeds import CHATTY, HUGE
from bench.stage import Stage, World, job_page, overview, queue_page
from queues.registry import backend


def run(stage: Stage) -> list[Table]:
    """Commands sent to the monitored server for each page, and what scripts call inside it."""
    rows = []
    for world, what, path in _pages(stage):
        world.watch()
        stage.get(path)  # the scripts are known to the server from then on
        sent, inside = _sent(stage, world, path)
        told = ", ".join(f"{count} {name}" if count > 1 else name for name, count in sent.items())
        rows.append(Row(f"{what}: {told}", str(sent.total()), floor=f"{inside.total():,}"))
    note = "Floor here: the commands that the scripts call inside the server."
    return [Table("Commands sent per page", rows, (note,))]


def _pages(stage: Stage) -> list[tuple[World, str, str]]:
    long, odd = stage.long.queue(b"long"), stage.long.queue(b"odd")
    return [
        (stage.fifteen, "overview of 15 queues", overview()),
        (stage.thousand, "overview of 1,000 queues", overview()),
        (stage.long, "queue page, 50 waiting", queue_page(long, "?state=waiting")),
        (stage.long, "queue page, 50 failed", queue_page(long, "?state=failed")),
        (stage.long, "queue page, 200 failed", queue_page(long, "?state=failed&size=200")),
        (stage.long, "filter by name over 10,000", queue_page(long, "?state=waiting&name=no-such-name")),
        (stage.long, "job page, small", job_page(odd, b"1")),
        (stage.long, "job page, 5 MB", job_page(odd, HUGE)),
        (stage.long, "job page with logs", job_page(odd, CHATTY)),
        (stage.thousand, "find over 1,000 queues", reverse("find") + "?q=no-such-job"),
        (stage.thousand, "system", reverse("system")),
    ]


def _sent(stage: Stage, world: World, path: str) -> tuple[Counter[str], Counter[str]]:
    """By name: the commands that reached the server, and those that scripts called inside it."""
    with world.client.monitor() as monitor:  # type: ignore[no-untyped-call]
        marks = [os.urandom(8).hex(), os.urandom(8).hex()]
        world.client.echo(marks[0])
        before = backend(world.config.name).commands_sent
        stage.get(path)
        counted = backend(world.config.name).commands_sent - before
        world.client.echo(marks[1])
        lines = iter(monitor.connection.read_response, None)
        list(_until(lines, marks[0].encode()))
        sent: Counter[str] = Counter()
        inside: Counter[str] = Counter()
        for address, command in _until(lines, marks[1].encode()):
            (inside if address == "lua" else sent)[command] += 1
    if hidden := counted - sent.total():
        sent["CLIENT or CONFIG"] = hidden  # MONITOR hides what is for administrators
    return sent, inside


def _until(lines: Iterator[bytes], mark: bytes) -> Iterator[tuple[str, str]]:
    """Who sent each command ("lua" for scripts) and its name, up to the one that holds the mark."""
    for line in lines:
        if mark in line:
            return
        _time, _bracket, rest = line.partition(b" [")
        sender, _end, command = rest.partition(b"] ")
        yield sender.partition(b" ")[2].decode(), command.split(b'"')[1].decode("ascii", "replace").upper()
