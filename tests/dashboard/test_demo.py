"""The demo traffic in a real Valkey: what it writes, where it refuses to, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from bullmq import Job
from django.conf import settings
from django.core.management import CommandError, call_command
from redis import Redis

from dashboard.demo import past, payloads
from dashboard.demo.catalog import QUEUES
from dashboard.demo.faults import Weather
from dashboard.demo.rehearsal import ended
from dashboard.demo.shop import Shop
from dashboard.demo.streams import Room, reconciliation
from dashboard.management.commands import demo as demo_command
from queues import registry
from queues.failures import find, letters
from queues.failures.types import Kind
from queues.models import Deploy
from queues.quantities import now_ms
from queues.registry import SourceConfig
from tests.queues.following import know
from tests.queues.indexing import indexer, settle
from tests.valkey import Server, StartRedis, eventually, valkey_binary

T = TypeVar("T")
KEEPING = ("--appendonly", "yes", "--maxmemory-policy", "noeviction")
QUIET = ("--rate", "0", "--crash-every", "0")


class Demo:
    """A running `manage.py demo_traffic`, what it says, and the database it writes to."""

    def __init__(self, url: str, folder: Path, *options: str) -> None:
        self.url = url
        self.redis: Any = Redis.from_url(url, decode_responses=True)
        self._out = folder / f"demo-{time.monotonic_ns()}.log"
        with self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "demo_traffic", *options],
                cwd=settings.BASE_DIR,
                env=_environment(folder, url),
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self._out.read_text()

    def until(self, probe: Callable[[], T]) -> T:
        """Wait for this as long as the demo runs."""

        def looked() -> T:
            assert self.process.poll() is None, self.output
            return probe()

        return eventually(looked, within=120)

    def seeded(self) -> None:
        """Wait until the first history is there."""
        self.until(lambda: "have their history" in self.output)

    def ids(self, queue: str, state: str) -> list[str]:
        key = f"bull:{queue}:{state}"
        return list(self.redis.lrange(key, 0, -1) if state == "wait" else self.redis.zrange(key, 0, -1))

    def jobs(self, queue: str, state: str) -> list[dict[str, str]]:
        found = [self.redis.hgetall(f"bull:{queue}:{job}") for job in self.ids(queue, state)]
        # One that was taken or dropped between the two reads has left nothing behind.
        return [fields for fields in found if "name" in fields]

    def events(self, queue: str) -> Counter[str]:
        return Counter(fields["event"] for _, fields in self.redis.xrange(f"bull:{queue}:events"))

    def fragile_worker(self) -> int:
        """The process that is killed now and then, once its Python runs our command."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for pid in self.until(lambda: children.read_text().split()):
            self.until(lambda pid=pid: b"crashy" in Path(f"/proc/{pid}/cmdline").read_bytes())  # type: ignore[misc]
            return int(pid)
        raise AssertionError

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.redis.close()


Start = Callable[..., Demo]


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Iterator[str]]:
    """Addresses of empty databases that are nobody else's, in a Valkey of this module."""
    server = Server(valkey_binary(), tmp_path_factory.mktemp("valkey"), *KEEPING).start()
    yield (f"redis://127.0.0.1:{server.port}/{number}" for number in range(16))
    server.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a demo for one test: `start(url, "--rate", "0")`."""
    with ExitStack() as stack:
        yield lambda url, *options: stack.enter_context(closing(Demo(url, tmp_path, *options)))


@pytest.fixture(scope="module")
def demo(databases: Iterator[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The demo as `make demo` runs it, but with a fragile worker that is killed every few seconds."""
    with closing(Demo(next(databases), tmp_path_factory.mktemp("demo"), "--crash-every", "4")) as started:
        started.seeded()
        yield started


def test_every_queue_of_the_shop_exists(demo: Demo) -> None:
    present = {key.split(":")[1] for key in demo.redis.scan_iter("bull:*:meta")}

    assert present == set(QUEUES)


def test_payments_fail_for_good_in_the_ways_that_payments_do(demo: Demo) -> None:
    kinds = ("cpf must have 11 digits", "field amount", "must be integer", "payments_order_id_key")

    def seen() -> bool:
        reasons = [job["failedReason"] for job in demo.jobs("payments", "failed")]
        return all(any(kind in reason for reason in reasons) for kind in kinds)

    demo.until(seen)
    [failed, *_] = [job for job in demo.jobs("payments", "failed") if kinds[0] in job["failedReason"]]
    assert "_validate_payment" in "".join(json.loads(failed["stacktrace"]))
    assert demo.ids("payments", "completed")


