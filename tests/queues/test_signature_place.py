"""The place of a failure: the top frame of one's own code, in any format, wherever it was deployed to."""

from __future__ import annotations

import pytest

from queues.failures.signature import of
from queues.failures.signature.frames import file_of, function_of, place
from queues.failures.types import Thrown

LIBRARY = "    at Parser.parse (/app/node_modules/pg/dist/parser.js:35:38)\n    at Socket.emit (node:events:519:28)\n"


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        ("at Gateway.capture (/app/src/gateways/pay.ts:118:19)", "Gateway.capture (src/gateways/pay.ts)"),
        ("at async Gateway.capture (/app/src/gateways/pay.ts:9:1)", "Gateway.capture (src/gateways/pay.ts)"),
        ("at /usr/src/app/dist/jobs/run.js:12:7", "dist/jobs/run.js"),
        ("at async /usr/src/app/dist/jobs/run.js:12:7", "dist/jobs/run.js"),
        ("at new Ledger (/home/ana/shop/src/ledger.ts:3:9)", "new Ledger (src/ledger.ts)"),
        ("at Object.<anonymous> (/app/src/index.ts:1:1)", "src/index.ts"),
        ("at Gateway.<anonymous> (/app/src/pay.ts:1:1)", "Gateway (src/pay.ts)"),
        ("at Object.run [as handler] (/app/src/run.ts:1:1)", "run (src/run.ts)"),
        ("at eval (eval at render (/app/src/views/render.js:10:3), <anonymous>:1:1)", "src/views/render.js"),
        ("at charge (webpack://shop/./src/charge.ts?a1b2:12:3)", "charge (src/charge.ts)"),
        ("at charge (webpack-internal:///./src/charge.ts:12:3)", "charge (src/charge.ts)"),
        ("at file:///app/dist/worker.mjs:3:5", "dist/worker.mjs"),
        ("at load (file:///C:/svc/printer/dist/load.mjs:3:5)", "load (dist/load.mjs)"),
        ("at writeSpool (C:\\\\svc\\\\printer\\\\dist\\\\spool.js:9:2)", "writeSpool (dist/spool.js)"),
        ("at t (/app/dist/index.js:1:48213)", "dist/index.js"),
        ("at e.default (/app/dist/main.3f2a9c1b.js:1:48213)", "default (dist/main.js)"),
        ("at Xa.handle (/app/dist/chunk-AB12CD34.js:1:48213)", "handle (dist/chunk.js)"),
        ("at run (/srv/www/releases/20260101120000/dist/run.js:1:2)", "run (dist/run.js)"),
        ("at run (/var/task/packages/billing/src/run.js:1:2)", "run (packages/billing/src/run.js)"),
        ("at run (/app/run.js:1:2)", "run (run.js)"),
    ],
)
def test_the_first_frame_behind_those_of_libraries_is_the_place(frame: str, told: str) -> None:
    assert place(f"Error: no\n{LIBRARY}    {frame}\n    at other (/app/src/other.ts:1:1)")[0] == told


@pytest.mark.parametrize(
    "before",
    [
        "    at new Promise (<anonymous>)",
        "    at Array.map (<anonymous>)",
        "    at Generator.next (<anonymous>)",
        "    at fulfilled (/app/dist/x.js:5:58)",
        "    at step (/app/dist/x.js:5:58)",
        "    at async Promise.all (index 0)",
        "    at internalConnect (node:net:1122:18)",
        "    at internal/timers.js:554:17",
        "    at x (/app/node_modules/.pnpm/got@12/node_modules/got/dist/index.js:1:1)",
        "    at x (/app/.yarn/cache/got.zip/dist/index.js:1:1)",
        "    at bun:sqlite:12:3",
        "    at ext:core/01_core.js:12:3",
        "    at x (https://deno.land/std/http.ts:1:1)",
        "    at native",
    ],
)
def test_frames_of_libraries_and_runtimes_are_no_place(before: str) -> None:
    assert place(f"Error: no\n{before}\n    at mine (/app/src/mine.ts:1:1)")[0] == "mine (src/mine.ts)"
    assert place(f"Error: no\n{before.replace('/app/dist/x.js', 'node:x')}") == ("", "")


def test_the_last_own_frame_of_a_traceback_is_its_place() -> None:
    stack = (
        "Traceback (most recent call last):\n"
        '  File "/usr/local/lib/python3.11/site-packages/bullmq/worker.py", line 236, in processJob\n'
        "    result = await self.processor(job, token)\n"
        '  File "/srv/ml/train.py", line 41, in process\n    rows = load()\n'
        '  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode\n    x\n'
        "ValueError: bad"
    )
    assert place(stack) == ("process (ml/train.py)", "frame")


def test_lines_columns_folders_and_minified_names_do_not_count() -> None:
    def signed(frame: str) -> str:
        return of(Thrown("no", f"Error: no\n    at {frame}", "job", 2)).digest

    assert signed("run (/app/src/run.ts:1:2)") == signed("run (/home/ana/shop/src/run.ts:99:1)")
    assert signed("t (/app/dist/index.js:1:4821)") == signed("n (/app/dist/index.js:1:99)")
    assert signed("t (/app/dist/main.3f2a9c1b.js:1:4821)") == signed("n (/app/dist/main.99aa77bb.js:1:99)")
    assert signed("run (/app/src/run.ts:1:2)") != signed("walk (/app/src/run.ts:1:2)")
    assert signed("run (/app/src/run.ts:1:2)") != signed("run (/app/src/walk.ts:1:2)")


def test_the_job_name_is_the_place_where_no_own_frame_is_known() -> None:
    mail = of(Thrown("no", f"Error: no\n{LIBRARY}", "mail", 2))
    assert (mail.place, mail.place_kind) == ("mail", "job")
    assert mail.digest != of(Thrown("no", f"Error: no\n{LIBRARY}", "print", 2)).digest
    assert of(Thrown("no", "", "mail:42", 2)).digest == of(Thrown("no", "", "mail:977", 2)).digest
    assert of(Thrown("no", "", "", 2)).place_kind == "none"


def test_a_frame_makes_jobs_of_several_names_one() -> None:
    stack = "Error: no\n    at charge (/app/src/charge.ts:1:1)"
    assert of(Thrown("no", stack, "mail", 2)).digest == of(Thrown("no", stack, "print", 2)).digest


def test_odd_frames_are_read_without_harm() -> None:
    for text in ("", "(", ")", "/", "\\", ":1", "a" * 5000, "webpack://", "file://", "x?:1:1", "é:1:2", "‹n›"):
        assert isinstance(file_of(text), str)
        assert isinstance(function_of(text), str)
        assert isinstance(place(f"Error\n    at {text}"), tuple)
        assert isinstance(place(f"Error\n    at a ({text})"), tuple)
