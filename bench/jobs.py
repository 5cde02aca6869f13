"""The page of a job of 5 MB and of a log of 10,000 lines: bytes sent, time, memory of the web process."""

from __future__ import annotations

from bench.measure import KB, MB, Peak, elements, in_turn, resident
from bench.report import Row, Table, limited
from bench.seeds import CHATTY, HUGE, HUGE_BYTES, LINES
from bench.stage import Stage, Web, World, job_page, overview, queue_page

MOST_KB, MOST_GROWTH_MB = 600, 30
WARM_ROUNDS, VIEWS = 20, 20


def run(stage: Stage) -> list[Table]:
    """The page of a job of 5 MB through Daphne, and pages of a log of 10,000 lines."""
    world = stage.long
    world.watch()
    with stage.web(world) as web:
        return [_huge(stage, world, web), _log(stage, world, web)]


def _huge(stage: Stage, world: World, web: Web) -> Table:
    odd = world.queue(b"odd")
    path, pid = job_page(odd, HUGE), web.process.pid
    for _ in range(WARM_ROUNDS):
        _other_pages(world, web)
    before = resident(pid)
    peak = Peak(pid)
    page = web.get(path)
    once, first = resident(pid), peak.bytes()
    for _ in range(VIEWS - 1):
        web.get(path)
    after, most = resident(pid), peak.bytes()
    times = in_turn(
        stage.rounds,
        huge=lambda: stage.get(path),
        daphne=lambda: web.get(path),
        small=lambda: stage.get(job_page(odd, b"1")),
    )
    rows = [
        limited("bytes sent", len(page) / KB, "KB", most=MOST_KB),
        limited("elements", elements(page), ""),
        limited("growth of the web process, at most during the first view", (first - before) / MB, "MB"),
        limited("the same, after the first view", (once - before) / MB, "MB", most=MOST_GROWTH_MB),
        limited(f"the same, after {VIEWS} views", (after - before) / MB, "MB", most=MOST_GROWTH_MB),
        limited("the same, at its peak", (most - before) / MB, "MB", most=MOST_GROWTH_MB),
        _time("time, through Daphne", times["daphne"].median, times["daphne"].spread),
        _time("time, in this process", times["huge"].median, times["huge"].spread),
        _time("time of a job of 32 bytes, in this process", times["small"].median, times["small"].spread),
    ]
    note = f"The web process held {before / MB:.0f} MB after {WARM_ROUNDS} rounds of other pages."
    return Table(f"Page of a job of {HUGE_BYTES / MB:.0f} MB", rows, (note,))


def _log(stage: Stage, world: World, web: Web) -> Table:
    logs = job_page(world.queue(b"odd"), CHATTY, "logs")
    middle = f"{logs}?first={LINES // 2 + 1}"
    times = in_turn(
        stage.rounds,
        job=lambda: web.get(job_page(world.queue(b"odd"), CHATTY)),
        last=lambda: web.get(logs),
        middle=lambda: web.get(middle),
    )
    rows = [
        _time("the job's page, its last lines included", times["job"].median, times["job"].spread),
        _time("last 100 lines", times["last"].median, times["last"].spread),
        _time("100 lines from the middle", times["middle"].median, times["middle"].spread),
        limited("size of 100 lines", len(web.get(middle)) / KB, "KB"),
    ]
    return Table(f"Log of {LINES:,} lines, through Daphne", rows)


def _other_pages(world: World, web: Web) -> None:
    web.get(overview())
    web.get(queue_page(world.queue(b"long"), "?state=failed"))
    web.get(queue_page(world.queue(b"short"), "?state=waiting"))
    web.get(job_page(world.queue(b"odd"), b"1"))


def _time(what: str, median: float, spread: str) -> Row:
    return limited(what, round(median, 1), "ms", spread=spread)
