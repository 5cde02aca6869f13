"""Queues, names, ids and fields as nobody should write them: each may cost its own cell on a page, never the page."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import redis

from queues.types import JobRef, QueueRef
from tests.seed import VERSION, seed_job, write_hash

# What must never run. `window.__x` stays undefined in a browser that showed all of this as text.
MARKUP = "<script>window.__x=1</script><b>x</b>\"'><img src=x onerror=window.__x=1>"
ANSI = "\x1b[31mred\x1b[0m \x00 nul \x07 bell \r return"
BYTES = b"\xff\xfe\x80 bytes"
SURROGATE = '"a\\ud800b"'
BIDI = "\u202egnp.exe\u202c \u2066x\u2069 \ufeff"
DIGITS = "9" * 5000

Fields = Mapping[str, str | bytes | int | None]

QUEUE_NAMES: Sequence[bytes] = (
    b"<b>x</b>",
    b'a"onmouseover=alert(1)',
    b"';--",
    b"<img src=x onerror=window.__x=1>",
    b"a/b",
    b"..",
    b".",
    b"%2F..%2F",
    b"q?state=failed#x",
    b"line\nbreak\ttab",
    b" spaces ",
    b"~tilde",
    b"\xff\xfe\x80",
    b"\x1b[31mred",
    b"{tagged}",
    b"{{ 7 }}{% x %}",
    "ünï ☃ 漢字 👩‍👩‍👧".encode(),
    BIDI.encode(),
    b"x" * 300,
)

JOB_IDS: Sequence[bytes] = (
    b"<b>x</b>",
    b'"><script>window.__x=1</script>',
    b"a/b/../c",
    b"%2F..",
    b"..",
    b".",
    b" ",
    b"three:part:id",
    b"line\nbreak",
    b"~dGlsZGU",
    b"\xff\xfe\x80",
    b"[*?]",
    b"?x=1#y",
    "漢字 ☃".encode(),
    b"i" * 300,
)

# By label: what differs from a plain failed job. None = the field is not there.
JOBS: Mapping[str, Fields] = {
    "markup": {
        "name": MARKUP,
        "data": json.dumps({MARKUP: MARKUP}),
        "failedReason": MARKUP,
        "stacktrace": json.dumps([MARKUP]),
        "returnvalue": json.dumps(MARKUP),
        "progress": json.dumps({"msg": MARKUP}),
        "pb": MARKUP,
        "deid": MARKUP,
        "rjk": MARKUP,
        MARKUP: MARKUP,
    },
    "controls": {"name": ANSI, "failedReason": ANSI, "stacktrace": json.dumps([ANSI]), "data": json.dumps({"a": ANSI})},
    "bidi": {"name": BIDI, "failedReason": BIDI, "data": json.dumps({"a": BIDI}, ensure_ascii=False)},
    "bytes": {"name": BYTES, "failedReason": BYTES, "data": BYTES, "progress": BYTES, "opts": BYTES, "pb": BYTES,
              "stacktrace": b'["' + BYTES + b'"]', "returnvalue": BYTES, "timestamp": BYTES},
    "surrogate": {"data": f'{{"s":{SURROGATE}}}', "stacktrace": f"[{SURROGATE}]", "progress": SURROGATE,
                  "opts": f'{{"jobId":{SURROGATE}}}', "returnvalue": SURROGATE},
    "not-json": {"data": "{not json", "opts": "{", "returnvalue": "foo", "stacktrace": "not-a-list", "progress": "{"},
    "empty": {"data": "", "opts": "", "returnvalue": "", "stacktrace": "", "progress": "",
              "failedReason": "", "name": ""},
    "nan": {"data": '{"n":NaN}', "progress": "NaN", "returnvalue": "Infinity", "opts": '{"attempts":NaN}'},
    "overflow": {"data": '{"n":1e400}', "progress": "1e400", "returnvalue": "-1e400", "opts": '{"attempts":1e400}'},
    "digits": {"data": f'{{"n":{DIGITS}}}', "progress": DIGITS, "opts": f'{{"attempts":{DIGITS}}}', "timestamp": DIGITS,
               "atm": DIGITS, "priority": DIGITS, "finishedOn": DIGITS},
    "deep": {"data": '{"a":' * 3000 + "1" + "}" * 3000, "opts": "[" * 3000 + "]" * 3000,
             "progress": "[" * 400 + "]" * 400, "returnvalue": '{"a":' * 3000 + "1" + "}" * 3000},
    "abyss": {"data": "[" * 100_000, "opts": "[" * 100_000, "stacktrace": "[" * 100_000, "progress": "[" * 100_000},
    "shapes": {"data": "null", "opts": "[]", "stacktrace": '[1,{"a":2},null]', "returnvalue": "true",
               "progress": "[1,2]"},
    "scalars": {"data": '"text"', "opts": '"text"', "stacktrace": "{}", "returnvalue": "null", "progress": "true"},
    "no-name": {"name": None},
    "no-data": {"data": None},
    "no-opts": {"opts": None},
    "no-timestamp": {"timestamp": None},
    "one-field": {"name": None, "data": None, "opts": None, "timestamp": None, "delay": None, "priority": None,
                  "failedReason": "only this"},
    "times": {"timestamp": "yesterday", "processedOn": "-5", "finishedOn": "1e30", "delay": "soon"},
    "floats": {"timestamp": "1.7e12", "processedOn": "1700000000000.5", "finishedOn": "1700000000000.0",
               "priority": "1.5"},
    "negative": {"atm": "-1", "ats": "many", "priority": "-7", "stc": "x"},
    "kin": {"parentKey": "no colon", "parent": "{", "deid": BYTES},
    "own-parent": {"parentKey": "bull:hostile:own-parent"},
    "many-fields": {f"field {number}": "x" * 3000 for number in range(300)},
}  # fmt: skip

LARGE: Mapping[str, Fields] = {
    "large-data": {"data": json.dumps({"blob": "d" * 5_000_000})},
    "large-all": {"data": json.dumps("d" * 5_000_000), "failedReason": "r" * 1_000_000, "name": "n" * 1_000_000,
                  "stacktrace": json.dumps(["s" * 3_000_000]), "returnvalue": json.dumps("v" * 5_000_000),
                  "progress": json.dumps({"p": "p" * 1_000_000}), "opts": json.dumps({"o": "o" * 1_000_000}),
                  "pb": "b" * 1_000_000, "timestamp": "1" * 1_000_000},
    "many-stacks": {"stacktrace": json.dumps([f"Error: {number}\n    at f (/a.js:1:1)" for number in range(500)])},
}  # fmt: skip

PROGRESS: Sequence[str] = (
    "250", "-5", "33.3333333", '{"done":3,"total":9}', '{"progress":70}', "[1,2]", '"loading <b>x</b>"', "true",
    "null", "", '{"done":1,"total":0}', '{"percentage":"50"}', "0", "100", "1e2",
)  # fmt: skip


@dataclass(frozen=True)
class Corpus:
    """What was written. `jobs` are failed jobs of `queue` by label; `plain` ones stand among them and are sound."""

    queue: QueueRef
    jobs: Mapping[str, JobRef]
    plain: Sequence[JobRef]
    ids: Sequence[JobRef]
    queues: Sequence[QueueRef]
    wrong_types: QueueRef

    @property
    def everything(self) -> Sequence[JobRef]:
        return (*self.jobs.values(), *self.plain, *self.ids)


def write_corpus(client: redis.Redis, *, large: bool = True, source: str = "main") -> Corpus:
    """Write the whole corpus below the prefix `bull`; with `large` some 30 MB more of it."""
    queue = QueueRef(source, b"bull", b"hostile")
    _meta(client, queue)
    now = int(time.time() * 1000)
    jobs = {label: JobRef(queue, label.encode()) for label in (*JOBS, *(LARGE if large else ()))}
    for number, (label, ref) in enumerate(jobs.items()):
        _failed(client, ref, now - number, {**JOBS, **LARGE}[label])
    jobs |= _special(client, queue, now)
    plain = [JobRef(queue, f"plain-{number}".encode()) for number in range(10)]
    for number, ref in enumerate(plain):
        _failed(client, ref, now - 5 * number, {})
    ids = [JobRef(queue, job_id) for job_id in JOB_IDS]
    for number, ref in enumerate(ids):
        _failed(client, ref, now - 7 * number, {})
    for number, value in enumerate(PROGRESS):
        _failed(client, JobRef(queue, f"progress-{number}".encode()), now - 11 * number, {"progress": value})
    _logs(client, jobs["markup"])
    return Corpus(queue, jobs, plain, ids, _queues(client, source), _wrong_types(client, source))


def _special(client: redis.Redis, queue: QueueRef, now: int) -> dict[str, JobRef]:
    """Ids whose key is no job hash: gone, of another type, or the queue's own."""
    base = b"bull:hostile:"
    found = {label: JobRef(queue, label.encode()) for label in ("gone", "a-string", "a-list")}
    client.set(base + b"a-string", "not a hash")
    client.rpush(base + b"a-list", "not a hash")
    client.zadd(base + b"failed", {ref.id: now for ref in found.values()})
    return found


