"""The tables that are printed, in the form in which `bench/README.md` holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.measure import Series, ratio

HEADS = ("", "measured", "middle 80 %", "floor", "ratio", "aim")


@dataclass(frozen=True)
class Row:
    """One figure. `met` says whether it keeps its aim; None where there is none."""

    what: str
    measured: str
    spread: str = ""
    floor: str = ""
    ratio: str = ""
    aim: str = ""
    met: bool | None = None


@dataclass(frozen=True)
class Table:
    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = field(default_factory=tuple)


def compared(what: str, ours: Series, floor: Series, *, most: float | None = None) -> Row:
    """Ours against its floor; `most` is the ratio aimed at."""
    times = ratio(ours, floor)
    return Row(
        what,
        f"{ours.median:.1f} ms",
        ours.spread,
        f"{floor.median:.1f} ms",
        f"{times:.2f}",
        "" if most is None else f"at most {most:g}",
        None if most is None else times <= most,
    )


def limited(what: str, value: float, unit: str, *, most: float | None = None, spread: str = "") -> Row:
    """A figure by itself; `most` is what is aimed at."""
    aim = "" if most is None else f"at most {_figure(most)} {unit}".rstrip()
    met = None if most is None else value <= most
    return Row(what, f"{_figure(value)} {unit}".rstrip(), spread, aim=aim, met=met)


def markdown(table: Table) -> str:
    """The table in Markdown, its columns under each other for eyes; empty columns are left out."""
    lines = [(row.what, row.measured, row.spread, row.floor, row.ratio, row.aim + _met(row.met)) for row in table.rows]
    kept = [place for place in range(len(HEADS)) if place < 2 or any(line[place] for line in lines)]
    cells = [[HEADS[place] for place in kept], *([line[place] for place in kept] for line in lines)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(kept))]
    rule = ["-" * width if place == 0 else "-" * (width - 1) + ":" for place, width in enumerate(widths)]
    cells.insert(1, rule)
    drawn = [
        "| " + " | ".join(_aligned(text, width, place) for place, (text, width) in enumerate(zip(line, widths))) + " |"  # noqa: B905
        for line in cells
    ]
    return "\n".join([f"### {table.title}", "", *drawn, *("\n" + note for note in table.notes), ""])


def _aligned(text: str, width: int, place: int) -> str:
    return text.ljust(width) if place == 0 else text.rjust(width)


def _met(met: bool | None) -> str:
    return "" if met is None else ": yes" if met else ": **no**"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
