"""The whole overview, as the browser gets it: time, bytes and elements."""

from __future__ import annotations

import html
import re

from bench.counts import bare_counts, bare_workers
from bench.measure import KB, Series, elements, in_turn
from bench.report import Row, Table, compared, limited
from bench.stage import Stage, World, overview

SCROLLED = {"HX-Request": "true", "HX-Target": "rows-more"}  # what htmx sends when the last row comes into view
MOST_MS, MOST_KB, MOST_ELEMENTS = 150, 400, 10_000


def run(stage: Stage) -> list[Table]:
    """The overview at 15 and 1,000 queues, in this process and through Daphne, and the next 100 rows."""
    return [_table(stage, stage.fifteen), _table(stage, stage.thousand)]


def _table(stage: Stage, world: World) -> Table:
    world.watch()
    page = stage.get(overview())
    more = _next_rows(page)
    counts, clients = bare_counts(world), bare_workers(world.client)
    with stage.web(world) as web:
        times = in_turn(
            stage.rounds,
            floor=lambda: (counts(), clients()),
            page=lambda: stage.get(overview()),
            daphne=lambda: web.get(overview()),
            other=lambda: web.get("/healthz"),
            **({"rows": lambda: stage.get(overview() + more, **SCROLLED)} if more else {}),
        )
    rows = [
        _time("page, in this process", times["page"]),
        limited("the same, the quickest", round(min(times["page"].clock), 1), "ms", most=MOST_MS),
        Row("the same, its processor time", f"{times['page'].cpu:.1f} ms"),
        _time("page, through Daphne on the loopback", times["daphne"]),
        limited("the same, the quickest", round(min(times["daphne"].clock), 1), "ms", most=MOST_MS),
        compared("page against the bare reads", times["page"], times["floor"]),
        limited("size", len(page) / KB, "KB", most=MOST_KB),
        limited("elements", elements(page), "", most=MOST_ELEMENTS),
    ]
    if more:
        fragment = stage.get(overview() + more, **SCROLLED)
        rows += [
            _time("next 100 rows, in this process", times["rows"]),
            limited("their size", len(fragment) / KB, "KB"),
        ]
    note = f"Daphne's answer to /healthz takes {times['other'].median:.1f} ms."
    return Table(f"Overview of {len(world.refs):,} queues", rows, (note,))


def _time(what: str, times: Series) -> Row:
    return limited(what, round(times.median, 1), "ms", most=MOST_MS, spread=times.spread)


def _next_rows(page: bytes) -> str:
    """The query of the row that loads more; "" when all rows are there."""
    found = re.search(rb'hx-get="([^"]+)" hx-trigger="revealed"', page)
    return html.unescape(found[1].decode()) if found else ""
