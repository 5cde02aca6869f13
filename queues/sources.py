"""Asking several sources at once, each in a thread of its own: outages are kept, and the cost is reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.utils import timezone, translation

from queues import cost, outages
from queues.backend import Backend
from queues.errors import QueueError, Unreachable
from queues.registry import backend

MOST_THREADS = 8

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Answer(Generic[T]):
    """What a source said, or why it did not; `took_s` is how long that took to show."""

    value: T | QueueError
    at: datetime
    took_s: float


def ask_all(names: Sequence[str], question: Callable[[Backend], T]) -> Mapping[str, T | QueueError]:
    """What each source answers to `question`, or its error; an `Unreachable` has its `since` filled in.

    `question` must touch no database: it runs in threads, in the caller's language, so that a dead
    server costs all of them together no more than its own timeout. A source that is being held
    (`outages.refusal`) is not asked. A small query for each source, a write only when an outage
    begins or ends. NotFound when one of the names is not configured.
    """
    readers = [backend(name) for name in names]
    held = {name: error for name in names if (error := outages.refusal(name))}
    asked = [reader for reader in readers if reader.source not in held]
    language = translation.get_language()

    def ask(reader: Backend) -> _Answer[T]:
        began = time.monotonic()
        with translation.override(language):
            try:
                value: T | QueueError = question(reader)
            except QueueError as error:
                value = error
        return _Answer(value, timezone.now(), time.monotonic() - began)

    if len(asked) < 2:
        answers = list(map(ask, asked))
    else:
        with ThreadPoolExecutor(min(len(asked), MOST_THREADS)) as pool:
            answers = list(pool.map(ask, asked))
    told: dict[str, T | QueueError] = {**held}
    for reader, answer in zip(asked, answers, strict=True):
        told[reader.source] = answer.value
        if isinstance(answer.value, Unreachable):
            told[reader.source] = outages.failed(reader.source, answer.value, answer.took_s)
        elif not isinstance(answer.value, QueueError):
            outages.note_success(reader.source, answer.at)
    cost.report()
    return {name: told[name] for name in names}
