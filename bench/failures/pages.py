"""Pages of failures for one user through a web process: many failures in few groups, and in many."""

from __future__ import annotations

import contextlib
import http.client
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil
from django.db import connection, transaction
from django.urls import reverse

from bench.failures.place import Place, place
from bench.failures.seeding import empty
from bench.measure import KB, MB, Series, in_turn, quantile, ratio, resident
from bench.report import Row, Table, limited
from bench.stage import STARTS_WITHIN_S, Stage, Web
from queues.models import Failure, FailureGroup, FailureStrand
from queues.types import QueueRef
from tests.failing import indexing, make_group, many

SOURCE = "pages"
FAILED, FEW, MANY = 200_000, 100, 5_000
QUEUES = 12
PAGE_MS = 150.0
HOUR_S = 3_600


@dataclass(frozen=True)
class Asking:
    """A kept connection to the web process, of one who is signed in."""

    connection: http.client.HTTPConnection
    cookie: str

    def first(self, path: str) -> None:
        """Until the first byte of what comes: the rest is read, and its time is not counted by who measures this."""
        self.connection.request("GET", path, headers={"Cookie": self.cookie, "Host": "localhost"})
        answer = self.connection.getresponse()
        if answer.status != http.HTTPStatus.OK or not answer.read(1):
            raise RuntimeError(f"{path}: {answer.status}")

    def again(self) -> None:
        """Give up what was not read of the last answer."""
        self.connection.close()


def measure(stage: Stage) -> list[Table]:
    """Two tables: half of the failures in one of a hundred groups, then five thousand groups of three strands."""
    return [_run(stage, "few", _few), _run(stage, "many", _many)]


def _few(stage: Stage) -> None:
    groups, failures = stage.sized(FEW, 10), stage.sized(FAILED, 200)
    many(groups - 1, failures // 2, queues=QUEUES, source=f"{SOURCE}-few")
    make_group(
        f"{SOURCE}-few",
        title="connect ECONNREFUSED 10.0.0.12:5432",
        queues=[f"queue-{number}" for number in range(5)],
        names=("charge", "refund"),
        counts=(failures // 100, failures // 40, failures // 10, failures // 4, failures // 2),
        failures=failures // 2,
        samples=5,
        usual=10.0,
    )


def _many(stage: Stage) -> None:
    many(stage.sized(MANY, 20), stage.sized(FAILED, 200), queues=QUEUES, source=f"{SOURCE}-many")


def _run(stage: Stage, kind: str, seed: Callable[[Stage], None]) -> Table:
    source, names = f"{SOURCE}-{kind}", [f"queue-{number}" for number in range(QUEUES)]
    with place(stage, source, lambda client: [empty(client, name, source) for name in names]) as held:
        with transaction.atomic():
            seed(stage)
            indexing(source, queues=names)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        with stage.web(held.world, app=held.app.url) as web:
            return _table(stage, held, web)


def _table(stage: Stage, held: Place, web: Web) -> Table:
    rows = []
    pages = _pages(held)
    floor = reverse("me")
    for what, path in pages.items():
        times = in_turn(stage.rounds, page=_getting(web, path), floor=_getting(web, floor))
        rows += _timed(what, times["page"], times["floor"])
        rows.append(limited("the same, processor time of the web process", _processor_ms(stage, web, path), "ms"))
    with _asking(web, stage.cookie) as asking:
        for what, path in _exports(held).items():
            rows += _timed(what, _first_bytes(stage.rounds, asking, path))
    rows += [limited(f"size of {what}", len(web.get(pages[what])) / KB, "KB") for what in ("the list", "a group")]
    rows.append(limited("memory of the web process afterwards", resident(web.process.pid) / MB, "MB"))
    groups, strands, failures = (model.objects.count() for model in (FailureGroup, FailureStrand, Failure))
    title = f"Failures: pages at {failures:,} failures in {groups:,} groups of {strands:,} strands"
    worst = _largest(held).total
    note = (
        f"Through Daphne, one user; the group is the largest, of {worst:,} failures. Floor: the page of one's account."
    )
    return Table(title, rows, (note,))


def _getting(web: Web, path: str) -> Callable[[], object]:
    return lambda: web.get(path)


def _processor_ms(stage: Stage, web: Web, path: str) -> float:
    """The mean: a processor's time is told in steps of some 10 ms."""
    process = psutil.Process(web.process.pid)
    before = sum(process.cpu_times()[:2])
    for _ in range(stage.rounds):
        web.get(path)
    return 1000 * (sum(process.cpu_times()[:2]) - before) / stage.rounds


def _pages(held: Place) -> dict[str, str]:
    listed, group = reverse("failures"), _largest(held)
    jobs = reverse("failure-jobs", args=[group.slug])
    queue = QueueRef(held.source, b"bull", b"queue-3").slug
    since = int(time.time() - HOUR_S) * 1000
    return {
        "the list": listed,
        "the list of all lives": f"{listed}?state=all",
        "the list, one class": f"{listed}?class=transient",
        "the list, one queue": f"{listed}?queue={queue}",
        "the list, by text": f"{listed}?text=upstream",
        "the list, by growth": f"{listed}?sort=-growth",
        "the list, its second page by last seen": f"{listed}?sort=-last&page=2",
        "a group": reverse("failure-group", args=[group.slug]),
        "jobs of a group": jobs,
        "jobs of a group, of the last hour": f"{jobs}?since={since}",
    }


def _exports(held: Place) -> dict[str, str]:
    group = _largest(held)
    return {
        "export of groups, first byte": reverse("failures-csv") + "?state=all",
        "export of a group's jobs, first byte": reverse("failure-jobs-csv", args=[group.slug]),
    }


def _largest(held: Place) -> FailureGroup:
    return FailureGroup.objects.filter(source__name=held.source).order_by("-total", "pk")[0]


def _first_bytes(rounds: int, asking: Asking, path: str) -> Series:
    took = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        asking.first(path)
        took.append((time.perf_counter() - began) * 1000)
        asking.again()
    return Series(took[1:], [0.0] * rounds)


@contextlib.contextmanager
def _asking(web: Web, cookie: str) -> Iterator[Asking]:
    made = http.client.HTTPConnection("127.0.0.1", web.port, timeout=STARTS_WITHIN_S)
    try:
        yield Asking(made, cookie)
    finally:
        made.close()


def _timed(what: str, times: Series, floor: Series | None = None) -> list[Row]:
    bare, share = (f"{floor.median:.1f} ms", f"{ratio(times, floor):.1f}") if floor else ("", "")
    met, aim = times.median <= PAGE_MS, f"at most {PAGE_MS:g} ms"
    return [
        Row(f"{what}, p50", f"{times.median:.1f} ms", times.spread, bare, share, aim, met),
        Row("the same, p95", f"{quantile(times.clock, 0.95):.1f} ms"),
    ]
