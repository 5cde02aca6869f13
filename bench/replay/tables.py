"""The figures of sending as rows: ours beside Bull Board and the bare work, with what is aimed at."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.measure import MB
from bench.replay.figures import Figures, Worked
from bench.report import Row, Table, limited

PING_MS = 30.0


def sent(figures: Figures, *, slower: float | None) -> Table:
    """`slower` is what is aimed at: so many times Bull Board's time at most."""
    ours, board, bare, jobs = figures.ours, figures.board, figures.bare, figures.jobs
    both = [moved + wrote for moved, wrote in zip(bare.whole, figures.written, strict=True)]
    rows = [
        _against("from the first job until all are recorded, against Bull Board", ours.recorded, board.whole, slower),
        _against("the same, until all are sent", ours.sent, board.whole),
        _against("from the start's form until all are recorded, against Bull Board", ours.whole, board.whole),
        _against("from the first job until all are sent, against the bare move", ours.sent, bare.whole),
        _against("until all are recorded, against the bare move and the bare ledger", ours.recorded, both),
        _used("processor time of who sends, a job, against Bull Board", ours.used, board.used, jobs),
        _used("the same, of the server", ours.served, board.served, jobs),
        _ping("longest PING meanwhile, against Bull Board", ours.longest, board.longest),
        Row("the same, of the bare move", f"{max(bare.longest):.1f} ms"),
        Row(
            "99 of 100 PING are answered within",
            f"{_median(ours.nearly):.1f} ms",
            floor=f"{_median(board.nearly):.1f} ms",
        ),
        _jobs("jobs that wait afterwards, against Bull Board", ours.waiting, board.waiting, jobs),
        _jobs("jobs that the ledger calls sent", ours.ledger, [], jobs),
        limited("memory of the worker before", round(_median(ours.before) / MB), "MB"),
        limited("the same, at its peak", round(max(ours.peak) / MB), "MB"),
    ]
    idle = f"Longest PING of three idle seconds before: {figures.idle.longest:.1f} ms."
    how = "Floor here: Bull Board 9.10.2 on the same server in the same run, or the bare work."
    return Table(f"Replay: {jobs:,} failed jobs, unthrottled", rows, (f"{how} {idle}",))


def worked(found: Worked, rate: float) -> Table:
    """A plan beside a worker that completes so many a second."""
    jobs = found.jobs
    rows = [
        Row("from the first job until all are recorded as sent", _s(found.recorded)),
        Row("from the first job until the last has completed", _s(found.completed)),
        Row("the same, until the ledger says so and the plan has ended", _s(found.ended)),
        _jobs("jobs that have completed, by the ledger", [found.known], [], jobs),
        Row("events that were trimmed before they were read", f"{found.lost:,}"),
        Row("processor time of the worker, a job", f"{found.used / jobs * 1e6:.0f} us"),
        limited("longest PING meanwhile", round(found.pings.longest, 1), "ms", most=PING_MS),
    ]
    note = f"Somebody completes {rate:,.0f} jobs a second meanwhile; the stream keeps BullMQ's 10,000 events."
    return Table(f"Replay: {jobs:,} failed jobs, unthrottled, and a worker", rows, (note,))


def _against(what: str, ours: Sequence[float], theirs: Sequence[float], most: float | None = None) -> Row:
    times = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    return Row(
        what,
        _s(_median(ours)),
        f"{min(ours):.2f} to {max(ours):.2f}" if len(ours) > 1 else "",
        _s(_median(theirs)),
        f"{times:.2f}",
        "" if most is None else f"at most {most:g}",
        None if most is None else times <= most,
    )


def _ping(what: str, ours: Sequence[float], theirs: Sequence[float]) -> Row:
    longest = max(ours)
    aim = f"at most {PING_MS:g} ms"
    return Row(what, f"{longest:,.1f} ms", floor=f"{max(theirs):,.1f} ms", aim=aim, met=longest <= PING_MS)


def _jobs(what: str, ours: Sequence[int], theirs: Sequence[int], aim: int) -> Row:
    floor = f"{min(theirs):,}" if theirs else ""
    return Row(what, f"{min(ours):,}", floor=floor, aim=f"{aim:,}", met=set(ours) == {aim})


def _used(what: str, ours: Sequence[float], theirs: Sequence[float], jobs: int) -> Row:
    mine, other = (_median(values) / jobs * 1e6 for values in (ours, theirs))
    return Row(what, f"{mine:.0f} us", floor=f"{other:.0f} us", ratio=f"{mine / other:.2f}" if other else "")


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _s(seconds: float) -> str:
    return f"{seconds:.2f} s"
