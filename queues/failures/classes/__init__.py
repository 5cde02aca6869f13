"""Classes of failures: ordered rules say whether the same job, run again as it is, may succeed.

The first rule that matches decides: those of users in their order, then what is built in. `built_in` holds the latter
as data, `matching` compares, `rules` decides, `own` keeps those of users, `advice` says what to do, `deciding` writes
the classes of all strands anew and tells beforehand what a rule would change.
"""

from queues.failures.classes.advice import advice, words
from queues.failures.classes.by_hand import set_by_hand
from queues.failures.classes.deciding import DryRun, decided, dry_run, keep, reclassify
from queues.failures.classes.own import MOST, add, delete, move
from queues.failures.classes.rules import Rules, forget, preload

__all__ = [
    "MOST",
    "DryRun",
    "Rules",
    "add",
    "advice",
    "decided",
    "delete",
    "dry_run",
    "forget",
    "keep",
    "move",
    "preload",
    "reclassify",
    "set_by_hand",
    "words",
]