def test_what_failed_in_the_week_before_lies_there_as_the_library_leaves_it_and_fails_on_in_the_same_words(
    demo: Demo,
) -> None:
    oldest = demo.jobs("payments", "failed")[0]
    assert time.time() * 1000 - int(oldest["finishedOn"]) > 6 * 86_400_000
    began = int(demo.redis.hget("mirante:demo", "seed:past_week") or 0)
    for before, now in demo.until(lambda: _pairs(demo, began)):
        assert before.keys() == now.keys()
        assert json.loads(before["opts"]) == json.loads(now["opts"])
        assert before["atm"] == before["ats"] == now["atm"]
        own = [json.loads(job["stacktrace"])[-1].partition("processors.py")[2] for job in (before, now)]
        assert own[0] == own[1] != ""


def test_the_gateway_stopped_answering_forty_minutes_before_the_demo_and_goes_on(demo: Demo) -> None:
    began = int(demo.redis.hget("mirante:demo", "seed:past_week") or 0)
    timeouts = [int(job["finishedOn"]) for job in demo.jobs("payments", "failed") if "ETIMEDOUT" in job["failedReason"]]
    wave = sum(began - 40 * 60_000 <= at < began for at in timeouts)
    before = sum(began - 8 * 3_600_000 <= at < began - 40 * 60_000 for at in timeouts)
    assert wave >= 110 > before

    calm = began + int(Weather.storm * 1000)  # every service fails often until then at the latest

    def goes_on() -> bool:
        newest = demo.jobs("payments", "failed")[-100:]
        return any("ETIMEDOUT" in job["failedReason"] and int(job["finishedOn"]) > calm for job in newest)

    demo.until(goes_on)


async def test_what_the_gateway_did_not_answer_completes_when_it_is_sent_again(demo: Demo) -> None:
    """Also while the gateway hardly answers anything else."""
    lost = [job for job, fields in _failed_payments(demo) if "ETIMEDOUT" in fields["failedReason"]][-30:]
    await _again(demo, lost)

    demo.until(lambda: all(demo.redis.zscore("bull:payments:completed", job) for job in lost))


async def test_a_payment_that_is_wrong_fails_again_and_completes_when_it_is_corrected(demo: Demo) -> None:
    failed = _failed_payments(demo)
    [*_, (same, _fields), (short, fields)] = [each for each in failed if "cpf must have" in each[1]["failedReason"]]
    [*_, (missing, others)] = [each for each in failed if "field amount" in each[1]["failedReason"]]
    data, other = json.loads(fields["data"]), json.loads(others["data"])
    data["customer"]["cpf"], other["amount"] = "12345678909", {"cents": 1990, "currency": "BRL"}
    demo.redis.hset(f"bull:payments:{short}", "data", json.dumps(data))
    demo.redis.hset(f"bull:payments:{missing}", "data", json.dumps(other))
    now = time.time() * 1000
    await _again(demo, [same, short, missing])

    demo.until(lambda: all(demo.redis.zscore("bull:payments:completed", job) for job in (short, missing)))
    demo.until(lambda: (demo.redis.zscore("bull:payments:failed", same) or 0) >= now)


async def test_an_invoice_that_is_wrong_is_so_by_its_data_and_is_issued_when_they_are_corrected() -> None:
    rng = Random(1)
    data = payloads.order(rng, flawed=True)
    for _ in range(3):  # permanent, as its class says
        failed = await ended(rng, "invoices", "issue-invoice", data, None)
        assert failed.reason.startswith("SchemaError: /items/0/ncm")
    data["items"][0]["ncm"] = "09012100"
    with pytest.raises(ValueError, match="does not fail"):
        await ended(rng, "invoices", "issue-invoice", data, None)


def test_some_customers_are_told_of_by_more_than_one_letter(demo: Demo) -> None:
    posted = [json.loads(job["data"])["payload"] for job in demo.jobs("payments-failed", "wait")]
    letters = Counter(payload["customer"]["id"] for payload in posted)

    assert sum(number > 1 for number in letters.values()) > 5


