"""The follower, the web process and Redis die under an open page: it says so, comes back by itself, and is right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pytest
from django.conf import settings
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Page, expect

from queues.models import Notable, Stream
from tests.chromium import SignIn
from tests.queues.following import add, know
from tests.server import child_environment
from tests.valkey import Server as Valkey
from tests.valkey import StartRedis, eventually, free_port

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    expect.set_options(timeout=90_000)
    yield
    expect.set_options(timeout=5_000)


class Web:
    """A web process on a port of its own, that may be killed and started again."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environment = child_environment(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # `close` closes it

    def start(self) -> None:
        command = [sys.executable, "-m", "daphne", "-v", "0", "-p", str(self.port), "dashboard.asgi:application"]
        where, log = settings.BASE_DIR, self._log
        self._process = subprocess.Popen(
            command, cwd=where, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """End it, and show what it has printed."""
        self.kill()
        self._log.seek(0)
        print(self._log.read().decode(errors="replace"))
        self._log.close()


@dataclass
class Stage:
    """A page in a browser, and all that may die below it."""

    page: Page
    web: Web
    watched: Valkey
    follow: Callable[[], subprocess.Popen[bytes]]

    def work(self, number: int) -> None:
        """Jobs that complete, as BullMQ leaves them."""
        with self.watched.client() as client:
            for _again in range(number):
                at = add(client, "shop", "completed", "jobId", os.urandom(4).hex(), "prev", "active")
                client.zadd("bull:shop:completed", {at: int(at.partition("-")[0])})

    def open(self) -> None:
        eventually(self._answers)
        self.is_right(3, fresh=True)
        self.page.evaluate("window.kept = true")

    def is_right(self, number: int, *, fresh: bool = False) -> None:
        """The page is live and shows so many completed jobs, and was never loaded anew."""
        expect(self.page.locator("#state-line")).to_contain_text("Live")
        expect(self.page.locator("[data-state=completed] [data-part]")).to_have_text(str(number))
        assert fresh or self.page.evaluate("window.kept") is True

    def is_not_live(self) -> None:
        expect(self.page.locator("#state-line")).to_contain_text("Not live since")

    def _answers(self) -> bool:
        try:
            self.page.goto(f"{self.web.url}/queues/main/shop/?state=completed")
        except BrowserError:
            return False
        return True


@pytest.fixture
def stage(
    page: Page,
    sign_in: SignIn,
    start_redis: StartRedis,
    start_follower: Callable[[Mapping[str, str]], subprocess.Popen[bytes]],
    live_environment: dict[str, str],
) -> Iterator[Stage]:
    """A Redis that keeps its data, with three completed jobs; a web process; no follower yet."""
    watched = start_redis("--appendonly", "yes", "--appendfsync", "always")
    environment = {**live_environment, "REDIS_URL": watched.url}
    know(b"shop")
    sign_in("viewer")
    made = Stage(page, Web(environment), watched, partial(start_follower, environment))
    with watched.client() as client:
        client.hset("bull:shop:meta", "opts.maxLenEvents", "10000")
    made.work(3)
    made.web.start()
    yield made
    page.goto("about:blank")  # it would complain of a server that goes away
    made.web.close()


def dies(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def counted() -> tuple[int, int]:
    """Entries read and lost of the queue, as stored."""
    row = Stream.objects.get()
    return row.read, row.lost


def test_a_follower_that_is_killed_is_missed_and_its_successor_goes_on_without_a_gap(stage: Stage) -> None:
    follower = stage.follow()
    stage.open()
    dies(follower)
    stage.work(20)
    stage.is_not_live()
    stage.follow()
    stage.is_right(23)
    eventually(lambda: counted() == (23, 0))
    assert not Notable.objects.filter(kind="gap").exists()


def test_what_was_trimmed_while_nobody_followed_is_a_gap_on_the_page(stage: Stage) -> None:
    follower = stage.follow()
    stage.open()
    dies(follower)
    stage.work(50)
    with stage.watched.client() as client:
        client.xtrim("bull:shop:events", maxlen=10, approximate=False)
    stage.follow()
    stage.is_right(53)
    expect(stage.page.locator("#feed li[data-kind=gap]")).to_contain_text("40")
    stage.page.reload()
    expect(stage.page.locator("main")).to_contain_text("40 events")
    assert counted() == (13, 40)


def test_a_web_process_that_is_killed_is_said_and_the_page_comes_back_by_itself(
    stage: Stage, complaints: list[str]
) -> None:
    stage.follow()
    stage.open()
    stage.web.kill()
    stage.is_not_live()
    stage.work(5)
    stage.web.start()
    stage.is_right(8)
    complaints.clear()  # the browser's own on a server that was away


# DP-03
def test_a_redis_that_is_killed_and_comes_back_with_its_data(stage: Stage) -> None:
    stage.follow()
    stage.open()
    stage.watched.stop()
    stage.is_not_live()
    expect(stage.page.locator("[data-state=completed] [data-part]")).to_have_text("3")
    stage.watched.start()
    stage.work(4)
    stage.is_right(7)
    eventually(lambda: counted() == (7, 0))
    assert not Notable.objects.filter(kind="gap").exists()


# DP-03
def test_a_redis_that_comes_back_empty_is_shown_as_it_is_with_a_gap(stage: Stage) -> None:
    stage.follow()
    stage.open()
    stage.watched.stop()
    for path in stage.watched.folder.rglob("*aof*"):
        if path.is_file():
            path.unlink()
    stage.is_not_live()
    stage.watched.start()
    stage.work(2)
    stage.is_right(2)
    expect(stage.page.locator("#feed li[data-kind=gap]")).to_have_count(1)
    eventually(lambda: counted() == (5, 0))


def test_a_second_follower_stands_by_and_takes_over(stage: Stage) -> None:
    first = stage.follow()
    stage.open()
    stage.follow()
    stage.work(5)
    stage.is_right(8)
    dies(first)
    stage.work(5)
    stage.is_right(13)
    eventually(lambda: counted() == (13, 0))