def _queues(client: redis.Redis, source: str) -> list[QueueRef]:
    refs = [QueueRef(source, b"bull", name) for name in QUEUE_NAMES]
    refs += [QueueRef(source, prefix, b"mail") for prefix in (b"app:prod", b"{bull}", b"<i>p</i>", b"\xff", b"a b")]
    for ref in refs:
        _meta(client, ref)
        base = b"%b:%b:" % (ref.prefix, ref.name)
        seed_job(client, ref, b"1")
        client.lpush(base + b"wait", b"1")
        _failed(client, JobRef(ref, b"2"), 1_700_000_000_000, {"failedReason": MARKUP})
    return refs


def _wrong_types(client: redis.Redis, source: str) -> QueueRef:
    """A queue each of whose collections is something else."""
    ref = QueueRef(source, b"bull", b"wrong-types")
    _meta(client, ref)
    for suffix in (b"wait", b"failed", b"events", b"prioritized"):
        client.set(b"bull:wrong-types:" + suffix, "a string")
    client.rpush(b"bull:wrong-types:completed", "a", "list")
    client.sadd(b"bull:wrong-types:delayed", "a set")
    client.hset(b"bull:wrong-types:active", "a", "hash")
    client.xadd(b"bull:wrong-types:id", {"a": "stream"})
    seed_job(client, ref, b"1")
    client.zadd(b"bull:wrong-types:waiting-children", {b"1": 1_700_000_000_000})
    return ref