def test_two_letters_are_older_than_a_day_and_tell_of_jobs_that_are_there(demo: Demo) -> None:
    posted = [json.loads(job["data"]) for job in demo.jobs("payments-failed", "wait")]
    old = [each for each in posted if each["failedAt"] < time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86_400))]

    assert len(old) == 2
    for letter in posted:
        origin = demo.redis.hgetall(f"bull:payments:{letter['origin']['jobId']}")
        assert letter["payload"] == json.loads(origin["data"])
        assert letter["error"]["message"] == origin["failedReason"]


@pytest.mark.django_db
def test_the_list_of_failures_tells_what_is_broken_since_when_and_what_a_retry_helps(demo: Demo, settings: Any) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", demo.url),)
    registry.forget()
    letters.forget()
    know(*(name.encode() for name in QUEUES))
    one = indexer()
    settle(one)
    two = indexer(epoch=2)  # whoever begins counts all windows anew, as each minute does
    settle(two)
    found = find.groups(find.Filters(sources=("main",)))
    worst = found.rows[0]
    assert "ETIMEDOUT gateway.pagarbem.example" in worst.title
    assert (worst.kind, worst.growth.fast) == (Kind.TRANSIENT, True)
    assert worst.first_ms < worst.last_ms - 5 * 86_400_000
    assert 8 < (worst.growth.times or 0) < 200
    steady = [row for row in found.rows if row.kind == Kind.PERMANENT]
    assert len(steady) >= 6
    assert all(row.counts.h1 < worst.counts.h1 / 5 for row in steady)
    assert len(found.rows) < 25, "live failures join the groups of those from before"
    two.close()
    one.close()
    registry.forget()


@pytest.mark.django_db
def test_a_deploy_is_told_once_from_before_the_trouble_began() -> None:
    for _again in (1, 2):
        demo_command._tell_deploy()
    row = Deploy.objects.get()
    assert now_ms() - row.at_ms > past.WAVE_MS


