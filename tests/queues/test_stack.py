"""Stack traces come apart into messages, own frames and library frames, whatever they look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues import stack
from queues.redaction import MASK
from queues.types import Body, Mark


def kinds(text: str) -> list[str]:
    return [line.kind for line in stack.show(whole(text)).lines]


def whole(text: str | bytes) -> Body:
    raw = text.encode() if isinstance(text, str) else text
    return Body(raw, len(raw))


def test_a_node_stack_tells_own_frames_from_those_of_libraries() -> None:
    text = (
        "Error: connect ETIMEDOUT 203.0.113.24:443\n"
        "while capturing\n"
        "    at PagarBem.capture (/app/src/gateways/pagarbem.ts:118:19)\n"
        "    at async captureOrder (/app/src/jobs/capture.ts:42:24)\n"
        "    at Worker.processJob (/app/node_modules/bullmq/dist/cjs/classes/worker.js:578:21)\n"
        "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)\n"
        "    at new Promise (<anonymous>) {\n"
        "  code: 'ETIMEDOUT',\n"
        "  [cause]: Error: socket closed\n"
        "      at Socket.close (/app/src/socket.ts:1:1)\n"
        "}"
    )
    assert kinds(text) == ["er", "er", "hl", "hl", "lib", "lib", "lib", "", "er", "hl", ""]


def test_a_python_stack_tells_own_frames_from_those_of_libraries() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/app/.venv/lib/python3.11/site-packages/bullmq/worker.py", line 245, in processJob\n'
        "    result = await self.processor(job, token)\n"
        "             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        '  File "/app/jobs/capture.py", line 12, in capture\n'
        "    raise ValueError(amount)\n"
        "ValueError: amount\n"
        "\n"
        "During handling of the above exception, another exception occurred:\n"
    )
    assert kinds(text) == ["er", "lib", "lib", "lib", "hl", "hl", "er", "", "er"]


def test_secrets_and_colours_are_gone_and_file_names_stay() -> None:
    shown = stack.show(whole("\x1b[31mError: password=hunter2\x1b[0m\n    at verify (/app/token.js:12:3)"))
    assert shown.lines == (("er", f"Error: password={MASK}"), ("hl", "    at verify (/app/token.js:12:3)"))
    assert shown.marks == (Mark.MASKED,)


@pytest.mark.parametrize("text", ["\n" * 402, "    at x\n" * 401, "x" * 2001])
def test_what_is_too_long_is_cut_and_says_so(text: str) -> None:
    shown = stack.show(whole(text))
    assert shown.cut
    assert len(shown.lines) <= 400
    assert all(len(line.text) <= 2000 for line in shown.lines)
    assert shown.size == len(text)


def test_four_hundred_lines_are_shown_whole() -> None:
    shown = stack.show(whole("    at x\n" * 400))
    assert len(shown.lines) == 400
    assert not shown.cut


def test_a_stored_cut_is_said_too() -> None:
    assert stack.show(Body(b"Error: x", 5_000_000)).cut


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail(raw: bytes) -> None:
    for line in stack.show(whole(raw)).lines:
        line.text.encode()
        assert "\n" not in line.text
