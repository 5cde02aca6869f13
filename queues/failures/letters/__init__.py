"""Dead letters: which queues hold them, for which queue, and what each of them says."""

from queues.failures.letters.book import Said, forget, preload, said
from queues.failures.letters.finding import is_letters, origin_of, queue_for
from queues.failures.letters.mapping import Mapping, checked
from queues.failures.letters.reading import Mapped, found, read
from queues.failures.letters.saying import remap, say

__all__ = [
    "Mapped",
    "Mapping",
    "Said",
    "checked",
    "forget",
    "found",
    "is_letters",
    "origin_of",
    "preload",
    "queue_for",
    "read",
    "remap",
    "said",
    "say",
]
