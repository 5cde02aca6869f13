"""The figures as rows, with what is aimed at."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from bench.live import watchers
from bench.live.listening import Heard
from bench.live.meters import Usage
from bench.live.runs import Figures
from bench.live.watchers import Delays
from bench.measure import KB, MB, quantile
from bench.report import Row, Table, limited

FOLLOWER_PERCENT, EVENT_MS, USUAL_KB, FRAME_KB, FLAT_MB = 40, 1_000, 10, 128, 10
LONG_S = 600  # from then on memory has to be flat
NAMES = (
    ("follower", "follower"),
    ("web", "web process"),
    ("monitored", "monitored server"),
    ("app", "our own server"),
    ("generator", "generator"),
    ("pages", "the pages, in this process"),
)


def tables(figures: Figures) -> list[Table]:
    return [_events(figures), _moments(figures), _cost(figures), _commands(figures), _crowd(figures)]


def _events(figures: Figures) -> Table:
    size, written, told = figures.size, figures.written, figures.tally
    by_second = written["by_second"] or [0]
    rows = [
        limited("events written a second", written["events"] / written["seconds"], "", spread=_range(by_second)),
        limited("events written, as the streams count them", told.added, ""),
        limited("events lost, by the follower's own count", told.lost, "", most=0),
        limited("events that it neither read nor told lost", told.added - told.read - told.lost, "", most=0),
        limited("events that it counted twice", max(told.read + told.lost - told.added, 0), "", most=0),
        limited(
            "`completed` written that its curves do not hold",
            written["kinds"].get("completed", 0) - told.completed,
            "",
            most=0,
        ),
        limited("commands that the generator was refused", written["errors"], "", most=0),
    ]
    note = "Middle 80 % of the written: its seconds."
    return Table(f"Live: {size.rate:,} events a second over {size.queues:,} queues", rows, (note,))


def _moments(figures: Figures) -> Table:
    assert figures.marks
    rows = []
    for kind, what in (
        ("queue", "`failed` to the feed of its queue"),
        ("job", "`progress` to the page of its job"),
        ("overview", "`failed` to the count on the overview"),
    ):
        rows += _delays(what, watchers.delays([page for page in figures.pages if page.kind == kind], figures.marks))
    for kind in ("overview", "queue", "job"):
        sizes = [size / KB for page in figures.pages if page.kind == kind for size in page.sizes]
        if sizes:
            spread = f"{quantile(sizes, 0.1):.1f} to {quantile(sizes, 0.9):.1f}"
            most = USUAL_KB if kind == "overview" else None
            rows.append(
                limited(f"a frame of {kind}, the median", statistics.median(sizes), "KB", most=most, spread=spread)
            )
            rows.append(limited("the same, the largest", max(sizes), "KB", most=FRAME_KB))
    rows += [
        _pulses(figures),
        limited("sockets that were closed", sum(bool(page.ended) for page in figures.pages), "", most=0),
    ]
    kinds = Counter(page.kind for page in figures.pages)
    told = ", ".join(f"{number} of {kind}" for kind, number in kinds.items())
    note = f"{len(figures.pages)} pages ({told}), {len(figures.marks.at)} marks."
    return Table(f"Live: from an event to {len(figures.pages)} sockets", rows, (note, *_reasons(figures)))


def _delays(what: str, told: Delays) -> list[Row]:
    never = [
        limited("the same, never shown", told.missed, "", most=0),
        limited("the same, never shown, of the first two seconds", told.early, "", most=0),
    ]
    if not told.found:
        return [Row(what, "–"), *never]
    spread = f"{quantile(told.found, 0.1):.0f} to {quantile(told.found, 0.9):.0f}"
    return [
        limited(f"{what}, p50", quantile(told.found, 0.5), "ms", spread=spread),
        limited("the same, p95", quantile(told.found, 0.95), "ms", most=EVENT_MS),
        limited("the same, the longest", max(told.found), "ms"),
        *never,
    ]


def _pulses(figures: Figures) -> Row:
    pulses = sum((page.pulses for page in figures.pages), Counter[str]())
    other = pulses.total() - pulses["live"]
    return limited("frames that said catching up or blind", 100 * other / max(pulses.total(), 1), "%", most=0)


def _reasons(figures: Figures) -> list[str]:
    reasons = Counter(page.ended for page in figures.pages if page.ended)
    return [f"Closed: {number} by {reason}." for reason, number in reasons.items()]


def _cost(figures: Figures) -> Table:
    """Shares of a core, against the bare reading of the same streams for the follower; memory."""
    floor = 100 * figures.floor["processor_s"] / figures.floor["seconds"]
    alone = 100 * figures.alone.shares["follower"]
    rows = [_against("follower, no page open", alone, floor)]
    for name, what in NAMES:
        share = 100 * figures.mixed.shares[name]
        rows.append(_against(what, share, floor, FOLLOWER_PERCENT) if name == "follower" else limited(what, share, "%"))
    flat = FLAT_MB if figures.size.seconds >= LONG_S else None
    for name, what in NAMES[:2]:
        held = figures.mixed.memory[name]
        rows += [
            limited(f"memory of the {what}", held[-1] / MB, "MB", spread=_range([each / MB for each in held])),
            limited(
                "the same, growth since the first tenth", round(figures.mixed.growth(name) / MB, 1), "MB", most=flat
            ),
        ]
    read = figures.floor["entries"] / figures.floor["seconds"]
    note = f"Shares of one core. Floor: a bare XREAD of all streams four times a second, {read:,.0f} entries a second."
    return Table(
        f"Live: processors and memory with {figures.size.sockets} sockets, {figures.size.seconds:g} s", rows, (note,)
    )


def _against(what: str, ours: float, floor: float, most: float | None = None) -> Row:
    row = limited(what, ours, "%", most=most)
    times = f"{ours / floor:.1f}" if floor else ""
    return Row(row.what, row.measured, "", f"{floor:.1f} %", times, row.aim, row.met)


def _commands(figures: Figures) -> Table:
    number = figures.size.sockets
    stretches = (
        ("no page", figures.alone),
        ("1 overview", figures.one),
        (f"{number} overviews", figures.same),
        (f"{number} pages of all kinds", figures.mixed),
    )
    rows = []
    for what, usage in stretches:
        rows += [
            _rate(f"{what}: commands to the monitored server", usage.monitored.sent.total(), usage.monitored),
            _rate("the same, called by scripts inside it", usage.monitored.inside, usage.monitored),
            _rate("the same, to our own server", usage.own.sent.total(), usage.own),
        ]
    return Table("Live: commands a second caused by us", rows, [_names(what, usage) for what, usage in stretches[1:]])


def _rate(what: str, number: int, heard: Heard) -> Row:
    return limited(what, number / max(heard.seconds, 1), "")


def _names(what: str, usage: Usage) -> str:
    """Which commands these are, a second each."""
    told = [
        ", ".join(f"{number / max(heard.seconds, 1):.1f} {name}" for name, number in heard.sent.most_common() if number)
        for heard in (usage.monitored, usage.own)
    ]
    return f"{what}: {told[0] or 'nothing'} to the monitored server; {told[1] or 'nothing'} to our own."


def _crowd(figures: Figures) -> Table:
    found = figures.crowd
    wrong = found.sockets - found.right
    rows = [
        limited("events written a second", found.rate, ""),
        limited(f"opening {found.sockets} sockets", found.opened_s, "s"),
        limited("sockets without the final state", wrong, "", most=0),
        Row("from the last event until the last has it", "–" if found.last_s is None else f"{found.last_s:.1f} s"),
        *_delays("`failed` to the feed", found.delays),
        limited("web process", 100 * found.usage.shares["web"], "%"),
        limited("follower", 100 * found.usage.shares["follower"], "%"),
        limited("memory of the web process", found.usage.memory["web"][-1] / MB, "MB"),
        limited("sockets that were closed", len(found.ended), "", most=0),
    ]
    notes = [f"Closed: {number} by {reason}." for reason, number in Counter(found.ended).items()]
    return Table(f"Live: {found.sockets} sockets on one queue", rows, notes)


def _range(values: Sequence[float]) -> str:
    return f"{quantile(values, 0.1):,.0f} to {quantile(values, 0.9):,.0f}"
