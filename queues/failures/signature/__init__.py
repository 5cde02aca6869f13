"""What tells failures of one cause from others: `of` makes it, `explain` says how, `words` says each rule to people.

Pure: the same failure has the same signature in every process. A change that gives any failure another one needs a
higher `types.VERSION`; the golden digests in the tests hold that.
"""

from queues.failures.signature.explaining import explain, words
from queues.failures.signature.making import of

__all__ = ["explain", "of", "words"]
