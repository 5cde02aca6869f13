"""Failed jobs as the index reads them: what the real library wrote, in order, each once, bounded, however odd."""

# mypy: allow-untyped-calls

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import cast

import pytest
import redis

from queues.backends.bullmq import thrown
from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.reader import BullMQ
from queues.errors import BadInput, Unreachable, Unsupported
from queues.failed import DATA_CAP, NAME_CAP, PAGE, REASON_CAP, STACK_CAP, FailedJob, FailedMark
from queues.quantities import LARGEST
from queues.types import QueueRef
from tests.hostile import write_corpus
from tests.node import Node
from tests.policy import rounds
from tests.seed import seed_job
from tests.valkey import Server

SHOP = QueueRef("main", b"bull", b"shop")
FAILED = "bull:shop:failed"
NOW = 1_700_000_000_000
COMPACT, SPACED = (",", ":"), (", ", ": ")  # as npm writes JSON, and as Python does
FAIL = """
const q = queue(args.major, "shop");
const opts = { attempts: 3, backoff: { type: "fixed", delay: 1 } };
await q.add("charge", { n: 1 }, { ...opts, jobId: "error" });
await q.add("quoted", { n: 2 }, { ...opts, jobId: "quoted" });
await q.add("long", { n: 3 }, { jobId: "long" });
await q.add("wide", { n: 4 }, { ...opts, jobId: "wide" });
await q.add("text", { n: 5 }, { jobId: "text" });
await q.add("é\\u2028 <b>", { n: 6 }, { jobId: "unicode" });
const made = {
  quoted: (n) => `",", "${n}"] \\\\", [",`,
  long: () => "m".repeat(1000000),
  wide: (n) => n + "\\n".repeat(50000),
};
let tried = {};
worker(args.major, "shop", async (job) => {
  tried[job.id] = (tried[job.id] ?? 0) + 1;
  if (job.id === "text") throw "just text";
  if (job.id === "unicode") throw new TypeError("nicht gefunden: é 💥 \\u0000");
  throw new RangeError((made[job.id] ?? ((n) => `attempt ${n}`))(tried[job.id]));
}, { name: "w1", concurrency: 4 });
await until(async () => (await q.getFailedCount()) === 6);
const jobs = await q.getFailed(0, -1);
return Object.fromEntries(jobs.map((job) => [job.id, [
  job.failedReason.slice(0, 5000), job.failedReason.length, job.finishedOn, job.timestamp, job.attemptsMade,
  (job.stacktrace ?? []).at(-1)?.slice(0, 9000) ?? "",
]]));
"""


def everything(bullmq: BullMQ, *, newest_first: bool = False, most: int = PAGE) -> list[FailedJob]:
    found: list[FailedJob] = []
    cursor: str | None = ""
    while cursor is not None:
        page = bullmq.failed_page(SHOP, cursor=cursor, newest_first=newest_first, most=most)
        found += page.jobs
        cursor = page.cursor
    return found


def put(store: redis.Redis, job: str | bytes, score: float | str = NOW, **fields: str | bytes | int) -> None:
    seed_job(store, SHOP, job, **fields)
    store.execute_command("ZADD", FAILED, score, job)


def one(bullmq: BullMQ, job: bytes = b"1") -> FailedJob:
    return bullmq.failed_jobs(SHOP, [job])[job]


