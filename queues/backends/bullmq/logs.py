"""The log lines that a job wrote."""

from __future__ import annotations

from django.utils.translation import gettext as _

from queues.backends.bullmq.connection import Connection
from queues.backends.bullmq.keys import job_key
from queues.backends.bullmq.replies import array, blob, count, size
from queues.backends.bullmq.scripts import script
from queues.errors import BadInput
from queues.text import text
from queues.types import LOG_PAGE, JobRef, LogPage, Text

LINE = 16 * 1024  # bytes shown of a line
BUDGET = 1024 * 1024  # bytes that one script touches before it stops


def page(connection: Connection, job: JobRef, first: int | None) -> LogPage:
    """At most 100 lines from number `first` on; the last page when it is None (BullMQ: scripts/addLog).

    One call; more only where lines are so long that a script would block the server for long.
    """
    if first is not None and first < 1:
        raise BadInput(_("Log lines are numbered from 1."))
    key = job_key(job) + b":logs"
    if first is None:
        total = size(connection.run([("LLEN", key)])[0])
        first = max(total - 1, 0) // LOG_PAGE * LOG_PAGE + 1
    lines: list[Text] = []
    while True:
        start = first - 1 + len(lines)
        [reply] = connection.run([script("logs").call([key], start, LOG_PAGE - len(lines), LINE, BUDGET)])
        told, found = array(reply, 2)
        total, rows = size(told), array(found)
        lines += [text(blob(raw) or b"", size=count(length)) for length, raw in zip(rows[::2], rows[1::2], strict=True)]
        if not rows or len(lines) >= LOG_PAGE or start + len(rows) // 2 >= total:
            return LogPage(lines, first, total)
