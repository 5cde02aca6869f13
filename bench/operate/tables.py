"""The figures as rows: ours beside Bull Board's in place of a floor, with what is aimed at."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.operate.runs import TENTH, Done, Figures
from bench.report import Row, Table

FASTER, PING_MS = 4.0, 50.0


def tables(figures: Figures) -> list[Table]:
    return [_retry(figures), _empty(figures), _clean(figures)]


def _retry(figures: Figures) -> Table:
    ours, board, bullmq = (figures.retry[name] for name in ("ours", "board", "bullmq"))
    ranked = len(range(0, figures.retried, TENTH))
    rows = [
        _against("from confirm to done, against Bull Board", ours, board, least=FASTER),
        _against("the same, against BullMQ's own call", ours, bullmq),
        Row("the form is answered after", _ms(ours.answered), _spread(ours.answered)),
        _ping("longest PING meanwhile, against Bull Board", ours, board),
        _ping("longest PING meanwhile, against BullMQ's own call", ours, bullmq),
        _jobs("jobs that wait afterwards, against Bull Board", ours.right, board.right, figures.retried),
        _jobs("jobs that kept their priority, against Bull Board", ours.ranked, board.ranked, ranked),
        _jobs("the same, against BullMQ's own call", ours.ranked, bullmq.ranked, ranked),
    ]
    idle = f"Longest PING of three idle seconds before: {figures.idle.longest:.1f} ms."
    how = "Floor here: Bull Board 9.10.2, and `queue.retryJobs` of BullMQ 6.7.0, on the same server in the same run."
    return Table(f"Operate: retry of {figures.retried:,} failed jobs", rows, (f"{how} {idle}",))


def _empty(figures: Figures) -> Table:
    return _removal(f"Operate: emptying a queue of {figures.emptied:,} waiting jobs", figures.empty, figures.emptied)


def _clean(figures: Figures) -> Table:
    return _removal(f"Operate: cleaning {figures.cleaned:,} completed jobs", figures.clean, figures.cleaned)


def _removal(title: str, found: dict[str, Done], jobs: int) -> Table:
    ours, board = found["ours"], found["board"]
    rows = [
        _against("from confirm to done, against Bull Board", ours, board),
        _ping("longest PING meanwhile, against Bull Board", ours, board),
        Row("99 of 100 PING are answered within", _ms(ours.nearly), floor=_ms(board.nearly)),
        _jobs("jobs that are gone afterwards, against Bull Board", ours.right, board.right, jobs),
    ]
    return Table(title, rows, ("Floor here: Bull Board 9.10.2 on the same server in the same run.",))


def _against(what: str, ours: Done, theirs: Done, *, least: float | None = None) -> Row:
    times = statistics.median(other / mine for mine, other in zip(ours.ms, theirs.ms, strict=True))
    aim = f"at least {least:g} times" if least else ""
    met = times >= least if least else None
    ratio = f"{times:.1f} times as fast"
    return Row(what, _ms(ours.ms), _spread(ours.ms), _ms(theirs.ms), ratio, aim, met)


def _ping(what: str, ours: Done, theirs: Done) -> Row:
    longest = max(ours.longest)
    return Row(
        what,
        f"{longest:,.1f} ms",
        floor=f"{max(theirs.longest):,.1f} ms",
        aim=f"at most {PING_MS:g} ms",
        met=longest <= PING_MS,
    )


def _jobs(what: str, ours: Sequence[int], theirs: Sequence[int], aim: int) -> Row:
    return Row(what, f"{min(ours):,}", floor=f"{min(theirs):,}", aim=f"{aim:,}", met=set(ours) == {aim})


def _ms(values: Sequence[float]) -> str:
    return f"{statistics.median(values):,.0f} ms"


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):,.0f} to {max(values):,.0f}" if len(values) > 1 else ""
