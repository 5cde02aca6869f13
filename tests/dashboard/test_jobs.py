"""The page of a job: every body exact, capped, masked; logs in pages; downloads for admins alone."""

from __future__ import annotations

import json
import time

import pytest
import redis
from django.http import QueryDict
from django.test import Client

from dashboard.queries import JobsQuery
from queues.models import Notable, Queue, ReplayJob, Source, Stream
from queues.names import encode_part
from queues.registry import SourceConfig
from queues.replay.types import Acts, Place
from queues.sendings import Fate
from queues.types import QueueRef
from tests.dashboard.pages import Page, link
from tests.dashboard.people import as_role
from tests.dashboard.replayed import row, started
from tests.queues.replaying import a_queue
from tests.seed import seed_job, seed_queue
from tests.valkey import RedisCommands

pytestmark = pytest.mark.django_db

SECRETS = {
    "password": "hunter2secret",
    "accessToken": "tok-9f2e",
    "Authorization": "Bearer abc.def.ghi",
    "cookie": "sid=31337",
    "card": {"number": "4111111111111111", "cvv": "7x7-cvv"},
}


@pytest.fixture
def viewer() -> Client:
    return as_role("viewer")


@pytest.fixture
def mail(source: SourceConfig, valkey: redis.Redis) -> QueueRef:
    return seed_queue(valkey, "mail")


def put(
    valkey: redis.Redis, mail: QueueRef, job: str | bytes = "7", state: str = "failed", **fields: str | bytes | int
) -> None:
    """One job in one state of the queue."""
    seed_job(valkey, mail, job, **fields)
    if state in ("wait", "active"):
        valkey.lpush(f"bull:mail:{state}", job)
    else:
        valkey.zadd(f"bull:mail:{state}".encode(), {job.encode() if isinstance(job, str) else job: time.time() * 1000})


def test_numbers_stand_exactly_as_they_were_stored(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail, data='{"id":9007199254740993127,"rate":1e400,"zero":-0.0,"big":' + "7" * 5000 + "}")
    page = Page(viewer.get("/queues/main/mail/jobs/7/"))
    assert "9007199254740993127" in page.source
    assert "1e400" in page.source
    assert "-0.0" in page.source
    assert "7" * 5000 in page.source


