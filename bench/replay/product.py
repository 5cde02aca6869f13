"""The product as an operator replays with it: forms that are sent to a web process, and a worker that does the rest."""

from __future__ import annotations

import contextlib
import http.client
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import psutil
import redis
from django.conf import settings
from django.db import connection
from django.urls import resolve, reverse

from bench.failures.place import Place
from bench.operate.pinging import Pinging, pinging
from bench.operate.product import worker
from bench.stage import STARTS_WITHIN_S, Stage, Web
from dashboard.replays.terms_form import initial
from queues.models import Replay, ReplayJob, ReplayLimits
from queues.quantities import HOUR, now_ms
from queues.replay.terms import Terms
from queues.replay.types import Phase
from queues.types import QueueRef, State
from tests.seed import seed_queue

SOURCE, QUEUE = "replay", "shop"
TENTH = 10  # of so many failed jobs one has a priority
LONGEST_S = 1_800.0
POLL_S = 0.05
TOKEN = "b" * 32  # of forms: the cookie says the same
# No worker of BullMQ's runs, jobs are an hour old, and nobody waits before the first one: so nothing holds it.
FREE = Terms(
    canary=0, pace_from=None, pace_to=None, age_max_s=None, stop_percent=None, stop_paused=False, stop_idle=False
)

Fields = Mapping[str, str | int | float | Sequence[str]]


class Person:
    """Somebody who is signed in. Each page has a connection of its own: the web process closes kept ones."""

    def __init__(self, port: int, cookie: str) -> None:
        self._headers = {"Host": "localhost", "Cookie": f"{cookie}; {settings.CSRF_COOKIE_NAME}={TOKEN}"}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=STARTS_WITHIN_S)

    def gets(self, path: str) -> bytes:
        """The body of a page, all of it received."""
        status, location, page = self._asked("GET", path)
        if status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {status} {location}")
        return page

    def sends(self, path: str, fields: Fields) -> str:
        """Send a form; gives where it leads."""
        status, location, page = self.posts(path, fields)
        if status != http.HTTPStatus.FOUND:
            raise RuntimeError(f"{path}: {status} {location}\n{page[-3000:]}")
        return location

    def posts(self, path: str, fields: Fields) -> tuple[int, str, str]:
        """Send a form; gives the status, where it leads, and the page."""
        body = urlencode({"key": os.urandom(16).hex(), **fields, "csrfmiddlewaretoken": TOKEN}, doseq=True)
        status, location, page = self._asked("POST", path, body)
        return status, location, page.decode()

    def _asked(self, method: str, path: str, body: str | None = None) -> tuple[int, str, bytes]:
        kind = {} if body is None else {"Content-Type": "application/x-www-form-urlencoded"}
        self._connection.request(method, path, body, self._headers | kind)
        answer = self._connection.getresponse()
        told = answer.status, answer.headers.get("Location", ""), answer.read()
        self._connection.close()
        return told


@dataclass(frozen=True)
class Product:
    """All that runs. `worker` is the process that runs plans."""

    held: Place
    web: Web
    person: Person
    worker: psutil.Process
    pings: Pinging

    @property
    def client(self) -> redis.Redis:
        return self.held.client

    @property
    def queue(self) -> QueueRef:
        return self.held.world.refs[0]

    def plans(self) -> Replay:
        """Send the form that plans a replay of all failed jobs; gives the plan as it is then."""
        fields = {"kind": "state", "source": self.queue.source, "queue": self.queue.slug, "state": State.FAILED.value}
        location = self.person.sends(reverse("replay-plan"), fields)
        return Replay.objects.get(pk=resolve(location).kwargs["pk"])

    def drafts(self) -> Replay:
        """The same, once its set is frozen."""
        return reached(self.plans(), Phase.DRAFT)

    def starts(self, plan: Replay, terms: Terms) -> float:
        """Send the form that starts it; gives the moment before that, in seconds since 1970."""
        began = time.time()
        self.person.sends(reverse("replay-start", args=[plan.pk]), form(plan, terms))
        return began

    def acts(self, plan: Replay, verb: str) -> None:
        """Send a form of a plan that has started: "pause", "go-on" or "cancel"."""
        self.person.sends(reverse(f"replay-{verb}", args=[plan.pk]), {})

    def worked(self) -> float:
        """Seconds of processor time of the worker so far."""
        return used(self.worker)

    def served(self) -> float:
        """The same of the monitored server."""
        process = self.held.monitored.process
        return used(psutil.Process(process.pid)) if process else 0.0


@contextlib.contextmanager
def product(stage: Stage, held: Place) -> Iterator[Product]:
    """A web process and a worker over the servers of a place; plans begin at once, and are gone afterwards."""
    ReplayLimits.objects.update_or_create(pk=1, defaults={"largest": None, "undo_s": 0, "typed": 10**9})
    with contextlib.ExitStack() as closing:
        process = closing.enter_context(worker(held.world, held.app, held.folder / "worker.log"))
        web = closing.enter_context(stage.web(held.world, app=held.app.url))
        pings = closing.enter_context(pinging(held.monitored.port))
        closing.callback(forget)
        yield Product(held, web, Person(web.port, stage.cookie), psutil.Process(process.pid), pings)


def seed(client: redis.Redis, jobs: int) -> QueueRef:
    """The queue anew: so many failed jobs, an hour old; a tenth of them have a priority."""
    client.flushdb()
    ref = seed_queue(client, QUEUE, step_ms=1.0, until_ms=now_ms() - HOUR, source=SOURCE, failed=jobs)
    with client.pipeline(transaction=False) as pipe:
        for number in range(1, jobs + 1, TENTH):
            pipe.hset(f"bull:{QUEUE}:{number}", "priority", 5)
        pipe.execute()
    return ref


def used(process: psutil.Process) -> float:
    """Seconds of processor time so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def form(plan: Replay, terms: Terms) -> Fields:
    """The fields of a draft's form as a browser would send them, with other terms than it has."""
    shown = (initial(terms, plan.source.name) | {"was": Terms.of(plan.terms).stamp}).items()
    return {name: "on" if value is True else value for name, value in shown if value is not None and value is not False}


def reached(plan: Replay, *phases: Phase) -> Replay:
    """The plan as soon as it is in one of these phases. RuntimeError where it ends elsewhere."""
    deadline = time.monotonic() + LONGEST_S
    while True:
        now = Replay.objects.select_related("source").get(pk=plan.pk)
        if now.phase in phases:
            return now
        if now.phase in (Phase.FAILED, Phase.STOPPED, Phase.CANCELLED) or time.monotonic() > deadline:
            raise RuntimeError(f"{now} is {now.phase}, not {phases}: {now.why} {now.holding} {now.note}")
        time.sleep(POLL_S)


def forget() -> None:
    """Delete all plans: those of the bench alone, whose database goes away. Whoever runs one finds that out."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {ReplayJob._meta.db_table}")
    Replay.objects.all().delete()
