"""The order in which things are done: each upon fresh seeds, Bull Board and BullMQ in turn with the product."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import redis

from bench.operate.board import Board, board
from bench.operate.pinging import Pinging, Pings, pinging
from bench.operate.product import QUEUE, SOURCE, Product, running
from bench.stage import Stage
from queues.quantities import HOUR, now_ms
from tests.seed import seed_queue

RETRIED, EMPTIED, CLEANED = 20_000, 1_000_000, 200_000
TENTH = 10  # of so many failed jobs one has a priority
MOST_ROUNDS = 5
PUT = f"/api/queues/{QUEUE}"


@dataclass
class Done:
    """What was measured of one way to do a thing: a value for each round."""

    ms: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)  # the product's form alone
    longest: list[float] = field(default_factory=list)  # PING
    nearly: list[float] = field(default_factory=list)
    right: list[int] = field(default_factory=list)  # jobs that were dealt with as they should be
    ranked: list[int] = field(default_factory=list)  # retried jobs that kept their priority


@dataclass
class Figures:
    """All that was measured."""

    retried: int
    emptied: int
    cleaned: int
    idle: Pings = field(default_factory=lambda: Pings(0, 0, 0))
    retry: dict[str, Done] = field(default_factory=dict)
    empty: dict[str, Done] = field(default_factory=dict)
    clean: dict[str, Done] = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    product: Product
    board: Board
    pings: Pinging
    client: redis.Redis


def measure(stage: Stage) -> Figures:
    """Retrying several times, in turns that rotate; emptying and cleaning once each."""
    figures = Figures(stage.sized(RETRIED, 100), stage.sized(EMPTIED, 100), stage.sized(CLEANED, 100))
    with (
        running(stage) as (product, server, client),
        board(server.port, QUEUE, stage.folder / "board.log") as reached,
        pinging(server.port) as pings,
    ):
        place = _Place(product, reached, pings, client)
        _retrying(place, 100, Figures(100, 0, 0), 1)  # what is loaded once is loaded by this
        pings.since_last()
        time.sleep(3)
        figures.idle = pings.since_last()
        _retrying(place, figures.retried, figures, min(stage.rounds, MOST_ROUNDS))
        _emptying(place, figures)
        _cleaning(place, figures)
    return figures


def _retrying(place: _Place, jobs: int, figures: Figures, rounds: int) -> None:
    ways: dict[str, Callable[[], float]] = {
        "ours": lambda: _retry(place, figures),
        "board": lambda: _put(place, f"{PUT}/retry/failed"),
        "bullmq": lambda: _put(place, "/bullmq/retry"),
    }
    names = list(ways)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            _seed(place.client, failed=jobs)
            done = figures.retry.setdefault(name, Done())
            _timed(place, done, ways[name])
            ranked, plain = place.client.zcard(f"bull:{QUEUE}:prioritized"), place.client.llen(f"bull:{QUEUE}:wait")
            done.ranked.append(int(ranked))
            done.right.append(int(ranked) + int(plain))


def _retry(place: _Place, figures: Figures) -> float:
    until = now_ms()
    took = place.product.bulk("retry", state="failed", attempts="keep", until=until, expected=figures.retried)
    figures.retry["ours"].answered.append(took.answered)
    return took.done


def _emptying(place: _Place, figures: Figures) -> None:
    for name in ("ours", "board"):
        _seed(place.client, waiting=figures.emptied)
        done = figures.empty.setdefault(name, Done())
        if name == "ours":
            _timed(place, done, lambda: place.product.queue("drain", sure=QUEUE).done)
        else:
            _timed(place, done, lambda: _put(place, f"{PUT}/empty"))
        done.right.append(figures.emptied - int(place.client.llen(f"bull:{QUEUE}:wait")))


def _cleaning(place: _Place, figures: Figures) -> None:
    for name in ("ours", "board"):
        _seed(place.client, completed=figures.cleaned)
        done = figures.clean.setdefault(name, Done())
        fields: dict[str, str | int] = {
            "state": "completed", "amount": 1, "unit": "min", "clock": "finished", "sure": QUEUE
        }  # fmt: skip
        if name == "ours":
            _timed(place, done, lambda fields=fields: place.product.queue("clean", **fields).done)  # type: ignore[misc]
        else:
            _timed(place, done, lambda: _put(place, f"{PUT}/clean/completed"))
        done.right.append(figures.cleaned - int(place.client.zcard(f"bull:{QUEUE}:completed")))


def _timed(place: _Place, done: Done, do: Callable[[], float]) -> None:
    place.pings.since_last()
    done.ms.append(do())
    pings = place.pings.since_last()
    done.longest.append(pings.longest)
    done.nearly.append(pings.nearly)


def _put(place: _Place, path: str) -> float:
    began = time.perf_counter()
    place.board.put(path)
    return (time.perf_counter() - began) * 1000


def _seed(client: redis.Redis, **amounts: int) -> None:
    """The queue anew, its jobs an hour old; a tenth of the failed ones have a priority."""
    client.flushdb()
    seed_queue(client, QUEUE, step_ms=1.0, until_ms=now_ms() - HOUR, source=SOURCE, **amounts)  # type: ignore[arg-type]
    with client.pipeline(transaction=False) as pipe:
        for number in range(1, amounts.get("failed", 0) + 1, TENTH):
            pipe.hset(f"bull:{QUEUE}:{number}", "priority", 5)
        pipe.execute()
    time.sleep(0.5)  # what was seeded is settled