def test_no_secret_reaches_the_page_by_any_field(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    body = json.dumps(SECRETS)
    put(
        valkey,
        mail,
        data=body,
        returnvalue=body,
        progress=body,
        opts=json.dumps({"attempts": 2, "telemetry": SECRETS}),
        failedReason="cannot log in with password=hunter2secret",
        stacktrace=json.dumps([f"Error: Authorization: Bearer abc.def.ghi\n    at x (y.js:1:1) {body}"]),
        finishedOn=1,
    )
    valkey.rpush("bull:mail:7:logs", "sent with token=tok-9f2e", body)
    for path in ("/queues/main/mail/jobs/7/", "/queues/main/mail/jobs/7/logs/", "/queues/main/mail/?state=failed"):
        source = viewer.get(path).content.decode()
        for secret in ("hunter2secret", "tok-9f2e", "abc.def.ghi", "31337", "4111111111111111", "7x7-cvv"):
            assert secret not in source, (path, secret)


def test_a_body_of_five_megabytes_is_shown_in_part_with_its_true_size(
    viewer: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    put(valkey, mail, data=json.dumps({"rows": ["x" * 50] * 100_000}))
    response = viewer.get("/queues/main/mail/jobs/7/")
    assert len(response.content) < 600_000
    assert "cut: 5.1 MB in all" in Page(response).text


def test_an_admin_downloads_the_exact_bytes(mail: QueueRef, valkey: redis.Redis) -> None:
    raw = b'{"password":"x"}\xff\xfe' + b"y" * 300_000
    put(valkey, mail, data=raw)
    admin = as_role("admin")
    response = admin.get("/queues/main/mail/jobs/7/fields/data/")
    assert response.content == raw
    assert response.headers["Content-Disposition"].startswith("attachment")
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert admin.get("/queues/main/mail/jobs/7/fields/nosuch/").status_code == 404


def test_a_download_is_recorded_and_has_a_bound(
    mail: QueueRef, valkey: redis.Redis, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(valkey, mail, data="x" * 3_000_000)
    admin = as_role("admin")
    with caplog.at_level("INFO", "mirante.audit"):
        admin.get("/queues/main/mail/jobs/7/fields/data/")
    assert "download by=" in caplog.text
    monkeypatch.setattr("queues.backends.bullmq.jobs.DOWNLOAD_CAP", 2_000_000)
    response = admin.get("/queues/main/mail/jobs/7/fields/data/")
    assert response.status_code == 422
    assert "can be downloaded at once" in Page(response).text


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_the_exact_bytes_are_for_admins_only(mail: QueueRef, valkey: redis.Redis, role: str) -> None:
    put(valkey, mail, data='{"password":"hunter2"}')
    client = as_role(role)
    response = client.get("/queues/main/mail/jobs/7/fields/data/")
    assert response.status_code == 403
    assert "hunter2" not in response.content.decode()
    assert "Download: admins only" in Page(client.get("/queues/main/mail/jobs/7/")).text


def test_every_attempt_has_its_stack_the_newest_first(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    stacks = [
        f"Error: try {n}\n    at own (/app/src/a.ts:{n}:1)\n    at lib (node_modules/b.js:1:1)" for n in (1, 2, 3)
    ]
    put(valkey, mail, stacktrace=json.dumps(stacks), failedReason="try 3", atm=3, finishedOn=1)
    text = Page(viewer.get("/queues/main/mail/jobs/7/")).text
    assert text.index("Error: try 3") < text.index("Error: try 2") < text.index("Error: try 1")


def test_logs_come_a_hundred_at_a_time_with_their_numbers(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail)
    valkey.rpush("bull:mail:7:logs", *(f"line <{n}>\x1b[31m" for n in range(1, 251)))
    page = Page(viewer.get("/queues/main/mail/jobs/7/"))
    assert "250 lines (from line 201 on)" in page.text
    assert [node.attrs["value"] for node in page.all("value", tag="li")] == [str(n) for n in range(201, 251)]
    page = Page(
        viewer.get("/queues/main/mail/jobs/7/logs/?first=101", headers={"HX-Request": "true", "HX-Target": "logs"})
    )
    assert "<html" not in page.source
    assert "lines 101 to 200 of 250" in " ".join(page.source.split())
    assert "line &lt;101&gt;" in page.source
    assert "\x1b" not in page.source


@pytest.mark.parametrize("first", ["x", "-1", "1e9", "9" * 30])
def test_a_log_line_that_is_no_number_is_refused_with_words(
    viewer: Client, mail: QueueRef, valkey: redis.Redis, first: str
) -> None:
    put(valkey, mail)
    assert viewer.get("/queues/main/mail/jobs/7/logs/", {"first": first}).status_code == 422


@pytest.mark.parametrize(
    ("progress", "bar"),
    [("250", False), ("-5", False), ("33.3333333", True), ('{"done":3,"total":9}', True), ('{"progress":70}', True),
     ("[1,2]", False), ('"loading <b>x</b>"', False), ("true", False), ("null", False), ("", False), ("NaN", False)],
)  # fmt: skip
def test_progress_of_any_shape_is_a_bar_or_text(
    viewer: Client, mail: QueueRef, valkey: redis.Redis, progress: str, bar: bool
) -> None:
    put(valkey, mail, state="active", progress=progress)
    for path in ("/queues/main/mail/jobs/7/", "/queues/main/mail/?state=active"):
        source = viewer.get(path).content.decode()
        assert ("<progress" in source) is bar, path
        assert "NaN%" not in source
        assert "<b>x</b>" not in source


@pytest.mark.parametrize(
    "job",
    [
        b"a b",
        b"a/b",
        b"..",
        b".",
        b"%2F..",
        b'"><b>x</b>',
        b"\xff\xfe\x80",
        b"x" * 300,
        "日本".encode(),
        b" ",
        b"a\nb",
        b"~x",
    ],
)
def test_a_job_of_any_id_can_be_listed_opened_and_downloaded(mail: QueueRef, valkey: redis.Redis, job: bytes) -> None:
    put(valkey, mail, job, data='{"a":1}')
    admin = as_role("admin")
    page = Page(admin.get("/queues/main/mail/?state=failed"))
    (row,) = page.all("data-job", tag="tr")
    address = next(node.attrs["href"] for node in row.children if node.tag == "a")
    response = admin.get(address)
    assert response.status_code == 200
    assert "<b>x</b>" not in response.content.decode()
    assert admin.get(f"{address}fields/data/").content == b'{"a":1}'


@pytest.mark.parametrize(
    "data",
    [
        '{"a":' * 3000 + "1" + "}" * 3000,
        "[" * 100_000,
        '{"s":"x\\ud800y"}',
        '{"n":NaN}',
        "{not json",
        "",
        "\x00\x1b[31m",
    ],
)
def test_no_body_breaks_the_page(viewer: Client, mail: QueueRef, valkey: redis.Redis, data: str) -> None:
    put(valkey, mail, data=data, returnvalue=data, progress=data, opts=data, stacktrace=data, failedReason=data)
    for path in ("/queues/main/mail/jobs/7/", "/queues/main/mail/?state=failed", "/find/?q=7"):
        assert viewer.get(path, follow=True).status_code == 200


def test_an_id_that_is_a_key_of_the_queue_is_no_job(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail, state="wait")
    for name in ("wait", "meta", "events", "id"):
        assert viewer.get(f"/queues/main/mail/jobs/{name}/").status_code == 404


def test_a_job_that_lost_its_hash_says_so(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    valkey.zadd("bull:mail:failed", {"7": 1})
    assert "its data is gone" in Page(viewer.get("/queues/main/mail/jobs/7/")).text


def test_ids_of_schedulers_and_deduplication_are_masked_like_all_else(
    viewer: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    put(valkey, mail, rjk="nightly:token=hunter2", deid=b"api_key=hunter2 \xff")
    page = Page(viewer.get("/queues/main/mail/jobs/7/"))
    assert "hunter2" not in page.source
    assert "Scheduler nightly:token=••" in page.text
    assert "Deduplication api_key=••" in page.text


def test_a_number_as_progress_is_a_percentage_and_bodies_say_that_their_numbers_are_exact(
    viewer: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    put(valkey, mail, state="active", progress="42.50", data='{"total":1.10}', returnvalue='"x"')
    page = Page(viewer.get("/queues/main/mail/jobs/7/"))
    assert "42.50%" in page.text
    assert page.text.count("numbers exact as stored") == 1
    valkey.hset("bull:mail:7", "progress", '{"done":1,"total":2}')
    assert '"total":2}%' not in Page(viewer.get("/queues/main/mail/jobs/7/")).text


def test_a_log_line_that_is_cut_or_odd_says_so(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail)
    valkey.rpush("bull:mail:7:logs", b"odd \xff", "x" * 20_000, "well")
    page = Page(viewer.get("/queues/main/mail/jobs/7/"))
    lines = [" ".join(node.text.split()) for node in page.all("value", tag="li")]
    assert lines[0].endswith("odd \ufffd not UTF-8")
    assert lines[1].endswith("x cut: 19.5 KB in all")
    assert lines[2].endswith("well")


def test_a_return_value_that_says_nothing_is_left_out(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    for value, said in (("null", False), ("", False), ("0", True), ('"null"', True)):
        put(valkey, mail, state="completed", returnvalue=value, finishedOn=1)
        assert ("Return value" in Page(viewer.get("/queues/main/mail/jobs/7/")).text) is said, value


def test_a_job_in_two_lists_names_both_once(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail)
    valkey.lpush("bull:mail:wait", "7")
    text = Page(viewer.get("/queues/main/mail/jobs/7/")).text
    assert text.count("It stands in several lists at once: Waiting, Failed.") == 1


def test_a_job_in_no_list_or_deep_in_a_long_one_says_so(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    seed_job(valkey, mail, "7")
    assert "In no list: no worker will take it" in Page(viewer.get("/queues/main/mail/jobs/7/")).text
    valkey.rpush("bull:mail:wait", *(["x"] * 60_000), "7", *(["x"] * 60_000))
    assert "Its list is too long to look through" in Page(viewer.get("/queues/main/mail/jobs/7/")).text


def test_a_failure_by_stalling_is_explained(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail, failedReason="job stalled more than allowable limit", opts='{"attempts":5}', atm=1, finishedOn=1)
    assert "whatever attempts it has left" in Page(viewer.get("/queues/main/mail/jobs/7/")).text


def test_parent_and_children_are_linked_with_their_states(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    child = seed_queue(valkey, "pdf")
    seed_job(valkey, child, "c1", parentKey="bull:mail:7", parent='{"id":"7","queueKey":"bull:mail"}')
    valkey.lpush("bull:pdf:wait", "c1")
    put(valkey, mail, state="waiting-children")
    valkey.sadd("bull:mail:7:dependencies", "bull:pdf:c1")
    page = Page(viewer.get("/queues/main/mail/jobs/7/"))
    assert list(page.all("href", "/queues/main/pdf/jobs/c1/", tag="a"))
    page = Page(viewer.get("/queues/main/pdf/jobs/c1/"))
    assert list(page.all("href", "/queues/main/mail/jobs/7/", tag="a"))


def test_a_job_page_costs_few_commands(
    viewer: Client, mail: QueueRef, valkey: redis.Redis, redis_commands: RedisCommands
) -> None:
    put(valkey, mail)
    viewer.get("/queues/main/mail/jobs/7/")
    with redis_commands(max=40):
        viewer.get("/queues/main/mail/jobs/7/")


def test_the_log_page_links_its_neighbours(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail)
    valkey.rpush("bull:mail:7:logs", *(f"line {n}" for n in range(1, 251)))
    page = Page(viewer.get("/queues/main/mail/jobs/7/logs/?first=101"))
    words = {node.text for node in page.nodes if node.tag == "a"}
    assert {"First", "Earlier", "Later", "Last"} <= words
    assert link(page, "next") == ""


def test_a_body_that_is_too_large_to_preview_says_so_and_can_be_downloaded(mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail, data="x" * (9 * 1024 * 1024), returnvalue=json.dumps("y" * 5_000_000))
    admin = as_role("admin")
    answer = admin.get("/queues/main/mail/jobs/7/")
    page = Page(answer)
    assert page.text.count("Too large to preview: 9 MB. Download it to see it.") == 1
    assert "Download the exact bytes" in page.text
    assert "yyyy" in page.source
    assert len(answer.content) < 600_000


def test_what_is_live_on_a_page_is_inert(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail, atm=1, failedReason="x", processedOn=5, finishedOn=9, progress="40", stacktrace='["x"]')
    valkey.rpush("bull:mail:7:logs", "one")
    page = Page(viewer.get("/queues/main/mail/jobs/7/"))
    parts = {node.attrs["id"]: node for node in page.all("data-part")}
    assert {"job-state", "job-timeline", "job-progress", "job-changed", "log-total"} <= set(parts)
    for name, node in parts.items():
        inside = {child.tag for child in node.children}
        assert inside.isdisjoint({"a", "button", "input", "select", "textarea", "form", "details", "summary"}), name


def test_the_page_says_what_it_watches(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail, b"a b")
    (live,) = Page(viewer.get("/queues/main/mail/jobs/~YSBi/")).all("id", "live")
    asked = {name: live.attrs[f"data-{name}"] for name in ("page", "sources", "queue", "job", "after")}
    assert asked == {"page": "job", "sources": "main", "queue": "mail", "job": "~YSBi", "after": ""}
    assert abs(int(live.attrs["data-read"]) - time.time() * 1000) < 60_000


def test_what_was_kept_of_a_job_opens_its_page(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail, state="active", timestamp=1_000, processedOn=90_000, ats=2)
    queue = Queue.objects.create(source=Source.objects.create(name="main"), slug="mail")
    told = {"source": queue.source, "queue": queue, "at_ms": 60_000, "event_id": "60000-0"}
    Notable.objects.create(**told, kind="stalled", job="7")
    Notable.objects.create(**told, kind="failed", job="8", text="of another job")
    Stream.objects.create(queue=queue, last_id="77-1")
    page = Page(viewer.get("/queues/main/mail/jobs/7/"))
    (feed,) = page.all("id", "feed")
    assert "stalled, lock lost" in feed.text
    assert "of another job" not in page.text
    (timeline,) = page.all("id", "job-timeline")
    assert "Stalled" in timeline.text
    assert page.all("id", "live")[0].attrs["data-after"] == "77-1"


def test_only_the_end_of_a_log_can_grow(viewer: Client, mail: QueueRef, valkey: redis.Redis) -> None:
    put(valkey, mail)
    assert Page(viewer.get("/queues/main/mail/jobs/7/")).all("id", "log-lines")
    valkey.rpush("bull:mail:7:logs", *(f"line {n}" for n in range(1, 251)))
    assert not Page(viewer.get("/queues/main/mail/jobs/7/logs/?first=101")).all("id", "log-lines")
    assert Page(viewer.get("/queues/main/mail/jobs/7/logs/?first=151")).all("id", "log-lines")


def test_a_job_that_is_gone_is_told_as_far_as_replays_know_of_it(viewer: Client, mail: QueueRef) -> None:
    path = "/queues/main/mail/jobs/2039/"
    assert "R-" not in Page(viewer.get(path)).text
    older, newer = started(), started()
    row(older, b"2039", Fate.FAILED, ref=mail)
    row(newer, b"2039", Fate.COMPLETED, ref=mail)
    row(started(), b"2039", ref=mail, place=Place.LEFT_OUT, sent_ms=None)  # one that was not sent tells nothing
    row(started(), b"20390", Fate.COMPLETED, ref=mail)
    answer = viewer.get(path)
    page = Page(answer)
    told = page.all("data-sent-by")
    assert answer.status_code == 404
    assert "There is no job 2039 in mail." in page.text
    assert [each.attrs["data-sent-by"] for each in told] == [str(newer.pk), str(older.pk)]
    assert "completed at" in " ".join(told[0].text.split())
    assert "failed again at" in " ".join(told[1].text.split())
    links = [node.attrs["href"] for node in told[0].children if node.tag == "a"]
    assert links == [f"/replays/{newer.pk}/", f"/replays/{newer.pk}/jobs/?text=2039"]
    # A part of a page that was asked for gets a note, and not a whole page put into it.
    assert "R-" not in viewer.get(path, headers={"HX-Request": "true"}).content.decode()


def test_a_letter_that_was_replayed_leads_to_its_job_and_that_one_back(
    viewer: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    dead = seed_queue(valkey, "mail-dlq")
    plan = started()
    sent = row(plan, b"a/b", Fate.COMPLETED, ref=dead, original="removed", acts=Acts.COPY)
    ReplayJob.objects.filter(pk=sent.pk).update(target=a_queue(mail), made="77")
    away = viewer.get(f"/queues/main/mail-dlq/jobs/{encode_part(b'a/b')}/")
    (told,) = Page(away).all("data-sent-by")
    assert away.status_code == 404
    assert "removed here, as the plan said" in " ".join(told.text.split())
    assert "/queues/main/mail/jobs/77/" in [node.attrs.get("href") for node in told.children]
    put(valkey, mail, "77", "completed")
    there = viewer.get("/queues/main/mail/jobs/77/")
    (told,) = Page(there).all("data-sent-by")
    assert there.status_code == 200
    assert f"/queues/main/mail-dlq/jobs/{encode_part(b'a/b')}/" in [node.attrs.get("href") for node in told.children]


def test_attempts_beyond_those_that_its_options_allow_are_explained(
    viewer: Client, mail: QueueRef, valkey: redis.Redis
) -> None:
    put(valkey, mail, opts='{"attempts":3}', atm=5, finishedOn=1, failedReason="no")
    page = Page(viewer.get("/queues/main/mail/jobs/7/"))
    assert "Failed after 5 attempts" in page.text
    assert "Its options allow 3; each retry or replay added to them." in page.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("state=waiting", ("Runs later", "Runs sooner")),
        ("state=prioritized", ("Runs sooner", "Runs later")),
        ("state=delayed", ("Due sooner", "Due later")),
        ("state=failed", ("Newer", "Older")),
    ],
)
def test_the_pages_beside_one_are_called_by_what_they_hold(query: str, words: tuple[str, str]) -> None:
    found = JobsQuery(QueryDict(query))
    assert (found.back, found.forth) == words