def test_what_the_library_wrote_of_a_failure_is_what_is_read(
    bullmq: BullMQ, node: Node, server: Server, major: int
) -> None:
    told = cast("dict[str, list[object]]", node.run(FAIL, url=server.url, major=major))
    jobs = {job.id.decode(): job for job in everything(bullmq)}
    assert jobs.keys() == told.keys()
    for name, (reason, length, finished, stamp, attempts, stack) in told.items():
        job = jobs[name]
        assert job.score_ms == finished
        assert (job.timestamp_ms, job.attempts) == (stamp, attempts)
        assert job.reason == str(reason).encode()[:REASON_CAP]
        assert job.reason_size >= int(str(length))
        whole = str(stack).encode()
        assert whole.startswith(job.stack)
        assert len(job.stack) >= min(len(whole), STACK_CAP // 2)
        assert job.worker in ((b"w1",) if major > 4 else (b"w1", b""))
    assert jobs["error"].stack.startswith(b"RangeError: attempt 3\n    at ")
    assert jobs["error"].stacks == -1
    assert jobs["quoted"].stack.startswith(b'RangeError: ",", "3"]')
    assert (jobs["long"].reason_size, jobs["long"].stacks) == (1_000_000, 1)
    assert jobs["long"].stack.startswith(b"RangeError: mmm")
    assert jobs["wide"].stack.startswith(b"RangeError: 3\n\n")
    assert jobs["unicode"].name == "é\u2028 <b>".encode()
    assert jobs["unicode"].stack.startswith("TypeError: nicht gefunden: é 💥 \0\n".encode())
    mark = bullmq.failed_marks([SHOP])[SHOP]
    scores = [cast(int, values[2]) for values in told.values()]
    assert (mark.count, mark.oldest_ms, mark.newest_ms) == (6, min(scores), max(scores))
    assert jobs[mark.newest_id.decode()].score_ms == max(scores)


@pytest.mark.parametrize("separators", [COMPACT, SPACED], ids=["npm", "python"])
def test_the_newest_stack_is_found_whatever_stands_in_it(
    bullmq: BullMQ, store: redis.Redis, rng: random.Random, separators: tuple[str, str]
) -> None:
    pieces = ['"', ",", " ", "\\", "[", "]", '","', '", "', "\n    at f (/a.js:1:2)", "é", "💥", "\x00", "x" * 300, ""]
    for _round in range(rounds(sample=2, soak=100)):
        store.flushall()
        wanted = {}
        for number in range(400):
            stacks = ["".join(rng.choices(pieces, k=rng.choice((0, 1, 2, 9, 60)))) for _ in range(rng.randrange(1, 6))]
            put(
                store,
                str(number),
                stacktrace=json.dumps(stacks, separators=separators, ensure_ascii=rng.random() < 0.5),
            )
            wanted[str(number).encode()] = stacks[-1].encode()
        for job in everything(bullmq):
            whole = wanted[job.id]
            assert whole.startswith(job.stack), job
            assert len(job.stack) >= min(len(whole), 1_300), job  # an escape in JSON takes at most six bytes


@pytest.mark.parametrize(
    "stored",
    [
        "", "null", "[]", "{}", '"text"', "5", "[5]", '["a",5]', '["a",null]', '[["a"]]', '["a","b"', 'a","b"]', "[",
        '["', '[""', '["a\\"]', '["a\\x"]', '["a","b\\u12"]', "\x00", "not JSON", '[,"]', "]" * 9_000,
    ],
)  # fmt: skip
def test_what_is_no_list_of_strings_is_no_stack(bullmq: BullMQ, store: redis.Redis, stored: str) -> None:
    put(store, "1", stacktrace=stored, failedReason="why")
    job = one(bullmq)
    assert (job.stack, job.reason) == (b"", b"why")


def test_bytes_that_are_no_text_are_read_as_far_as_they_are(bullmq: BullMQ, store: redis.Redis) -> None:
    put(
        store, "1", stacktrace=b'["a","Error: \xff\xfe\\ud800 end"]', failedReason=b"\xff\x00", name=b"\xfe", pb=b"\xfd"
    )
    job = one(bullmq)
    assert job.stack == "Error: \ufffd\ufffd\ud800 end".encode(errors="surrogatepass")
    assert (job.reason, job.name, job.worker) == (b"\xff\x00", b"\xfe", b"\xfd")


@pytest.mark.parametrize("escape", ["\\n", "\\u00e9", "\\ud83d\\ude00", "\\\\", '\\"', "é", "💥"])
def test_a_stack_is_cut_before_what_would_be_half_of_it(escape: str) -> None:
    for cut in range(STACK_CAP - 14, STACK_CAP + 1):
        piece = b"x" * cut + escape.encode() * 20
        found = thrown.stack(piece[:STACK_CAP])
        assert json.loads(b'"' + piece + b'"').encode().startswith(found), cut
        assert len(found) >= cut


def test_fields_that_are_long_are_cut_and_their_size_is_told(bullmq: BullMQ, store: redis.Redis) -> None:
    put(
        store, "1", failedReason="r" * 900_000, name="n" * 10_000, pb="w" * 10_000, atm="9" * 10_000, timestamp="1" * 99
    )
    job = one(bullmq)
    assert (len(job.reason or b""), job.reason_size) == (REASON_CAP, 900_000)
    assert (len(job.name), len(job.worker)) == (NAME_CAP, NAME_CAP)
    assert (job.attempts, job.timestamp_ms) == (None, None)
    put(store, "2", failedReason="r" * 9_000_000, name="n" * 9_000_000, stacktrace=json.dumps(["s" * 9_000_000]))
    job = one(bullmq, b"2")
    assert (job.reason, job.reason_size, job.name, job.stack) == (b"", 9_000_000, b"", b"")


def test_a_reason_that_is_empty_is_told_from_none(bullmq: BullMQ, store: redis.Redis) -> None:
    put(store, "1", failedReason="")
    put(store, "2")
    assert [(job.reason, job.reason_size) for job in everything(bullmq)] == [(b"", 0), (None, 0)]


def test_attempts_are_read_in_the_words_of_each_major(bullmq: BullMQ, store: redis.Redis) -> None:
    for number, fields in enumerate(({"atm": "3"}, {"attemptsMade": "2"}, {"atm": "-1"}, {"atm": "x"}, {})):
        put(store, str(number), **fields)
    assert [job.attempts for job in everything(bullmq)] == [3, 2, None, None, None]


SCORES: Mapping[str, tuple[str, int]] = {
    "nothing": ("0", 0), "negative": ("-5.5", -6), "fractional": ("1700000000000.75", NOW), "large": ("1e300", LARGEST),
    "infinite": ("inf", LARGEST), "least": ("-inf", -LARGEST - 1), "tiny": ("-1e300", -LARGEST - 1),
    "year 9999": ("253402300800000", 253_402_300_800_000), "small": ("1e-300", 0),
}  # fmt: skip


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("most", [1, 2, 100])
def test_odd_scores_become_whole_milliseconds_and_keep_their_order(
    bullmq: BullMQ, store: redis.Redis, newest_first: bool, most: int
) -> None:
    for name, (score, _ms) in SCORES.items():
        put(store, name, score)
    found = everything(bullmq, newest_first=newest_first, most=most)
    assert {job.id.decode(): job.score_ms for job in found} == {name: ms for name, (_score, ms) in SCORES.items()}
    order = [job.id for job in found]
    assert order == cast("list[bytes]", store.zrange(FAILED, 0, -1, desc=newest_first))
    mark = bullmq.failed_marks([SHOP])[SHOP]
    assert mark == FailedMark(len(SCORES), -LARGEST - 1, LARGEST, b"infinite")


@pytest.mark.parametrize("newest_first", [False, True])
def test_jobs_of_one_moment_are_paged_by_their_bytes(bullmq: BullMQ, store: redis.Redis, newest_first: bool) -> None:
    ids = [f"{letter}{number}".encode() for number in range(40) for letter in ("a", "B", "é", "_", "Z")]
    ids += [b"\xff\x00", b"\xff", b"0", b"failed"]
    store.zadd(FAILED, dict.fromkeys(ids, NOW))
    found = [job.id for job in everything(bullmq, newest_first=newest_first, most=7)]
    assert found == sorted(ids, reverse=newest_first)


@pytest.mark.soak
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_walk_meets_each_job_that_stays_once_while_others_come_and_go(
    bullmq: BullMQ, store: redis.Redis, rng: random.Random, newest_first: bool
) -> None:
    for _round in range(rounds(sample=2, soak=200)):
        store.flushall()
        ids = [f"job-{number}".encode() for number in range(300)]
        store.zadd(FAILED, {job: float(rng.randrange(15)) for job in ids})
        lasting = set(rng.sample(ids, 150))
        walked: list[bytes] = []
        compared: list[bytes] = []
        cursor: str | None = ""
        other: str | None = ""
        while cursor is not None or other is not None:
            if cursor is not None:
                page = bullmq.failed_page(SHOP, cursor=cursor, newest_first=newest_first, most=rng.randrange(5, 40))
                walked += [job.id for job in page.jobs]
                cursor = page.cursor
            if other is not None:
                told = bullmq.failed_ids(SHOP, cursor=other, most=rng.randrange(5, 40))
                compared += told.ids
                other = told.cursor
            gone = [job for job in (*rng.sample(ids, 15), *walked[-3:]) if job not in lasting]
            if gone:
                store.zrem(FAILED, *gone)
        for seen in (walked, compared):
            assert len(seen) == len(set(seen))
            assert lasting <= set(seen)


def test_a_walk_begins_right_behind_a_score_and_an_id(bullmq: BullMQ, store: redis.Redis) -> None:
    store.zadd(FAILED, {"a": 5, "b": 5, "c": 5, "d": 6, "e": 7})

    def behind(score_ms: int, job: bytes = b"", *, newest_first: bool = False) -> list[bytes]:
        cursor = bullmq.failed_at(score_ms, job)
        page = bullmq.failed_page(SHOP, cursor=cursor, newest_first=newest_first, most=10)
        return [each.id for each in page.jobs]

    assert behind(5, b"b") == [b"c", b"d", b"e"]
    assert behind(5, b"bb") == [b"c", b"d", b"e"]
    assert behind(5) == [b"a", b"b", b"c", b"d", b"e"]
    assert behind(5, b"b", newest_first=True) == [b"a"]
    assert behind(6, newest_first=True) == [b"c", b"b", b"a"]
    assert behind(LARGEST, b"") == []
    assert behind(-LARGEST - 1, newest_first=True) == []
    assert list(bullmq.failed_ids(SHOP, cursor=bullmq.failed_at(5, b"b"), most=2).ids) == [b"c", b"d"]


@pytest.mark.parametrize("cursor", ["x", "!", "WzBd", "[0,1]", "é", "W1tbW1s" * 2000])
def test_a_cursor_that_is_none_of_ours_is_refused(bullmq: BullMQ, cursor: str) -> None:
    for call in (
        lambda: bullmq.failed_page(SHOP, cursor=cursor, most=1),
        lambda: bullmq.failed_ids(SHOP, cursor=cursor, most=1),
    ):
        with pytest.raises(BadInput):
            call()


def test_ids_come_with_their_scores_lowest_first(bullmq: BullMQ, store: redis.Redis) -> None:
    store.zadd(FAILED, {str(number): NOW + number for number in range(6_000)})
    first = bullmq.failed_ids(SHOP, most=10_000)
    assert len(first.ids) == 5_000
    second = bullmq.failed_ids(SHOP, cursor=first.cursor or "", most=10_000)
    assert second.cursor is None
    assert {**first.ids, **second.ids} == {b"%d" % number: NOW + number for number in range(6_000)}
    assert list(first.ids)[:3] == [b"0", b"1", b"2"]


def test_a_job_whose_hash_is_gone_or_of_another_type_is_told_as_missing(bullmq: BullMQ, store: redis.Redis) -> None:
    put(store, "whole", NOW)
    store.zadd(FAILED, {"gone": NOW + 1, "string": NOW + 2, "failed": NOW + 3, "empty": NOW + 4})
    store.set("bull:shop:string", "x")
    store.hset("bull:shop:empty", "unknown", "1")
    found = {job.id: job for job in everything(bullmq)}
    assert {id_ for id_, job in found.items() if job.missing} == {b"gone", b"string", b"failed"}
    assert [job.score_ms for job in found.values()] == [NOW, NOW + 1, NOW + 2, NOW + 3, NOW + 4]


def test_only_jobs_that_are_in_the_set_now_are_given(bullmq: BullMQ, store: redis.Redis) -> None:
    put(store, "1", data="x" * 100_000)
    put(store, "2", data="[1]")
    seed_job(store, SHOP, "retried", failedReason="old")
    found = bullmq.failed_jobs(SHOP, [b"2", b"retried", b"never", b"1"], data=True)
    assert list(found) == [b"2", b"1"]
    assert (found[b"2"].data, found[b"2"].data_size) == (b"[1]", 3)
    assert (found[b"1"].data, found[b"1"].data_size) == (b"x" * DATA_CAP, 100_000)
    assert one(bullmq).data is None
    assert bullmq.failed_jobs(SHOP, []) == {}


@pytest.mark.parametrize("how", ["retried", "failed again"])
def test_a_job_that_leaves_while_its_page_is_read_is_not_on_it(
    bullmq: BullMQ, store: redis.Redis, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    put(store, "1", NOW, failedReason="x")
    put(store, "2", NOW + 1, failedReason="y")
    real = thrown.beginning

    def late(connection: Connection, queue: QueueRef, ids: Sequence[bytes]) -> tuple[dict[bytes, FailedJob], int]:
        store.zrem(FAILED, "1")
        store.hdel("bull:shop:1", "failedReason")
        if how == "failed again":
            store.zadd(FAILED, {"1": NOW + 9})
        return real(connection, queue, ids)

    monkeypatch.setattr(thrown, "beginning", late)
    assert [job.id for job in bullmq.failed_page(SHOP, most=10).jobs] == [b"2"]


def test_a_set_of_another_type_is_said_to_be_unreadable(bullmq: BullMQ, store: redis.Redis) -> None:
    store.set(FAILED, "a string")
    empty = QueueRef("main", b"bull", b"empty")
    assert bullmq.failed_marks([SHOP, empty]) == {SHOP: FailedMark(0, readable=False), empty: FailedMark(0)}
    with pytest.raises(Unsupported):
        bullmq.failed_page(SHOP, most=10)
    with pytest.raises(Unsupported):
        bullmq.failed_ids(SHOP, most=10)
    assert bullmq.failed_jobs(SHOP, [b"1"]) == {}
    page = bullmq.failed_page(empty, most=10)
    assert (page.jobs, page.cursor) == ([], None)


def test_of_the_whole_hostile_corpus_each_job_is_read(bullmq: BullMQ, store: redis.Redis) -> None:
    corpus = write_corpus(store)
    found: dict[bytes, FailedJob] = {}
    cursor: str | None = ""
    while cursor is not None:
        page = bullmq.failed_page(corpus.queue, cursor=cursor, newest_first=True, most=25)
        assert not {job.id for job in page.jobs} & found.keys()
        found |= {job.id: job for job in page.jobs}
        cursor = page.cursor
    assert found.keys() == set(cast("list[bytes]", store.zrange("bull:hostile:failed", 0, -1)))
    for job in found.values():
        assert len(job.name) <= NAME_CAP
        assert len(job.reason or b"") <= REASON_CAP
        assert len(job.stack) <= STACK_CAP
    assert {b"gone", b"a-string", b"a-list"} == {id_ for id_, job in found.items() if job.missing}
    assert found[b"many-stacks"].stack == b"Error: 499\n    at f (/a.js:1:1)"


def test_an_outage_is_never_an_empty_answer(bullmq: BullMQ, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> list[object]:
        raise Unreachable("gone", source="main")

    monkeypatch.setattr(Connection, "run", gone)
    for call in (
        lambda: bullmq.failed_marks([SHOP]),
        lambda: bullmq.failed_page(SHOP, most=1),
        lambda: bullmq.failed_ids(SHOP, most=1),
        lambda: bullmq.failed_jobs(SHOP, [b"1"]),
        lambda: bullmq.payloads(SHOP, [b"1"], most=1),
        lambda: bullmq.letters_marks([SHOP]),
        lambda: bullmq.letter_ids(SHOP, most=1),
        lambda: bullmq.letters(SHOP, [b"1"]),
    ):
        with pytest.raises(Unreachable):
            call()
