"""Deciding: the rules in force, and the class of a failure by them."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence

from django.db import DatabaseError

from queues.failures.classes.built_in import BUILT_IN
from queues.failures.classes.matching import Own, Said, said
from queues.failures.classes.table import table
from queues.failures.types import Kind, Signature, Verdict
from queues.models import ClassRule

RULES_VERSION = 1  # of what is built in; a higher one decides all that is indexed anew
KNOWN_FOR_S = 5.0  # so long a process goes by what it read; it sees its own changes at once
CACHED = 20_000  # verdicts that are kept

_TABLE = table(BUILT_IN)
log = logging.getLogger(__name__)


class Rules:
    """The rules of users in their order, then those built in. Safe between threads: what they share is a cache."""

    def __init__(self, own: Sequence[Own] = ()) -> None:
        self.own = tuple(own)
        told = repr((RULES_VERSION, [(*_fields(each),) for each in self.own]))
        self.fingerprint = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._verdicts: dict[tuple[str, str, str, str], Verdict] = {}
        self._thrown: dict[str, tuple[Sequence[Own], Verdict]] = {}

    @staticmethod
    def current() -> Rules:
        """The rules in force. At most one query each five seconds and process.

        While the database does not answer the last ones hold; DatabaseError when there were none yet.
        """
        return _book.rules()

    def verdict(self, signature: Signature, *, name: str, queue_slug: str, source: str) -> Verdict:
        """The class of a failure and the rule that decides. Never raises; about 1 us when it was asked before."""
        key = (signature.digest, name, queue_slug, source)
        found = self._verdicts.get(key)
        if found is None:
            if len(self._verdicts) >= CACHED:
                self._verdicts.clear()
            found = self._verdicts[key] = self._decide(signature, name, queue_slug, source)
        return found

    def _decide(self, signature: Signature, name: str, queue: str, source: str) -> Verdict:
        found = self._thrown.get(signature.digest)
        if found is None:
            if len(self._thrown) >= CACHED:
                self._thrown.clear()
            thrown = said(signature)
            own = [each for each in self.own if each.means(thrown)]
            found = self._thrown[signature.digest] = own, built_in(thrown)
        candidates, ours = found
        for each in candidates:
            if each.holds_for(name, queue, source):
                return Verdict(each.kind, each.title)
        return ours


def built_in(thrown: Said) -> Verdict:
    """The class by our own rules alone: they see neither job name nor queue."""
    rule = _TABLE.first(thrown)
    return Verdict(rule.kind, rule.name) if rule else Verdict(Kind.UNKNOWN)


class _Book:
    """What this process read of the rules. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rules: Rules | None = None  # None: never read
        self._until = float("-inf")  # when they have to be read again

    def rules(self) -> Rules:
        with self._lock:
            if self._rules is None or self._clock() >= self._until:
                self._rules = self._read()
                self._until = self._clock() + KNOWN_FOR_S
            return self._rules

    def forget(self) -> None:
        with self._lock:
            self._until = float("-inf")

    def hold(self, rules: Rules) -> None:
        with self._lock:
            self._rules, self._until = rules, float("inf")

    def _read(self) -> Rules:
        try:
            made = Rules(kept())
        except DatabaseError:
            if self._rules is None:
                raise
            log.warning("the rules of classes cannot be read: the last known ones hold")
            return self._rules
        same = self._rules is not None and self._rules.fingerprint == made.fingerprint
        return self._rules if same and self._rules else made


def kept() -> Sequence[Own]:
    """The rules of users as they stand in the database, in their order."""
    rows = ClassRule.objects.order_by("position", "pk")
    return [own(row) for row in rows]


def own(row: ClassRule) -> Own:
    """A kept rule. One whose kind is none of ours (by hand in the database) says that it is unknown."""
    return Own(Kind.of(row.kind), row.error_class, row.code, row.message, row.name, row.source, row.queue, row.pk)


_book = _Book()


def forget() -> None:
    """Read anew at the next question."""
    _book.forget()


def preload(own: Sequence[Own] = ()) -> None:
    """Go by these for good and ask no database: for processes and tests that have none."""
    _book.hold(Rules(own))


def _fields(each: Own) -> Sequence[str]:
    return (each.kind.value, each.error_class, each.code, each.message, each.name, each.source, each.queue)