def test_a_failed_payment_leaves_a_letter_with_its_payload_error_time_and_origin(demo: Demo) -> None:
    demo.until(lambda: len(demo.ids("payments-failed", "wait")) >= 3)
    letter = json.loads(demo.jobs("payments-failed", "wait")[-1]["data"])
    origin = demo.redis.hgetall(f"bull:payments:{letter['origin']['jobId']}")

    assert letter["payload"] == json.loads(origin["data"])
    assert letter["error"]["message"] == origin["failedReason"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", letter["failedAt"])
    assert letter["origin"]["queue"] == "payments"
    assert letter["origin"]["attempts"] == int(origin["atm"])


def test_mails_are_retried_with_backoff_after_transient_failures(demo: Demo) -> None:
    job = demo.until(lambda: _in_backoff(demo))[0]

    assert re.search(r"ETIMEDOUT|ECONNRESET|429|503", job["failedReason"])
    assert json.loads(job["opts"])["backoff"]["type"] == "exponential"


def test_more_than_twenty_delayed_jobs_are_due_in_one_minute(demo: Demo) -> None:
    scores = demo.redis.zrange("bull:cart-reminders:delayed", 0, -1, withscores=True)
    minutes = Counter((int(score) >> 12) // 60_000 for _, score in scores)

    assert max(minutes.values()) > 20
    assert len(minutes) > 5


def test_prioritized_jobs_wait_for_their_turn(demo: Demo) -> None:
    assert len(demo.ids("media.thumbnails", "prioritized")) > 5


def test_parents_wait_for_children_that_no_worker_takes(demo: Demo) -> None:
    stuck = [job for job in demo.jobs("accounting", "waiting-children") if job["name"] == "close-month"]

    assert len(stuck) == 2
    assert [job["name"] for job in demo.jobs("ledger-export", "wait")] == ["export-ledger"] * 2
    assert demo.ids("orders", "waiting-children")


def test_the_newsletter_is_paused_and_the_search_index_has_a_backlog_of_hours(demo: Demo) -> None:
    oldest = demo.jobs("search-index", "wait")[-1]

    assert demo.redis.hexists("bull:newsletter:meta", "paused")
    assert len(demo.ids("newsletter", "wait")) >= 100
    assert not demo.ids("newsletter", "completed")
    assert len(demo.ids("search-index", "wait")) >= 400
    assert time.time() * 1000 - int(oldest["timestamp"]) > 3_600_000


def test_reports_are_scheduled_by_cron_with_a_time_zone_and_by_interval(demo: Demo) -> None:
    daily = demo.redis.hgetall("bull:reports:repeat:daily-sales")
    often = demo.redis.hgetall("bull:reports:repeat:exchange-rates")

    assert demo.redis.zcard("bull:reports:repeat") == 5
    assert (daily["pattern"], daily["tz"]) == ("0 7 * * *", "America/Sao_Paulo")
    assert often["every"] == "30000"


def test_imports_report_progress_as_an_object_and_dozens_of_log_lines(demo: Demo) -> None:
    done = demo.until(lambda: demo.ids("imports", "completed"))[0]
    progress = json.loads(demo.redis.hget(f"bull:imports:{done}", "progress"))

    assert progress["percent"] == 100
    assert demo.redis.llen(f"bull:imports:{done}:logs") > 24


def test_numbers_beyond_a_double_and_fields_to_mask_are_in_the_payloads(demo: Demo) -> None:
    payment = demo.jobs("payments-failed", "wait")[-1]["data"]

    assert re.search(r'"id":90071992547[0-9]{8}\b', payment)
    assert {"card", "gateway"} <= set(json.loads(payment)["payload"])


def test_jobs_stall_when_the_fragile_worker_is_killed_and_are_picked_up_again(demo: Demo) -> None:
    demo.until(lambda: demo.events("shipping-labels")["stalled"] > 0)

    assert "Killed the shipping-labels worker" in demo.output
    assert demo.process.poll() is None


def test_completed_jobs_are_kept_within_bounds_except_where_the_shop_forgot(demo: Demo) -> None:
    bounded = [spec for spec in QUEUES.values() if spec.concurrency and spec.name != "reports"]

    assert all(spec.options["removeOnComplete"]["count"] <= 500 for spec in bounded)
    assert all(spec.options["removeOnFail"]["count"] <= 5_000 for spec in bounded)
    assert "removeOnComplete" not in QUEUES["reports"].options
    demo.until(lambda: demo.jobs("email-notifications", "completed"))
    job = demo.jobs("email-notifications", "completed")[0]
    assert json.loads(job["opts"])["removeOnComplete"]["count"] == 500


def test_sigterm_ends_the_demo_with_code_0_and_leaves_no_process(databases: Iterator[str], start: Start) -> None:
    demo = start(next(databases))
    child = demo.fragile_worker()

    assert demo.stop() == 0, demo.output
    assert not _alive(child)
    assert "Traceback" not in demo.output


def test_sigterm_ends_an_overloaded_demo(databases: Iterator[str], start: Start) -> None:
    demo = start(next(databases), "--rate", "50", "--crash-every", "0")
    demo.until(lambda: demo.events("media.resize")["added"] > 100)

    assert demo.stop() == 0, demo.output


def test_a_killed_demo_takes_its_fragile_worker_along(databases: Iterator[str], start: Start) -> None:
    demo = start(next(databases))
    child = demo.fragile_worker()
    demo.process.kill()
    demo.process.wait(60)

    assert eventually(lambda: not _alive(child))


def test_a_second_start_adds_no_second_history(databases: Iterator[str], start: Start) -> None:
    first = start(next(databases), *QUIET)
    first.seeded()
    assert first.stop() == 0
    before = _history(first)
    again = start(first.url, *QUIET)
    again.seeded()

    assert again.stop() == 0
    assert _history(again) == before
    assert again.redis.zcard("bull:reports:repeat") == 5


async def test_a_full_queue_gets_no_more_jobs(databases: Iterator[str]) -> None:
    shop, cap = Shop(next(databases), print), QUEUES["accounting"].cap
    try:
        room = Room(shop, "accounting")
        for _ in range(cap + 5):
            if await room.take():
                await reconciliation(shop, Random())

        assert await shop.queues["accounting"].getJobCountByTypes("waiting") == cap
        assert not await Room(shop, "accounting").take(), "counted, not remembered"
    finally:
        await shop.close(1)


def test_a_database_with_other_keys_is_refused_and_left_as_it_was(databases: Iterator[str], start: Start) -> None:
    url = next(databases)
    with Redis.from_url(url) as client:
        client.hset("bull:theirs:meta", "version", "bullmq:5.81.5")
        demo = start(url)

        assert demo.process.wait(60) == 1
        assert "--demo-traffic" in demo.output
        assert "Traceback" not in demo.output
        assert client.keys() == [b"bull:theirs:meta"]


def test_a_database_with_other_keys_is_used_when_each_start_asks_for_it(databases: Iterator[str], start: Start) -> None:
    url = next(databases)
    with Redis.from_url(url) as client:
        client.set("theirs", "1")
    asked = start(url, "--demo-traffic", *QUIET)
    asked.seeded()

    assert asked.stop() == 0
    assert start(url, *QUIET).process.wait(60) == 1


def test_the_demo_waits_out_a_restart_of_its_redis(tmp_path: Path, start: Start, start_redis: StartRedis) -> None:
    server = start_redis(*KEEPING)
    demo = start(server.url, "--crash-every", "0")
    demo.seeded()
    server.stop()
    demo.until(lambda: "Redis does not answer" in demo.output)
    server.start()
    demo.until(lambda: "Redis answers again" in demo.output)
    before = demo.events("media.resize")["completed"]

    demo.until(lambda: demo.events("media.resize")["completed"] > before)
    assert demo.output.count("Redis does not answer") == 1
    assert demo.stop() == 0


def test_sigterm_ends_the_demo_while_its_redis_is_away(tmp_path: Path, start: Start, start_redis: StartRedis) -> None:
    server = start_redis()
    demo = start(server.url, "--crash-every", "0")
    demo.seeded()
    server.stop()
    demo.until(lambda: "Redis does not answer" in demo.output)

    assert demo.stop() == 0


@pytest.mark.parametrize("rate", ["fast", "-1", "51", "nan"])
def test_a_rate_that_is_no_number_from_0_to_50_is_refused(rate: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="expected a number from 0 to 50"):
        call_command("demo_traffic", "--redis", "redis://127.0.0.1:1", f"--rate={rate}")


def _environment(folder: Path, url: str) -> dict[str, str]:
    own = {"DJANGO_SETTINGS_MODULE": "dashboard.settings", "MIRANTE_VAR_DIR": str(folder), "DEMO_REDIS_URL": url}
    return {**os.environ, **own}


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _in_backoff(demo: Demo) -> list[dict[str, str]]:
    return [job for job in demo.jobs("email-notifications", "delayed") if job.get("failedReason")]


def _pairs(demo: Demo, began: int) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Payments that failed in the same words before the demo and in it; none until there are those of two kinds."""
    before: dict[str, dict[str, str]] = {}
    now: dict[str, dict[str, str]] = {}
    for job in demo.jobs("payments", "failed"):
        again = int(job["timestamp"]) < began <= int(job["finishedOn"])  # another test has retried it
        if "gateway" not in job["failedReason"] and not again:
            (before if int(job["finishedOn"]) < began else now)[job["failedReason"]] = job
    found = [(before[reason], now[reason]) for reason in before.keys() & now.keys()]
    return found if len(found) >= 2 else []


def _failed_payments(demo: Demo) -> list[tuple[str, dict[str, str]]]:
    """Those that no letter tells of, by their ids, with their hashes; the oldest first."""
    now = round(time.time() * 1000)
    jobs = demo.redis.zrange("bull:payments:failed", now - 6 * past.DAY_MS, now - 2 * past.LETTERS_MS, byscore=True)
    found = ((job, demo.redis.hgetall(f"bull:payments:{job}")) for job in jobs)
    return [(job, fields) for job, fields in found if "failedReason" in fields]


async def _again(demo: Demo, jobs: Sequence[str]) -> None:
    """Retry them by the library, as they are."""
    shop = Shop(demo.url, print)
    try:
        for job in jobs:
            await (await Job.fromId(shop.queues["payments"], job)).retry()
    finally:
        await shop.close(1)


def _history(demo: Demo) -> dict[str, int]:
    """How many jobs there are in queues that nobody works on."""
    idle = ("newsletter", "search-index", "ledger-export")
    waiting = {queue: len(demo.ids(queue, "wait")) for queue in idle}
    return {**waiting, "cart-reminders": len(demo.ids("cart-reminders", "delayed"))}
