"""How things are measured: in turn, many times, with medians; the size of pages; the memory of processes."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import psutil

KB = 1024
MB = 1024 * KB


@dataclass(frozen=True)
class Series:
    """Milliseconds of the same work done many times: by the clock, and of this process on the processor."""

    clock: Sequence[float]
    processor: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.clock)

    @property
    def cpu(self) -> float:
        return statistics.median(self.processor)

    @property
    def spread(self) -> str:
        """The middle four fifths."""
        return f"{quantile(self.clock, 0.1):.1f} to {quantile(self.clock, 0.9):.1f}"


def in_turn(rounds: int, **works: Callable[[], object]) -> Mapping[str, Series]:
    """Do each work once a round, so that what else the machine does meets all of them alike."""
    clock: dict[str, list[float]] = {name: [] for name in works}
    processor: dict[str, list[float]] = {name: [] for name in works}
    names = list(works)
    for work in works.values():
        work()  # caches, connections and scripts are there from the second time on
    for number in range(rounds):
        gc.collect()
        for name in names[number % len(names) :] + names[: number % len(names)]:
            began, used = time.perf_counter(), time.process_time()
            works[name]()
            clock[name].append((time.perf_counter() - began) * 1000)
            processor[name].append((time.process_time() - used) * 1000)
    return {name: Series(clock[name], processor[name]) for name in works}


def quantile(values: Sequence[float], part: float) -> float:
    """The value below which `part` of them lie."""
    ordered = sorted(values)
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)]


def ratio(ours: Series, floor: Series) -> float:
    """How many times the floor ours takes: the median over the rounds, each compared with itself."""
    return statistics.median(mine / bare for mine, bare in zip(ours.clock, floor.clock, strict=True))


class _Counter(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements += 1


def elements(page: bytes) -> int:
    """The elements of a page, as a browser would make nodes of them."""
    counter = _Counter()
    counter.feed(page.decode())
    counter.close()
    return counter.elements


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    return int(psutil.Process(pid).memory_info().rss)


def own(pid: int) -> int:
    """Bytes of memory that a process shares with no other."""
    return int(psutil.Process(pid).memory_full_info().uss)


class Peak:
    """The most memory that a process held since this was made. Linux only; elsewhere 0."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")
        if self._folder.exists():
            (self._folder / "clear_refs").write_text("5")

    def bytes(self) -> int:
        status = self._folder / "status"
        if not status.exists():
            return 0
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * KB
