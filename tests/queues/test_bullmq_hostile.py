"""The hostile corpus through every method of the reader: it costs one cell, never a row, a page or a call."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
import redis

from queues.backends.bullmq.reader import BullMQ
from queues.backends.bullmq.replies import Command, Reply
from queues.errors import NotFound, Unsupported
from queues.types import JobRef, JobRow, Mark, State
from tests.hostile import JOBS, LARGE, PROGRESS, Corpus, write_corpus
from tests.seed import seed_queue
from tests.valkey import RedisCommands


@pytest.fixture
def corpus(store: redis.Redis) -> Corpus:
    return write_corpus(store)


def _all_failed(bullmq: BullMQ, corpus: Corpus) -> dict[bytes, JobRow]:
    rows: dict[bytes, JobRow] = {}
    cursor = ""
    while True:
        page = bullmq.jobs(corpus.queue, [State.FAILED], size=20, cursor=cursor)
        rows |= {row.ref.id: row for row in page.rows}
        cursor = page.next
        if not cursor:
            assert len(rows) == page.total
            return rows


def test_every_hostile_job_is_a_row_and_sound_ones_among_them_stay_sound(bullmq: BullMQ, corpus: Corpus) -> None:
    rows = _all_failed(bullmq, corpus)
    for ref in corpus.everything:
        assert rows[ref.id].ref == ref
    for ref in corpus.plain:
        row = rows[ref.id]
        assert (row.damaged, str(row.name), str(row.reason), row.attempts_made) == ((), "send", "no such customer", 1)


def test_each_damaged_field_is_named_and_costs_itself_only(bullmq: BullMQ, corpus: Corpus) -> None:
    rows = _all_failed(bullmq, corpus)
    damaged = {label: set(rows[ref.id].damaged) for label, ref in corpus.jobs.items()}
    assert damaged["not-json"] == {"opts", "progress"}
    assert damaged["times"] == {"timestamp", "processedOn", "finishedOn"}
    assert damaged["negative"] == {"atm", "ats", "priority"}
    assert damaged["no-timestamp"] == {"timestamp"}
    assert damaged["no-name"] == {"name"}
    assert damaged["shapes"] == damaged["scalars"] == {"opts"}
    assert damaged["floats"] == {"processedOn", "priority"}
    assert damaged["digits"] == {"timestamp", "atm", "priority", "finishedOn"}
    assert damaged["markup"] == damaged["controls"] == damaged["bidi"] == set()
    assert rows[b"floats"].timestamp_ms == 1_700_000_000_000
    assert rows[b"gone"].missing
    assert rows[b"a-string"].damaged == rows[b"a-list"].damaged == ("key",)


def test_no_text_of_a_row_can_fail_to_be_sent_or_hide_a_control_character(bullmq: BullMQ, corpus: Corpus) -> None:
    rows = _all_failed(bullmq, corpus)
    for row in rows.values():
        for text in (row.name, row.reason, row.worker, row.progress.text if row.progress else None):
            if text is not None:
                text.value.encode("utf-8")
                assert not set(text.value) & {chr(code) for code in (*range(9), *range(11, 32), 127, 0x202E)}
    bytes_row = rows[b"bytes"]
    assert bytes_row.name is not None
    assert Mark.BYTES in bytes_row.name.marks


def test_every_hostile_job_can_be_opened_by_its_exact_bytes(bullmq: BullMQ, corpus: Corpus) -> None:
    for label, ref in corpus.jobs.items():
        if label in ("a-string", "a-list"):
            with pytest.raises(NotFound):
                bullmq.job(ref)
            continue
        job = bullmq.job(ref)
        assert job.row.ref == ref
        assert job.states == (State.FAILED,)
    for ref in corpus.ids:
        assert bullmq.job(ref).row.damaged == ()


def test_bodies_of_hostile_jobs_are_given_back_exactly(bullmq: BullMQ, corpus: Corpus) -> None:
    for label, fields in {**JOBS, **LARGE}.items():
        value = {"data": "{}", **fields}["data"]
        if value is not None:
            expected = value if isinstance(value, bytes) else str(value).encode()
            assert bullmq.body(corpus.jobs[label], b"data") == expected
    with pytest.raises(NotFound):
        bullmq.body(corpus.jobs["no-data"], b"data")
    with pytest.raises(NotFound):
        bullmq.body(corpus.jobs["a-string"], b"data")


def test_a_field_of_megabytes_does_not_travel_for_a_list(
    bullmq: BullMQ, corpus: Corpus, redis_commands: RedisCommands
) -> None:
    # Two calls, and one short script for each field that is longer than what a row shows.
    with redis_commands(max=2 + 6 + 12):
        page = bullmq.jobs(corpus.queue, [State.FAILED], size=200)
    row = next(row for row in page.rows if row.ref.id == b"large-all")
    assert (row.size, row.reason and row.reason.size) == (5_000_002, 1_000_000)
    assert row.reason is not None
    assert len(row.reason.value) == 500
    assert row.attempts_max is None
    assert "timestamp" in row.damaged


def test_a_job_of_megabytes_is_shown_cut_with_its_true_sizes(bullmq: BullMQ, corpus: Corpus) -> None:
    job = bullmq.job(corpus.jobs["large-all"])
    assert job.data is not None
    assert (len(job.data.raw), job.data.size, job.data.cut) == (256 * 1024, 5_000_002, True)
    assert job.stacks_raw is not None
    assert (len(job.stacks_raw.raw), job.stacks_raw.size) == (1024 * 1024, 3_000_004)
    assert job.options == {}
    assert all(len(body.raw) <= 2048 for _name, body in job.fields)
    many = bullmq.job(corpus.jobs["many-stacks"])
    assert (len(many.stacks), many.stack_count) == (50, 500)
    assert many.stacks[0].raw.startswith(b"Error: 499\n")
    assert len(bullmq.job(corpus.jobs["many-fields"]).fields) == 200


MB = 1024 * 1024


def test_no_script_takes_the_beginning_of_a_field_of_megabytes(
    bullmq: BullMQ, store: redis.Redis, redis_commands: RedisCommands
) -> None:
    queue = seed_queue(store, "shop", failed=1)
    sizes = {"data": 31 * MB, "returnvalue": 5 * MB, "failedReason": 9 * MB, "progress": 900_000, "other": 3 * MB}
    store.hset("bull:shop:1", mapping={name: b"x" * size for name, size in sizes.items()})
    with redis_commands(max=30) as sent:
        job = bullmq.job(JobRef(queue, b"1"))
    assert sent.count("HGET") == 1  # of 5 MB: up to 8 MB a plain one is quick
    bodies = (job.data, job.returnvalue, job.reason, job.progress)
    assert [(len(body.raw), body.size) for body in bodies if body] == [
        (0, 31 * MB), (256 * 1024, 5 * MB), (0, 9 * MB), (256 * 1024, 900_000)
    ]  # fmt: skip
    fields = {str(name): body.size for name, body in job.fields}
    assert {name: fields[name] for name in sizes} == sizes
    with redis_commands(max=4) as sent:
        [row] = bullmq.jobs(queue, [State.FAILED]).rows
    assert "HGET" not in sent
    assert row.reason is not None
    assert (row.size, row.reason.size, row.reason.value) == (31 * MB, 9 * MB, "")


def test_no_script_gives_back_more_than_two_megabytes_of_one_job(bullmq: BullMQ, store: redis.Redis) -> None:
    queue = seed_queue(store, "shop", failed=1)
    names = ("data", "opts", "returnvalue", "progress", "failedReason", "stacktrace")
    store.hset("bull:shop:1", mapping=dict.fromkeys(names, "x" * 256 * 1024))
    store.hset("bull:shop:1", mapping={f"f{number}": "x" * 2048 for number in range(300)})
    longest = 0
    run = bullmq.connection.run

    def note(commands: Sequence[Command], *, tolerant: bool = False, reading: bool = False) -> list[Reply]:
        nonlocal longest
        replies = run(commands, tolerant=tolerant, reading=reading)
        longest = max([longest, *(_weight(reply) for reply in replies)])
        return replies

    bullmq.connection.run = note  # type: ignore[method-assign]
    job = bullmq.job(JobRef(queue, b"1"))
    assert job.data is not None
    assert not job.data.cut
    assert 256 * 1024 <= longest < 2 * MB


def _weight(reply: Reply) -> int:
    return sum(map(_weight, reply)) if isinstance(reply, list) else len(reply) if isinstance(reply, bytes) else 0


def test_stacks_that_are_no_array_of_strings_are_shown_raw(bullmq: BullMQ, corpus: Corpus) -> None:
    for label in ("not-json", "shapes", "scalars", "abyss"):
        job = bullmq.job(corpus.jobs[label])
        assert job.stacks == ()
        assert job.stacks_raw is not None
    surrogate = bullmq.job(corpus.jobs["surrogate"])
    assert [stack.size for stack in surrogate.stacks] == [5]


def test_progress_is_a_percentage_only_where_it_says_one(bullmq: BullMQ, corpus: Corpus) -> None:
    expected = [None, None, 33.3333333, 100 / 3, 70, None, None, None, None, None, None, None, 0, 100, 100]
    rows = _all_failed(bullmq, corpus)
    for number, (value, percent) in enumerate(zip(PROGRESS, expected, strict=True)):
        progress = rows[f"progress-{number}".encode()].progress
        assert progress is not None
        assert progress.percent == (None if percent is None else pytest.approx(percent)), value
        assert str(progress.text) == value


def test_hostile_log_lines_are_text_with_their_true_size(bullmq: BullMQ, corpus: Corpus) -> None:
    page = bullmq.logs(corpus.jobs["markup"])
    assert (page.first, page.total, len(page.lines)) == (1, 9, 9)
    assert "\x1b" not in page.lines[1].value
    assert "\\x1b[31m" in page.lines[1].value
    assert Mark.BYTES in page.lines[2].marks
    assert page.lines[4].value == "two\nlines"
    assert (page.lines[6].size, Mark.CUT in page.lines[6].marks) == (200_000, True)


def test_every_hostile_queue_is_found_counted_and_read(bullmq: BullMQ, corpus: Corpus) -> None:
    found = {queue for _seen, queues in bullmq.discover() for queue in queues}
    assert found == {*corpus.queues, corpus.queue, corpus.wrong_types}
    counts = bullmq.counts(corpus.queues)
    for queue in corpus.queues:
        assert (counts[queue][State.WAITING], counts[queue][State.FAILED]) == (1, 1)
        assert bullmq.queue(queue).counts.exists
        assert [row.ref.id for row in bullmq.jobs(queue, [State.FAILED]).rows] == [b"2"]
    hits = bullmq.find(corpus.queues, b"2")
    assert {hit.ref.queue for hit in hits} == set(corpus.queues)
    assert {hit.state for hit in hits} == {State.FAILED}


def test_keys_of_the_wrong_type_cost_their_own_figure(bullmq: BullMQ, corpus: Corpus) -> None:
    wrong = corpus.wrong_types
    counts = bullmq.counts([wrong, corpus.queue])
    assert counts[wrong].exists
    assert {state: counts[wrong][state] for state in State} == {
        **dict.fromkeys(State, None),
        State.WAITING_CHILDREN: 1,
    }
    assert counts[corpus.queue][State.FAILED] == len(_all_failed(bullmq, corpus))
    assert bullmq.queue(wrong).events_length == 0
    for state in State:
        if state is State.WAITING_CHILDREN:
            assert len(bullmq.jobs(wrong, [state]).rows) == 1
        else:
            with pytest.raises(Unsupported):
                bullmq.jobs(wrong, [state])
    assert bullmq.job(JobRef(wrong, b"1")).states == (State.WAITING_CHILDREN,)


def test_corpus_json_is_not_read_by_the_reader(corpus: Corpus) -> None:
    # The corpus itself must be as broken as it claims to be.
    with pytest.raises(RecursionError):
        json.loads(str(JOBS["abyss"]["data"]))
    with pytest.raises(ValueError, match="digits"):
        json.loads(str(JOBS["digits"]["data"]))
