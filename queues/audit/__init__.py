"""The log of actions: who did what, when, from where, to what, and what came of it; refusals too.

An entry is written before its action begins and completed when it has ended, so that a crash leaves it `started`
and never invisible. Nobody can change one in the interface; `queues.retention` deletes those that are too old.
"""

from queues.audit.exceptional import is_back
from queues.audit.found import Exceptional, Filters, Page, counts, each, exceptions, find, made, took_along
from queues.audit.log import record, refused
from queues.audit.once import earlier, token
from queues.audit.tally import Tally
from queues.audit.types import Actor, Asked, Status
from queues.audit.words import in_words

__all__ = [
    "Actor",
    "Asked",
    "Exceptional",
    "Filters",
    "Page",
    "Status",
    "Tally",
    "counts",
    "each",
    "earlier",
    "exceptions",
    "find",
    "in_words",
    "is_back",
    "made",
    "record",
    "refused",
    "token",
    "took_along",
]