def _failed(client: redis.Redis, ref: JobRef, finished: int, fields: Fields) -> None:
    base = b"%b:%b:" % (ref.queue.prefix, ref.queue.name)
    plain: Fields = {
        "processedOn": finished - 50,
        "finishedOn": finished,
        "ats": 1,
        "atm": 1,
        "failedReason": "no such customer",
        "stacktrace": '["Error: no such customer"]',
    }
    whole = {**plain, **fields}
    seed_job(client, ref.queue, ref.id, **{name: value for name, value in whole.items() if value is not None})
    absent = [name for name, value in whole.items() if value is None]
    if absent:
        client.hdel(base + ref.id, *absent)
    client.zadd(base + b"failed", {ref.id: finished})


def _logs(client: redis.Redis, ref: JobRef) -> None:
    lines: list[str | bytes] = [MARKUP, ANSI, BYTES, BIDI, "two\nlines", "", "x" * 200_000, "<pre>", "tab\there"]
    client.rpush(b"bull:hostile:" + ref.id + b":logs", *lines)


def _meta(client: redis.Redis, ref: QueueRef) -> None:
    meta = {"version": VERSION, "opts.maxLenEvents": "10000"}
    write_hash(client, b"%b:%b:meta" % (ref.prefix, ref.name), meta)
