"""Lists as files: CSV that no spreadsheet runs and JSON lines, bounded, sent as they are read."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would run
CHUNK = 200  # rows that are sent at a time
KINDS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}

Record = Mapping[str, object]

logger = logging.getLogger(__name__)


def json_line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def csv_row(cells: Iterable[str]) -> str:
    """A row in which no cell can run as a formula."""
    out = io.StringIO()
    csv.writer(out).writerow([f"'{cell}" if cell.startswith(FORMULA) else cell for cell in cells])
    return out.getvalue()


def as_json_lines(records: Iterable[Record], most: int, cut: Callable[[], str]) -> Iterator[str]:
    """One JSON object a line; behind the first `most` a last one says by `cut()` that there are more."""
    for number, record in enumerate(records):
        if number == most:
            yield json_line({"cut": True, "note": cut()})
            return
        yield json_line(record)


def as_csv(columns: Sequence[str], records: Iterable[Record], most: int, cut: Callable[[], str]) -> Iterator[str]:
    """One row a record below a head. Behind the first `most` a last row says by `cut()` that there are more."""
    yield csv_row(columns)
    for number, record in enumerate(records):
        if number == most:
            yield csv_row((cut(),))
            return
        yield csv_row([_cell(value) for value in map(record.get, columns)])


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    # Most others are numbers, which take far longer by way of JSON.
    return str(value) if type(value) is int else json.dumps(value, ensure_ascii=False)


def written(
    ending: str, columns: Sequence[str], records: Iterable[Record], most: int, cut: Callable[[], str]
) -> Iterator[str]:
    """The rows of a file that ends in `csv` or `jsonl`, the same columns in both."""
    return as_csv(columns, records, most, cut) if ending == "csv" else as_json_lines(records, most, cut)


def answer(
    request: HttpRequest, rows: Iterator[str], ending: str, *, name: str, broken: str, what: str
) -> StreamingHttpResponse:
    """A file `<name>-<day>.<ending>` that is sent while `rows` are read.

    What keeps it from beginning is raised here; what breaks it off later ends it with a line that holds `broken` and
    stands in the log, where `what` is its name.
    """
    last = csv_row((broken,)) if ending == "csv" else json_line({"cut": True, "note": broken})
    chunks = _chunks(rows, last, what)
    first = [next(chunks, "")]
    sent = _sent_async(first, chunks) if isinstance(request, ASGIRequest) else chain(first, chunks)
    response = StreamingHttpResponse(sent)
    response.headers["Content-Type"] = KINDS[ending]
    response.headers["Content-Disposition"] = f'attachment; filename="{name}-{timezone.now():%Y-%m-%d}.{ending}"'
    return response


def _chunks(rows: Iterator[str], broken: str, what: str) -> Iterator[str]:
    """Rows, some at a time. What goes wrong within the first chunk is raised; later it ends them with a line on it.

    By then the answer has begun: raised, it would leave the client waiting for an end that never comes.
    """
    part: list[str] = []
    begun = False
    try:
        for row in rows:
            part.append(row)
            if len(part) == CHUNK:
                yield "".join(part)
                part, begun = [], True
    except Exception:
        if not begun:
            raise
        logger.exception("An export of %s broke off.", what)
        part.append(broken)
    if part:
        yield "".join(part)


async def _sent_async(first: Sequence[str], chunks: Iterator[str]) -> AsyncIterator[str]:
    """Both without holding up the event loop while the database is read."""
    for chunk in first:
        yield chunk
    while chunk := await sync_to_async(lambda: next(chunks, ""))():
        yield chunk
