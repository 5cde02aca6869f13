"""Which values are hidden in which queue: our own patterns and those that users added.

What masks asks for the rules `in_force`. Within one queue (`within`) these are the rules of that queue; where a page
shows several, or nobody said which, every pattern holds: forgetting to say it hides too much and never too little.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.db import DatabaseError, IntegrityError, transaction
from django.utils.translation import gettext as _

from queues.errors import BadInput
from queues.models import Masking
from queues.redaction import DEFAULT, NOTHING, Rules, folded, is_secret_key, masked
from queues.types import QueueRef, Text

KNOWN_FOR_S = 5.0  # so long a process goes by what it read; it sees its own changes at once
MOST = 200  # patterns in all: each makes masking a little slower

log = logging.getLogger(__name__)

_PATTERN = re.compile(r"\*[a-z]{3,60}\*|[a-z]{2,30}(?: [a-z]{1,30}){0,3}")


@dataclass(frozen=True, slots=True)
class Added:
    """A user's pattern and where it holds: `source` empty is everywhere, `queue` (a slug) empty in all of a source."""

    pattern: str
    source: str = ""
    queue: str = ""

    def holds_in(self, queue: QueueRef) -> bool:
        return self.source in ("", queue.source) and self.queue in ("", queue.slug)


class _Book:
    """What this process read of the patterns, and the rules that it made of them. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._added: Sequence[Added] | None = None  # None: never read
        self._until = float("-inf")  # when it has to be read again
        self._rules: dict[QueueRef | None, Rules] = {}

    def rules(self, queue: QueueRef | None) -> Rules:
        with self._lock:
            if self._clock() >= self._until:
                self._read()
            found = self._rules.get(queue)
            if found is None:
                found = self._rules[queue] = _rules(self._added or (), queue)
            return found

    def forget(self) -> None:
        with self._lock:
            self._until = float("-inf")

    def hold(self, added: Sequence[Added], until: float) -> None:
        if added != self._added:
            self._added, self._rules = added, {}
        self._until = until

    def _read(self) -> None:
        try:
            rows = Masking.objects.order_by("pk").values_list("pattern", "source", "queue")
            added = tuple(Added(*row) for row in rows[:MOST])
        except DatabaseError:
            if self._added is None:
                raise
            log.warning("the patterns of hidden values cannot be read: the last known ones hold")
            added = tuple(self._added)
        self.hold(added, self._clock() + KNOWN_FOR_S)


_book = _Book()
_here: ContextVar[QueueRef | None] = ContextVar("masking_queue", default=None)
_revealing: ContextVar[bool] = ContextVar("masking_revealing", default=False)


def rules_for(queue: QueueRef | None) -> Rules:
    """The rules of a queue; of None, all there are. At most one query each five seconds and process.

    While the database does not answer the last ones hold; DatabaseError when there were none yet.
    """
    return _book.rules(queue)


def in_force() -> Rules:
    """The rules for what is masked here and now: those of the queue that this is `within`, else all.

    `NOTHING` inside of `revealing`.
    """
    return NOTHING if _revealing.get() else rules_for(_here.get())


@contextmanager
def within(queue: QueueRef | None) -> Iterator[None]:
    """All that is masked inside is of this queue; of None, of any."""
    before = _here.get()
    _here.set(queue)
    try:
        yield
    finally:
        _here.set(before)


def enter(queue: QueueRef | None) -> None:
    """Like `within`, until the next call, for who cannot hold a block open."""
    _here.set(queue)


@contextmanager
def revealing() -> Iterator[None]:
    """Inside nothing is hidden. For who has the right, has asked for it, and is written down with it."""
    _revealing.set(True)
    try:
        yield
    finally:
        _revealing.set(False)


def hidden_here(text: Text) -> Text:
    """`redaction.masked` by the rules in force."""
    return masked(text, in_force())


def forget() -> None:
    """Read anew at the next question."""
    _book.forget()


def preload(added: Sequence[Added]) -> None:
    """Go by these for good and ask no database: for processes and tests that have none."""
    _book.hold(tuple(added), float("inf"))


def checked(pattern: str) -> str:
    """A pattern in the one form in which it is kept: small letters without accents. BadInput for what is none."""
    told = folded(" ".join(pattern.lower().split()))
    if not _PATTERN.fullmatch(told):
        raise BadInput(
            _(
                "A pattern is letters between two stars, at least three (*taxid*), or whole words (tax id). Other "
                "characters never matter: separators and digits in keys are skipped."
            )
        )
    return told


def matches(pattern: str, key: str) -> bool:
    """Whether a key is hidden by this pattern alone."""
    return hides(Rules((pattern,)), key)


def hides(rules: Rules, key: str) -> bool:
    """Whether these rules hide what is stored under a key."""
    return is_secret_key(key, rules) is not None


def add(pattern: str, *, source: str = "", queue: str = "", by: str) -> Masking:
    """Keep a pattern. BadInput for one that is none, is there already, or is one too many."""
    if queue and not source:
        raise BadInput(_("A queue belongs to a source: choose that too."))
    pattern = checked(pattern)
    if pattern in DEFAULT.patterns:
        raise BadInput(_("%(pattern)s is hidden everywhere already.") % {"pattern": pattern})
    if Masking.objects.count() >= MOST:
        raise BadInput(_("There are %(most)s patterns already, and no more are taken.") % {"most": MOST})
    try:
        with transaction.atomic():
            made = Masking.objects.create(pattern=pattern, source=source, queue=queue, added_by=by)
    except IntegrityError as error:
        raise BadInput(_("%(pattern)s is hidden there already.") % {"pattern": pattern}) from error
    forget()
    return made


def delete(pk: int) -> Masking | None:
    """Take a pattern away; None when it is gone already."""
    found = Masking.objects.filter(pk=pk).first()
    if found is None or not Masking.objects.filter(pk=pk).delete()[0]:
        return None
    forget()
    return found


def _rules(added: Sequence[Added], queue: QueueRef | None) -> Rules:
    own = [each.pattern for each in added if queue is None or each.holds_in(queue)]
    return Rules(tuple(dict.fromkeys((*DEFAULT.patterns, *own)))) if own else DEFAULT
